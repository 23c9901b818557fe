"""The wheels of bitsandbytes for every system, read as they are published."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from uv import find_uv_bin

from doctor.objects import SharedObject, elf, macho, pe
from doctor.objects.fatbin import architectures

pytestmark = pytest.mark.environments
RELEASE = "bitsandbytes==0.50.2"
PLATFORMS = {
    "windows": "x86_64-pc-windows-msvc",
    "macos": "aarch64-apple-darwin",
    "linux": "x86_64-manylinux_2_28",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The installed folder of bitsandbytes for a system."""
    made: dict[str, Path] = {}

    def of(system: str) -> Path:
        if system not in made:
            folder = tmp_path_factory.mktemp(system)
            command = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
            command += ["--python-platform", PLATFORMS[system], "--python-version", "3.12"]
            command += ["--python", sys.executable, "--only-binary", ":all:", RELEASE]
            env = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}  # older ones have no wheel
            subprocess.run(command, check=True, env=env)
            made[system] = folder / "bitsandbytes"
        return made[system]

    return of


def read(path: Path, reader: Callable[[IO[bytes], int], SharedObject]) -> SharedObject:
    with path.open("rb") as file:
        return reader(file, path.stat().st_size)


def test_dlls(wheel: Callable[[str], Path]) -> None:
    found = read(wheel("windows") / "libbitsandbytes_cuda130.dll", pe.read_object)
    assert (found.machine, found.damage) == ("x86_64", "")
    assert {"cublas64_13.dll", "cublasLt64_13.dll", "KERNEL32.dll"} <= set(found.needed)


def test_a_dylib(wheel: Callable[[str], Path]) -> None:
    found = read(wheel("macos") / "libbitsandbytes_cpu.dylib", macho.read_object)
    assert (found.machine, found.soname) == ("arm64", "@rpath/libbitsandbytes_cpu.dylib")
    assert "/usr/lib/libSystem.B.dylib" in found.needed


OLDER = ("sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "compute_90")
NEWER = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "compute_120")


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("118", OLDER),
        ("126", OLDER),
        ("128", ("sm_70", "sm_75", *NEWER)),
        ("130", ("sm_75", *NEWER)),
        ("132", ("sm_75", *NEWER)),
    ],
)
def test_gpu_code(wheel: Callable[[str], Path], cuda: str, expected: tuple[str, ...]) -> None:
    path = wheel("linux") / f"libbitsandbytes_cuda{cuda}.so"
    with path.open("rb") as file:
        assert architectures(file, path.stat().st_size) == expected
    needed = read(path, elf.read_object).needed
    assert any(name.startswith(f"libcudart.so.{cuda[:2]}") for name in needed)
