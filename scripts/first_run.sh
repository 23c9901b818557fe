#!/usr/bin/env bash
# Makes .venv beside this folder, installs the doctor with the whole stack, and runs the check.
# Run again, it takes up what is there.
#   PYTHON            the Python to build on (default: python3)
#   TORCH_INDEX_URL   index for torch, for example https://download.pytorch.org/whl/cpu
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }
die() { say "first_run: $1"; say "           $2"; exit 3; }

command -v "$python" >/dev/null || die "no $python is on PATH" "install Python 3.10 or newer, or set PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  die "$("$python" --version) is too old" "set PYTHON to a Python 3.10 or newer"
if [ ! -x .venv/bin/python ]; then
  "$python" -m venv .venv || die "no virtual environment can be made" "on Debian and Ubuntu: apt install python3-venv"
fi
if [ -n "${TORCH_INDEX_URL:-}" ]; then
  .venv/bin/python -m pip install --quiet -c scripts/constraints.txt --index-url "$TORCH_INDEX_URL" torch
fi
say "first_run: installing the doctor and the stack into .venv (minutes the first time)"
.venv/bin/python -m pip install --quiet -c scripts/constraints.txt '.[stack]'
exec .venv/bin/lora-doctor check --python .venv "$@"
