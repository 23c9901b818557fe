#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, from a bare checkout, meant for under 10 minutes: the whole check with its proofs
# on the GPU, what was predicted against what was mapped, faults that are put in, each with the finding that must
# come first, and memory: a fine-tune measured beside its prediction, a leak under watch. Prints a table; exit code 1
# where one line is not as it must be, 3 where it cannot begin.
#   LORA_DOCTOR_TARGET  a Python that has the stack already; without it the stack is installed into .venv-gpu
#   PYTHON              the Python to build on (default: python3)
#   TORCH               what to install (default: the torch of scripts/constraints.txt)
#   TORCH_INDEX_URL     index for torch, for example https://download.pytorch.org/whl/cu128
#   WHEELS              folder of wheels to install from, hatchling among them, with no index at all
#   RESULT              file that is written (default: gpu_acceptance.json); it can be kept in tests/machines
#   REHEARSE=1          no GPU is here: do every step, compare nothing
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
result=${RESULT:-gpu_acceptance.json}
rehearse=${REHEARSE:-}
began=$SECONDS
differing=0

say() { printf '%s\n' "$*" >&2; }
die() { say "gpu_acceptance: $1"; exit 3; }

command -v "$python" >/dev/null || die "no $python is on PATH: set PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "$("$python" --version) is older than 3.10"
[ -n "$rehearse" ] || command -v nvidia-smi >/dev/null || die "no nvidia-smi is on PATH, so no GPU is here"

# ---- the doctor, and the stack where none was named

install() {
  local from=()
  if [ -n "${WHEELS:-}" ]; then from=(--no-index --find-links "$WHEELS"); fi
  .venv-gpu/bin/python -m pip install --quiet -c scripts/constraints.txt "${from[@]}" "$@"
}

[ -x .venv-gpu/bin/python ] || "$python" -m venv .venv-gpu || die "no virtual environment can be made"
if [ -n "${LORA_DOCTOR_TARGET:-}" ]; then
  target=$LORA_DOCTOR_TARGET
  say "gpu_acceptance: installing the doctor; the target is $target"
  install .
else
  target=.venv-gpu/bin/python
  say "gpu_acceptance: installing the doctor and the stack into .venv-gpu (minutes the first time)"
  if [ -n "${TORCH_INDEX_URL:-}" ]; then
    install --index-url "$TORCH_INDEX_URL" "${TORCH:-torch}"
  elif [ -n "${TORCH:-}" ]; then
    install "$TORCH"
  fi
  install '.[stack]'
fi
own=.venv-gpu/bin/python
doctor=.venv-gpu/bin/lora-doctor
work=$(mktemp -d)
copy=
trap 'rm -rf "$work" ${copy:+"$copy"}' EXIT

# ---- one line of the table

record() { "$own" scripts/machine_record.py "$@"; }

# line FAULT EXPECTED FIRST SECONDS
line() {
  local verdict=yes
  if [ "$2" != "$3" ]; then verdict=NO; fi
  if [ -n "$rehearse" ]; then verdict='(rehearsed)'
  elif [ "$verdict" = NO ]; then differing=1; fi
  printf '%-42s %-38s %-38s %5s s  %s\n' "$1" "$2" "$3" "$4" "$verdict"
}

# check_with FAULT EXPECTED PYTHON full|quick [NAME=VALUE...]
check_with() {
  local fault=$1 expected=$2 examined=$3 options=() start=$SECONDS report first
  report=$work/report-$(printf '%s' "$fault" | tr -c 'A-Za-z0-9\n' _).json
  if [ "$4" = quick ]; then options=(--quick); fi
  shift 4
  # Its exit code is that of its verdict; what counts here is the report.
  env "$@" "$doctor" check "${options[@]}" --python "$examined" --format json --output "$report" >&2 || true
  first='no report'
  if [ -s "$report" ]; then first=$(record first "$report"); fi
  line "$fault" "$expected" "$first" "$((SECONDS - start))"
}

printf '%-42s %-38s %-38s %5s    %s\n' fault 'first finding that must come' 'first finding that came' time 'as it must be'

# ---- the machine as it is

check_with 'nothing' none "$target" full
whole=$work/report-nothing.json
[ -s "$whole" ] || die "the check of the machine as it is gave no report"

# ---- faults of the surroundings

