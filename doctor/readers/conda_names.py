"""conda's names and match specifications in PyPI's words.

Reference: https://docs.conda.io/projects/conda/en/stable/user-guide/concepts/pkg-specs.html
"""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from doctor.readers.requirement import NoRequirement
from doctor.wanted import Requirement

# Names that differ; most packages of conda-forge are called as on PyPI.
PYPI_NAMES = {
    "pytorch": "torch",
    "pytorch-gpu": "torch",
    "pytorch-cpu": "torch",
    "huggingface_hub": "huggingface-hub",
    "msgpack-python": "msgpack",
    "pytables": "tables",
    "opencv": "opencv-python",
    "py-opencv": "opencv-python",
    "arrow-cpp": "",
    "libtorch": "",
    "tensorboard-base": "tensorboard",
    "flash-attn": "flash-attn",
    "python-flatbuffers": "flatbuffers",
    "numpy-base": "numpy",
    "protobuf-python": "protobuf",
}
# What conda manages and PyPI does not know by that name.
NO_PACKAGES = re.compile(
    r"(?:_.*|lib.*|cuda(?:-.*|toolkit)?|cudnn|nccl|mkl.*|openssl|ca-certificates|blas|gcc.*|gxx.*|ld_impl.*"
    r"|ncurses|readline|sqlite|tk|xz|zlib|bzip2|zstd|python_abi|pytorch-mutex|intel-openmp|ffmpeg|git)$"
)
SPEC = re.compile(r"(?:[\w./:-]+::)?([A-Za-z0-9_.-]+)\s*(?:\[[^\]]*\])?\s*(.*)$")
CUDA = ("pytorch-cuda", "cuda-version", "cudatoolkit")


def pypi_name(name: str) -> str:
    """The PyPI name of a conda package, "" where it is no Python package."""
    if name in PYPI_NAMES:
        return PYPI_NAMES[name]
    return "" if NO_PACKAGES.match(name) else canonicalize_name(name)


def split_spec(text: str) -> tuple[str, str]:
    """Name and bounds of a match specification: "conda-forge::numpy=1.26=py311_0" is numpy, "=1.26"."""
    spec = SPEC.match(text.strip())
    if not spec:
        raise NoRequirement("it is no match specification of conda")
    return spec[1].lower(), bounds_of(spec[2].strip())


def bounds_of(text: str) -> str:
    """Version bounds as PEP 440 has them; the build string behind them says nothing of the release."""
    if not text or text == "*":
        return ""
    if text.startswith("=") and not text.startswith("=="):
        version, _, build = text[1:].partition("=")
        return f"=={version}" if build or version.endswith("*") else f"=={version}.*"
    parts = text.split()[0] if not text.split()[0].endswith((",", ">", "<", "=")) else text.replace(" ", "")
    if parts[:1].isdigit():  # "numpy 1.26" is exact, "numpy 1.26.*" a prefix
        return f"=={parts}"
    return parts


def of_match_spec(text: str) -> Requirement | None:
    """A match specification as a requirement, None for what is no Python package."""
    name, bounds = split_spec(text)
    package = pypi_name(name)
    if not package or name == "python" or name in CUDA:
        return None
    return Requirement(name=package, specifier=checked(bounds), text=text.strip())


def checked(bounds: str) -> str:
    """Bounds that PEP 440 understands. Raises :class:`NoRequirement` for others, such as an "or"."""
    try:
        return str(SpecifierSet(bounds))
    except InvalidSpecifier:
        raise NoRequirement(f"its bounds {bounds!r} cannot be read") from None
