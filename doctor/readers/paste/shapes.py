"""Lines that complain without a class at their beginning: of programs, libraries, and quoted by people.

Patterns are bounded or over disjoint classes, and only the beginning of a line is looked at.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from doctor.readers.paste import programs
from doctor.readers.paste.kinds import looks_like_exception

LOOKED_AT = 20_000  # characters of one line
MOST_BRIEF = 8  # characters: "loss=nan"


class Shape(NamedTuple):
    """A complaint in one line."""

    start: int  # column at which it begins
    level: Literal["error", "line"]
    kind: str = ""
    message: str = ""  # where it ends within the line; "" where it may go on below


# Anywhere in a line: what libraries say, in the words of messages that are looked up.
QUOTED = r"['\"`]{0,2}"
LIBRARIES = re.compile(
    rf"[Cc]annot import name {QUOTED}\w|[Nn]o module named {QUOTED}\w"
    rf"|got (?:an unexpected keyword|multiple values for)|[Uu]nexpected keyword argument {QUOTED}\w"
    r"|missing \d{1,3} required (?:positional|keyword)|takes (?:from )?\d{1,3} positional"
    rf"|has no attribute {QUOTED}\w|undefined symbol\b"
    r"|cannot open shared object file|invalid ELF header|file too short|version `\w[\w.]{0,60}' not found"
    r"|`[\w.]{1,100}` (?:not found|is not (?:found|installed|supported|available))"
    r"|Target modules? .{1,400} (?:not found|is not supported)"
    r"|\d[\w.+]{0,40} requires [\w.-]{1,60}"
    r"|INTERNAL ASSERT FAILED|size mismatch for \S|is not a recognized processor|cannot find -l\w"
    r"|(?:CUDA|HIP|NCCL|cuDNN|CUBLAS|hipErr)(?: error| out of memory)|no kernel image is available"
    r"|Error \d{1,4}: \w|operator \S{1,80} does not exist"
)
CONFLICT = re.compile(r"[\w.-]{1,60} \d[\w.+]{0,40} requires [\w.-]{1,60}")
# What belongs to such a message before its mark: the function, the object, the file.
BEFORE_MARK = re.compile(
    r"(?:module |type object )?['\"`]?[\w./<>+()-]{1,160}['\"`]?(?: object|:)? $", re.ASCII
)
# Anywhere in a line that is no prose, in lower case.
LOOSE = (
    "out of memory|not compatible|incompatible|not support|n't support|unsupported|longer supported"
    "|only support|not compiled|not built|not detected|not available|not recognize|not installed"
    "|not defined|not found|not exist|not be |been compiled|was compiled|was built for|cannot "
    "|can't |could not|couldn't|unable to|failed|mismatch|is required|requires|please install|please upgrade"
    "|please update|please run|please use|too old|too new|deprecated|insufficient|denied|refused|killed"
    "|unknown error|invalid|illegal|missing|no such file|disabling pytorch|unexpected|attempted on|unscale"
    "|you need |detected version|purely quantized|not require grad|no kernel|on the same|not initialized"
    "|were not used when|tried to allocate"
    "|valueerror: |importerror: |runtimeerror: |typeerror: |attributeerror: |keyerror: "
).split("|")
LOOSE_WORDS = re.compile(r"\b(?:error|nan|no (?:cuda|nvidia|gpu|hip))\b", re.I)
BARE_LIBRARY = re.compile(r"[^\s=]{0,200}lib[\w.-]{1,120}\.(?:so|dll|dylib)[\w.]{0,20}$")
IN_ENGLISH = re.compile(r"[\x20-\x7e]{20,}")  # the error behind words in another language
# "Clang version: Could not collect", "Requires: numpy": the value of a key, in what lists an environment.
OF_A_LIST = re.compile(
    r"\s{0,40}(?:[-*] )?[`\w ()?./-]{1,60}:\s{1,40}"
    r"(?:not (?:found|detected|installed|available|affected)|could not collect|n/a|none)\s{0,4}$"
    r"|\s{0,8}require[sd](?:-by)?: ",
    re.I,
)
PROSE = re.compile(
    r"(?:[-*•] |\d{1,2}[.)] )?"
    r"(?:I|I'm|I've|My|We|Hi|Hello|Hey|When|After|But|However|Is|Does|Do|Did|Can|What|Why|How|Thanks?|Any|Has"
    r"|Describe|Steps|Expected (?:behaviou?r|results?)|Also|Then|Even|Anyone|Sorry|Yes|Yeah|Maybe|As|Since|So"
    r"|And|It's|In|On|Environment|Question|Title|Running|Tried (?!to allocate)|Trying|Getting|Hope|Same)\b"
    r"|.{0,160}\b(?:I|I'm|I've|my)\b|[^\x00-\x7f]"
)
HINT = re.compile(r"(?:note|hint|tip|help|info): ", re.I)
COMMANDS = r"pip|python|conda|uv|git|cp|ldd|cd|sudo|apt|docker|export"
IS_CODE = re.compile(
    r"\s{0,80}(?:from \S{1,200} import |import [\w.]|def |class |return\b|raise\b|except\b|try:|if |elif "
    r"|else:|with |for |assert\b|logger\.|warnings\.|print\(|@\w|#!|\w{1,60}\s?=\s"
    r"|[\w.]{1,80}\((?!\) (?:got|missing|takes))|\{|\[[\"'{]|[\"'][\w -]{1,60}[\"']\s?:"
    rf"|!?(?:{COMMANDS})[\d.]{{0,4}} |\$ |>>> |%)"
)
CLASS_ENDS = re.compile(r"(?:Error|Exception|Warning): (?=\S)")
BEFORE_CLASS = re.compile(r"[\w.]{1,160}$", re.ASCII)
OF_CODE = re.compile(r"\b(?:except|raise|raises|catch|import|class|assert)\s{0,4}\(?$", re.I)


def shape_of(text: str) -> Shape | None:
    """The complaint in a line, None where it has none."""
    text = text[:LOOKED_AT]
    start = indentation(text)
    if HINT.match(text, start):
        return None
    if told := class_inside(text):
        return told
    if programs.complains(text[start:]):
        return Shape(start, "error")
    if text[start : start + 1] > "\x7f":
        return in_english(text)
    if programs.PROGRAMS.match(text, start) or IS_CODE.match(text):
        return None
    if found := LIBRARIES.search(text):
        return of_a_library(text, start, found)
    return Shape(start, "line") if complains_loosely(text, start) else None


def in_english(text: str) -> Shape | None:
    """The complaint among words of another language: it ends where they go on."""
    part = IN_ENGLISH.search(text)
    words = part[0].strip(" :,-?.!") if part else ""
    found = shape_of(words)
    if not part or not found:
        return None
    start = text.index(words, part.start()) + found.start
    return found._replace(start=start, message=found.message or words[found.start :])


def of_a_library(text: str, start: int, found: re.Match[str]) -> Shape:
    """The whole line, of a sentence what it quotes."""
    if not PROSE.match(text, start):
        return Shape(start, "line")
    begun = BEFORE_MARK.search(text, max(0, found.start() - 180), found.start())
    at = begun.start() if begun else found.start()
    return Shape(at, "line", message=quoted_part(text, at, at))


def complains_loosely(text: str, start: int) -> bool:
    """Is a line in the words of a library that fails, or the bare name of its file?"""
    if len(text) - start < MOST_BRIEF or PROSE.match(text, start) or OF_A_LIST.match(text):
        return False
    lower = text.lower()
    if any(word in lower for word in LOOSE) or LOOSE_WORDS.search(text):
        return True
    return BARE_LIBRARY.match(text, start) is not None


def starts_shape(text: str) -> bool:
    """Does a program or a library begin to complain in a line? Then no other message goes on there."""
    text = text[:LOOKED_AT].lstrip()
    if text.startswith("what(): "):  # it is what was thrown in the line above
        return False
    if programs.PROGRAMS.match(text):
        return programs.complains(text)
    return (LIBRARIES.match(text) or CONFLICT.match(text)) is not None


def class_inside(text: str) -> Shape | None:
    """An exception that stands within a line: in prose, or as a logger passes it on."""
    for ends in CLASS_ENDS.finditer(text):
        named = BEFORE_CLASS.search(text, max(0, ends.end() - 162), ends.end() - 2)
        start = named.start() if named else ends.start()
        if text[start - 1 : start + 1] == "\\n":  # a line break as JSON writes it
            start += 1
        kind = text[start : ends.end() - 2].lstrip(".")
        before = text[max(0, start - 40) : start]
        if looks_like_exception(kind) and not OF_CODE.search(before) and before[-1:] not in ("(", "=", "|"):
            return Shape(start, "line", kind, quoted_part(text, start, ends.end()))
    return None


def quoted_part(text: str, start: int, message: int) -> str:
    """The message up to the mark that closes what was opened before it, or to an escaped line break."""
    opened = text[start - 1 : start]
    end = text.rfind(opened, message + 1) if opened and opened in "\"'`" else -1
    escaped = text.find("\\n", message)
    ends = [at for at in (end, escaped) if at > message]
    return text[message : min(ends, default=len(text))].rstrip()


def indentation(text: str) -> int:
    """Blanks before a line."""
    return len(text) - len(text.lstrip())