check_with 'BNB_CUDA_VERSION=118' bitsandbytes/override-variable-wrong "$target" full BNB_CUDA_VERSION=118
check_with 'BNB_CUDA_VERSION=999' bitsandbytes/override-variable-wrong "$target" full BNB_CUDA_VERSION=999
check_with 'the GPU is hidden' gpu/hidden-by-environment "$target" full CUDA_VISIBLE_DEVICES=
check_with 'NVIDIA_VISIBLE_DEVICES after the start' none "$target" quick NVIDIA_VISIBLE_DEVICES=void

# foreign SONAME ID: an empty library of that name on LD_LIBRARY_PATH. Whether this torch takes it before its own
# depends on its RPATH or RUNPATH, so an import tells what must come: ID where it fails, else nothing.
foreign() {
  local folder=$work/foreign-$1 path expected=none
  mkdir -p "$folder"
  printf 'int lora_doctor_acceptance;\n' >"$work/empty.c"
  cc -shared -fPIC -Wl,-soname,"$1" -o "$folder/$1" "$work/empty.c"
  path=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  env LD_LIBRARY_PATH="$path" "$target" -c 'import torch' >/dev/null 2>&1 || expected=$2
  check_with "a foreign $1" "$expected" "$target" full LD_LIBRARY_PATH="$path"
}

major=$("$target" -c 'import torch; print((torch.version.cuda or "").split(".")[0])')
if ! command -v cc >/dev/null || [ -z "$major" ]; then
  say "gpu_acceptance: not run, for want of a C compiler or of a CUDA torch: foreign libraries"
elif [ "$major" -lt 12 ]; then
  foreign libcudart.so.11.0 cuda/libraries-shadowed
else
  foreign "libcudart.so.$major" cuda/libraries-shadowed
  foreign "libnvJitLink.so.$major" cuda/nvjitlink-shadowed
fi

# ---- a fault of the environment itself: in a hardlinked copy, where files are unlinked and never written to

prefix=$("$target" -c 'import sys; print(sys.prefix if sys.prefix != sys.base_prefix else "")')
if [ -z "$prefix" ]; then
  say "gpu_acceptance: not run, for the target is no virtual environment: a deleted library"
else
  copy=$prefix.without-library
  rm -rf "$copy"
  cp -al "$prefix" "$copy" 2>/dev/null || cp -a "$prefix" "$copy"
  find "$copy" -path '*/bitsandbytes/libbitsandbytes_cuda*' -delete
  check_with 'the libraries of bitsandbytes are deleted' bitsandbytes/native-library-missing "$copy/bin/python" \
    full
fi

# ---- memory: a measurement beside its prediction, and a run that leaks under watch

printf '\n'
mkdir -p "$work/model"
cat >"$work/model/config.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632,
 "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000,
 "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "hidden_act": "silu", "tie_word_embeddings": false}
JSON

claims_of() {
  if ! "$own" scripts/memory_claims.py "$@" && [ -z "$rehearse" ]; then differing=1; fi
}

# measured METHOD LOOP: two steps of a model of 1.1 billion parameters, random weights.
measured() {
  local told=$work/fit-$1-$2.json place=()
  if [ -n "$rehearse" ]; then place=(--cpu --limit 1GiB); fi
  printf 'fit --measure, %s in %s\n' "$1" "$2"
  # A machine without the memory says so with its exit code; what counts here is the answer.
  "$doctor" fit "$work/model" --measure --python "$target" --method "$1" --loop "$2" --batch-size 2 \
    --sequence-length 1024 --levers none --format json --output "$told" "${place[@]}" || true
  if [ -s "$told" ]; then claims_of fit "$told"; elif [ -z "$rehearse" ]; then differing=1; fi
}

measured lora bare
measured qlora trainer

cat >"$work/leaking.py" <<'PYTHON'
import time
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(1024, 1024, device=device)
optimizer = torch.optim.AdamW(model.parameters())
kept = []
for step in range(60):
    loss = model(torch.randn(256, 1024, device=device)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(torch.zeros(1 << 22, device=device))  # 16 MiB that nobody lets go
    time.sleep(0.05)
PYTHON
printf 'watch, a run that keeps 16 MiB of each step\n'
"$doctor" watch --interval 100ms --output "$work/watched.json" --quiet -- "$target" "$work/leaking.py" || true
if [ -s "$work/watched.json" ]; then claims_of watch "$work/watched.json" memory/leak
elif [ -z "$rehearse" ]; then differing=1; fi

# ---- what must hold on the GPU, and the file that is kept

printf '\n'
if ! record claims "$whole"; then
  if [ -z "$rehearse" ]; then differing=1; fi
fi
record keep "$whole" "$result"
say "gpu_acceptance: $((SECONDS - began)) s in all; the machine is in $result"
exit "$differing"
