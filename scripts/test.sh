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
python scripts/write_schemas.py --check
python scripts/write_man.py --check
python scripts/write_completion.py --check
# The examples of hypothesis are the same in every run; a bare pytest looks for new ones.
pytest --hypothesis-profile=ci "$@"
[ $# -eq 0 ] || exit 0

# On each other Python that this machine has, two at a time; what a run says is printed when it is done.
unit_tests_on() {
  other=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python 2>/dev/null | tail -n 1 || true)
  # pyenv keeps its interpreters off PATH; uv finds the others.
  [ -n "$other" ] || other=$(uv python find --no-python-downloads "$1" 2>/dev/null || true)
  if [ -z "$other" ]; then
    echo "Python $1 is not on this machine: its unit tests were not run"
    return
  fi
  uv venv --quiet --clear --no-python-downloads --python "$other" ".venv-test-$1"
  uv pip install --quiet --python ".venv-test-$1" -e '.[test]'
  code=0
  ".venv-test-$1/bin/python" -m pytest --quiet -m "not environments" \
    -p no:cacheprovider --hypothesis-profile=ci >".venv-test-$1/said" 2>&1 || code=$?
  echo "unit tests on Python $1"
  tail -n 60 ".venv-test-$1/said"
  return "$code"
}
export -f unit_tests_on
ours=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
printf '%s\n' 3.10 3.11 3.12 3.13 | grep -vxF "$ours" |
  xargs -P 2 -I {} bash -euo pipefail -c 'unit_tests_on {}'
