"""Foreign text made harmless: facts come from files and programs that may be broken or hostile.

Standard: ECMA-48 for the escape sequences; Unicode TR 9 for the marks that reorder text.
"""

from __future__ import annotations

import re

# An unfinished sequence loses its ESC below and stays as visible text.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS
    r"|\x1b[()#%]?[0-Z\\-~]"  # character sets, keypad, reset
)
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def plain(text: str) -> str:
    r"""Text without terminal escapes, control characters (``\n`` and ``\t`` stay) and invisible marks.

    A carriage return, as progress bars print it, becomes a line break. Bytes of a file name that are
    no UTF-8 (lone surrogates in Python) become U+FFFD, so that the result can always be encoded.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPE.sub("", text.replace("\r\n", "\n"))
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text.replace("\r", "\n")))


def one_line(text: str) -> str:
    """Harmless text with every run of white space, line breaks too, as one space."""
    return " ".join(plain(text).split())


def ascii_only(text: str) -> str:
    r"""Text for a terminal without Unicode: "é" becomes ``\xe9``."""
    return text if text.isascii() else text.encode("ascii", "backslashreplace").decode("ascii")
