"""The machine that a set is for, as far as choosing releases goes."""

from __future__ import annotations

from functools import cached_property

import msgspec

from doctor.facts import Facts
from doctor.versions import comparable

# os.name and platform.system() for each sys.platform.
NAMES = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}
MACHINES = {"linux": {}, "darwin": {"aarch64": "arm64"}, "win32": {"x86_64": "AMD64", "aarch64": "ARM64"}}


class Machine(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Python, system, driver and GPUs; "" and () for what is not known or not there."""

    python: str = "3.11"  # "3.11" or "3.11.7"
    os: str = "linux"  # as sys.platform has it: linux, darwin, win32
    arch: str = "x86_64"  # or aarch64
    glibc: str = ""  # "2.36"
    driver: str = ""  # "535.104.05"
    capabilities: tuple[str, ...] = ()  # of each GPU: ("8.9",)
    torch_cuda: str = ""  # torch's CUDA, where it is wished for: "12.6"

    @classmethod
    def of(cls, facts: Facts) -> Machine:
        """The machine that facts describe, and the plain one where they are silent."""
        stated: dict[str, str | tuple[str, ...]] = {}
        if facts.interpreter:
            stated["python"] = facts.interpreter.version
        if facts.system:
            libc = facts.system.libc or ""
            stated |= {"os": facts.system.os, "arch": plain_arch(facts.system.arch)}
            stated["glibc"] = libc.removeprefix("glibc ") if libc.startswith("glibc ") else ""
        if facts.driver:
            stated["driver"] = facts.driver.version
        gpus = facts.gpus or ()
        stated["capabilities"] = tuple(gpu.compute_capability for gpu in gpus if gpu.compute_capability)
        return msgspec.convert(stated, cls)

    @property
    def minor(self) -> str:
        """Python without its patch release: "3.11"."""
        return ".".join(self.python.split(".")[:2])

    @property
    def wants_cuda(self) -> bool:
        """Is there a driver or a GPU to build for? Nothing of CUDA runs on macOS."""
        return self.os != "darwin" and bool(self.driver or self.capabilities or self.torch_cuda)

    @cached_property
    def markers(self) -> dict[str, str]:
        """The environment of PEP 508 markers; of a Python whose minor alone is known, its last patch."""
        name, system = NAMES.get(self.os, ("posix", "Linux"))
        known = comparable(self.python)
        full = self.python if known and len(known.release) > 2 else f"{self.minor}.99"
        return {
            "python_version": self.minor,
            "python_full_version": full,
            "os_name": name,
            "sys_platform": self.os,
            "platform_system": system,
            "platform_machine": MACHINES.get(self.os, {}).get(self.arch, self.arch),
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
            "implementation_version": full,
            "platform_release": "",
            "platform_version": "",
        }

    def value_of(self, subject: str) -> str | None:
        """What is known of a subject of a row that is no package; None where it is not known."""
        values = {
            "python": self.python,
            "driver": self.driver,
            "gpu.compute-capability": self.capabilities[0] if self.capabilities else "",
            "glibc": self.glibc,
            "os": self.os,
            "arch": self.arch,
        }
        return values.get(subject) or None


def plain_arch(arch: str) -> str:
    """One name for each: Windows says AMD64, macOS says arm64."""
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(arch.lower(), arch.lower())
