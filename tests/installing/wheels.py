"""Tiny wheels of our own making, and a host whose pip sees nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from doctor.host import LocalHost
from doctor.resolution import Resolution

HIDDEN = ("PIP_", "UV_", "VIRTUAL_ENV", "PYTHONPATH", "CONDA", "TORCH_INDEX_URL")


def wheel(folder: Path, name: str, version: str, source: str = "", requires: Sequence[str] = ()) -> Path:
    """A wheel of one package with two modules."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files = {
        f"{module}/__init__.py": source or f"__version__ = {version!r}\n",
        f"{module}/more.py": "x = 1\n" * 50,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={digest(text)},{len(text)}\n" for path, text in files.items()]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_in, text in files.items():
            archive.writestr(name_in, text)
    return path


def digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def wheels_of(folder: Path, constraints: Sequence[str]) -> Path:
    """A folder with a tiny wheel of each."""
    for one in constraints:
        name, _, version = one.partition("==")
        wheel(folder, name, version)
    return folder


def simple_index(folder: Path, wheel: Path) -> str:
    """The address of a package index (PEP 503) that has one wheel."""
    page = folder / "simple" / wheel.name.split("-")[0] / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f'<!doctype html><a href="{wheel.as_uri()}">{wheel.name}</a>')
    return (folder / "simple").as_uri()


def environment(folder: Path, wheels: Path, programs: Path | None = None) -> dict[str, str]:
    """Variables under which pip and uv know these wheels alone; without ``programs`` pip is the installer."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    for name in ("pip", "setuptools", "wheel"):  # what uv puts into a new environment
        wheel(wheels, name, "1.0")
    (folder / "no-programs").mkdir(parents=True, exist_ok=True)
    return {
        **kept,
        "PATH": str(programs or folder / "no-programs"),
        "HOME": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_INDEX": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_TARGET": str(folder / "astray"),  # a user's own setting, which must not be followed here
        "UV_FIND_LINKS": str(wheels),
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(folder / "uv-cache"),
    }


def with_uv(folder: Path, wheels: Path) -> dict[str, str]:
    """The same with uv on PATH."""
    from uv import find_uv_bin

    return environment(folder, wheels, Path(find_uv_bin()).parent)


def host_with(env: Mapping[str, str]) -> LocalHost:
    host = LocalHost()
    host.env = dict(env)
    return host


def resolution(*constraints: str, variant: str = "cpu", index_url: str = "") -> Resolution:
    pins = dict(one.partition("+")[0].split("==") for one in constraints)
    return Resolution(
        pins=pins, torch_variant=variant, python="3.11", constraints=constraints, index_url=index_url
    )
