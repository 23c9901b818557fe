#!/usr/bin/env bash
# Makes .venv-test, installs the doctor with its tools, and runs every check: style, types, layers, tests.
# Further arguments go to pytest.
#   PYTHON            the Python to build on (default: python3)
#   TORCH_INDEX_URL   index for the torch of the test environments
#   LORA_DOCTOR_LAB   folder that keeps the test environments between runs
set -euo pipefail
cd "$(dirname "$0")/.."
"${PYTHON:-python3}" -m venv .venv-test
.venv-test/bin/python -m pip install --quiet -e '.[dev]'
export PATH="$PWD/.venv-test/bin:$PATH"
ruff format --check .
ruff check .
mypy --strict doctor
lint-imports
exec pytest "$@"
