#!/usr/bin/env bash
# Builds what is published into dist/: sdist, the wheel that is built from it, and the bill of materials of the
# wheel's own environment. Publishes nothing. Needs the extra "dev"; the network, for build and installation.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist
python -m build --outdir dist
python -m twine check --strict dist/*
wheel=$(ls dist/*.whl)
[ "$(wc -c <"$wheel")" -lt 5000000 ] || { echo "release: $wheel is larger than 5 MB" >&2 && exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python -m venv --without-pip "$work/venv"
uv pip install --quiet --python "$work/venv" "$wheel"
version=$(basename "$wheel" | cut -d- -f1,2)
cyclonedx-py environment --output-reproducible --output-format JSON \
  --pyproject pyproject.toml --mc-type library --output-file "dist/$version.cdx.json" "$work/venv/bin/python"
ls -l dist
