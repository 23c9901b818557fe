"""The table of nvidia-smi, whole or cut, with or without its frame, and its header line alone.

Rows are read by words instead of columns: the widths changed with drivers 530 and 550, and Markdown takes
blanks and bars away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.driver_text import MIB, TABLE_CUDA, TABLE_HEAD, cells, gpu_row, memory_cell
from doctor.readers.paste import Block
from doctor.readers.paste.doubt import is_doubted
from doctor.readers.paste.notes import Notes

LOOK = 2_000  # characters of a line in which a header is looked for
EMPTY_LINES = 2  # that may stand within a table
WINDOWS = ("WDDM", "TCC", "MCDM")

TOOL = re.compile(r"NVIDIA-SMI:? {0,3}(?:version {0,3}:? {0,3})?(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)")
SAYS_CUDA = re.compile(r"nvidia-smi\b[^\n]{0,60}?\bCUDA (?:UMD )?[Vv]ersion:? {0,9}(\d{1,2}\.\d{1,2})")
LIBRARY = re.compile(r"NVML library version: {0,9}(\d{3,4}\.\d+(?:\.\d+)?)")
# A header with nothing but what belongs to it.
HEADER_ALONE = re.compile(
    r"(?:NVIDIA-SMI \S{1,20} )?(?:(?:Driver|KMD) Version: \S{1,20})?(?: ?CUDA (?:UMD )?Version: \S{1,8})?"
)
FRAME = re.compile(r"[-+=:_*~`\u2500-\u257f\s]{1,400}")
TITLES = (
    *("GPU Name", "Fan Temp", "MIG M.", "Processes:", "GPU GI", "ID ID", "GPU PID", "PID Type", "BAR1-Usage"),
    *("No running processes", "MIG devices", "No MIG devices"),
)
CELLS_ALONE = ("N/A", "Default", "ERR!", "ECC")  # of a row whose other cells are empty
STATE = re.compile(r"(?:\d{1,3}%|N/A|ERR!|\[N/A\]) (?:\d{1,3}C|N/A|ERR!|\[N/A\]) ")  # fan, temperature
# "1 3 0 0 14366MiB / 19968MiB 28 0": GPU, GPU instance, compute instance, device.
MIG_DEVICE = re.compile(r"(\d{1,3}) (\d{1,3}) (\d{1,3}) (\d{1,3}) \d{1,9} ?MiB ?/ ?\d{1,9} ?MiB")
BAR = re.compile(r"\d{1,9} ?MiB ?/ ?\d{1,9} ?MiB")
# "0 N/A N/A 1234 C python 300MiB"; without the instances before driver 450.
PROCESS = re.compile(
    r"(\d{1,3}) (?:(?:N/A|\d{1,3}) (?:N/A|\d{1,3}) )?\d{1,10} "
    r"(?:C|G|C\+G|M\+C|M\+C\+G|M) (\S.{0,120}?) (?:(\d{1,9}) ?MiB|N/A)(?: |$)"
)
MODES = {"Enabled": "enabled", "Enabled*": "enabled", "Disabled": "disabled", "Disabled*": "disabled"}


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Every table, and every header that stands alone."""
    table: _Table | None = None
    for number, line in enumerate(lines, 1):
        words = cells(line[:LOOK])
        if table and number - table.notes.last > EMPTY_LINES + 1:
            yield from table.notes.block()
            table = None
        if header(line[:LOOK]):
            yield from table.notes.block() if table and table.has_header else ()
            table = table if table and not table.has_header else _Table(number)
            table.head(line[:LOOK], number)
        elif words and (table or starts(words)):
            table = table or _Table(number)
            if not table.row(words, number):
                yield from table.notes.block()
                table = None
    if table:
        yield from table.notes.block()


def header(line: str) -> bool:
    """Does a line tell the versions, as the first line of the table does?"""
    if "ersion" not in line and "NVIDIA-SMI" not in line:
        return False
    found = TABLE_HEAD.search(line) or TOOL.search(line) or SAYS_CUDA.search(line) or LIBRARY.search(line)
    return found is not None and not is_doubted(line, found.start(), found.end())


def starts(words: str) -> bool:
    """Can a table that was cut above begin with this row?"""
    return words[0].isdigit() and bool(gpu_row(words) or MIG_DEVICE.match(words) or PROCESS.match(words))


def is_frame(words: str) -> bool:
    """Is it a rule or a title of columns, which says nothing?"""
    return words.startswith(TITLES) or FRAME.fullmatch(words) is not None


class _Table:
    """One table while its rows go by."""

    def __init__(self, line: int) -> None:
        self.notes = Notes("nvidia-smi", line)
        self.has_header = False
        self.gpu = ""  # the index of the one whose rows go by

    def head(self, line: str, number: int) -> None:
        """Driver and CUDA, of the table's first line or of a sentence that quotes it."""
        driver = TABLE_HEAD.search(line) or TOOL.search(line) or LIBRARY.search(line)
        cuda = TABLE_CUDA.search(line) or SAYS_CUDA.search(line)
        self.has_header = True
        words = cells(line)
        is_alone = bool(words) and HEADER_ALONE.fullmatch(words) is not None
        self.notes.is_whole = self.notes.is_whole and is_alone
        self.notes.say("driver", driver[1] if driver else "", number)
        self.notes.say("driver cuda", cuda[1] if cuda else "", number)

    def row(self, words: str, number: int) -> bool:
        """Read a row below the header; False where it is none of a table."""
        if "TCC/WDDM" in words or "Driver-Model" in words:
            self.notes.say("os", "win32", number)
        read = (
            self._gpu(words, number)
            or self._process(words, number)
            or self._mig(words, number)
            or self._state(words, number)
            or is_frame(words)
        )
        if read:
            self.notes.last = number
        if "ERR!" in words:
            self.notes.is_whole = False  # it complains
        return read

    def _gpu(self, words: str, number: int) -> bool:
        row = gpu_row(words)
        if row:
            self.gpu = str(row.number)
            self.notes.say("gpu", row.name, number, self.gpu)
            self.notes.say("os", "win32" if row.mode in WINDOWS else "", number)
        return row is not None

    def _state(self, words: str, number: int) -> bool:
        """The second row of a GPU, and the third, which is empty but for the mode of MIG."""
        mode = MODES.get(words, "")
        memory = memory_cell(words) if STATE.match(words) else None
        if memory:
            self.notes.say("gpu memory", str(memory[1]), number, self.gpu)
            self.notes.say("gpu memory free", str(max(0, memory[1] - memory[0])), number, self.gpu)
        self.notes.say("gpu mig", mode, number, self.gpu)
        return bool(mode) or words in CELLS_ALONE or STATE.match(words) is not None

    def _mig(self, words: str, number: int) -> bool:
        found = MIG_DEVICE.match(words)
        if found:
            self.notes.say("gpu mig", f"MIG device {found[4]}", number, found[1])
        return found is not None or BAR.match(words) is not None

    def _process(self, words: str, number: int) -> bool:
        found = PROCESS.match(words)
        if found and "Insufficient Permissions" not in found[2]:
            name = re.split(r"[/\\]", found[2])[-1]
            held = f" {int(found[3]) * MIB}" if found[3] else ""
            self.notes.say("gpu process", f"{name}{held}", number, found[1])
        return found is not None
