"""The prediction for real environments, held against what importing torch and bitsandbytes there maps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from doctor.host import LocalHost
from doctor.linking.library import link
from doctor.linking.loader import Process
from doctor.linking.torch_import import open_torch
from doctor.native import Linkage, NativeLibrary
from doctor.objects.fatbin import architectures
from doctor.objects.store import Objects
from doctor.probes import Looks, linkage
from doctor.target import Target

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this is the loader of Linux")

# Imports torch as a training does and opens one library of bitsandbytes behind it.
PROGRAM = """
import ctypes, json, os, sys
def mapped():
    with open("/proc/self/maps") as maps:
        return sorted({line.split(None, 5)[5].strip() for line in maps if ".so" in line})
def attempt(stage, work):
    try:
        work()
        error = ""
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    print("\\n@" + json.dumps([stage, error, mapped()]), flush=True)
    return not error
def import_torch():
    import torch
if attempt("torch", import_torch) and len(sys.argv) > 1:
    attempt("bitsandbytes", lambda: ctypes.cdll.LoadLibrary(sys.argv[1]))
"""
LIBRARY = re.compile(r"lib[^/]*\.so[\d.]*$")
GLIBC = re.compile(r"(?:lib(?:c|m|dl|rt|pthread|util|resolv|mvec)|ld-linux[\w-]*)[.-]")


class Real(NamedTuple):
    """What one stage of the child came to."""

    error: str
    mapped: frozenset[str]  # libraries outside glibc


def real(python: str, library: str, env: Mapping[str, str]) -> dict[str, Real]:
    """Stages of the child; one that is absent killed it."""
    done = subprocess.run(
        [python, "-c", PROGRAM, *([library] if library else [])],
        env={**os.environ, "OMP_NUM_THREADS": "1", **env},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    told = [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("@")]
    return {
        stage: Real(error, frozenset(path for path in mapped if is_library(path)))
        for stage, error, mapped in told
    }


def is_library(path: str) -> bool:
    name = os.path.basename(path)
    return bool(LIBRARY.fullmatch(name)) and not GLIBC.match(name)


def predicted(python: str, env: Mapping[str, str], cache: Path) -> Linkage:
    host = LocalHost()
    host.env = {**host.env, "XDG_CACHE_HOME": str(cache), **env}
    looks = Looks(host, Target(python, "--python"))
    looks.quick = True
    told = linkage.probe(looks)
    assert isinstance(told, Linkage), told
    return told


def held(library: NativeLibrary | None, seen: Real | None) -> NativeLibrary:
    """The prediction of one library against what was seen of it."""
    assert library
    assert bool(library.fault or library.missing) == (seen is None or bool(seen.error)), (library, seen)
    if seen and not seen.error:
        told = {one.path for one in library.dependencies if is_library(one.path)}
        assert told <= seen.mapped, told - seen.mapped
        # What came by other ways, as the libraries of numpy, has no name in common with what was told.
        names = {os.path.basename(path) for path in told}
        assert {path for path in seen.mapped if os.path.basename(path) in names} == told
    elif seen and (fault := next(iter(library.missing), None)):
        assert any(one.name in seen.error for one in library.missing), (fault, seen.error)
    return library


@pytest.mark.environments
def test_a_healthy_stack(base_python: str, tmp_path: Path) -> None:
    told = predicted(base_python, {}, tmp_path)
    torch, ours = told.library_of("torch"), told.library_of("bitsandbytes")
    assert ours
    seen = real(base_python, ours.path, {})
    held(torch, seen["torch"])
    held(ours, seen["bitsandbytes"])
    mapped = {path for path in seen["torch"].mapped if "/torch/lib/" in path}
    assert torch and mapped <= {one.path for one in torch.dependencies}


CUDA_TORCH = "LORA_DOCTOR_CUDA_TORCH"


class Copy(NamedTuple):
    """A hard-linked copy of an environment with a CUDA build of torch and with bitsandbytes."""

    root: Path

    @property
    def python(self) -> str:
        return str(self.root / "bin/python")

    @property
    def site(self) -> Path:
        return next((self.root / "lib").glob("python*")) / "site-packages"

    def find(self, pattern: str) -> Path:
        return next(self.site.glob(pattern))

    def replace(self, pattern: str, content: bytes) -> Path:
        """Give a file other content, in this copy alone."""
        path = self.find(pattern)
        path.unlink()
        path.write_bytes(content)
        return path


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    source = os.environ.get(CUDA_TORCH)
    assert source, f"name an environment with a CUDA build of torch and bitsandbytes in {CUDA_TORCH}"
    shutil.copytree(source, tmp_path / "env", copy_function=os.link, symlinks=True)
    return Copy(tmp_path / "env")


def bogus(folder: Path, name: str, *options: str) -> str:
    """A folder with a library that has nothing but its name."""
    folder.mkdir()
    (folder / "bogus.c").write_text("int cudaGetDevice(int *d) { *d = 0; return 0; }\n")
    command = ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", str(folder / name), *options]
    subprocess.run([*command, str(folder / "bogus.c")], check=True)
    return str(folder)


def check(copy: Copy, tmp_path: Path, env: Mapping[str, str] | None = None, label: str = "130") -> Told:
    """Hold torch, and then a CUDA library of bitsandbytes, against reality; hand back what was told."""
    host = LocalHost()
    host.env = {**host.env, "XDG_CACHE_HOME": str(tmp_path / "cache"), **(env or {})}
    process = Process(host, Objects(host), copy.python)
    site, path = str(copy.site), str(copy.site / f"bitsandbytes/libbitsandbytes_cuda{label}.so")
    opening = open_torch(process, f"{site}/torch", (site,), "13.0")
    told = Told(link(process, "torch", opening.path, opening), link(process, "bitsandbytes", path))
    seen = real(copy.python, path, env or {})
    held(told.torch, seen.get("torch"))
    if "torch" in seen and not seen["torch"].error:
        held(told.bitsandbytes, seen.get("bitsandbytes"))
    return told


class Told(NamedTuple):
    """The predictions for one process."""

    torch: NativeLibrary
    bitsandbytes: NativeLibrary


Damage = Callable[[Copy], object]


@pytest.mark.cuda_torch
@pytest.mark.parametrize(
    "damage",
    [
        lambda copy: None,
        lambda copy: copy.find("nvidia/**/lib/libcublas.so.*").unlink(),
        lambda copy: copy.find("nvidia/**/lib/libcublasLt.so.*").unlink(),
        lambda copy: copy.find("nvidia/**/lib/libcudnn.so.*").unlink(),
        lambda copy: copy.find("nvidia/**/lib/libnvJitLink.so.*").unlink(),
        lambda copy: copy.find("nvidia/**/lib/libnccl.so.*").unlink(),
        lambda copy: copy.find("nvidia/**/lib/libcudart.so.*").unlink(),
        lambda copy: copy.replace("nvidia/**/lib/libcudart.so.*", b"\x7fELF" + bytes(10)),
        lambda copy: copy.replace("torch/lib/libtorch_cuda.so", cut(copy, "torch/lib/libtorch_cuda.so")),
        lambda copy: copy.replace("torch/lib/libc10.so", b""),
    ],
    ids="healthy cublas cublasLt cudnn nvjitlink nccl cudart cudart-cut torch-cut c10-empty".split(),
)
def test_torch_with_a_damaged_file(copy: Copy, tmp_path: Path, damage: Damage) -> None:
    damage(copy)
    check(copy, tmp_path)


def cut(copy: Copy, pattern: str) -> bytes:
    with open(copy.find(pattern), "rb") as file:
        return file.read(2_000_000)


@pytest.mark.cuda_torch
@pytest.mark.parametrize("label", ["118", "126", "128", "130", "132"])
def test_bitsandbytes_for_another_cuda(copy: Copy, tmp_path: Path, label: str) -> None:
    told = check(copy, tmp_path, label=label)
    missing = {one.name for one in told.bitsandbytes.missing}
    assert missing == {
        "118": {"libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11"},
        "126": {"libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12"},
        "128": {"libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12"},
    }.get(label, set())


@pytest.mark.cuda_torch
@pytest.mark.parametrize("options", [(), ("-nostdlib",)])
@pytest.mark.parametrize("is_removed", [False, True])
@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "LD_PRELOAD"])
def test_a_foreign_libcudart(
    copy: Copy, tmp_path: Path, options: tuple[str, ...], is_removed: bool, variable: str
) -> None:
    folder = bogus(tmp_path / "bogus", "libcudart.so.13", *options)
    if is_removed:
        copy.find("nvidia/**/lib/libcudart.so.*").unlink()
    value = folder if variable == "LD_LIBRARY_PATH" else f"{folder}/libcudart.so.13"
    told = check(copy, tmp_path, {variable: value})
    is_safe = variable == "LD_LIBRARY_PATH" and not is_removed  # torch's own libraries carry RPATH
    assert bool(told.torch.missing) != is_safe


@pytest.mark.cuda_torch
@pytest.mark.parametrize("name", ["libcublasLt.so.13", "libnvJitLink.so.13", "libcudnn.so.9", "libnccl.so.2"])
def test_a_foreign_library_of_another_name(copy: Copy, tmp_path: Path, name: str) -> None:
    check(copy, tmp_path, {"LD_LIBRARY_PATH": bogus(tmp_path / "bogus", name)})


@pytest.mark.cuda_torch
@pytest.mark.parametrize(
    "content", [b"", b"text" * 99, b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xb7" + bytes(99)]
)
def test_a_library_of_bitsandbytes_that_is_none(copy: Copy, tmp_path: Path, content: bytes) -> None:
    copy.replace("bitsandbytes/libbitsandbytes_cuda130.so", content)
    assert check(copy, tmp_path).bitsandbytes.fault


@pytest.mark.cuda_torch
def test_a_library_of_bitsandbytes_that_is_cut_short(copy: Copy, tmp_path: Path) -> None:
    pattern = "bitsandbytes/libbitsandbytes_cuda130.so"
    copy.replace(pattern, cut(copy, pattern))
    assert check(copy, tmp_path).bitsandbytes.fault == "is cut short"


@pytest.mark.cuda_torch
def test_torch_itself_names_the_gpus_that_its_library_holds_code_for(copy: Copy) -> None:
    path = copy.find("torch/lib/libtorch_cuda.so")
    with path.open("rb") as file:
        told = architectures(file, path.stat().st_size)
    # What get_arch_list answers comes from here, and needs no GPU.
    code = "import torch; print(torch._C._cuda_getArchFlags())"
    done = subprocess.run([copy.python, "-c", code], capture_output=True, text=True, check=True)
    assert list(told) == done.stdout.split()
