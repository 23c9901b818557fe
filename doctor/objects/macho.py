"""Libraries of macOS: what each loads, by its load commands."""

from __future__ import annotations

from typing import IO, Any

from macholib import mach_o
from macholib.MachO import MachO

from doctor.objects import ObjectUnreadable, SharedObject

READ_BYTES = 64 << 20  # macholib reads all of a file; of what is larger nothing is told
MAGICS = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # of 64 bits, of 32, of several
LOADS = (mach_o.LC_LOAD_DYLIB, mach_o.LC_REEXPORT_DYLIB)
OPTIONAL = (mach_o.LC_LOAD_WEAK_DYLIB,)


class _File(MachO):  # type: ignore[misc]
    """Macholib's reader on an open file: its own constructor opens a path."""

    def __init__(self, file: IO[bytes]) -> None:
        self.graphident = self.filename = self.loader_path = ""
        self.fat, self.allow_unknown_load_commands = None, True
        self.headers: list[Any] = []
        self.load(file)


def read_object(file: IO[bytes], size: int) -> SharedObject:
    """What a library of ``size`` bytes loads, weak ones as ``optional``. Raises :class:`ObjectUnreadable`.

    Of a file for several processors it is what the first is told; the machine is then "".
    """
    if not size:
        raise ObjectUnreadable("is empty")
    if size > READ_BYTES:
        return SharedObject(machine="", bits=0)
    file.seek(0)
    if file.read(4) not in MAGICS:
        raise ObjectUnreadable("is no Mach-O file")
    try:
        file.seek(0)
        headers = _File(file).headers
    except Exception as error:  # macholib raises whatever struct, ctypes and its own assertions do
        raise ObjectUnreadable("has damaged load commands") from error
    if not headers:
        raise ObjectUnreadable("has nothing to be mapped")
    kind = headers[0].header.cputype
    machine = mach_o.CPU_TYPE_NAMES.get(kind, f"machine {kind}").lower()
    return SharedObject(
        machine=machine if len(headers) == 1 else "",
        bits=64,
        soname="".join(_texts(headers[0], (mach_o.LC_ID_DYLIB,))[:1]),
        needed=_texts(headers[0], LOADS),
        optional=_texts(headers[0], OPTIONAL),
        rpath=_texts(headers[0], (mach_o.LC_RPATH,)),
    )


def _texts(header: Any, kinds: tuple[int, ...]) -> tuple[str, ...]:
    found = [data for command, _, data in header.commands if command.cmd in kinds]
    return tuple(bytes(data).split(b"\0")[0].decode("utf-8", "replace") for data in found)
