"""Messages of more lines than one: where a message ends, and what stands in its way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from doctor.readers.paste.frames import HEADING, HEADING_OF_IPYTHON, frame_of
from doctor.readers.paste.kinds import exception_in

LINES, CHARACTERS = 40, 4000
CONNECTORS = (
    "The above exception was the direct cause of the following exception",
    "During handling of the above exception, another exception occurred",
)
WARNED = re.compile(r"\s{0,12}((?:[A-Za-z]:)?[^\s:]{1,300}):(\d{1,7}): (\w{1,60}Warning):(?: (.*))?$")
# A line that begins so belongs to no message.
ENDS = re.compile(
    r"\s{0,8}(?:#{1,6} |={5,}|-{5,}|\*{5,}|_{20,}|\$ |>>> |In \[|Out\[|PS [A-Z]:|[A-Z]:\\[^>\n]{0,200}>"
    r"|\(?[\w.-]{0,60}\)? ?[\w.-]{1,40}@[\w.-]{1,80}:|wandb: |Collecting |PyTorch version|Package +Version"
    r"|- `?[\w ]{1,40}`? version|Versions? of|Name: |Versions?:|OS:|\[pip3?\]|\[conda\]|\+[-=]{10,}|\|[ =]"
    r"|Thread 0x|Exception ignored|Fatal Python error|(?:Environment|Expected|Reproduction|System [Ii]nfo)\b"
    r"|\[W\w{0,30}[. ]|Python \d\.|Process \w|Sending process|Root Cause|[\w ]{0,40}FAILED$"
    r"|(?:WARNING|INFO|ERROR):"
    r"|(?:warnings\.)?warn\(|\[end of output\]|(?:note|NOTE|hint): |\"{3}|'{3}"
    r"|from \S{1,160} import |\{['\"]|[│|+] {0,3}\d)"
)
PROSE = re.compile(
    r"(?:I|I'm|I've|My|We|Hi|Hello|When|After|But|However|Does|What|Why|How|Thanks?|Any|Has|Can|Could|Did"
    r"|Describe|Steps|Anyone|Sorry|Even|Also|Here|And|So|Then|Tried|Please help)\b(?! NCCL)"
    r"|.{0,200}\b(?:I|I'm|I've)\b(?![/.])|[\u0400-\u9fff\uac00-\ud7a3]"
)
LEADS_ON = re.compile(r"(?:[:({\[,]|raised:?|Client Error.{0,200})\s{0,8}$")


class Numbered(NamedTuple):
    """A line of one speaker and where it stands."""

    number: int  # counted from 1
    text: str
    level: str = ""


def message_from(
    lines: Sequence[Numbered], at: int, first: str, ends_too: Callable[[str], bool] = lambda text: False
) -> tuple[str, int]:
    """The message that begins with ``first`` in the line ``at``, and the first line behind it."""
    told, after = [first.rstrip()], at + 1
    while after < min(len(lines), at + LINES):
        text = lines[after].text
        if not text.strip():
            if not goes_on(told) or after + 1 >= len(lines) or ends_before(lines, at, after + 1):
                break
        elif ends_before(lines, at, after) or ends_too(text):
            break
        told.append(text.rstrip())
        after += 1
    return joined(told), after


def indentation(text: str) -> int:
    """Blanks before a line."""
    return len(text) - len(text.lstrip())


def goes_on(told: Sequence[str]) -> bool:
    """Does a message go on behind an empty line? One that is empty yet, or that leads on, does."""
    last = told[-1]
    if not last.strip():
        return len(told) == 1
    return LEADS_ON.search(last[-240:]) is not None


def ends_before(lines: Sequence[Numbered], first: int, at: int) -> bool:
    """Does something else begin in a line?"""
    line = lines[at]
    text = line.text
    if line.level and line.level != lines[first].level or indentation(text) < indentation(lines[first].text):
        return True
    if ENDS.match(text) or "%|" in text[:200] or any(text.lstrip().startswith(one) for one in CONNECTORS):
        return True
    if HEADING.match(text) or HEADING_OF_IPYTHON.match(text) or WARNED.match(text) or frame_of(text[:800]):
        return True
    return starts_complaint(lines, at) or is_prose(lines[first].text, text)


def starts_complaint(lines: Sequence[Numbered], at: int) -> bool:
    """Is a line an exception of its own? Behind "raised:" it is the one that is passed on."""
    return exception_in(lines[at].text.strip()) is not None and not LEADS_ON.search(lines[at - 1].text[-240:])


def is_prose(first: str, text: str) -> bool:
    """Does a person go on? Messages of the system may well be in the language of the first line."""
    found = PROSE.match(text.lstrip())
    return found is not None and (text.isascii() or first.isascii())


def joined(told: Sequence[str]) -> str:
    """The lines of a message as one text."""
    return "\n".join(told).strip()[:CHARACTERS]


def unwrapped(message: str) -> str:
    """A message that rich broke where its box ends, as it was: a full line had no room for the next word."""
    lines = message.split("\n")
    width = max(map(len, lines))
    whole = lines[0]
    for before, line in zip(lines, lines[1:], strict=False):
        is_full = width > 60 and len(before) + 1 + len(line.partition(" ")[0]) > width
        whole += (" " if is_full else "\n") + line.lstrip() if is_full else f"\n{line}"
    return whole
