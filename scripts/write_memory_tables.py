#!/usr/bin/env python3
"""Writes docs/memory_tables.md: what each model of the list can be tuned with on GPUs of common sizes.

    scripts/write_memory_tables.py [--check] [--trace TARGET_PYTHON]

Without a target the estimates are by formula, for the newest releases that the tables know. With one they
are traced with its own libraries, some twenty seconds a model. ``--check`` writes nothing and ends with 1
where the page is not what would be written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from doctor.estimating import Estimators
from doctor.host import LocalHost
from doctor.memory import models
from doctor.memory.device import usable_bytes
from doctor.memory.estimate import Device, Estimate
from doctor.memory.estimator import Estimator, Remembering
from doctor.memory.plan import Plan
from doctor.memory.search import LONGEST, best, longest
from doctor.memory.settling import settled
from doctor.memory.shapes import ModelShape
from doctor.memory.snippets import SPOKEN_TO, newest
from doctor.memory.usual import without_refused_dropout
from doctor.memory.verdict import GIB, TIERS_GIB, verdict
from doctor.render.fit_words import METHODS, billions
from doctor.render.markdown_text import table
from doctor.target import Target

PAGE = Path(__file__).resolve().parents[1] / "docs" / "memory_tables.md"
CAPABILITY = "8.6"  # of most GPUs of these sizes; it decides workspaces, some 10 MiB
STEP = 256  # tokens between two lengths that are told apart
HEAD = """# What fits where

What each model of the list can be tuned with on a GPU of each size, with nothing else on it. Estimated
{tier} for {versions}, in SFTTrainer. A GPU
of 12 GB is one that is sold as such: the driver's own share is taken off, and what is told here fits with the
estimate's error on top. `lora-doctor fit MODEL --gpu NAME` answers the same for one GPU and your own
versions, with the plan as a script.

Written by `scripts/write_memory_tables.py`.
"""
FIRST = """## The best plan

The method, then sequences times tokens that are held at once; every step sees 16 sequences, by accumulation.
LoRA keeps the base in 16 bits, QLoRA in NF4 with double quantisation; rank 16 on all linear layers unless
said otherwise. How a plan is chosen stands in `doctor/memory/search.py`.
"""
SECOND = """
## The longest sequence

Of QLoRA with rank 16 on all linear layers, gradient checkpointing and one sequence at a time: tokens, in
steps of {step}, up to what the model's config allows and to {longest} at most (a star).
"""


def main() -> None:
    """Write the page, or hold it against what would be written."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    options.add_argument("--trace", metavar="TARGET_PYTHON")
    asked = options.parse_args()
    host = LocalHost()
    try:
        text = page(host, asked.trace)
    finally:
        host.close()
    if not asked.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE.name} is not what would be written; run {Path(__file__).name}")


def page(host: LocalHost, python: str | None) -> str:
    """The whole page. ``python`` is the target whose libraries are traced, None for the formula."""
    versions = versions_of(host, python)
    target = Target(python, "--trace") if python else None
    estimators = Estimators(host, target, versions)
    plans, lengths = [], []
    for name in models.names():
        shape = models.listed(name)
        assert shape is not None
        known = Remembering(estimators.trace if python else estimators.formula)
        usual = without_refused_dropout(Plan(loop="sft", expandable_segments=True), shape)
        start = settled(usual, versions, shape.model_type)
        head = f"{name} ({billions(shape.parameters)})"
        plans.append((head, *(best_of(shape, start, size, known) for size in TIERS_GIB)))
        lengths.append((head, *(longest_of(shape, start, size, known) for size in TIERS_GIB)))
        sys.stderr.write(f"{name}\n")
    tier = "by traces" if python else "by formula"
    told = ", ".join(f"{package} {versions[package]}" for package in SPOKEN_TO)
    columns = ("model", *(f"{size} GB" for size in TIERS_GIB))
    return "\n".join(
        [
            HEAD.format(tier=tier, versions=told),
            FIRST,
            table(columns, plans),
            SECOND.format(step=STEP, longest=LONGEST),
            table(columns, lengths),
            "",
        ]
    )


def versions_of(host: LocalHost, python: str | None) -> Mapping[str, str]:
    """What the target has, or the newest releases that the tables know."""
    if python is None:
        return {name: newest(name) for name in SPOKEN_TO}
    from doctor.checkup import gather
    from doctor.probes import Looks

    packages = gather(Looks(host, Target(python, "--trace")), fields=("packages",)).packages
    assert packages is not None, python
    return {name: package.version for name, package in packages.installed.items()}


def gpu_of(size_gib: int) -> Device:
    """A GPU of a size, with nothing else on it."""
    sold = size_gib * GIB
    return Device(compute_capability=CAPABILITY, total_bytes=sold, free_bytes=usable_bytes(sold))


def best_of(shape: ModelShape, start: Plan, size_gib: int, known: Estimator) -> str:
    """The best plan in few letters; a dash where none fits, a question where nothing could be estimated."""
    found = best(shape, start, (), gpu_of(size_gib), known)
    if found.estimate is None:
        return "–" if found.nearest else "?"
    return ", ".join(in_few_letters(found.estimate.plan))


def in_few_letters(plan: Plan) -> Iterator[str]:
    """ "QLoRA 1 x 4096", and what is unlike the recipe."""
    yield f"{METHODS[plan.method]} {plan.batch_size} x {plan.sequence_length}"
    if "8bit" in plan.optimizer:
        yield "8-bit AdamW"
    if plan.target_modules == ("q_proj", "v_proj"):
        yield "q and v alone"
    if plan.rank != Plan().rank:
        yield f"rank {plan.rank}"


def longest_of(shape: ModelShape, start: Plan, size_gib: int, known: Estimator) -> str:
    """The longest sequence that fits, found by halving; a dash where not even the shortest does."""
    plan = msgspec.structs.replace(start, method="qlora", batch_size=1, kbit_upcast=False)
    device, most = gpu_of(size_gib), longest(shape) // STEP

    def fits(steps: int) -> bool:
        longer = msgspec.structs.replace(plan, sequence_length=steps * STEP)
        answer = next(iter(known(shape, [longer], device)))
        return isinstance(answer, Estimate) and verdict(answer, device) == "fits"

    if not isinstance(next(iter(known(shape, [plan], device))), Estimate):
        return "?"
    if fits(most):
        return f"{most * STEP}*"
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return str(low * STEP) if low else "–"


if __name__ == "__main__":
    main()
