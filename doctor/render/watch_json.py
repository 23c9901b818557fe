"""A watched run as JSON, the promise to other programs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor import __version__
from doctor.findings import Finding
from doctor.memory.usage import Run
from doctor.render.json_report import encode

SCHEMA = 1


def render(run: Run, findings: Sequence[Finding]) -> str:
    """Indented JSON: ``schema``, ``tool_version``, ``run``, ``findings``. Curves are pairs of s and bytes."""
    told = {"schema": SCHEMA, "tool_version": __version__, "run": run, "findings": tuple(findings)}
    return msgspec.json.format(encode(told), indent=2).decode("utf-8") + "\n"
