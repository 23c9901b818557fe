"""What is known of things that are not interpreted, by their dotted names."""

from __future__ import annotations

from doctor.static.machine import Machine
from doctor.static.plain import (
    Value,
    VersionText,
)
from doctor.static.values import (
    External,
)

NOTHING = ("torch.version.cuda", "torch.version.hip", "torch.version.xpu")  # the trial runs on the CPU


def constant_of(machine: Machine, path: str) -> Value:
    """The value of a dotted name: an External of that name where no more is known."""
    if path in NOTHING:
        return None
    maker = MAKERS.get(path)
    return maker(machine) if maker else External(path)


def _version_info(machine: Machine) -> Value:
    return (*machine.world.python_release, 0, "final", 0)


def _python(machine: Machine) -> Value:
    return f"{machine.world.python}.0" if machine.world.python.count(".") == 1 else machine.world.python


def _torch_version(machine: Machine) -> Value:
    torch = machine.world.by_name.get("torch")
    return VersionText(torch.version, "torch") if torch else External("torch.__version__")


MAKERS = {
    "typing.TYPE_CHECKING": lambda machine: False,
    "typing_extensions.TYPE_CHECKING": lambda machine: False,
    "sys.version_info": _version_info,
    "sys.version": _python,
    "sys.platform": lambda machine: machine.world.os,
    "os.name": lambda machine: "nt" if machine.world.os == "win32" else "posix",
    "os.sep": lambda machine: "/",
    "torch.__version__": _torch_version,
}
