"""What a Python prompt or a one-liner was asked, and what it printed in the line below.

>>> torch.__version__, torch.version.cuda
('2.3.0+cu121', '12.1')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from doctor.paste import Statement, Topic
from doctor.readers.paste import LONGEST, Block
from doctor.readers.paste.names import VERSION, canonical

LONGEST_LINE = 1000
ASKED = re.compile(
    r"\b(?:(?P<module>[A-Za-z_]\w{1,40})\.__version__|metadata\.version\([\"'](?P<named>[\w-]{1,60})[\"']\)"
    r"|torch\.version\.(?P<built>cuda|hip)|(?P<sees>torch\.cuda\.is_available\(\))"
    r"|(?P<gpu>torch\.cuda\.get_device_name\(\w{0,6}\))"
    r"|(?P<capability>torch\.cuda\.get_device_capability\(\w{0,6}\))"
    r"|(?P<archs>torch\.cuda\.get_arch_list\(\))|(?P<python>sys\.version|platform\.python_version\(\)))"
)
OF_SHELL = re.compile(r"\bpython[\d.]{0,5} (?:-V|--version)\s*$")
SHOWN_BEHIND = re.compile(r"[\s)]{0,6}(?:->|=>|→|==?|:|returns?|is|prints?|gives?)\s{0,4}[\"'`]{0,2}")
OUTPUT = re.compile(r"^(?:Out\s?\[\d{1,4}\]:|output:|#|>{1,3})\s{0,2}", re.I)
ANSWER = re.compile(
    rf"\[[^\[\]]{{0,400}}\]|\(\d{{1,2}}, ?\d{{1,2}}\)|[\"']([^\"']{{0,200}})[\"']|{VERSION}"
    r"|[^\s,\"'()]{1,100}"
)
VERSION_ONLY = re.compile(VERSION)


def answers_in(lines: Sequence[str]) -> Iterator[Block]:
    """Each question with the line below that answers it, or with the answer behind it in its own line."""
    for index, line in enumerate(lines):
        text = line[:LONGEST_LINE]
        asked = list(ASKED.finditer(text))
        found: tuple[Statement, ...] = ()
        if len(asked) == 1:
            found = behind(text, asked[0], index + 1)
        if asked and not found:
            found = below(asked, following(lines, index))
        if not asked and OF_SHELL.search(text):
            found = of_shell(following(lines, index))
        if found:
            yield Block("commands", index + 1, found[-1].line, found, is_whole=False)


def following(lines: Sequence[str], index: int) -> list[tuple[int, str]]:
    """The next lines that are not empty and ask nothing themselves, four at most."""
    rest: list[tuple[int, str]] = []
    for number in range(index + 1, min(index + 8, len(lines))):
        text = lines[number].strip()[:LONGEST_LINE]
        if text.startswith((">>>", "In [", "$")) or ASKED.search(text):
            break
        if text and not text.startswith(('"', "exit", "import ")):
            rest.append((number + 1, text))
    return rest[:4]


def behind(text: str, asked: re.Match[str], line: int) -> tuple[Statement, ...]:
    """The answer in the same line: "torch.version.cuda: 12.4"."""
    sign = SHOWN_BEHIND.match(text, asked.end())
    answer = ANSWER.match(text, sign.end()) if sign else None
    return tuple(meaning(asked, answer[1] or answer[0], line)) if answer else ()


def below(asked: Sequence[re.Match[str]], output: Sequence[tuple[int, str]]) -> tuple[Statement, ...]:
    """The answers below: one line each, or all of them in one."""
    if not output:
        return ()
    line, first = output[0]
    plain = OUTPUT.sub("", first, count=1)
    whole = len(asked) == 1 and (asked[0]["gpu"] or asked[0]["python"])
    words = [plain] if whole else [found[1] or found[0] for found in ANSWER.finditer(plain)]
    if len(words) == len(asked):
        pairs = [(one, word, line) for one, word in zip(asked, words, strict=True)]
    elif len(output) >= len(asked) and len(words) == 1:
        pairs = [(one, word.strip("'\""), at) for one, (at, word) in zip(asked, output, strict=False)]
    else:
        return ()
    return tuple(statement for one, word, at in pairs for statement in meaning(one, word, at))


def of_shell(output: Sequence[tuple[int, str]]) -> tuple[Statement, ...]:
    """What ``python --version`` prints."""
    found = re.match(r"Python (3\.\d{1,2}\.\d{1,2}\S{0,10})", output[0][1]) if output else None
    return (of("python", found[1], output[0][0]),) if found else ()


def of(topic: Topic, value: str, line: int, name: str = "") -> Statement:
    """A statement of an answer."""
    return Statement(topic=topic, value=value[:LONGEST], name=name, form="commands", line=line)


def meaning(asked: re.Match[str], answer: str, line: int) -> Iterator[Statement]:
    """What an answer says, where it is one to the question."""
    kind = asked.lastgroup or ""
    if kind in ("module", "named"):
        package = canonical(asked[kind])
        if package and VERSION_ONLY.fullmatch(answer):
            yield of("package", answer, line, package)
    elif kind in MEANINGS:
        yield from MEANINGS[kind](asked, answer.strip(), line)


def built(asked: re.Match[str], answer: str, line: int) -> Iterator[Statement]:
    """What torch was built with."""
    topic: Topic = "torch cuda" if asked["built"] == "cuda" else "torch hip"
    if re.fullmatch(r"\d{1,2}\.\d{1,2}[\w.-]{0,20}", answer):
        yield of(topic, answer, line)
    elif answer == "None" and topic == "torch cuda":
        yield of(topic, "none", line)


def sees(_: re.Match[str], answer: str, line: int) -> Iterator[Statement]:
    """Whether torch sees a GPU."""
    if answer.lower() in ("true", "false"):
        yield of("torch sees gpu", "yes" if answer.lower() == "true" else "no", line)


def gpu(_: re.Match[str], answer: str, line: int) -> Iterator[Statement]:
    """Its name."""
    if re.search(r"[A-Za-z]\d|\d{3}", answer) and len(answer) < 80:
        yield of("gpu", answer.strip("'\""), line, "0")


def capability(_: re.Match[str], answer: str, line: int) -> Iterator[Statement]:
    """Its compute capability: "(8, 6)"."""
    if found := re.match(r"\((\d{1,2}), ?(\d)\)", answer):
        yield of("gpu capability", f"{found[1]}.{found[2]}", line, "0")


def architectures(_: re.Match[str], answer: str, line: int) -> Iterator[Statement]:
    """What torch has code for."""
    names = re.findall(r"(?:sm|compute|gfx)_?\w{2,6}", answer)
    if names:
        yield of("torch architectures", " ".join(names), line)


def python(_: re.Match[str], answer: str, line: int) -> Iterator[Statement]:
    """Its version."""
    if found := re.match(r"['\"]?(3\.\d{1,2}\.\d{1,2})", answer):
        yield of("python", found[1], line)


MEANINGS: dict[str, Callable[[re.Match[str], str, int], Iterator[Statement]]] = {
    "built": built,
    "sees": sees,
    "gpu": gpu,
    "capability": capability,
    "archs": architectures,
    "python": python,
}
