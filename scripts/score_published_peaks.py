#!/usr/bin/env python3
"""Hold traces against docs/data/published_peaks.toml, and write the table of docs/memory.md.

    scripts/score_published_peaks.py --python ENVIRONMENT/bin/python [--only FAMILY ...] [--write]

ENVIRONMENT holds torch, transformers, peft and bitsandbytes. One child traces all plans of one model in a
family; a plan takes about a second. ``--write`` replaces what stands between the marks of the page.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from doctor.checkup import gather
from doctor.estimating import Estimators
from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory.estimate import Device, Estimate
from doctor.memory.plan import Plan
from doctor.probes import Looks
from doctor.readers import model_config
from doctor.render.markdown_text import table
from doctor.target import Target

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN, END = "<!-- families: scripts/score_published_peaks.py -->", "<!-- end of families -->"
GIB, GB = 2**30, 10**9
COLUMNS = ("family", "number", "measured", "median error", "worst", "trained parameters as published")

Table = Mapping[str, Any]


class Measure(msgspec.Struct, frozen=True):
    """A measured figure: what it is called, in which unit, and what of an estimate it is held against."""

    says: str
    unit_bytes: int
    context: bool = False  # the driver's count of the process
    allocated: bool = False

    def predicted(self, estimate: Estimate) -> int:
        """The same of an estimate, in bytes."""
        if self.allocated:
            return estimate.peak_allocated_bytes
        return estimate.peak_bytes if self.context else estimate.peak_reserved_bytes


MEASURES = {
    "allocated_gib": Measure("allocated", GIB, allocated=True),
    "reserved_gib": Measure("reserved", GIB),
    "process_gib": Measure("whole process", GIB, context=True),
    "process_gb": Measure("whole process", GB, context=True),
}
FREE = {*MEASURES, "model", "row", "trainable_parameters"}  # what a point says beside its plan


class Scored(msgspec.Struct, frozen=True):
    """One family against its traces."""

    family: Table
    points: Sequence[Table]
    answers: Sequence[Estimate | Gap]

    def errors(self, measure: str) -> list[float]:
        """The relative errors of one measure, of the points that have it and could be traced."""
        told, of = zip(self.points, self.answers, strict=True), MEASURES[measure]
        return [
            of.predicted(answer) / (point[measure] * of.unit_bytes) - 1
            for point, answer in told
            if measure in point and isinstance(answer, Estimate)
        ]

    def counted(self) -> str:
        """How many counts of trained parameters agree; "" where none were published."""
        told = [
            point["trainable_parameters"] == answer.trainable_parameters
            for point, answer in zip(self.points, self.answers, strict=True)
            if "trainable_parameters" in point and isinstance(answer, Estimate)
        ]
        return f"{sum(told)} of {len(told)}" if told else ""

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Of the table: one for each measure."""
        for name, measure in MEASURES.items():
            if errors := self.errors(name):
                median = f"{statistics.median(map(abs, errors)):.1%}"
                worst = f"{max(errors, key=abs):+.1%}"
                yield self.family["name"], str(len(errors)), measure.says, median, worst, self.counted()


def plan_of(family: Table, point: Table) -> Plan:
    """What was run."""
    fields = {**family["plan"], **{name: value for name, value in point.items() if name not in FREE}}
    if "adapter" in fields:
        fields["adapter"] = json.loads(fields["adapter"])
    return msgspec.convert(fields, Plan)


def score(data: Table, family: Table, estimators: Estimators) -> Scored:
    """Trace every point of a family, model by model."""
    device = Device(name=family["gpu"], compute_capability=family["compute_capability"])
    points = sorted(family["point"], key=lambda point: point["model"])
    answers: list[Estimate | Gap] = []
    for name, same in groupby(points, key=lambda point: point["model"]):
        shape = model_config.read(json.dumps(data["models"][name]), name)
        answers += estimators.trace(shape, [plan_of(family, point) for point in same], device)
    return Scored(family, points, answers)


def told(scored: Scored) -> Iterator[str]:
    """A line for each point, measured and missed."""
    for point, answer in zip(scored.points, scored.answers, strict=True):
        name = f"{point['model']} {point.get('row', '')}"
        if isinstance(answer, Gap):
            yield f"{name}: {answer.reason.strip().splitlines()[-1][:200]}"
            continue
        plan = answer.plan
        missed = (
            f"{measure} {point[measure]:.2f} {of.predicted(answer) / point[measure] / of.unit_bytes - 1:+.1%}"
            for measure, of in MEASURES.items()
            if measure in point
        )
        yield f"{name} {plan.method} {plan.batch_size} x {plan.sequence_length}: {', '.join(missed)}"


def written(page: str, rows: Iterable[tuple[str, ...]]) -> str:
    """The page with another table between the marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table(COLUMNS, rows)}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Score, print, and write where that is asked."""
    data = msgspec.toml.decode((DOCS / "data" / "published_peaks.toml").read_text(encoding="utf-8"))
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--python", required=True, help="the interpreter whose libraries are traced")
    options.add_argument("--only", nargs="+", choices=[family["key"] for family in data["family"]])
    options.add_argument("--write", action="store_true", help="write the table into docs/memory.md")
    asked = options.parse_args()
    if asked.write and asked.only:
        options.error("--write needs every family")
    host, target = LocalHost(), Target(asked.python, "--python")
    packages = gather(Looks(host, target), fields=("packages",)).packages
    if packages is None:
        sys.exit(f"{asked.python} cannot be examined")
    versions = {name: package.version for name, package in packages.installed.items()}
    estimators = Estimators(host, target, versions)
    rows: list[tuple[str, ...]] = []
    for family in data["family"]:
        if asked.only and family["key"] not in asked.only:
            continue
        scored = score(data, family, estimators)
        print(*told(scored), sep="\n", flush=True)
        rows += scored.rows()
    host.close()
    print(table(COLUMNS, rows))
    if asked.write:
        page = DOCS / "memory.md"
        page.write_text(written(page.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
