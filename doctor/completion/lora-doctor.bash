# Completion of lora-doctor for bash. Written by scripts/write_completion.py.
_lora_doctor() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word
  COMPREPLY=()
  # --format=json is three words to bash.
  [ "$cur" = = ] && cur=
  [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [ "$word" = -- ] && return
    case "$command $word" in
      \ check) command=check ;;
      \ triage) command=triage ;;
      \ explain) command=explain ;;
      \ report) command=report ;;
      \ lint) command=lint ;;
      \ resolve) command=resolve ;;
      \ fix) command=fix ;;
      \ install) command=install ;;
      \ fit) command=fit ;;
      \ watch) command=watch ;;
      \ completion) command=completion ;;
      \ fleet) command=fleet ;;
      fleet\ run) command='fleet run' ;;
      fleet\ compare) command='fleet compare' ;;
      fleet\ node) command='fleet node' ;;
    esac
  done
  case "$command:$prev" in
    check:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    check:--plan) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    check:--model) return ;;
    check:--timeout) return ;;
    check:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    check:-o|check:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    check:--ignore) return ;;
    triage:--python-version) return ;;
    triage:--os) COMPREPLY=($(compgen -W "linux darwin win32" -- "$cur")); return ;;
    triage:--arch) COMPREPLY=($(compgen -W "x86_64 aarch64" -- "$cur")); return ;;
    triage:--driver) return ;;
    triage:--gpu) return ;;
    triage:--compute-capability) return ;;
    triage:--gpu-memory) return ;;
    triage:--torch-cuda) return ;;
    triage:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    triage:-o|triage:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    triage:--ignore) return ;;
    explain:--lang) COMPREPLY=($(compgen -W "en zh" -- "$cur")); return ;;
    explain:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    explain:-o|explain:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    report:--from) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    report:--open-issue) return ;;
    report:--template) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    report:--max-bytes) return ;;
    report:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    report:--timeout) return ;;
    report:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    report:-o|report:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    report:--ignore) return ;;
    lint:--against) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    lint:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    lint:--python-version) return ;;
    lint:--os) COMPREPLY=($(compgen -W "linux darwin win32" -- "$cur")); return ;;
    lint:--arch) COMPREPLY=($(compgen -W "x86_64 aarch64" -- "$cur")); return ;;
    lint:--driver) return ;;
    lint:--gpu) return ;;
    lint:--compute-capability) return ;;
    lint:--gpu-memory) return ;;
    lint:--torch-cuda) return ;;
    lint:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html github sarif" -- "$cur")); return ;;
    lint:-o|lint:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    lint:--ignore) return ;;
    resolve:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    resolve:--python-version) return ;;
    resolve:--os) COMPREPLY=($(compgen -W "linux darwin win32" -- "$cur")); return ;;
    resolve:--arch) COMPREPLY=($(compgen -W "x86_64 aarch64" -- "$cur")); return ;;
    resolve:--driver) return ;;
    resolve:--gpu) return ;;
    resolve:--compute-capability) return ;;
    resolve:--gpu-memory) return ;;
    resolve:--torch-cuda) return ;;
    resolve:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    resolve:-o|resolve:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fix:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fix:--new-venv) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fix:--as) COMPREPLY=($(compgen -W "own pip uv conda mamba pixi poetry pdm dockerfile requirements" -- "$cur")); return ;;
    fix:--from) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fix:--torch-index) return ;;
    fix:--timeout) return ;;
    fix:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    fix:-o|fix:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fix:--ignore) return ;;
    install:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    install:--python-version) return ;;
    install:--driver) return ;;
    install:--gpu) return ;;
    install:--compute-capability) return ;;
    install:--torch-cuda) return ;;
    install:--torch-index) return ;;
    install:--format) COMPREPLY=($(compgen -W "terminal json" -- "$cur")); return ;;
    install:-o|install:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fit:--parameters) return ;;
    fit:--plan) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fit:--method) COMPREPLY=($(compgen -W "lora qlora full" -- "$cur")); return ;;
    fit:--rank) return ;;
    fit:--target-modules) return ;;
    fit:--modules-to-save) return ;;
    fit:--lora-dropout) return ;;
    fit:--adapter-config) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fit:--batch-size) return ;;
    fit:--accumulation) return ;;
    fit:--sequence-length) return ;;
    fit:--optimizer) return ;;
    fit:--attention) COMPREPLY=($(compgen -W "eager sdpa flash_attention_2" -- "$cur")); return ;;
    fit:--dtype) COMPREPLY=($(compgen -W "bfloat16 float16 float32" -- "$cur")); return ;;
    fit:--loop) COMPREPLY=($(compgen -W "bare trainer sft" -- "$cur")); return ;;
    fit:--gpus) return ;;
    fit:--sharding) COMPREPLY=($(compgen -W "none zero2 zero3 fsdp" -- "$cur")); return ;;
    fit:--offload) COMPREPLY=($(compgen -W "none optimizer parameters" -- "$cur")); return ;;
    fit:--estimator) COMPREPLY=($(compgen -W "auto formula trace" -- "$cur")); return ;;
    fit:--levers) COMPREPLY=($(compgen -W "formula traced none" -- "$cur")); return ;;
    fit:--limit) return ;;
    fit:--image) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fit:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fit:--python-version) return ;;
    fit:--os) COMPREPLY=($(compgen -W "linux darwin win32" -- "$cur")); return ;;
    fit:--arch) COMPREPLY=($(compgen -W "x86_64 aarch64" -- "$cur")); return ;;
    fit:--driver) return ;;
    fit:--gpu) return ;;
    fit:--compute-capability) return ;;
    fit:--gpu-memory) return ;;
    fit:--torch-cuda) return ;;
    fit:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    fit:-o|fit:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    watch:--pid) return ;;
    watch:--interval) return ;;
    watch:--limit) return ;;
    watch:-o|watch:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    watch:--format) COMPREPLY=($(compgen -W "terminal json markdown html svg" -- "$cur")); return ;;
    fleet\ run:--launcher) COMPREPLY=($(compgen -W "slurm torchrun mpi ssh ray k8s" -- "$cur")); return ;;
    fleet\ run:-N|fleet\ run:--nodes) return ;;
    fleet\ run:--hosts) return ;;
    fleet\ run:--nproc-per-node) return ;;
    fleet\ run:--endpoint) return ;;
    fleet\ run:--backend) COMPREPLY=($(compgen -W "auto nccl gloo" -- "$cur")); return ;;
    fleet\ run:--wait) return ;;
    fleet\ run:--timeout) return ;;
    fleet\ run:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fleet\ run:--doctor) return ;;
    fleet\ run:--option) return ;;
    fleet\ run:--image) return ;;
    fleet\ run:--mpi) COMPREPLY=($(compgen -W "openmpi mpich" -- "$cur")); return ;;
    fleet\ run:--at-once) return ;;
    fleet\ run:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    fleet\ run:-o|fleet\ run:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fleet\ run:--ignore) return ;;
    fleet\ compare:--expect) return ;;
    fleet\ compare:--nodes) return ;;
    fleet\ compare:--format) COMPREPLY=($(compgen -W "terminal json jsonl markdown html" -- "$cur")); return ;;
    fleet\ compare:-o|fleet\ compare:--output) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fleet\ compare:--ignore) return ;;
    fleet\ node:--name) return ;;
    fleet\ node:--backend) COMPREPLY=($(compgen -W "auto nccl gloo" -- "$cur")); return ;;
    fleet\ node:--endpoint) return ;;
    fleet\ node:--wait) return ;;
    fleet\ node:--python) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    fleet\ node:--timeout) return ;;
    fleet\ node:--output-folder) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  local words
  case "$cur:$command" in
    -*:) words="--version -h --help" ;;
    *:) words="check triage explain report lint resolve fix install fit watch completion fleet" ;;
    -*:check) words="--python --all-environments --quick --static --plan --model --timeout --format -o --output --ignore --strict --no-color -h --help" ;;
    -*:triage) words="--reply --labels --python-version --os --arch --driver --gpu --compute-capability --gpu-memory --torch-cuda --format -o --output --ignore --strict --no-color -h --help" ;;
    -*:explain) words="--list --lang --format -o --output --no-color -h --help" ;;
    *:explain) words="accelerate/import-crashed accelerate/import-failed accelerate/import-hung accelerate/missing accelerate/too-old auto-gptq/incompatible bitsandbytes/cpu-library-loaded bitsandbytes/cuda-libraries-not-found bitsandbytes/gpu-arch-missing bitsandbytes/import-crashed bitsandbytes/import-failed bitsandbytes/import-hung bitsandbytes/jetson-wheel-not-l4t bitsandbytes/macos-unsupported bitsandbytes/missing bitsandbytes/native-library-corrupt bitsandbytes/native-library-missing bitsandbytes/native-library-not-loaded bitsandbytes/no-windows-binary bitsandbytes/override-variable-wrong bitsandbytes/quantises-on-gpu-only bitsandbytes/rocm-library-missing bitsandbytes/scipy-missing bitsandbytes/too-old bitsandbytes/triton-ops-removed bitsandbytes/weights-repacked-in-evaluation bitsandbytes/wrong-cuda-library cuda/cudnn-missing cuda/cudnn-shadowed cuda/libraries-mismatched cuda/libraries-missing cuda/libraries-shadowed cuda/mixed-majors cuda/nccl-conflict cuda/nvcc-missing cuda/nvjitlink-shadowed cuda/toolkit-mismatch cuda/toolkit-too-old-for-gpu datasets/dill-mismatch datasets/pyarrow-mismatch datasets/scripts-removed datasets/too-old-for-fsspec deepspeed/missing deepspeed/no-windows-build deepspeed/too-old-for-torch deepspeed/torch-missing-at-build doctor/matrix-outdated doctor/plugin-failed doctor/prediction-differs doctor/rule-crashed driver/bound-to-vfio driver/crashes driver/cuda-number-misread driver/cuda-start-failed driver/device-nodes-not-usable driver/fabric-manager-not-running driver/gpu-not-supported driver/hangs driver/libcuda-mismatch driver/libcuda-not-on-path driver/library-not-loadable driver/library-version-mismatch driver/linux-driver-in-wsl driver/memory-sharing-fails driver/module-not-loaded driver/not-answering driver/not-installed driver/stub-library driver/too-old-for-cuda-runtime driver/too-old-for-ptx driver/uvm-broken driver/witnesses-disagree extension/compiler-too-new extension/cuda-major-mismatch extension/gpu-arch-missing extension/torch-abi-mismatch flash-attn/cuda-major-mismatch flash-attn/gpu-too-old flash-attn/import-crashed flash-attn/import-failed flash-attn/import-hung flash-attn/too-new flash-attn/too-old flash-attn/torch-abi-mismatch fleet/all-reduce-fails fleet/pair-fails fleet/rank-died fleet/rank-hung fleet/rank-missing fleet/rank-silent fleet/rendezvous-failed fleet/wrong-sum gptqmodel/too-old gpu/bf16-unsupported gpu/display-timeout gpu/exclusive-compute-mode gpu/hardware-fault gpu/held-by-other-process gpu/hidden-by-environment gpu/int8-unsupported gpu/mig-visibility gpu/none-visible-in-container gpu/not-allocated-by-slurm gpu/not-started gpu/pcie-degraded gpu/peer-to-peer-unsupported gpu/throttled huggingface-hub/hf-transfer-missing huggingface-hub/removed-symbol huggingface-hub/too-new huggingface-hub/too-old liger-kernel/too-old-for-transformers numpy/abi-mismatch numpy/too-new peft/adapter-config-from-newer peft/adapter-config-from-older peft/import-crashed peft/import-failed peft/import-hung peft/missing peft/needs-newer-transformers peft/too-old peft/too-old-for-transformers python/command-not-found python/docstrings-stripped python/duplicate-metadata python/editable-source-gone python/externally-managed python/files-missing-or-altered python/interpreter-does-not-start python/interpreter-too-old python/leftover-files python/line-not-understood python/metadata-unreadable python/module-shadowed python/no-wheel-for-version python/package-missing python/packages-overlap python/path-pollution python/path-too-long python/pkg-resources-removed python/prints-at-startup python/protobuf-too-new python/protobuf-too-old python/range-too-wide python/release-out-of-step python/requirement-unsatisfied python/site-packages-not-writable python/stack-missing python/stale-or-other-environment python/too-new-for-package python/too-old-for-package python/unresolvable-requirements report/harmless-lines rocm/device-not-usable rocm/gfx-not-in-build rocm/hidden-by-environment rocm/integrated-gpu-selected safetensors/too-old script/adapter-does-not-fit-base script/adapter-not-found script/adapter-saved-empty script/adapters-twice script/argument-not-yet script/checkpoint-does-not-fit script/checkpoint-not-found script/checkpointing-under-ddp script/compile-on-old-gpu script/cuda-before-fork script/cuda-on-macos script/data-answer-marker-not-found script/data-chat-template-missing script/data-column-missing script/data-empty script/data-encoding script/data-file-unreadable script/data-not-found script/data-not-padded script/data-roles-out-of-order script/data-without-labels script/deepspeed-config-mismatch script/device-map-under-zero3 script/device-not-there script/disk-full script/dispatched-model-moved script/evaluation-plan-incomplete script/flash-attention-in-float32 script/fp16-trainable-parameters script/fp8-on-old-gpu script/fsdp-mixed-parameters script/half-precision-on-cpu script/hub-cache-not-writable script/hub-offline script/hub-rate-limited script/hub-unreachable script/ignored-argument script/inputs-do-not-require-grad script/local-rank-argument script/loss-not-a-number script/mixed-devices script/mixed-dtypes script/model-folder-incomplete script/model-not-found script/name-not-imported script/no-trainable-parameters script/override-lacks-argument script/pad-token-missing script/plain-training-arguments script/port-in-use script/quantization-config-conflict script/quantized-model-compiled script/quantized-model-moved script/quantized-model-spread-over-devices script/quantized-model-without-adapters script/ranks-share-a-gpu script/remote-code-not-trusted script/removed-argument script/removed-symbol script/repository-not-accessible script/scaler-with-bfloat16 script/symbol-not-yet script/target-modules-not-found script/template-unknown script/tied-weights-saved script/token-id-out-of-range script/tokenizer-class-misspelt script/too-many-arguments script/unknown-argument script/unknown-symbol script/unsloth-sees-several-gpus script/vocabulary-resized script/wandb-not-logged-in script/weights-file-incomplete script/weights-on-meta-device script/weights-only-load-refused script/wrong-auto-class script/wrong-value smoke/predicted-failure smoke/stage-failed smoke/wrong-result system/build-tools-missing system/disk-full system/glibc-too-old system/library-missing system/libstdcxx-too-old system/memory-lock-limited system/openmp-loaded-twice system/paging-file-too-small system/shared-memory-too-small tokenizers/no-wheel tokenizers/too-new tokenizers/too-old torch/built-for-another-vendor torch/cpu-only-build torch/cuda-not-usable torch/files-of-two-releases torch/gpu-arch-missing torch/import-crashed torch/import-failed torch/import-hung torch/jetson-wheel-not-l4t torch/missing torch/mkl-mismatch torch/native-library-corrupt torch/replaced-by-other-install torch/torchvision-mismatch torch/windows-runtime-missing torchao/incompatible transformers/import-crashed transformers/import-failed transformers/import-hung transformers/keras-3 transformers/missing transformers/protobuf-missing transformers/remote-code-needs-older transformers/remote-code-needs-package transformers/removed-argument transformers/removed-symbol transformers/sentencepiece-missing transformers/too-old transformers/too-old-for-accelerate transformers/too-old-for-model-type transformers/torch-load-refused transformers/torch-too-old triton/cache-not-writable triton/gpu-too-new triton/libcuda-not-linkable triton/python-headers-missing triton/windows-library-not-loadable trl/import-crashed trl/import-failed trl/import-hung trl/missing trl/needs-newer-transformers trl/removed-argument trl/removed-symbol trl/rich-missing trl/too-old-for-peft trl/too-old-for-transformers trl/triton-missing unsloth/zoo-mismatch unsloth/zoo-missing workload/does-not-fit xformers/torch-mismatch" ;;
    -*:report) words="--issue-form --from --open-issue --template --max-bytes --python --quick --timeout --format -o --output --ignore -h --help" ;;
    -*:lint) words="--against --python --diff --python-version --os --arch --driver --gpu --compute-capability --gpu-memory --torch-cuda --format -o --output --ignore --strict --no-color -h --help" ;;
    -*:resolve) words="--closest --verify --python --python-version --os --arch --driver --gpu --compute-capability --gpu-memory --torch-cuda --format -o --output --strict --no-color -h --help" ;;
    -*:fix) words="--python --apply -y --yes --dry-run --undo --new-venv --as --from --torch-index --quick --timeout --format -o --output --ignore --strict --no-color -h --help" ;;
    -*:install) words="--dry-run --python --python-version --driver --gpu --compute-capability --torch-cuda --torch-index --format -o --output --strict --no-color -h --help" ;;
    -*:fit) words="--parameters --trust-remote-code --plan --method --rank --target-modules --modules-to-save --lora-dropout --dora --no-dora --adapter-config --batch-size --accumulation --sequence-length --padded --no-padded --gradient-checkpointing --no-gradient-checkpointing --optimizer --attention --dtype --double-quant --no-double-quant --kbit-upcast --no-kbit-upcast --loop --fused-loss --no-fused-loss --expandable-segments --no-expandable-segments --gpus --sharding --offload --estimator --best --table --levers --measure --bisect --limit --image --python --cpu --python-version --os --arch --driver --gpu --compute-capability --gpu-memory --torch-cuda --format -o --output --strict --no-color -h --help" ;;
    *:fit) words="deepseek-llm-7b deepseek-coder-6.7b deepseek-v2-lite deepseek-v3 gemma-2b gemma-7b gemma-2-2b gemma-2-9b gemma-2-27b gemma-3-1b gemma-3-4b gemma-3-12b gemma-3-27b glm-4-9b glm-4-9b-0414 glm-4.5-air glm-4-32b-0414 gpt-oss-20b gpt-oss-120b llama-2-7b llama-2-13b llama-2-70b llama-3-8b llama-3-70b llama-3.1-8b llama-3.1-70b llama-3.1-405b llama-3.2-1b llama-3.2-3b tinyllama-1.1b smollm2-135m smollm2-360m smollm2-1.7b smollm3-3b mistral-7b-v0.1 mistral-7b-v0.3 mistral-nemo-12b mistral-small-24b mixtral-8x7b mixtral-8x22b phi-2 phi-3-mini phi-3-mini-128k phi-3.5-mini phi-3-medium phi-3-medium-128k phi-4 phi-4-mini qwen2-0.5b qwen2-1.5b qwen2-7b qwen2-72b qwen2.5-0.5b qwen2.5-1.5b qwen2.5-3b qwen2.5-7b qwen2.5-14b qwen2.5-32b qwen2.5-72b qwen2.5-coder-1.5b qwen2.5-coder-7b qwen2.5-coder-14b qwen2.5-coder-32b deepseek-r1-distill-qwen-1.5b deepseek-r1-distill-qwen-7b qwen3-0.6b qwen3-1.7b qwen3-4b qwen3-8b qwen3-14b qwen3-32b qwen3-30b-a3b qwen2-vl-2b qwen2-vl-7b qwen2.5-vl-3b qwen2.5-vl-7b qwen3-235b-a22b yi-6b yi-9b yi-34b" ;;
    -*:watch) words="--pid --interval --limit -o --output --format --quiet --no-color -h --help" ;;
    -*:completion) words="-h --help" ;;
    -*:fleet) words="-h --help" ;;
    *:fleet) words="run compare node" ;;
    -*:fleet\ run) words="--launcher --go --dry-run -N --nodes --hosts --nproc-per-node --endpoint --backend --wait --timeout --python --doctor --option --image --mpi --at-once --format -o --output --ignore --strict --no-color -h --help" ;;
    -*:fleet\ compare) words="--expect --nodes --format -o --output --ignore --strict --no-color -h --help" ;;
    -*:fleet\ node) words="--name --collective --backend --endpoint --wait --python --timeout --output-folder -h --help" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _lora_doctor lora-doctor
