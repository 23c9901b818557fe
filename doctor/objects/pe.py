"""DLLs of Windows: what each imports."""

from __future__ import annotations

from typing import IO

import pefile

from doctor.objects import ObjectUnreadable, SharedObject

READ_BYTES = 64 << 20  # of what is larger nothing is told: torch's GPU code is 1 GB
MACHINES = {0x8664: ("x86_64", 64), 0x14C: ("i386", 32), 0xAA64: ("aarch64", 64)}
IMPORTS = ("IMAGE_DIRECTORY_ENTRY_IMPORT", "IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT")


def read_object(file: IO[bytes], size: int) -> SharedObject:
    """What a DLL of ``size`` bytes imports, ``optional`` what it imports late.

    Raises :class:`ObjectUnreadable`.
    """
    if not size:
        raise ObjectUnreadable("is empty")
    if size > READ_BYTES:
        return SharedObject(machine="", bits=0)
    file.seek(0)
    try:
        image = pefile.PE(data=file.read(READ_BYTES), fast_load=True)
        wanted = [pefile.DIRECTORY_ENTRY[name] for name in IMPORTS]
        image.parse_data_directories(directories=wanted, import_dllnames_only=True)
    except pefile.PEFormatError as error:
        raise ObjectUnreadable("is no DLL") from error
    machine, bits = MACHINES.get(image.FILE_HEADER.Machine, (f"machine {image.FILE_HEADER.Machine}", 0))
    ends = (one.PointerToRawData + one.SizeOfRawData for one in image.sections)
    return SharedObject(
        machine=machine,
        bits=bits,
        needed=_names(image, "DIRECTORY_ENTRY_IMPORT"),
        optional=_names(image, "DIRECTORY_ENTRY_DELAY_IMPORT"),
        damage="is cut short" if max(ends, default=0) > size else "",
    )


def _names(image: pefile.PE, table: str) -> tuple[str, ...]:
    return tuple(entry.dll.decode("ascii", "replace") for entry in getattr(image, table, ()) if entry.dll)
