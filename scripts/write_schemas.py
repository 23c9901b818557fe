#!/usr/bin/env python3
"""Writes docs/schema/*.json: a JSON Schema of every document that the doctor writes with ``--format json``.

    scripts/write_schemas.py [--check]

They come from the types that are encoded; where a document is put together by hand, ``DOCUMENTS`` has a type
of its shape. A reader must allow for fields that it does not know: adding is free within ``schema`` 1.
``--check`` writes nothing and ends with 1 where the files are not what would be written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from doctor.applying.undoing import Undone
from doctor.findings import Finding, Report
from doctor.fleet.comparison import Comparison
from doctor.fleet.envelope import Envelope
from doctor.memory.answer import Cell, Model
from doctor.memory.bisection import Found
from doctor.memory.estimate import Device, Moment, Source, Tier, Verdict
from doctor.memory.measured import Measured
from doctor.memory.plan import Plan as TrainingPlan
from doctor.memory.usage import Run
from doctor.render.installing import Installation
from doctor.render.page_json import Answer as Pages
from doctor.resolution import Resolution
from doctor.treatment.outcome import Treatment
from doctor.treatment.plan import Plan

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Figures(msgspec.Struct, kw_only=True):
    """Peak memory of one plan. ``parts`` add up to ``peak_bytes``."""

    peak_allocated_bytes: int
    peak_reserved_bytes: int
    peak_bytes: int
    context_bytes: int
    parts: Mapping[str, int]
    part_sources: Mapping[str, Source]
    tier: Tier
    error: float


class Advice(msgspec.Struct, kw_only=True):
    """What a change does to the plan. ``saves_bytes`` may be negative."""

    name: str
    title: str
    cost: str
    plan: TrainingPlan
    saves_bytes: int
    peak_bytes: int
    verdict: Verdict
    tier: Tier
    noticeable: bool


class BestPlan(Figures, kw_only=True):
    """The best plan that fits, and what had to be given up for it."""

    plan: TrainingPlan
    trainable_parameters: int
    reasons: tuple[str, ...]


class NoPlan(msgspec.Struct, kw_only=True):
    """No plan fits, and why."""

    plan: None
    reasons: tuple[str, ...]


class Fit(Figures, kw_only=True):
    """What ``lora-doctor fit`` says of one plan, as ``render/fit_json.py`` puts it together."""

    schema: int
    tool_version: str
    device_bytes: int | None
    device_free_bytes: int | None
    fits: bool | None
    verdict: Verdict
    trainable_parameters: int
    total_parameters: int
    moment: Moment
    phases: Mapping[str, int]
    model: Model
    plan: TrainingPlan
    searched: bool
    device: Device
    tiers: Mapping[str, Verdict]
    advice: tuple[Advice, ...]
    best: Any
    table: tuple[Cell, ...]
    snippets: Mapping[str, str]
    measured: Measured | None
    notes: tuple[str, ...]


class Bisected(Found, frozen=True, kw_only=True):
    """The trials of ``lora-doctor fit --bisect``, and the largest runs that they found."""

    schema: int = 1


class Watched(msgspec.Struct, kw_only=True):
    """What ``lora-doctor watch`` saw of a run: curves are pairs of seconds and bytes."""

    schema: int
    tool_version: str
    run: Run
    findings: tuple[Finding, ...]


class Document(msgspec.Struct, frozen=True):
    """One kind of document: its type, which commands write it, and what was added within ``schema`` 1."""

    kind: Any
    commands: str
    later: tuple[str, ...] = ()


DOCUMENTS: dict[str, Document] = {
    "report": Document(Report, "check, lint, triage, report", ("questions",)),
    "resolve": Document(Resolution, "resolve"),
    "fit": Document(Fit, "fit"),
    "bisect": Document(Bisected, "fit --bisect"),
    "watch": Document(Watched, "watch"),
    "explain": Document(Pages, "explain"),
    "fix": Document(Plan, "fix"),
    "treatment": Document(Treatment, "fix --apply"),
    "undone": Document(Undone, "fix --undo"),
    "install": Document(Installation, "install"),
    "fleet": Document(Comparison, "fleet compare, fleet run"),
    "node": Document(Envelope, "fleet node"),
}


def schema_of(name: str) -> dict[str, Any]:
    """The schema of one kind of document."""
    document = DOCUMENTS[name]
    (reference,), parts = msgspec.json.schema_components([document.kind], ref_template="#/$defs/{name}")
    root = parts[reference["$ref"].rpartition("/")[2]]
    root["required"] = [field for field in root["properties"] if field not in document.later]
    if "schema" in root["properties"]:
        root["properties"]["schema"] = {"const": 1}
    if document.kind is Fit:
        _complete(root, parts)
    return {
        "$schema": DIALECT,
        "$id": f"urn:lora-doctor:schema:1:{name}",
        "title": f"lora-doctor {document.commands}",
        **reference,
        "$defs": dict(sorted(parts.items())),
    }


def _complete(root: dict[str, Any], parts: dict[str, Any]) -> None:
    """``best`` is one of three, which types of the encoder cannot say without a tag."""
    kinds, more = msgspec.json.schema_components([BestPlan, NoPlan], ref_template="#/$defs/{name}")
    parts.update({name: part for name, part in more.items() if name not in parts})
    root["properties"]["best"] = {"anyOf": [{"type": "null"}, *kinds]}


def wanted() -> dict[str, str]:
    """The text of each file by its name."""
    return {f"{name}.json": json.dumps(schema_of(name), indent=2) + "\n" for name in DOCUMENTS}


def differences(files: Mapping[str, str]) -> Iterator[str]:
    """The files that are not as they would be written, those that nothing writes too."""
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    yield from sorted(name for name in {*there, *files} if there.get(name) != files.get(name))


def main(arguments: Sequence[str]) -> int:
    """Write, or with ``--check`` look; the exit code."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = wanted()
    wrong = list(differences(files))
    if arguments:
        print("".join(f"not as written: docs/schema/{name}\n" for name in wrong), file=sys.stderr, end="")
        return 1 if wrong else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in wrong:
        if name in files:
            (FOLDER / name).write_text(files[name], encoding="utf-8", newline="\n")
        else:
            (FOLDER / name).unlink()
    print(f"{len(files)} files in docs/schema, {len(wrong)} written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
