"""Variables to set: one value for each, whatever number of findings ask for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from doctor.facts import Facts
from doctor.treatment.choosing import Choice
from doctor.treatment.plan import Step

FOLDERS = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD")  # lists, which several may change


def settings(facts: Facts, choices: Sequence[Choice]) -> tuple[tuple[Step, ...], dict[str, str]]:
    """One step for each variable, and why the cure of a finding is in none: another wants another value."""
    steps: dict[str, Step] = {}
    refused: dict[str, str] = {}
    for step in asked(choices):
        known = steps.get(step.variable, step)
        both = together(facts, known, step)
        if both is None:
            refused[step.cures[0]] = f"that of {known.cures[0]} sets {step.variable} to another value"
        else:
            steps[step.variable] = both
    return tuple(steps.values()), refused


def asked(choices: Sequence[Choice]) -> Iterator[Step]:
    """A step for each variable of each finding."""
    for finding, fix, changes in choices:
        for change in changes or ():
            if change.kind == "set":
                yield Step(
                    title=fix.title,
                    kind="set",
                    scope="setting",
                    cures=(finding.id,),
                    variable=change.variable,
                    value=change.value,
                )


def together(facts: Facts, one: Step, other: Step) -> Step | None:
    """One step for both, None where they contradict one another."""
    cures = tuple(dict.fromkeys((*one.cures, *other.cures)))
    titles = dict.fromkeys((one.title, other.title))
    if one.value == other.value:
        return msgspec.structs.replace(one, cures=cures)
    if one.variable not in FOLDERS:
        return None
    now = (facts.environment or {}).get(one.variable, "")
    value = joined(now, one.value or "", other.value or "")
    return msgspec.structs.replace(one, title="; ".join(titles), cures=cures, value=value or None)


def joined(now: str, one: str, other: str) -> str:
    """A list of folders with both changes: what either adds comes first, what either drops is not in it.

    >>> joined("/a:/b:/c", "/b:/c", "/new:/a:/b")
    '/new:/b'
    """
    was, first, second = (entries(text) for text in (now, one, other))
    added = [entry for entry in (*first, *second) if entry not in was]
    kept = [entry for entry in was if entry in first and entry in second]
    return ":".join(dict.fromkeys((*added, *kept)))


def entries(text: str) -> Mapping[str, None]:
    """The entries of a list of folders, each once and in their order."""
    return dict.fromkeys(entry for entry in text.split(":") if entry)
