"""Lines that libraries, installers and Python print, each known as its fault and as no other."""

from __future__ import annotations

import pytest

from doctor.diagnosis import known_rules
from doctor.failures import shows
from doctor.triage.suspects.libraries import AMBIGUOUS

LLAMA = "meta-llama/Llama-2-7b-hf"
SITE = "/opt/conda/lib/python3.10/site-packages"
SIZES = "copying a param with shape torch.Size([32001, 4096]) from checkpoint, the shape in current model is"

MET: dict[str, tuple[str, ...]] = {
    "accelerate/missing": (
        "ModuleNotFoundError: No module named 'accelerate'",
        "ImportError: Using `bitsandbytes` 8-bit quantization requires Accelerate: `pip install accelerate`",
        "ImportError: Using `low_cpu_mem_usage=True` or a `device_map` requires Accelerate: `pip install",
        "ValueError: --deepspeed requires Accelerate to be installed: `pip install accelerate`.",
    ),
    "accelerate/too-old": (
        "To automatically compute the appropriate device map, you should upgrade your `accelerate` library,",
        "ValueError: `device_map=balanced` requires a source install of Accelerate.",
        "clear_device_cache could not be found in accelerate.utils.memory",
        "ValueError: You can't train a model that has been loaded in 8-bit precision on a different device",
        "RuntimeError: Setting `recursive=True` requires `accelerate` v0.29.0. Please upgrade your "
        "version of accelerate",
    ),
    "auto-gptq/incompatible": (
        "ImportError: Found an incompatible version of auto-gptq. Found version 0.4.2, but only versions",
    ),
    "bitsandbytes/missing": (
        "ImportError: You tried to instantiate bnb Adam optimizer but `bitsandbytes` is not installed",
    ),
    "bitsandbytes/too-old": (
        "AttributeError: 'MatmulLtState' object has no attribute 'memory_efficient_backward'",
    ),
    "datasets/dill-mismatch": ("AttributeError: module 'dill._dill' has no attribute 'log'",),
    "datasets/pyarrow-mismatch": (
        "ValueError: pyarrow.lib.IpcWriteOptions size changed, may indicate binary incompatibility.",
    ),
    "datasets/scripts-removed": (
        "RuntimeError: Dataset scripts are no longer supported, but found squad.py",
        "`trust_remote_code` is not supported anymore.",
    ),
    "datasets/too-old-for-fsspec": (
        "NotImplementedError: Loading a dataset cached in a LocalFileSystem is not supported.",
    ),
    "deepspeed/missing": (
        "ImportError: DeepSpeed is not available => install it using `pip3 install deepspeed`",
    ),
    "deepspeed/no-windows-build": ("AssertionError: Unable to pre-compile async_io",),
    "deepspeed/too-old-for-torch": (
        "ModuleNotFoundError: No module named 'torch._six'",
        "cannot import name '_get_socket_with_port' from 'torch.distributed.elastic.agent.server.api'",
    ),
    "deepspeed/torch-missing-at-build": ("[WARNING] Unable to pre-compile ops without torch installed",),
    "huggingface-hub/hf-transfer-missing": (
        "ValueError: Fast download using 'hf_transfer' is enabled (HF_HUB_ENABLE_HF_TRANSFER=1) but",
    ),
    "script/hub-offline": (
        "OfflineModeIsEnabled: Cannot reach https://hf.co/x: offline mode is enabled. To disable it, "
        "please unset the `HF_HUB_OFFLINE` environment variable.",
        "LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has",
    ),
    "script/hub-rate-limited": ("HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://x",),
    "script/hub-unreachable": (
        "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the",
        "ConnectionError: Couldn't reach 'tatsu-lab/alpaca' on the Hub (ConnectionError)",
        "requests.exceptions.SSLError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries",
        "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed",
    ),
    "peft/adapter-config-from-newer": (
        "TypeError: LoraConfig.__init__() got an unexpected keyword argument 'eva_config'",
        'TypeError: __init__() got an unexpected keyword argument "layer_replication"',
    ),
    "peft/adapter-config-from-older": (
        "TypeError: __init__() got an unexpected keyword argument 'enable_lora'",
        "ValueError: OFT has been updated since PEFT 0.14.0. Your trained adapter weights are incompatible",
    ),
    "peft/missing": ("ImportError: PEFT is not available. Please install PEFT to use this function: `pip`",),
    "peft/too-old": (
        "ValueError: Target modules all-linear not found in the base model. Please check the target modules",
        "ValueError: Target modules {'all-linear'} not found in the base model.",
        "ValueError: Target module QuantLinear() is not supported. Currently, only the following modules are",
        "ValueError: The version of PEFT you are using is not compatible, please use a version that is "
        "greater than 0.5.0",
    ),
    "python/command-not-found": (
        "bash: huggingface-cli: command not found",
        "zsh: command not found: accelerate",
        "'torchrun' is not recognized as an internal or external command,",
    ),
    "python/externally-managed": ("error: externally-managed-environment",),
    "python/files-missing-or-altered": (
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
        "ModuleNotFoundError: No module named 'tokenizers._C'",
    ),
    "python/leftover-files": (f"WARNING: Ignoring invalid distribution -ransformers ({SITE})",),
    "python/metadata-unreadable": ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0",),
    "python/module-shadowed": (
        "AttributeError: partially initialized module 'torch' has no attribute 'nn' (most likely due to a "
        "circular import)",
        "ModuleNotFoundError: No module named 'datasets.arrow_dataset'; 'datasets' is not a package",
        "ImportError: cannot import name 'load_dataset' from 'datasets' (unknown location)",
        "AttributeError: module 'torch' has no attribute '__version__'",
    ),
    "python/no-wheel-for-version": (
        "ERROR: flash_attn-2.5.8-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.",
        "ERROR: Failed building wheel for sentencepiece",
        "error: can't find Rust compiler",
    ),
    "python/package-missing": (
        "ModuleNotFoundError: No module named 'einops'",
        "ImportError: No module named rouge_chinese",
    ),
    "python/path-too-long": (
        "HINT: This error might have occurred since this system does not have Windows Long Path "
        "support enabled.",
    ),
    "python/pkg-resources-removed": (
        'ModuleNotFoundError: No module named "pkg_resources"',
        "No module named pkg_resources",
        "ImportError: cannot import name 'packaging' from 'pkg_resources'",
    ),
    "python/protobuf-too-new": ("TypeError: Descriptors cannot be created directly.",),
    "python/protobuf-too-old": ("ImportError: cannot import name 'builder' from 'google.protobuf.internal'",),
    "python/requirement-unsatisfied": ("trl 0.9.6 requires tyro>=0.5.11, which is not installed.",),
    "python/site-packages-not-writable": (
        f"OSError: [Errno 13] Permission denied: '{SITE}/torch'",
        "ERROR: Could not install packages due to an OSError: [WinError 5] Access is denied",
    ),
    "python/stale-or-other-environment": (
        "AttributeError: module 'pyarrow.lib' has no attribute 'ListViewType'",
        "Restarting the kernel fixed it for me",
        "it works after a restart",
    ),
    "python/too-new-for-package": (
        "ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/python3.10/collections/)",
        "ModuleNotFoundError: No module named 'distutils'",
        "ValueError: mutable default <class 'list'> for field names is not allowed: use default_factory",
    ),
    "python/too-old-for-package": (
        "TypeError: unsupported operand type(s) for |: 'type' and 'NoneType'",
        "AttributeError: module 'sys' has no attribute 'get_int_max_str_digits'",
    ),
    "python/unresolvable-requirements": (
        "error: your project's requirements are unsatisfiable.",
        "ERROR: Could not find a version that satisfies the requirement peft>=9 (from versions: 0.1.0,",
        "LibMambaUnsatisfiableError: Encountered problems while solving:",
    ),
    "script/adapter-does-not-fit-base": (
        "size mismatch for base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight: copying a "
        "param with shape torch.Size([8, 4096]) from checkpoint, the shape in current model is",
    ),
    "script/adapter-not-found": ("ValueError: Can't find 'adapter_config.json' at './outputs'",),
    "script/adapter-saved-empty": (
        "size mismatch for base_model.model.layers.0.mlp.up_proj.lora_B.default.weight: copying a param with "
        "shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([14336, 8]).",
    ),
    "script/adapters-twice": (
        "ValueError: You passed a `PeftModel` instance together with a `peft_config` to",
    ),
    "script/checkpoint-not-found": ("ValueError: Can't find a valid checkpoint at outputs/checkpoint-10",),
    "script/checkpoint-does-not-fit": (
        "ValueError: loaded state dict contains a parameter group that doesn't match the size of",
    ),
    "script/wrong-auto-class": (
        "ValueError: Unrecognized configuration class <class 'Qwen2VLConfig'> for this kind of AutoModel: X",
    ),
    "script/checkpointing-under-ddp": (
        "RuntimeError: Expected to mark a variable ready only once. This error is caused by",
    ),
    "script/data-answer-marker-not-found": (
        "UserWarning: Could not find response key `[29901]` in the following",
    ),
    "script/data-chat-template-missing": (
        "ValueError: Cannot use apply_chat_template() because tokenizer.chat_template is not set and no",
    ),
    "script/data-column-missing": (
        "KeyError: 'text'",
        "KeyError: 'instruction'",
        "ValueError: Column name ['labels'] not in the dataset. Current columns in the dataset: ['a']",
        "ValueError: No columns in the dataset match the model's forward method signature.",
    ),
    "script/data-empty": (
        "ValueError: num_samples should be a positive integer value, but got num_samples=0",
        "IndexError: Invalid key: 0 is out of bounds for size 0",
    ),
    "script/data-encoding": ("UnicodeDecodeError: 'gbk' codec can't decode byte 0x80 in position 14",),
    "script/data-file-unreadable": (
        "pyarrow.lib.ArrowInvalid: JSON parse error: Column(/output) changed from string to array in row 12",
        "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset",
    ),
    "script/data-not-found": ("FileNotFoundError: Couldn't find any data file at /data/train.",),
    "script/data-not-padded": (
        "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with",
        "ValueError: expected sequence of length 512 at dim 1 (got 300)",
    ),
    "script/data-roles-out-of-order": (
        "TemplateError: Conversation roles must alternate user/assistant/user/",
    ),
    "script/data-without-labels": (
        "ValueError: The model did not return a loss from the inputs, only the keys",
    ),
    "script/deepspeed-config-mismatch": (
        "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments "
        "values:",
    ),
    "script/device-map-under-zero3": (
        "ValueError: DeepSpeed Zero-3 is not compatible with `low_cpu_mem_usage`",
    ),
    "script/dispatched-model-moved": (
        "RuntimeError: You can't move a model that has some modules offloaded to cpu or disk.",
    ),
    "script/evaluation-plan-incomplete": ("ValueError: Trainer: evaluation requires an eval_dataset.",),
    "script/half-precision-on-cpu": ("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'",),
    "script/hub-cache-not-writable": ("PermissionError: [Errno 13] Permission denied: '/root/.cache/hub'",),
    "script/unsloth-sees-several-gpus": (
        "RuntimeError: Unsloth currently does not support multi GPU setups - but we are working on it!",
    ),
    "script/fp16-trainable-parameters": (
        "ValueError: Attempting to unscale FP16 gradients.",
        "Attemptting to unscale fp16 Gradients",
    ),
    "script/fsdp-mixed-parameters": ("ValueError: Must flatten tensors with uniform `requires_grad` when",),
    "script/inputs-do-not-require-grad": (
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        "UserWarning: None of the inputs have requires_grad=True. Gradients will be None",
    ),
    "script/local-rank-argument": ("train.py: error: unrecognized arguments: --local-rank=0",),
    "script/loss-not-a-number": (
        "step 40: loss=nan",
        "eval_loss : nan",
        "{'loss': 0.0, 'learning_rate': 0.0003, 'epoch': 0.01}",
        "{'eval_loss': nan, 'eval_runtime': 3.1}",
        "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
    ),
    "script/mixed-devices": (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0",
    ),
    "script/mixed-dtypes": (
        "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16",
        "RuntimeError: expected scalar type Half but found Float",
    ),
    "script/model-folder-incomplete": (
        f"OSError: {LLAMA} does not appear to have a file named config.json. Checkout",
        "OSError: Error no file named pytorch_model.bin, tf_model.h5 found in directory ./out.",
    ),
    "script/model-not-found": (
        "OSError: ./lama is not a local folder and is not a valid model identifier listed on 'https://x'",
        "HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name':",
    ),
    "script/name-not-imported": ("NameError: name 'LoraConfig' is not defined",),
    "script/no-trainable-parameters": ("ValueError: optimizer got an empty parameter list",),
    "script/override-lacks-argument": (
        "TypeError: MyTrainer.training_step() takes 3 positional arguments but 4 were given",
    ),
    "script/pad-token-missing": (
        "ValueError: Asking to pad but the tokenizer does not have a padding token.",
    ),
    "script/plain-training-arguments": ("'TrainingArguments' object has no attribute 'padding_value'",),
    "script/port-in-use": (
        "RuntimeError: The server socket has failed to listen on any local network address.",
    ),
    "script/quantization-config-conflict": (
        "ValueError: You can't pass `load_in_4bit`or `load_in_8bit` as a kwarg when passing",
    ),
    "script/quantized-model-compiled": (
        "ValueError: You cannot fine-tune quantized model with `torch.compile()`",
    ),
    "script/quantized-model-moved": (
        "ValueError: `.to` is not supported for `4-bit` or `8-bit` bitsandbytes models. Please use the model",
        "ValueError: Calling `cuda()` is not supported for `8-bit` quantized models.",
        "ValueError: `.half()` is not supported for quantized model. Please use the model as it is",
    ),
    "script/quantized-model-spread-over-devices": (
        "ValueError: You can't train a model that has been loaded in 8-bit precision on multiple devices in"
        "distributed mode.",
        "You can't train a model that has been loaded in 8-bit or 4-bit precision on a different device than",
    ),
    "script/quantized-model-without-adapters": (
        "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable",
    ),
    "script/remote-code-not-trusted": (
        f"The repository for {LLAMA} contains custom code which must be executed to correctly load the",
    ),
    "script/repository-not-accessible": (
        f"OSError: You are trying to access a gated repo.\nMake sure to have access to it at {LLAMA}.",
        "Repository Not Found for url: https://huggingface.co/api/models/x/y.",
        f"Access to model {LLAMA} is restricted and you are not in the authorized list.",
    ),
    "script/target-modules-not-found": (
        "ValueError: Target modules ['q_proj', 'k_proj'] not found in the base model. Please check",
        "ValueError: Target modules [c_attn] not found in the base model.",
        "ValueError: Target modules {'q_proj', 'v_proj'} not found in the base model.",
        "ValueError: Please specify `target_modules` in `peft_config`",
        "ValueError: Target module GPTNeoXMLP() is not supported. Currently, only `torch.nn.Linear` and",
    ),
    "script/template-unknown": ("ValueError: Template chatglm9 does not exist.",),
    "script/tied-weights-saved": (
        "RuntimeError: Some tensors share memory, this will lead to duplicate memory on",
    ),
    "script/token-id-out-of-range": (
        "RuntimeError: CUDA error: device-side assert triggered",
        "Indexing.cu:1292: block: [1,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
        "IndexError: index out of range in self",
    ),
    "script/tokenizer-class-misspelt": (
        "ValueError: Tokenizer class LLaMATokenizer does not exist or is not currently imported.",
    ),
    "script/unknown-argument": (
        "ValueError: Some specified arguments are not used by the HfArgumentParser: ['-x']",
    ),
    "script/vocabulary-resized": (
        f"size mismatch for base_model.model.lm_head.weight: {SIZES} torch.Size([32000, 4096]).",
        f"size mismatch for base_model.model.model.embed_tokens.weight: {SIZES}",
        "size mismatch for transformer.wte.weight: copying a param",
    ),
    "script/wandb-not-logged-in": (
        "wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login",
    ),
    "script/weights-file-incomplete": (
        "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
        "_pickle.UnpicklingError: invalid load key, 'v'.",
    ),
    "script/weights-on-meta-device": ("NotImplementedError: Cannot copy out of meta tensor; no data!",),
    "script/weights-only-load-refused": (
        "_pickle.UnpicklingError: Weights only load failed. This file can still",
    ),
    "script/wrong-value": ("ValueError: 'adamw_bnb' is not a valid OptimizerNames, please select one of",),
    "tokenizers/no-wheel": (
        "ERROR: Failed building wheel for tokenizers",
        "error: casting `&T` to `&mut T` is undefined behavior, even if the reference is unused",
        "error: can't find Rust compiler",
    ),
    "tokenizers/too-old": (
        "Exception: data did not match any variant of untagged enum ModelWrapper at line 1",
    ),
    "torch/cpu-only-build": (
        "ImportError: Unsloth: Please install unsloth_zoo via `pip install unsloth_zoo`",
    ),
    "torchao/incompatible": (
        "ImportError: Found an incompatible version of torchao. Found version 0.14.1, but only versions",
        "ImportError: cannot import name 'LinearActivationQuantizedTensor' from 'torchao.quantization'",
    ),
    "transformers/keras-3": (
        "ValueError: Your currently installed version of Keras is Keras 3, but this is",
    ),
    "transformers/protobuf-missing": (
        "LlamaConverter requires the protobuf library but it was not found in your environment.",
    ),
    "transformers/remote-code-needs-older": (
        "AttributeError: 'ChatGLMTokenizer' object has no attribute 'sp_tokenizer'. Did you mean:",
        "TypeError: ChatGLMTokenizer._pad() got an unexpected keyword argument 'padding_side'",
        "TypeError: BaiChuanForCausalLM._set_gradient_checkpointing() got an unexpected keyword argument "
        "'enable'",
        "AttributeError: 'DynamicCache' object has no attribute 'get_max_length'",
    ),
    "transformers/remote-code-needs-package": (
        "ImportError: This modeling file requires the following packages that were not found in "
        "your environment: einops. Run `pip install einops`",
    ),
    "transformers/removed-argument": (
        "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'",
        "TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'load_in_4bit'",
    ),
    "transformers/removed-symbol": ("ImportError: cannot import name 'AdamW' from 'transformers'",),
    "transformers/sentencepiece-missing": (
        "ImportError: LlamaTokenizer requires the SentencePiece library but it was not found in your",
        "ValueError: Couldn't instantiate the backend tokenizer from one of: ",
    ),
    "transformers/too-old": (
        "ImportError: This example requires a minimum version of 4.41.0.dev0, but the version found "
        "is 4.38.2.",
        "TypeError: got an unexpected keyword argument 'load_in_4bit'",
    ),
    "transformers/too-old-for-model-type": (
        "The checkpoint you are trying to load has model type `qwen3` but Transformers does not "
        "recognize this architecture.",
        "ValueError: `rope_scaling` must be a dictionary with two fields, `type` and `factor`, got {'factor':"
        "8.0, 'low_freq_factor': 1.0, 'rope_type': 'llama3'}",
        "ValueError: Tokenizer class Qwen2Tokenizer does not exist or is not currently imported.",
    ),
    "transformers/torch-load-refused": (
        "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we",
    ),
    "transformers/torch-too-old": (
        "Disabling PyTorch because PyTorch >= 2.4 is required but found 2.2.1",
        "AttributeError: module 'torch' has no attribute 'compiler'",
        "ImportError: cannot import name 'DTensor' from 'torch.distributed.tensor'",
        "AttributeError: module 'torch.utils._pytree' has no attribute 'register_pytree_node'",
    ),
    "trl/removed-argument": (
        "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'",
        "TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'",
    ),
    "trl/removed-symbol": (
        "ImportError: cannot import name 'DataCollatorForCompletionOnlyLM' from 'trl'",
        "AttributeError: module 'trl' has no attribute 'PPOTrainer'",
    ),
    "unsloth/zoo-mismatch": (
        "ImportError: cannot import name 'patch_compiled_autograd' from 'unsloth_zoo.patching_utils'",
        "ImportError: Unsloth: Please install unsloth_zoo via `pip install unsloth_zoo`",
    ),
    "unsloth/zoo-missing": ("ModuleNotFoundError: No module named 'unsloth_zoo'",),
    "workload/does-not-fit": (
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 180355072 bytes.",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "torch.distributed.elastic.multiprocessing.api: failed (exitcode: -9) local_rank: 0",
        "subprocess.CalledProcessError: Command '['python', 't.py']' died with <Signals.SIGKILL: 9>.",
        "run.sh: line 12:  1234 Killed                  python train.py",
        "ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM",
        "OSError: The paging file is too small for this operation to complete. (os error 1455)",
    ),
}
LINES = [(id, line) for id, lines in MET.items() for line in lines]


def ids_of(line: str) -> set[str]:
    """Every fault whose own words a line has."""
    return {rule.id for rule in known_rules() if any(shows(symptom, line) for symptom in rule.symptoms)}


def suspects_of(line: str) -> list[str]:
    """The faults that are told apart by more than the line."""
    rows = [row for row in AMBIGUOUS if shows(row.message, line)]
    return [suspect.id for row in rows for suspect in row.suspects]


@pytest.mark.parametrize(("id", "line"), LINES, ids=[f"{id}: {line[:30]}" for id, line in LINES])
def test_a_line_is_known_as_its_fault_and_as_no_other(id: str, line: str) -> None:
    suspects = suspects_of(line)
    assert ids_of(line) == {id} or id in suspects


@pytest.mark.parametrize("id", [rule.id for rule in known_rules() if rule.id.startswith("workload/")])
def test_plans_that_do_not_fit_are_met(id: str) -> None:
    assert id in MET
