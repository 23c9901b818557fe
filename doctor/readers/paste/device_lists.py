"""Devices as other tools list them: rocminfo, rocm-smi, amd-smi, hipinfo, xpu-smi, lspci, system_profiler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.driver_text import LONGEST_ROW, cells
from doctor.paste import Topic
from doctor.readers.paste import Block
from doctor.readers.paste.notes import Notes

APART = 120  # lines between two devices of one list; rocminfo tells as many of each
AHEAD = 6  # lines below a gfx name in which its market name stands

GFX = re.compile(
    r"\s{0,12}(?:Name|gcnArchName|TARGET_GRAPHICS_VERSION|GPU\[\d{1,3}\]\s{0,20}: GFX Version):[ \t]{0,40}"
    r"(gfx[0-9a-f]{3,5})\b"
)
MARKET_NAME = re.compile(r"\s{0,12}(?:Marketing Name|MARKET_NAME): {0,40}(\S.{1,80})")
CARD = re.compile(r"\s{0,8}GPU\[(\d{1,3})\]\s{0,20}: {0,3}Card [Ss]eries:\s{1,20}(\S.{1,80})")
# "| 0000:09:00.0    AMD Instinct MI325X | 0 %", the frame taken off.
AMD_SMI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d (AMD \S.{1,60}?)(?= \d{1,3} %| N/A|$)")
XPU_SMI = re.compile(r"(?:\d{1,3} )?Device Name: (Intel.{1,80})")
APPLE = re.compile(r"\s{0,16}(?:Chipset Model|Chip): (Apple M\d(?: (?:Pro|Max|Ultra))?)\s{0,8}")
LSPCI = re.compile(
    r"(?:VGA compatible|3D|Display) controller(?: \[\d{4}\])?: (NVIDIA|Advanced Micro Devices)[^\[\n]{0,80}"
    r"(?:\[AMD/ATI\] [^\[\n]{0,80})?\[([^\]\n]{2,80})\]"
)

# One of these stands in every line that is looked at closer.
MARKS = ("gfx", "Card ", "Apple M", " controller", "AMD ", "Device Name")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each list."""
    notes: Notes | None = None
    for number, line in enumerate(lines, 1):
        told = of_line(lines, number) if len(line) <= LONGEST_ROW else iter(())
        if notes and number - notes.last > APART:
            yield from notes.block()
            notes = None
        for topic, value, name in told:
            notes = notes or Notes("device list", number)
            notes.is_whole = False  # the lines between are other people's
            notes.say(topic, value, number, name)
    if notes:
        yield from notes.block()


def of_line(lines: Sequence[str], number: int) -> Iterator[tuple[Topic, str, str]]:
    """(topic, value, name) of the device that a line names."""
    line = lines[number - 1]
    if not any(mark in line for mark in MARKS):
        return
    if found := GFX.match(line):
        yield "gfx", found[1], ""
        yield from market_name(lines, number)
    elif found := CARD.match(line):
        yield "accelerator", "" if found[2].startswith("0x") else found[2], found[1]
    elif found := APPLE.fullmatch(line):
        yield "accelerator", found[1], ""
    elif found := LSPCI.search(line):
        yield "gpu" if found[1] == "NVIDIA" else "accelerator", found[2], ""
    elif found := AMD_SMI.match(cells(line)) or XPU_SMI.match(cells(line)):
        yield "accelerator", found[1], ""


def market_name(lines: Sequence[str], number: int) -> Iterator[tuple[Topic, str, str]]:
    """The name under which the device of a line is sold, from the lines below it."""
    for below in lines[number : number + AHEAD]:
        if len(below) <= LONGEST_ROW and (found := MARKET_NAME.fullmatch(below)):
            yield "accelerator", found[1], ""
            return
