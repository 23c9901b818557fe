"""The machine that a set is for, as far as choosing releases goes."""

from __future__ import annotations

from functools import cached_property

import msgspec

from doctor.facts import Facts
from doctor.matrix.devices import described, visible_devices
from doctor.matrix.drivers import Side, driver_reaches, has_dropped, is_too_old_for, offered_cuda
from doctor.matrix.gpu_code import numbers
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
    driver_cuda: str = ""  # the newest CUDA that it was heard to offer: "12.2"
    wsl: bool = False  # Linux on a driver of Windows
    capabilities: tuple[str, ...] = ()  # of each GPU: ("8.9",)
    torch_cuda: str = ""  # torch's CUDA, where it is wished for: "12.6"

    @classmethod
    def of(cls, facts: Facts) -> Machine:
        """The machine that facts describe, and the plain one where they are silent."""
        stated: dict[str, str | bool | tuple[str, ...]] = {}
        if facts.interpreter:
            stated["python"] = facts.interpreter.version
        if facts.system:
            libc = facts.system.libc or ""
            stated |= {"os": facts.system.os, "arch": plain_arch(facts.system.arch)}
            stated["glibc"] = libc.removeprefix("glibc ") if libc.startswith("glibc ") else ""
            stated["wsl"] = facts.system.wsl
        if facts.driver:
            libcuda = facts.cuda_driver  # one that the GPU refuses, of an image, offers nothing
            heard = libcuda.version if libcuda and not libcuda.init_code else None
            stated["driver"] = facts.driver.version
            stated["driver_cuda"] = heard or facts.driver.cuda_version or ""
        # What is hidden now may be shown to the next program.
        devices = (visible_devices(facts) or tuple(described(facts.gpus))) if facts.gpus else ()
        stated["capabilities"] = tuple(device.capability for device in devices)
        return msgspec.convert(stated, cls)

    @property
    def minor(self) -> str:
        """Python without its patch release: "3.11"."""
        return ".".join(self.python.split(".")[:2])

    @property
    def has_driver(self) -> bool:
        """Is anything known of its driver: the version, or only the CUDA that it offers?"""
        return bool(self.driver or self.driver_cuda)

    @property
    def driver_words(self) -> str:
        """Its driver in words: "driver 535.104.05", "a driver for CUDA 12.2"."""
        return f"driver {self.driver}" if self.driver else f"a driver for CUDA {self.driver_cuda}"

    @property
    def wants_cuda(self) -> bool:
        """Is there a driver or a GPU to build for? Nothing of CUDA runs on macOS."""
        return self.os != "darwin" and bool(self.has_driver or self.capabilities or self.torch_cuda)

    @property
    def side(self) -> Side:
        """Whose numbers its driver has."""
        return "windows" if self.os == "win32" or self.wsl else "linux"

    def driver_runs(self, cuda: str) -> bool:
        """Does its driver run a build for a CUDA? What it says of itself outweighs the table of versions."""
        said = numbers(self.driver_cuda)
        return said[:1] >= numbers(cuda)[:1] if said else driver_reaches(cuda, self.driver, self.side)

    @property
    def offered_cuda(self) -> str:
        """The newest CUDA of its driver, as it says or else by its version; "" where neither tells."""
        return self.driver_cuda if numbers(self.driver_cuda) else offered_cuda(self.driver, self.side)

    def why_undriven(self, capability: str) -> str:
        """Why its driver cannot drive a GPU, in half a sentence; "" where it can."""
        if self.driver and is_too_old_for(self.driver, capability):
            return f"driver {self.driver} is older than GPUs of compute capability {capability}"
        if has_dropped(self.driver, capability):
            return f"driver {self.driver} no longer drives GPUs of compute capability {capability}"
        return ""

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
