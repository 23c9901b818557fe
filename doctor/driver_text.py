"""What the NVIDIA driver and its tools print, on a live machine and in a pasted text alike."""

from __future__ import annotations

import re
from typing import NamedTuple

MIB = 1 << 20

# "KMD Version" since driver 610, for the kernel-mode driver.
TABLE_HEAD = re.compile(r"(?:Driver|KMD) Version: {0,9}(\d{3,4}\.\d+(?:\.\d+)?)")
TABLE_CUDA = re.compile(r"CUDA (?:UMD )?Version: {0,9}(\d+\.\d+)")
VERSION = re.compile(r"(?<!\d)\d{2,4}(?:\.\d{1,4}){0,2}")
TABLE_MEMORY = re.compile(r"(?<!\d)(\d{1,9}) ?MiB */ *(\d{1,9}) ?MiB")
# "0 Tesla T4 Off 00000000:00:04.0 Off 0": the cells of a row without what frames them.
TABLE_GPU = re.compile(
    r"(\d{1,3}) (\S.{0,80}?) (On|Off|N/A|WDDM|TCC|MCDM|ERR!)\*? "
    r"(?:(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]|N/A)(?= |$)"
)
# "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python, GPU has fallen off the bus."
XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]{5,16})[^)\n]{0,24}\): {0,4}(\d{1,5})(?!\d)"
    r"(?:, {0,4}([^\n]{0,200}))?"
)
LONGEST_ROW = 400  # characters; the widest table has 91
_FRAME = str.maketrans(dict.fromkeys("|│┃¦", " "))


class GpuRow(NamedTuple):
    """The first row of a GPU in the table that nvidia-smi prints."""

    number: int
    name: str  # as printed: drivers before 530 cut it, "NVIDIA GeForce ..."
    mode: str  # "On", "Off": persistence; "WDDM", "TCC", "MCDM": the driver model of Windows


def cells(line: str) -> str:
    """The words of one row of a table without its frame, one blank between two; "" for what is no row."""
    if len(line) > LONGEST_ROW:
        return ""
    return " ".join(line.replace("\\|", " ").translate(_FRAME).split())


def gpu_row(words: str) -> GpuRow | None:
    """The GPU that a row, as ``cells`` gives it, begins; None for any other row."""
    found = TABLE_GPU.match(words)
    return GpuRow(int(found[1]), found[2], found[3]) if found else None


def memory_cell(words: str) -> tuple[int, int] | None:
    """(used, total) bytes of a row; None where it tells no memory."""
    found = TABLE_MEMORY.search(words)
    return (int(found[1]) * MIB, int(found[2]) * MIB) if found else None
