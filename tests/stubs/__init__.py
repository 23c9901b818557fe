"""Machines with NVIDIA GPUs out of nothing: our own libnvidia-ml.so.1, libcuda.so.1 and nvidia-smi.

``machine("t4")`` gives the environment variables that turn any process into one on such a machine. The
libraries are compiled from the C sources here by the system's ``cc``, once, and kept in a folder named by
what they were made of, so that parallel runs share them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from .profiles import NAMES, branch_of, lines, read

__all__ = ["LIBRARIES", "NAMES", "compiler_is_there", "machine"]

# As it was at the start: pytest changes os.environ at each test, under threads that start a compiler.
ENVIRONMENT = dict(os.environ)
HERE = Path(__file__).parent
NVML, CUDA = "libnvidia-ml.so.1", "libcuda.so.1"
OLD_BRANCH = 440  # knows no MIG, no remapped rows, and only the first form of each answer
MACHINE_AT, AARCH64 = 18, 183  # e_machine in the head of an ELF file, and the number of a foreign machine
# What may lie in the place of a library: True for the driver's own, False for nothing.
LIBRARIES: Mapping[str, Callable[[bytes], bytes]] = {
    "truncated": lambda whole: whole[:8000],
    "empty": lambda _: b"",
    "text": lambda _: b"This is no library.\n" * 9,
    "foreign": lambda whole: whole[:MACHINE_AT] + AARCH64.to_bytes(2, "little") + whole[MACHINE_AT + 2 :],
    "symbolless": lambda whole: whole.replace(b"\0nvml", b"\0lvmn").replace(b"\0cu", b"\0uc"),
}
# How nvidia-smi, which needs the same library, ends over it.
SMI_MEETS = {"truncated": "bus", "empty": 12, "text": 12, "foreign": 12, "symbolless": 13, "absent": 12}


def machine(
    profile: str,
    *faults: str,
    driver: str | None = None,
    smi: bool = True,
    library: str = "",
    cuda: str = "",
) -> dict[str, str]:
    """The variables LD_LIBRARY_PATH, PATH and the stubs' own, of a machine with some faults.

    ``faults``: "nvmlInit_v2=18", "nvmlDeviceGetHandleByIndex_v2@1=15", "nvmlDevice*@1=15", "cuInit=hang",
    "nvidia-smi=9".
    ``driver``: another release than the profile's. ``smi``: is there an nvidia-smi? ``library``, ``cuda``:
    what is wrong with libnvidia-ml.so.1 and libcuda.so.1, a word of ``LIBRARIES``, or "old", or "absent".
    """
    told = read(profile, driver)
    branch = branch_of(told["driver"])
    folders = [_library(name, branch, fault) for name, fault in ((NVML, library), (CUDA, cuda))]
    programs = [_smi_folder()] if smi else []
    smi_fault = [f"nvidia-smi={SMI_MEETS[library]}"] if library in SMI_MEETS else []
    return {
        "LD_LIBRARY_PATH": os.pathsep.join(str(folder) for folder in folders if folder),
        "PATH": os.pathsep.join([*map(str, programs), *_path_without_smi()]),
        "LORA_DOCTOR_STUB": str(_made("profile", "machine", lines(told).encode())),
        "LORA_DOCTOR_STUB_FAULTS": ";".join([*faults, *smi_fault]),
    }


def _path_without_smi() -> list[str]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in folders if not os.path.exists(os.path.join(folder, "nvidia-smi"))]


def _library(name: str, branch: int, fault: str) -> Path | None:
    """The folder of one library, None where there is none."""
    if fault == "absent":
        return None
    whole = _compiled(name, OLD_BRANCH if fault == "old" else branch)
    content = LIBRARIES[fault](whole) if fault in LIBRARIES else whole
    return _made(f"library-{fault or 'whole'}", name, content).parent


@cache
def _compiled(name: str, branch: int) -> bytes:
    """A library of one driver branch, about a quarter of a second the first time."""
    source = HERE / {NVML: "nvml.c", CUDA: "cuda.c"}[name]
    texts = source.read_bytes() + (HERE / "profile.h").read_bytes()
    flags = ["-O1", "-std=gnu11", "-fPIC", "-shared", "-fvisibility=hidden", f"-DBRANCH={branch}"]
    key = hashlib.sha256(texts + repr(flags).encode()).hexdigest()[:16]
    kept = _kept() / f"cc-{key}" / name
    if not kept.is_file():
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, name)
            command = ["cc", *flags, f"-Wl,-soname,{name}", str(source), "-o", str(made)]
            subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
            _place(kept, made.read_bytes())
    return kept.read_bytes()


@cache
def _smi_folder() -> Path:
    script = (HERE / "nvidia_smi.py").read_bytes()
    return _made("smi", "nvidia-smi", f"#!{sys.executable} -IS\n".encode() + script, mode=0o755).parent


def _made(kind: str, name: str, content: bytes, mode: int = 0o644) -> Path:
    """A file of this content in a folder of its own."""
    path = _kept() / f"{kind}-{hashlib.sha256(content).hexdigest()[:16]}" / name
    if not path.is_file():
        _place(path, content, mode)
    return path


def _place(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file at one stroke: another process may be making the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.chmod(mode)
    beside.replace(path)


@cache
def _kept() -> Path:
    """Our folder among the temporary ones, which nobody else may write to."""
    folder = Path(tempfile.gettempdir(), f"lora-doctor-stubs-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():  # someone took the name
        folder = Path(tempfile.mkdtemp(prefix="lora-doctor-stubs-"))
    return folder


def compiler_is_there() -> bool:
    """Can the libraries be built here?"""
    return sys.platform == "linux" and shutil.which("cc") is not None
