"""``nvidia-smi -q``, the long inventory, and ``nvidia-container-cli info``: keys, values and sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.driver_text import LONGEST_ROW, MIB
from doctor.paste import Topic
from doctor.readers.paste import Block
from doctor.readers.paste.notes import Notes

START = re.compile(
    r"={3,40} {0,3}NVSMI LOG {0,3}={3,40}|\s{0,8}Attached GPUs {0,60}: {0,3}\d|NVRM version: {1,20}\d{3}"
)
BEGINS_GPU = re.compile(
    r"\s{0,8}GPU (?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]\s{0,40}"
)
SECTION = re.compile(r"\s{0,60}[A-Z][A-Za-z0-9 ]{0,90}")
DRIVER, CUDA, SIZE = (
    re.compile(r"\d{3,4}\.\d+(?:\.\d+)?"),
    re.compile(r"\d{1,2}\.\d{1,2}"),
    re.compile(r"(\d{1,9}) ?MiB"),
)
FOREIGN = 3  # lines of another kind in a row that end it

VERSIONS: dict[str, tuple[Topic, re.Pattern[str]]] = {
    "Driver Version": ("driver", DRIVER),
    "KMD Version": ("driver", DRIVER),
    "NVRM version": ("driver", DRIVER),
    "CUDA Version": ("driver cuda", CUDA),
    "CUDA UMD Version": ("driver cuda", CUDA),
    "CUDA version": ("driver cuda", CUDA),
    "Architecture": ("gpu capability", CUDA),
}
NAMES = ("Product Name", "Model")
# Keys of nvidia-container-cli, which puts its colon right behind them.
OF_CONTAINERS = (
    *("NVRM version", "CUDA version", "Device Index", "Device Minor", "Model", "Brand", "GPU UUID"),
    *("Bus Location", "Architecture"),
)


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each inventory."""
    number = 0
    while number < len(lines):
        if len(lines[number]) <= LONGEST_ROW and START.match(lines[number]):
            log = _Log(number + 1)
            number = log.follow(lines, number)
            yield from log.notes.block()
        number += 1


class _Log:
    """One inventory while its lines go by."""

    def __init__(self, line: int) -> None:
        self.notes = Notes("nvidia-smi", line)
        self.gpu = -1
        self.section = ""

    def follow(self, lines: Sequence[str], index: int) -> int:
        """Read on from ``lines[index]``; the index of the last line of the inventory."""
        foreign = 0
        while index < len(lines) and foreign < FOREIGN:
            known = not lines[index].strip() or self.line(lines[index], index + 1)
            foreign = 0 if known else foreign + 1
            index += 1
        return self.notes.last - 1

    def line(self, line: str, number: int) -> bool:
        """Read one line; False where it is none of an inventory."""
        if len(line) > LONGEST_ROW:
            return False
        key, colon, value = line.partition(":")
        if BEGINS_GPU.fullmatch(line):
            self.gpu, self.section = self.gpu + 1, ""
        elif colon and (key.endswith(" ") or key.strip() in OF_CONTAINERS):
            self.pair(key.strip(), value.strip(), number)
        elif SECTION.fullmatch(line):
            self.section = line.strip()
            return True  # a word of prose looks like it: it does not lengthen the block
        elif not START.match(line):
            return False
        self.notes.last = number
        return True

    def pair(self, key: str, value: str, number: int) -> None:
        """Take what one pair says of the driver or of the GPU whose section it is."""
        index = str(max(self.gpu, 0))
        if key == "Device Index":
            self.gpu = int(value) if value.isdigit() and len(value) < 4 else self.gpu
        elif key in NAMES:
            self.notes.say("gpu", value, number, index)
        elif key in VERSIONS:
            topic, pattern = VERSIONS[key]
            found = pattern.match(value)
            self.notes.say(topic, found[0] if found else "", number, index if topic.startswith("gpu") else "")
        elif key == "Current":
            self.current(value, index, number)
        elif self.section == "FB Memory Usage" and (found := SIZE.match(value)):
            topics: dict[str, Topic] = {"Total": "gpu memory", "Free": "gpu memory free"}
            if key in topics:
                self.notes.say(topics[key], str(int(found[1]) * MIB), number, index)

    def current(self, value: str, index: str, number: int) -> None:
        """The mode of MIG, or the driver model of Windows."""
        if self.section == "MIG Mode" and value in ("Enabled", "Disabled"):
            self.notes.say("gpu mig", value.lower(), number, index)
        elif self.section == "Driver Model" and value in ("WDDM", "TCC", "MCDM"):
            self.notes.say("os", "win32", number)
