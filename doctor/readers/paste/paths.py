"""What paths tell of an environment: its Python, its system, whether it is a container.

A path may be of another environment than the one that fails, so what is stated outweighs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.paste import Statement, Topic
from doctor.readers.paste import LONGEST, Block

LONGEST_LINE = 2000
MARK = re.compile(r"[/\\.@\[=]")  # without one of these no line has a path
MOST = 60  # statements of one paste
START = r"(?:^|[\s\"'(=:])"  # of a path
# What tells of the topic, and the value: a number of a group, or a word.
SIGNS: tuple[tuple[str, Topic, str], ...] = (
    (r"[/\\]lib(?:64)?/python(3\.\d{1,2})/", "python", r"\1"),
    (r"[/\\][Pp]ython(3)(\d{1,2})[/\\]", "python", r"\1.\2"),
    (r"/Python\.framework/Versions/(3\.\d{1,2})/", "python", r"\1"),
    (r"\.cpython-(3)(\d{1,2})-", "python", r"\1.\2"),
    (r"\.cp(3)(\d{1,2})-win", "python", r"\1.\2"),
    (START + r"([/~][^\s\"':]{0,200})/lib(?:64)?/python3\.\d{1,2}/site-packages", "executable", r"\1"),
    (r"\b([A-Za-z]:\\[^\s\"'*?<>|]{1,200})\\[Ll]ib\\site-packages", "executable", r"\1"),
    (r"-(x86_64|aarch64)-linux-gnu\b", "arch", r"\1"),
    (r"\.win-amd64\.pyd", "arch", "x86_64"),
    (r"-linux-gnu\b|" + START + r"/(?:home|root|usr|mnt|etc|workspace|data|lib64|opt/conda)/", "os", "linux"),
    (r"\.so(?:\.\d{1,3}){0,3}(?=[\s:'\")]|$)(?<!darwin\.so)", "os", "linux"),
    (START + r"/Users/|-darwin\.so\b|/opt/homebrew/|\.dylib\b", "os", "darwin"),
    (r"(?:^|[\s\"'(=])[A-Za-z]:\\{1,2}[\w .-]|\.win-amd64\.pyd|\.dll\b|\[WinError \d", "os", "win32"),
    (r"/usr/lib/wsl/|/lib/wsl/|microsoft-standard-WSL", "wsl", "yes"),
    (START + r"/kaggle/(?:working|input)\b", "container", "kaggle"),
    (START + r"/content/(?:drive|sample_data)\b|google\.colab|/usr/lib64-nvidia", "container", "colab"),
    (START + r"/databricks/", "container", "databricks"),
    (r"\broot@[0-9a-f]{12}:|^== CUDA ==|/\.dockerenv\b", "container", "docker"),
    (r"/var/run/secrets/kubernetes\.io\b", "container", "kubernetes"),
)
PATTERNS = tuple((re.compile(sign), topic, value) for sign, topic, value in SIGNS)


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each thing that paths tell, where it is told first."""
    known: set[tuple[Topic, str]] = set()
    for number, line in enumerate(lines, 1):
        found = tuple(one for one in told_in(line, number) if (one.topic, one.value) not in known)
        known |= {(one.topic, one.value) for one in found}
        if found:
            yield Block("traceback", number, number, found, is_whole=False)
        if len(known) > MOST:
            return


def told_in(line: str, number: int) -> Iterator[Statement]:
    """What the paths in one line tell."""
    text = line[:LONGEST_LINE]
    if not MARK.search(text):
        return
    for pattern, topic, value in PATTERNS:
        if found := pattern.search(text):
            yield Statement(topic=topic, value=found.expand(value)[:LONGEST], form="traceback", line=number)
