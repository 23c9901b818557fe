"""An argument vector as one line that can be pasted into the user's own shell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.plain import one_line, plain

_POSIX_SAFE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_WINDOWS_SAFE = re.compile(r"[\w@+=:,.~/\\-]+")
_HOME = re.compile(r"(--[\w-]+=)?~(/|$)")  # "~/train" and "--python=~/train", as redaction leaves them


def command_line(command: Sequence[str], *, windows: bool = False) -> str:
    """The command quoted for a POSIX shell, or for cmd and PowerShell alike; always one line."""
    words = [_windows_word(one_line(word)) if windows else _posix_word(plain(word)) for word in command]
    return " ".join(words)


def _posix_word(word: str) -> str:
    home = _HOME.match(word)
    if not home:
        return _posix_quote(word)
    # A shell expands a tilde only where it leads the word.
    start = f'{home[1]}"$HOME"{home[2]}' if home[1] else home[0]
    rest = word[home.end() :]
    return start + (_posix_quote(rest) if rest else "")


def _posix_quote(text: str) -> str:
    if _POSIX_SAFE.fullmatch(text):
        return text
    if "\n" in text or "\t" in text:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"$'{escaped}'"
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _windows_word(word: str) -> str:
    if _WINDOWS_SAFE.fullmatch(word):
        return word
    return '"' + word.replace('"', "'") + '"'
