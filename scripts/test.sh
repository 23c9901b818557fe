#!/usr/bin/env bash
# Makes .venv-test, installs the doctor with its tools, and runs every check: style, types, layers, tests;
# then the unit tests once more on each other supported Python that this machine has.
# Arguments go to the first pytest, and then nothing is run on other Pythons.
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
python scripts/write_pages.py --check
python scripts/write_memory_tables.py --check
pytest "$@"
[ $# -eq 0 ] || exit 0

ours=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for version in 3.10 3.11 3.12 3.13; do
  [ "$version" != "$ours" ] || continue
  # pyenv keeps its interpreters off PATH; uv finds the others.
  other=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python 2>/dev/null | tail -n 1 || true)
  [ -n "$other" ] || other=$(uv python find --no-python-downloads "$version" 2>/dev/null || true)
  if [ -z "$other" ]; then
    echo "Python $version is not on this machine: its unit tests were not run"
    continue
  fi
  uv venv --quiet --clear --no-python-downloads --python "$other" ".venv-test-$version"
  uv pip install --quiet --python ".venv-test-$version" -e '.[test]'
  echo "unit tests on Python $version"
  ".venv-test-$version/bin/python" -m pytest --quiet -m "not environments"
done
