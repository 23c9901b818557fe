"""Which statement is believed where several speak of one thing, and which of them contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from doctor.paste import Contradiction, Form, Statement, Topic
from doctor.versions import comparable

RANK: dict[str, int] = {form: place for place, form in enumerate(get_args(Form))}
# What a path shows may be of another environment, so it stands behind all that is stated.
BY_PATH = RANK["traceback"], len(RANK)
# Topics of which one environment has one value.
SINGLE: tuple[Topic, ...] = ("python", "driver", "torch cuda", "torch hip", "os", "kernel module")
MOST = 40  # contradictions


class Told(NamedTuple):
    """All statements of a paste."""

    statements: tuple[Statement, ...]

    def of(self, *topics: Topic) -> list[Statement]:
        """The statements of some topics, the most believable first."""
        return sorted((one for one in self.statements if one.topic in topics), key=weight)

    def best(self, topic: Topic, name: str = "") -> str:
        """The value that is believed, in its fullest form; "" where nothing is told."""
        return fullest([one for one in self.of(topic) if not name or one.name == name])

    def says(self, topic: Topic) -> bool:
        """Is anything told of a topic?"""
        return any(one.topic == topic for one in self.statements)


def weight(statement: Statement) -> tuple[int, int, str, str]:
    """The lower the more it is believed; where forms are alike what stands first."""
    rank = RANK[statement.form]
    rank = BY_PATH[1] if rank == BY_PATH[0] else rank
    return rank, statement.line, statement.name, statement.value


def fullest(ordered: Sequence[Statement]) -> str:
    """The first value, or one that says the same more exactly: "2.3.0+cu121" where the first is "2.3"."""
    values = [one.value for one in ordered if one.value]
    if not values:
        return ""
    alike = [value for value in values if agree(values[0], value)]
    return max(alike, key=lambda value: (value.count("."), "+" in value, -values.index(value)))


def agree(one: str, other: str) -> bool:
    """Do two versions say the same, one of them less exactly perhaps? Labels of builds must not differ."""
    if one == other:
        return True
    left, right = comparable(one), comparable(other)
    if left is None or right is None:
        return False
    labels = {text.partition("+")[2] for text in (one, other)} - {""}
    if len(labels) > 1:
        return False
    short, long = sorted((left, right), key=lambda version: len(version.release))
    rounded = not short.is_prerelease and long.release[: len(short.release)] == short.release
    return left == right or (rounded and len(short.release) < len(long.release) and not long.is_prerelease)


def contradictions(statements: Sequence[Statement]) -> tuple[Contradiction, ...]:
    """Pairs of statements that cannot both be true of one environment, each subject once."""
    several = {one.topic for one in statements} & {"wsl", "container"}  # systems within each other
    groups: dict[tuple[str, str], list[Statement]] = {}
    for one in sorted(statements, key=weight):
        if one.value and one.topic in ("package", *SINGLE) and not (one.topic == "os" and several):
            groups.setdefault((one.topic, one.name if one.topic == "package" else ""), []).append(one)
    found = [pair for group in groups.values() for pair in disputed(group)]
    return tuple([*found, *other_build(groups), *gpu_unseen(statements)][:MOST])


def disputed(group: Sequence[Statement]) -> Iterator[Contradiction]:
    """The most believable statement of a subject and the next that denies it."""
    first = group[0]
    for one in group[1:]:
        if not agree(first.value, one.value) and not is_weak(first, one) and not is_wsl_pair(first, one):
            yield Contradiction(first=first, second=one)
            return


def is_weak(first: Statement, other: Statement) -> bool:
    """Two that may differ all the same: a path to ".so" is no system, and people tell of earlier times."""
    by_path = other.form == "traceback" and other.topic != "python"
    return by_path or first.form == other.form == "prose"


def is_wsl_pair(one: Statement, other: Statement) -> bool:
    """Two numbers of one driver: WSL's nvidia-smi has its own, and a table holds both."""
    return one.topic == "driver" and one.form == other.form == "nvidia-smi" and abs(one.line - other.line) < 2


def other_build(groups: Mapping[tuple[str, str], Sequence[Statement]]) -> Iterator[Contradiction]:
    """torch whose label names another build than the CUDA that it is said to have."""
    for torch in groups.get(("package", "torch"), ()):
        label = re.search(r"\+(?:cu(\d{2})(\d)|cpu)$", torch.value)
        own = (f"{label[1]}.{label[2]}" if label[1] else "none") if label else ""
        others = [one for one in groups.get(("torch cuda", ""), ()) if own and not agree(own, one.value)]
        if others:
            yield Contradiction(first=torch, second=others[0])
            return


def gpu_unseen(statements: Iterable[Statement]) -> Iterator[Contradiction]:
    """torch sees no GPU where the driver shows one."""
    blind = [one for one in statements if one.topic == "torch sees gpu" and one.value == "no"]
    shown = [one for one in statements if one.topic == "gpu" and one.form in ("nvidia-smi", "lora-doctor")]
    if blind and shown:
        yield Contradiction(first=min(shown, key=weight), second=min(blind, key=weight))
