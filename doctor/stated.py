"""Facts of a machine that is described rather than seen: what options, a file or a report say of it."""

from __future__ import annotations

import platform
import re
import sys

import msgspec

from doctor.facts import Driver, Facts, Gap, Gpu, Interpreter, System
from doctor.matrix.gpus import gpu_named

SYSTEMS = ("linux", "darwin", "win32")
ARCHITECTURES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
SPELLINGS = {"macos": "darwin", "mac": "darwin", "windows": "win32", "win": "win32"}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(GiB|GB|G|MiB|MB|M)?$", re.I)


class StatementInvalid(ValueError):
    """A description of a machine that cannot be true; the message names the option."""


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """A machine in the words of the options; "" for what is not said, and for os and arch: as here."""

    python: str = ""  # "3.11"
    os: str = ""
    arch: str = ""
    driver: str = ""  # "535.104.05"
    gpu: str = ""  # "RTX 3060"
    compute_capability: str = ""  # "8.6", in place of a name or to be sure of it
    gpu_memory: str = ""  # "12GiB"
    torch_cuda: str = ""  # "12.1"

    @classmethod
    def of(cls, *words: str | None) -> Stated:
        """The values of the options in the order of the fields, None for those that are not given."""
        return cls(**{name: word or "" for name, word in zip(cls.__struct_fields__, words, strict=True)})

    def facts(self) -> Facts:
        """What is known of the machine, each rest a gap. Raises :class:`StatementInvalid`."""
        system, gpus = stated_system(self.os, self.arch or self.processor), stated_gpus(self)
        numbers(self.torch_cuda, "--torch-cuda")
        driver = Driver(version=numbers(self.driver, "--driver"), cuda_version=None, source="stated")
        return Facts(
            system=system,
            interpreter=stated_python(numbers(self.python, "--python-version")) if self.python else None,
            driver=driver if self.driver else None,
            gpus=gpus,
            gaps=()
            if gpus is not None
            else (Gap(about="gpus", kind="not-asked", reason="no GPU is stated"),),
        )

    @property
    def processor(self) -> str:
        """The processor that the GPU comes with, as a GH200 or a Jetson does; "" where it comes with none."""
        known = gpu_named(self.gpu) if self.gpu else None
        return known.arch if known else ""


def numbers(text: str, option: str) -> str:
    """A version of numbers alone. Raises :class:`StatementInvalid`."""
    if text and not re.fullmatch(r"\d{1,5}(?:\.\d{1,5}){0,3}", text):
        raise StatementInvalid(f"{option} {text!r} is no version such as 3.11 or 535.104.05")
    return text


def stated_system(os: str, arch: str) -> System:
    """A system of which nothing but its name is known; the doctor's own where that is not said."""
    chosen = SPELLINGS.get(os.lower(), os.lower()) or sys.platform
    if os and chosen not in SYSTEMS:
        raise StatementInvalid(f"--os {os!r} is none of {', '.join(SYSTEMS)}")
    machine = (arch or platform.machine()).lower()
    return System(
        os=chosen,
        name="",
        kernel="",
        arch=ARCHITECTURES.get(machine, machine),
        libc=None,
        cpu="",
        cpu_count=0,
        ram_total_bytes=0,
        ram_available_bytes=0,
        disk_free_bytes=0,
        shared_memory_bytes=None,
        container=None,
        wsl=False,
    )


def stated_python(version: str) -> Interpreter:
    """An interpreter of which the version is known and nothing else."""
    return Interpreter(
        executable="",
        version=version,
        implementation="CPython",
        prefix="",
        base_prefix="",
        kind="stated",
        site_folders=(),
        user_site=None,
        externally_managed=False,
        has_pip=True,
        writable=True,
        noise="",
    )


def stated_gpus(stated: Stated) -> tuple[Gpu, ...] | None:
    """The GPU that is described, None where none is. Raises :class:`StatementInvalid`."""
    if not stated.gpu and not stated.compute_capability:
        return None
    known = gpu_named(stated.gpu) if stated.gpu else None
    capability = numbers(stated.compute_capability, "--compute-capability")
    if capability and capability.count(".") != 1:
        raise StatementInvalid(f"--compute-capability {capability!r} is none such as 8.6")
    if not capability and known is None:
        raise StatementInvalid(f"--gpu {stated.gpu!r} is not known: state --compute-capability as well")
    memory = size_bytes(stated.gpu_memory) if stated.gpu_memory else known and known.memory_gib << 30
    return (
        Gpu(
            index=0,
            name=known.name if known else stated.gpu or f"a GPU of compute capability {capability}",
            compute_capability=capability or (known.compute_capability if known else None),
            memory_total_bytes=memory,
            memory_free_bytes=memory,
        ),
    )


def size_bytes(text: str) -> int:
    """A size such as "12GiB" in bytes; GB is taken for GiB, as the makers of GPUs do."""
    size = SIZE.match(text.strip())
    if not size:
        raise StatementInvalid(f"--gpu-memory {text!r} is no size such as 12GiB")
    return int(float(size[1]) * (1 << (20 if (size[2] or "G").upper().startswith("M") else 30)))
