"""An answer as JSON: the contract's fields first, then what is told beyond them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doctor import __version__
from doctor.memory.answer import Answer, Best, Saving
from doctor.memory.estimate import PARTS, Estimate
from doctor.memory.plan import Plan
from doctor.render.json_report import SCHEMA, encode


def render(answer: Answer) -> str:
    """Indented JSON."""
    return msgspec.json.format(encode(document(answer)), indent=2).decode("utf-8") + "\n"


def render_line(answer: Answer) -> str:
    """The same on one line."""
    return encode(document(answer)).decode("utf-8") + "\n"


def document(answer: Answer) -> dict[str, Any]:
    """The answer as plain values."""
    estimate, device = answer.estimate, answer.device
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        **_figures(estimate),
        "device_bytes": device.total_bytes,
        "device_free_bytes": device.free_bytes,
        "fits": None if answer.verdict == "unknown" else answer.verdict == "fits",
        "verdict": answer.verdict,
        "trainable_parameters": estimate.trainable_parameters,
        "total_parameters": estimate.total_parameters,
        "moment": estimate.moment,
        "phases": estimate.phases,
        "model": answer.model,
        "plan": _plan(estimate.plan),
        "searched": answer.searched,
        "device": device,
        "tiers": answer.tiers,
        "advice": [_saving(saving) for saving in answer.advice],
        "best": _best(answer.best),
        "table": answer.table,
        "snippets": answer.snippets,
        "measured": answer.measured,
        "notes": [*answer.notes, *estimate.notes, *answer.model.notes],
    }


def _figures(estimate: Estimate) -> Mapping[str, Any]:
    parts = {name: estimate.parts[name] for name in PARTS if name in estimate.parts}
    return {
        "peak_allocated_bytes": estimate.peak_allocated_bytes,
        "peak_reserved_bytes": estimate.peak_reserved_bytes,
        "peak_bytes": estimate.peak_bytes,
        "context_bytes": estimate.context_bytes,
        "parts": {name: part.amount_bytes for name, part in parts.items()},
        "part_sources": {name: part.source for name, part in parts.items()},
        "tier": estimate.tier,
        "error": estimate.error,
    }


def _plan(plan: Plan) -> Mapping[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(plan).items() if value is not None}


def _saving(saving: Saving) -> Mapping[str, Any]:
    fields = {name: getattr(saving, name) for name in saving.__struct_fields__ if name != "plan"}
    return {**fields, "plan": _plan(saving.plan)}


def _best(best: Best | None) -> Mapping[str, Any] | None:
    if best is None:
        return None
    reasons: Sequence[str] = best.reasons
    if best.estimate is None:
        return {"plan": None, "reasons": reasons}
    estimate = best.estimate
    figures: Mapping[str, Any] = {**_figures(estimate), "trainable_parameters": estimate.trainable_parameters}
    return {"plan": _plan(estimate.plan), **figures, "reasons": reasons}
