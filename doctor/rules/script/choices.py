"""Values that an argument does not take."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.matrix.api import canonical
from doctor.matrix.api_table import package_of
from doctor.matrix.choices import Choice, choices_of
from doctor.rules import Hit, rule
from doctor.rules.script.subject import (
    by_words,
    confidence_of,
    in_script,
    literal,
    release,
    seen,
    short,
    target_of,
    versions_of,
)
from doctor.script import Argument


@rule(
    "script/wrong-value",
    "error",
    needs=("script", "packages"),
    symptoms=(
        "module 'torch' has no attribute 'bf16'",
        "module 'torch' has no attribute 'fp16'",
        "re:is not a valid (?:OptimizerNames|SchedulerType|IntervalStrategy|SaveStrategy|HubStrategy)",
        "re:Invalid `torch_dtype` passed",
    ),
    cure=by_words("Give one of the values that the message names; of dtypes bfloat16, float16 or float32"),
)
def wrong_value(facts: Facts) -> Iterator[Hit]:
    """The script gives an argument a value that the installed release refuses

    Why: the argument takes a fixed list of values, and this one is not in it, or no longer, or not yet.

    Fix: give one of the values that the release takes.
    """
    assert facts.script
    versions = versions_of(facts)
    told: set[tuple[str, str, str]] = set()
    for call in facts.script.calls:
        target = None if call.guarded else target_of(facts.script, call)
        rows = list(choices_of(target.name, versions)) if target else []
        for row in rows:
            for one in call.arguments:
                value = literal(one) if one.name in row.arguments else ...
                key = short(target.name) if target else "", one.name, str(value)
                if not isinstance(value, str) or key in told:
                    continue
                if not row.takes(value, versions[package_of(row.of)]):
                    told.add(key)
                    yield refusal(facts, row, one, value, target.name if target else row.of)


def refusal(facts: Facts, row: Choice, one: Argument, value: str, name: str) -> Hit:
    """One value that is refused, and the one that was meant."""
    assert facts.script
    versions = versions_of(facts)
    version = versions[package_of(row.of)]
    taken, life = row.values_in(version), row.life_of(value)
    meant = row.instead.get(value, "")
    meant = meant if meant in taken else next(iter(get_close_matches(value, taken, 1, 0.8)), "")
    since = ""
    if life and life.fixed:
        since = f"; {package_of(row.of)} {life.fixed} removed it"
    elif life and life.introduced != "0":
        since = f"; {package_of(row.of)} {life.introduced} is the first that does"
    listed = ", ".join(taken) if len(taken) < 9 else ""
    fix = f'Write {one.name}="{meant}"' if meant else f"Give {one.name} one of {listed or 'its known values'}"
    installed = release(row.of, versions)
    return Hit(
        title=f'{short(canonical(name))} does not take {one.name}="{value}" with {installed}{since}',
        evidence=(
            seen(one, f'"{meant}"' if meant else listed, facts.script, short(name)),
            Evidence("Python", row.raises),
        ),
        fixes=(in_script(fix),),
        confidence=confidence_of(facts.script, name, (one,)),
    )
