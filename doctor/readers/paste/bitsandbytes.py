"""What bitsandbytes prints of itself, at import and by ``python -m bitsandbytes``, since 0.34.

Its errors stand among these lines, so no line is taken from those who look for complaints; the table of
versions alone, new with 0.46, holds nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.paste import Topic
from doctor.readers.paste import Block
from doctor.readers.paste.names import VERSION
from doctor.readers.paste.notes import Notes
from doctor.readers.paste.platforms import of_platform

LOOK = 2_000  # characters of a line that are looked at
APART = 60  # lines between two of one report; warnings and lists of paths stand there

FILE = r"(libbitsandbytes_[a-z]{3,4}\w{0,30}\.(?:so|dll|dylib))"
# What it took: "bin /path/libbitsandbytes_cuda117.so", "CUDA SETUP: Loading binary /path/...so...",
# "CUDA SETUP: Defaulting to libbitsandbytes_cpu.so...", and since 0.43 "native library from: /path/...so".
TOOK = (
    re.compile(rf"^\s{{0,8}}bin [^\n]{{0,400}}?{FILE}"),
    re.compile(rf"(?:Loading binary|Defaulting to|native library from:) {{1,2}}[^\n]{{0,400}}?{FILE}"),
)
PYTHON = re.compile(r"[/\\]python(3\.\d{1,2})[/\\](?:site|dist)-packages[/\\]bitsandbytes")
SETTINGS = re.compile(r"PyTorch settings found: (CUDA|ROCM)_VERSION=(\d{1,2}\.?\d{1,2})")
CAPABILITY = re.compile(
    r"Highest [Cc]ompute [Cc]apability(?: among GPUs detected)?: {0,2}\(?(\d{1,2})[.,] ?(\d)\b"
)
PER_GPU = re.compile(r"COMPUTE_CAPABILITIES_PER_GPU = \[([\d'., ]{1,400})\]")
SPECS = re.compile(
    r"CUDASpecs\(highest_compute_capability=\((\d{1,2}), ?(\d)\), ?cuda_version_string='\d{2,4}', ?"
    r"cuda_version_tuple=\((\d{1,2}), ?(\d{1,2})\)"
)
OVERRIDE = re.compile(r"(BNB_(?:CUDA|ROCM)_VERSION)(?:=| override: )(\d{2,4})(?:\b| environment variable)")
RUNTIME = re.compile(r"CUDA runtime path found: (/[^\n]{1,300}?(libcudart\.so[\w.]{0,12}))(?:\s|$)")
# Nothing was loaded after all.
FAILED = ("CUDA SETUP: Problem:", "CUDA SETUP: Something unexpected", "CUDA Setup failed despite")
WORKS = re.compile(r"\s{0,8}SUCCESS!\s{0,8}")
NO_CUDA = re.compile(
    r"(?:[Tt]orch|PyTorch) says CUDA is not available|CUDA specs: None|No CUDA, ROCm, or XPU detected"
)
OLDEST_CUDA = 9  # an older major in CUDASpecs is that of ROCm

TABLE = re.compile(rf"\s{{0,8}}={{0,40}} ?bitsandbytes v({VERSION})(?: ={{0,40}})?\s{{0,8}}")
END_OF_TABLE = re.compile(r"\s{0,8}={20,80}\s{0,8}")
PAIR = re.compile(r"[\s*-]{0,12}([A-Za-z][\w-]{0,40}): (\S[^\n]{0,160})")
RELEASE = re.compile(VERSION)
TABLE_LINES = 30


# One of these stands in every line that is looked at closer.
MARKS = (
    *("libbitsandbytes_", "PyTorch settings found", "ompute capability", "ompute Capability", "CUDASpecs("),
    *("COMPUTE_CAPABILITIES_PER_GPU", "BNB_", "CUDA runtime path found", "SUCCESS!", "says CUDA is not"),
    *("CUDA specs: None", "No CUDA, ROCm, or XPU", *FAILED),
)


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report, and each table of versions."""
    report: _Report | None = None
    for number, line in enumerate(lines, 1):
        told = line[:LOOK]
        if "bitsandbytes v" in told and TABLE.fullmatch(told):
            yield from versions(lines, number)
        if not any(mark in told for mark in MARKS):
            continue
        if report and number - report.notes.last > APART:
            yield from report.blocks()
            report = None
        report = report or _Report(number)
        report.line(told, number)
    if report:
        yield from report.blocks()


