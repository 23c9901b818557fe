r"""Pasted text made plain: without escapes, Markdown, HTML and what launchers and loggers set before lines.

One line stays one line, so that a line of the result is that line of the paste.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.plain import plain
from doctor.readers.paste.prefixes import without_prefixes


class Line(NamedTuple):
    """One line of a paste, cleaned."""

    text: str
    speaker: str = ""  # the process that wrote it, where a prefix tells: "rank3", "web-1"
    level: str = ""  # "ERROR", where the prefix of a logger told it


# Spaces and punctuation of other keyboards, and what word processors make of quotes.
PLAINER = str.maketrans(
    {
        **dict.fromkeys("\xa0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000", " "),
        **{"：": ":", "＝": "=", "（": "(", "）": ")", "，": ",", "；": ";", "！": "!", "？": "?"},
        **dict.fromkeys("‘’‚′", "'"),
        **dict.fromkeys("“”„″", '"'),
    }
)
ENTITIES = (
    *(("&gt;", ">"), ("&lt;", "<"), ("&quot;", '"'), ("&#39;", "'"), ("&#x27;", "'"), ("&#96;", "`")),
    *(("&nbsp;", " "), ("&amp;", "&")),
)
TAG = re.compile(
    r"</?(?:details|summary|br|pre|code|p|div|span|blockquote|samp|kbd)(?:\s[^<>]{0,200})?/?>", re.I
)
QUOTE = re.compile(r"(?:[ \t]{0,3}>(?!>>|[=-]) ?){1,30}")  # ">>> " is a prompt
FENCE = re.compile(r"[ \t]{0,12}(?:`{3,8}|~{3})[ \t]*[\w{}.:+ -]{0,40}$")
BOX = "│┃║"
RULE = re.compile(r"[─━═╭╮╰╯┌┐└┘├┤┏┓┗┛╔╗╚╝ \t-]{3,400}")
CORNERS = "╭╮╰╯┌┐└┘┏┓┗┛╔╗╚╝"
MARK_OF_AN_ERROR = re.compile(r"Error|Traceback|error:|Exception")


def clean(raw: str) -> str:
    r"""A paste as plain text, with as many lines as it had.

    Of a line that was written over with ``\r`` the last state stays that tells of an error, else the last.
    """
    return "\n".join(line.text for line in cleaned(raw))


def cleaned(raw: str) -> tuple[Line, ...]:
    """Each line with what its prefix told of it."""
    return tuple(map(clean_line, raw.split("\n")))


def clean_line(raw: str) -> Line:
    """One line, from the outside in: terminal, HTML, Markdown, then prefixes and boxes."""
    text = without_markup(printed(raw))
    text, speaker, level = without_prefixes(text)
    if speaker or level:
        text = without_bar(text)
    return Line(unboxed(text), speaker, level)


def printed(raw: str) -> str:
    """What a terminal shows of a line."""
    text = last_state(raw.rstrip("\r")) if "\r" in raw else raw
    text = plain(text)
    return text if text.isascii() else text.translate(PLAINER)


def last_state(raw: str) -> str:
    """What stays on the screen of a line that was written over; an error that stood there is not lost."""
    states = [state for state in raw.split("\r") if state.strip()]
    telling = [state for state in states[-400:] if MARK_OF_AN_ERROR.search(state[:4000])]
    return (telling or states or [""])[-1]


def without_markup(text: str) -> str:
    """A line without HTML and the quotes and fences of Markdown."""
    if "&" in text:
        for entity, character in ENTITIES:
            text = text.replace(entity, character)
    if "<" in text:
        text = TAG.sub(lambda tag: " " if tag[0][:3].lower() == "<br" else "", text)
    if quote := QUOTE.match(text):
        text = text[quote.end() :]
    if "`" in text or "~~~" in text:
        text = without_fence(text)
    return without_bar(text)


def without_fence(text: str) -> str:
    """A line without the marks of code around it. Marks within it stay."""
    if FENCE.match(text):
        return ""
    text = text.replace("```", "")
    bare = text.strip()
    if len(bare) > 2 and bare[0] == bare[-1] == "`" and bare.count("`") == 2:
        return bare[1:-1]
    return text


def without_bar(text: str) -> str:
    """What follows a progress bar in its line: an error begins where the bar stood still."""
    if "%|" not in text:
        return text
    bar, bracket, rest = text.rpartition("]")
    begins = rest.lstrip()
    return begins if bracket and "it" in bar[-40:] + rest[:3] and MARK_OF_AN_ERROR.search(begins) else text


def unboxed(text: str) -> str:
    """A line without the frame that rich and pip draw around it; the words on a border stay."""
    if text.isascii():
        return text
    bare = text.strip()
    if bare[:1] and bare[0] in BOX:
        inside = bare[1:].rstrip(BOX).rstrip()
        return inside.removeprefix(" ")
    if bare and (bare[-1] in CORNERS or RULE.fullmatch(bare)) and bare[0] in CORNERS + "─━═├┤":
        return bare.strip("─━═├┤ -" + CORNERS)
    return text
