"""The lines of a report that people read, in a terminal or in Markdown: one subject each, and the packages.

::

    Examining ~/train/.venv/bin/python (Python 3.11.9, venv)
    [note] driver              550.54.15, offers CUDA 12.4
    | driver | note | 550.54.15, offers CUDA 12.4 |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.readers.paste import Block
from doctor.readers.paste.names import VERSION
from doctor.readers.paste.notes import Notes
from doctor.readers.paste.platforms import of_system

LOOK = 1_000  # characters of a line that are looked at
APART = 12  # lines between two subjects: one may take several
CONTINUED = 8  # lines over which a subject may be broken
GIB = 1 << 30

TITLES = (
    r"system|driver|gpu|interpreter|packages|torch|bitsandbytes|native libraries|cuda versions|compiling"
    r"|training libraries|smoke test|sources"
)
MARKS = r"(?:\[(?:ok|note|warn|FAIL|\?)\]|[\u2713i!\u2717] (?:ok|note|warn|FAIL)|\?)"
IN_TERMINAL = re.compile(rf"\s{{0,8}}{MARKS}\s{{1,8}}({TITLES})(?:\s{{1,24}}(\S[^\n]*))?\s*$")
IN_MARKDOWN = re.compile(rf"\s{{0,8}}\| ({TITLES}) \| (?:ok|note|warn|FAIL|\?) \| ([^\n]*?) ?\|\s{{0,8}}")
EXAMINING = re.compile(
    r"\s{0,8}Examining `{0,3}([^\s`(][^\n`(]{0,300}?)`{0,3} \(Python (3\.\d{1,2}(?:\.\d{1,2})?),"
)
DRIVER = re.compile(r"(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)(?:, offers CUDA (\d{1,2}\.\d{1,2}))?")
GPU = re.compile(
    r"(?:(\d{1,3}) x )?([A-Z][^,;]{1,80}), (?:(\d{1,5}\.\d) GiB|the system's memory|memory not told), "
    r"compute capability (\d{1,2}\.\d|unknown)"
)
TORCH = re.compile(rf"({VERSION}), (?:built for (CUDA|ROCm) (\d{{1,2}}\.[\d.]{{1,10}})|(a CPU-only build))?")
SIGHT = re.compile(r"sees (no GPU|\d{1,3} GPU)")
BITSANDBYTES = re.compile(rf"({VERSION})(?:, loads (libbitsandbytes_\w{{1,40}}\.(?:so|dll|dylib)))?")
LIBRARY = re.compile(rf"(?<![\w-])(?!in )([a-z][a-z-]{{1,30}}) ({VERSION})(?=[,;: ]|$)")
LIST = re.compile(r"\s{0,8}(?:<summary>)?Installed packages \(\d{1,5}\)")
# What a machine without a GPU does not have quotes the driver's words, and is no complaint there.
NEEDLESS = re.compile(r"none is needed: |\s{0,8}\| `?\w{1,40}`? \| not-applicable \| ")
LISTED = re.compile(rf"\s{{0,8}}([a-z0-9][a-z0-9-]{{0,80}})==({VERSION}|\?)\s{{0,8}}")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report."""
    notes: Notes | None = None
    for number, line in enumerate(lines, 1):
        told = line[:LOOK]
        head = examining(lines, number) if "Examining" in told else None
        found = IN_TERMINAL.match(told) or IN_MARKDOWN.fullmatch(told)
        if (found and NEEDLESS.match(found[2] or "")) or NEEDLESS.match(told):
            yield Block("lora-doctor", number, number, ())
        if notes and (head or number - notes.last > APART):
            yield from notes.block()
            notes = None
        if head or found:
            notes = notes or begun(number)
        if head and notes:
            notes.say("executable", head[1], number)
            notes.say("python", head[2], number)
        if found and notes:
            tell(found[1], continued(lines, number, found[2] or ""), number, notes)
    if notes:
        yield from notes.block()


def examining(lines: Sequence[str], number: int) -> re.Match[str] | None:
    """The head of a report that begins in a line; a narrow terminal breaks it."""
    return EXAMINING.match(" ".join(line[:LOOK] for line in lines[number - 1 : number + 2]))


def begun(number: int) -> Notes:
    """Notes on a report that begins at a line; its findings quote errors, which are not taken from it."""
    notes = Notes("lora-doctor", number)
    notes.is_whole = False
    return notes


def continued(lines: Sequence[str], number: int, text: str) -> str:
    """The words of a subject with the lines that they are broken over, without Markdown's escapes."""
    for below in lines[number : number + CONTINUED]:
        if not below.strip() or IN_TERMINAL.match(below[:LOOK]) or below.lstrip().startswith("|"):
            break
        text += " " + below.strip()[:LOOK]
    return text.replace("\\", "").strip()


def tell(title: str, text: str, number: int, notes: Notes) -> None:
    """What one subject says."""
    if title == "system":
        system(text, number, notes)
    elif title == "driver" and (found := DRIVER.match(text)):
        notes.say("driver", found[1], number)
        notes.say("driver cuda", found[2] or "", number)
    elif title == "gpu":
        gpus(text, number, notes)
    elif title == "torch":
        torch(text, number, notes)
    elif title == "bitsandbytes" and (found := BITSANDBYTES.match(text)):
        notes.say("package", found[1], number, "bitsandbytes")
        notes.say("bitsandbytes library", found[2] or "", number)
    elif title == "training libraries":
        for one in LIBRARY.finditer(text):
            notes.say("package", one[2], number, one[1])


def system(text: str, number: int, notes: Notes) -> None:
    """The parts of "Debian GNU/Linux 12 (bookworm), x86_64, glibc 2.36, 32 CPUs, ..., in docker"."""
    parts = text.split(", ")
    for said in of_system(parts[0]):
        notes.say(said.topic, said.value, number, said.name)
    for part in parts[1:]:
        if part in ("x86_64", "aarch64", "arm64"):
            notes.say("arch", part, number)
        elif part.startswith(("glibc ", "musl ")):
            notes.say("libc", part, number)
        elif part.startswith("in "):
            notes.say("container", part[3:], number)
        elif part == "WSL":
            notes.say("wsl", "yes", number)


def gpus(text: str, number: int, notes: Notes) -> None:
    """Each GPU, one after the other as often as it is there."""
    index = 0
    for found in GPU.finditer(text):
        for _ in range(min(16, int(found[1] or 1))):
            notes.say("gpu", found[2], number, str(index))
            notes.say("gpu memory", str(round(float(found[3]) * GIB)) if found[3] else "", number, str(index))
            known = found[4] if found[4] != "unknown" else ""
            notes.say("gpu capability", known, number, str(index))
            index += 1


def torch(text: str, number: int, notes: Notes) -> None:
    """Its version, what it is built for and whether it sees a GPU."""
    found, sight = TORCH.match(text), SIGHT.search(text)
    if found:
        notes.say("package", found[1], number, "torch")
        notes.say("torch cuda", found[3] if found[2] == "CUDA" else "none" if found[4] else "", number)
        notes.say("torch hip", found[3] if found[2] == "ROCm" else "", number)
    if sight:
        notes.say("torch sees gpu", "no" if sight[1] == "no GPU" else "yes", number)


def packages(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, version) of the list that Markdown folds away."""
    is_within = False
    for line in lines:
        told = line[:LOOK]
        found = LISTED.fullmatch(told) if is_within else None
        if found:
            yield found[1], "" if found[2] == "?" else found[2]
        elif told.strip():
            is_within = LIST.match(told) is not None or (is_within and told.startswith("```"))