class _Report:
    """One report while its lines go by."""

    def __init__(self, line: int) -> None:
        self.notes = Notes("bitsandbytes", line)
        self.notes.is_whole = False
        self.library: tuple[str, int] | None = None  # what it took last, and where it says so

    def blocks(self) -> Iterator[Block]:
        """The block, where it says anything."""
        if self.library:
            self.notes.say("bitsandbytes library", *self.library)
        yield from self.notes.block()

    def line(self, line: str, number: int) -> None:
        """Take what one line says."""
        if found := TOOK[0].search(line) or TOOK[1].search(line):
            self.library = found[1], number
            python = PYTHON.search(line)
            self.notes.say("python", python[1] if python else "", number)
        elif any(mark in line for mark in FAILED):
            self.library = None
        if found := OVERRIDE.search(line):
            self.notes.say("variable", found[2], number, found[1])
        if found := RUNTIME.search(line):
            self.notes.say("library", found[1], number, found[2])
        self._torch(line, number)
        self._capabilities(line, number)

    def _torch(self, line: str, number: int) -> None:
        """What torch was built for, and whether it sees a GPU. Both are torch's own words since 0.41."""
        if found := SETTINGS.search(line):
            topic: Topic = "torch cuda" if found[1] == "CUDA" else "torch hip"
            self.notes.say(topic, dotted(found[2], 2 if found[1] == "CUDA" else 1), number)
        if found := SPECS.search(line):
            topic = "torch cuda" if int(found[3]) >= OLDEST_CUDA else "torch hip"
            self.notes.say(topic, f"{found[3]}.{found[4]}", number)
            self.notes.say("torch sees gpu", "yes", number)
        # Other programs cheer as well; this one has told the capability before.
        if WORKS.fullmatch(line) and self.notes.has("gpu capability"):
            self.notes.say("torch sees gpu", "yes", number)
        elif NO_CUDA.search(line):
            self.notes.say("torch sees gpu", "no", number)

    def _capabilities(self, line: str, number: int) -> None:
        """Of each GPU where they are listed, else the highest."""
        if found := PER_GPU.search(line):
            for index, one in enumerate(re.findall(r"\d{1,2}\.\d", found[1])):
                self.notes.say("gpu capability", one, number, str(index))
        elif found := CAPABILITY.search(line) or SPECS.search(line):
            self.notes.say("gpu capability", f"{found[1]}.{found[2]}", number)


def dotted(digits: str, major: int) -> str:
    """ "11.8" of "118": CUDA has two digits before the point, ROCm one."""
    plain = digits.replace(".", "")
    return f"{plain[:major]}.{plain[major:]}" if len(plain) > major else plain


def versions(lines: Sequence[str], first: int) -> Iterator[Block]:
    """The table that begins in line ``first``: the machine, torch, related packages."""
    notes = Notes("bitsandbytes", first)
    title = TABLE.fullmatch(lines[first - 1][:LOOK])
    notes.say("package", title[1] if title else "", first, "bitsandbytes")
    for number in range(first + 1, min(first + TABLE_LINES, len(lines) + 1)):
        line = lines[number - 1][:LOOK]
        found = PAIR.fullmatch(line.rstrip())
        if found:
            pair(found[1], found[2], number, notes)
        elif line.strip() != "Related packages:":
            notes.last += END_OF_TABLE.fullmatch(line) is not None
            break
        notes.last = number
    yield from notes.block()


def pair(key: str, value: str, number: int, notes: Notes) -> None:
    """One line of the table."""
    of_torch: dict[str, Topic] = {"CUDA": "torch cuda", "HIP": "torch hip"}
    if key == "Platform":
        for said in of_platform(value):
            notes.say(said.topic, said.value, number, said.name)
    elif key == "Python":
        notes.say("python", value, number)
    elif key in of_torch:
        is_none = value == "N/A"
        notes.say(of_torch[key], value if not is_none else "none" if key == "CUDA" else "", number)
    elif value == "not found":
        notes.say("absent", "", number, key)
    elif RELEASE.fullmatch(value):
        notes.say("package", value, number, "torch" if key == "PyTorch" else key)
