#!/usr/bin/env python3
"""Compute the tables of docs/memory.md that settle claims about memory, from docs/data/memory_claims.toml.

    scripts/write_memory_claims.py --python ENVIRONMENT/bin/python [--only TABLE ...]

Each row of a table is what ``lora-doctor fit MODEL --python ENVIRONMENT --levers none OPTIONS`` tells; one
child traces all rows of a table. What stands between a table's two marks is replaced.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from doctor.checkup import gather
from doctor.estimating import Estimators
from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory import models
from doctor.memory.device import usable_bytes
from doctor.memory.estimate import Device, Estimate
from doctor.memory.plan import Plan
from doctor.memory.search import best
from doctor.memory.settling import settled
from doctor.memory.shapes import ModelShape
from doctor.memory.statics import count
from doctor.memory.usual import usual_plan
from doctor.memory.verdict import on_tiers
from doctor.probes import Looks
from doctor.render.fit_words import METHODS, billions
from doctor.render.markdown_text import table
from doctor.target import Target

DOCS = Path(__file__).resolve().parents[1] / "docs"
GIB = 2**30
CAPABILITY = "8.6"  # of most GPUs that people own
COLUMNS = ("", "options", "weights", "states", "forward adds", "allocated", "on the GPU", "fits")

Table = Mapping[str, Any]


def plan_of(words: str, start: Plan) -> Plan:
    """The plan that options of ``fit`` describe."""
    fields: dict[str, Any] = {}
    left = shlex.split(words)
    while left:
        name = left.pop(0).removeprefix("--")
        field = name.removeprefix("no-").replace("-", "_")
        if left and not left[0].startswith("--"):
            value = left.pop(0)
            fields[field] = tuple(value.split(",")) if field == "target_modules" else value
        else:
            fields[field] = not name.startswith("no-")
    said: Plan = msgspec.convert({**msgspec.to_builtins(start), **fields}, Plan, strict=False)
    return said


def rows_of(asked: Table, estimators: Estimators) -> Iterator[tuple[str, ...]]:
    """A table's rows."""
    shape, device = listed(asked["model"]), Device(compute_capability=CAPABILITY)
    words = [f"{asked['common']} {options}".strip() for _, options in asked["rows"]]
    start = usual_plan(estimators.versions, device, None)
    plans = [plan_of(options, start) for options in words]
    answers = estimators.trace(shape, plans, device)
    for (label, options), answer in zip(asked["rows"], answers, strict=True):
        if isinstance(answer, Gap):
            sys.exit(f"{asked['name']}, {label}: {answer.reason}")
        yield label, f"`{options}`" if options else "", *figures(shape, answer)


def figures(shape: ModelShape, estimate: Estimate) -> Iterator[str]:
    """In GiB; the last is the smallest GPU that holds it for sure.

    What forward adds is its peak without the model, the adapter and the states of the optimizer.
    """
    resident = count(shape, estimate.plan)
    model_bytes = resident.weights_bytes + resident.adapter_bytes
    states_bytes = resident.optimizer_bytes
    forward_bytes = estimate.phases["forward"] - model_bytes - states_bytes
    peaks = estimate.peak_allocated_bytes, estimate.peak_bytes
    yield from (f"{one / GIB:.1f}" for one in (model_bytes, states_bytes, forward_bytes, *peaks))
    yield next((size for size, said in on_tiers(estimate).items() if said == "fits"), "none of 80 GB")


def listed(name: str) -> ModelShape:
    """A model of the list that is shipped."""
    shape = models.listed(name)
    if shape is None:
        sys.exit(f"{name} is not in the list")
    return shape


def counts(asked: Table) -> Iterator[tuple[str, ...]]:
    """12 L h^2 beside the parameters that a model has."""
    for name in asked["models"]:
        shape = listed(name)
        guess = 12 * shape.layers * shape.hidden**2
        yield name, billions(guess), billions(shape.parameters), f"{guess / shape.parameters - 1:+.0%}"


def cards(asked: Table, estimators: Estimators) -> Iterator[tuple[str, ...]]:
    """The best plan of each model on each size of GPU."""
    for name in asked["models"]:
        for size in asked["sizes_gib"]:
            yield name, f"{size} GB", *best_of(listed(name), size * GIB, estimators)


def best_of(shape: ModelShape, sold_bytes: int, estimators: Estimators) -> tuple[str, str, str]:
    """The plan in few words, what it needs, and what was given up for it."""
    free = usable_bytes(sold_bytes)
    device = Device(compute_capability=CAPABILITY, total_bytes=sold_bytes, free_bytes=free)
    versions = estimators.versions
    start = settled(usual_plan(versions, device, None), versions, shape.model_type)
    found = best(shape, start, (), device, estimators.formula, estimators.trace)
    if found.estimate is None:
        nearest = found.nearest
        return "nothing", f"{nearest.peak_bytes / GIB:.1f} GiB at least" if nearest else "", ""
    plan = found.estimate.plan
    said = f"{METHODS[plan.method]}, {plan.batch_size} x {plan.sequence_length}, rank {plan.rank}"
    return said, f"{found.estimate.peak_bytes / GIB:.1f} GiB", plan.optimizer


def replaced(page: str, name: str, text: str) -> str:
    """The page with another text between the marks of a table."""
    begin, end = f"<!-- table {name} -->", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        sys.exit(f"docs/memory.md has no marks of {name}")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def tables(data: Table, only: Sequence[str], estimators: Estimators) -> Iterator[tuple[str, str]]:
    """Name and text of each table, as it is computed; all of them where none is named."""
    if not only or "counts" in only:
        yield "counts", table(("model", "12 L h^2", "counted", "error"), counts(data["counts"]))
    for asked in data["table"]:
        if not only or asked["name"] in only:
            rows = table(COLUMNS, rows_of(asked, estimators))
            yield asked["name"], f"`fit {asked['model']} {asked['common']}`, with\n\n{rows}"
    if not only or "cards" in only:
        yield "cards", table(("model", "GPU", "plan", "needs", "optimizer"), cards(data["cards"], estimators))


def main() -> None:
    """Compute the tables, and write each as soon as it is there."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--python", required=True, help="the interpreter whose libraries are traced")
    options.add_argument("--only", nargs="+", metavar="TABLE", default=())
    asked = options.parse_args()
    data = msgspec.toml.decode((DOCS / "data" / "memory_claims.toml").read_text(encoding="utf-8"))
    host, target, page = LocalHost(), Target(asked.python, "--python"), DOCS / "memory.md"
    packages = gather(Looks(host, target), fields=("packages",)).packages
    if packages is None:
        sys.exit(f"{asked.python} cannot be examined")
    versions = {name: package.version for name, package in packages.installed.items()}
    for name, text in tables(data, asked.only, Estimators(host, target, versions)):
        print(f"{name}\n{text}\n", flush=True)
        page.write_text(replaced(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")
    host.close()


if __name__ == "__main__":
    main()
