"""A search by trials, told as it goes and at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from doctor.memory.bisection import Found, Trial
from doctor.render.fit_words import gib

if TYPE_CHECKING:
    from doctor.render.layout import Layout

OUTCOMES = {"ok": "runs", "out-of-memory": "out of memory", "failed": "failed", "hung": "did not end in time"}
ENDED = {
    "complete": "",
    "interrupted": "Stopped before the search was done: more may run.",
    "failed": "The search ended at a trial that failed for another reason than memory.",
}


def trial_line(trial: Trial) -> str:
    """One trial."""
    peak = f", peak {gib(trial.peak_bytes)}" if trial.ran and trial.peak_bytes else ""
    run = f"{trial.batch_size} x {trial.sequence_length} tokens"
    return f"{run}: {OUTCOMES[trial.outcome]}{peak} ({trial.seconds:.0f} s)"


def others_line(others: Mapping[str, int]) -> str:
    """Who else holds memory of the device, which is the first thing to free."""
    held = ", ".join(f"{name} {gib(held_bytes)}" for name, held_bytes in others.items())
    return f"Held by other processes now: {held}. End what is left over first, then search again."


def sentences(found: Found) -> Iterator[str]:
    """What the search found."""
    if found.length:
        yield f"Largest length at batch 1: {found.length} tokens."
    elif found.ended == "complete":
        yield "Nothing runs: not even the shortest sequence at batch 1."
    if found.batch_size:
        yield f"Largest batch at {found.batch_length} tokens: {found.batch_size}."
    if ENDED[found.ended]:
        yield ENDED[found.ended]
    if found.reason:
        yield found.reason


def terminal(found: Found, layout: Layout) -> Iterator[str]:
    """The end of the search; its trials were told one by one."""
    for sentence in sentences(found):
        yield from layout.wrap(sentence, 0, "strong" if sentence.startswith("Largest") else None)


def markdown(found: Found) -> str:
    """The whole search."""
    from doctor.render.markdown_text import prose, table

    rows = [
        (str(trial.batch_size), str(trial.sequence_length), OUTCOMES[trial.outcome], gib(trial.peak_bytes))
        for trial in found.trials
    ]
    blocks = [f"**{prose(' '.join(sentences(found)))}**"]
    if rows:
        blocks.append(table(("batch", "length", "outcome", "peak"), rows))
    return "\n\n".join(blocks) + "\n"


def json(found: Found) -> str:
    """The search as one JSON document."""
    return msgspec.json.format(json_line(found).encode(), indent=2).decode("utf-8") + "\n"


def json_line(found: Found) -> str:
    """The same on one line."""
    from doctor.render.json_report import SCHEMA, encode

    return encode({"schema": SCHEMA, **msgspec.structs.asdict(found)}).decode("utf-8") + "\n"
