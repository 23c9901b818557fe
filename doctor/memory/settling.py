"""What the installed versions do where a plan leaves it to them.

The facts and their sources stand in ``compat_matrix/platform/training_defaults.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from doctor.matrix.platform import table
from doctor.memory.plan import Plan
from doctor.versions import Interval, comparable

Row = Mapping[str, Any]  # of a table
# Fields that are None in a plan until they are settled, in the order in which they are told.
OPEN = ("kbit_upcast", "fused_loss", "adapter_dtype", "reentrant")
NAMES = {"trl": "TRL", "peft": "PEFT", "flash-attn": "flash-attn"}


def settled(plan: Plan, versions: Mapping[str, str], model_type: str = "") -> Plan:
    """The plan without None but ``adapter``, and with the attention that is really taken.

    ``versions`` are those of the target by normalised name, {} where they are not known: the newest are taken
    then. ``model_type`` is the config's.
    """
    found = {field: _value(field, plan, versions) for field in OPEN if getattr(plan, field) is None}
    if plan.attention == "sdpa" and fact("eager", plan, versions, model_type):
        found["attention"] = "eager"
    return msgspec.structs.replace(plan, **found)


def assumptions(plan: Plan, versions: Mapping[str, str], model_type: str = "") -> tuple[str, ...]:
    """Sentences: what :func:`settled` fills in for a plan, and by which release."""
    open_fields = [field for field in OPEN if getattr(plan, field) is None and _matters(field, plan)]
    told = [said(row, versions) for field in open_fields if (row := fact(field, plan, versions))]
    if plan.attention == "sdpa" and (row := fact("eager", plan, versions, model_type)):
        told.append(f"{said(row, versions)}: the eager one is counted")
    if plan.attention == "flash_attention_2" and versions and "flash-attn" not in versions:
        told.append("flash-attn is not installed, which flash_attention_2 needs")
    return tuple(f"{re.sub('^today', 'Today', sentence)}." for sentence in told)


def fact(
    about: str, plan: Plan, versions: Mapping[str, str], model_type: str = ""
) -> Mapping[str, Any] | None:
    """The row of the table that holds for a plan under these versions, None without one."""
    rows = table("training_defaults")[about]
    return next((row for row in rows if _applies(row, plan, versions, model_type)), None)


def said(row: Row, versions: Mapping[str, str]) -> str:
    """What a row says, with the release that it is about."""
    package = row.get("package", "")
    name, version = NAMES.get(package, package), versions.get(package)
    release = f"{name} {version}" if version else f"today's {name}"
    return str(row["says"]).format(package=release)


def _value(field: str, plan: Plan, versions: Mapping[str, str]) -> Any:
    row = fact(field, plan, versions)
    value = row["value"] if row else None
    return plan.dtype if value == "base" else value


def _matters(field: str, plan: Plan) -> bool:
    """Is a field worth a sentence?"""
    matters = {
        "kbit_upcast": plan.method == "qlora",
        "adapter_dtype": plan.method != "full",
        "reentrant": plan.gradient_checkpointing,
    }
    return matters.get(field, True)


def _applies(row: Row, plan: Plan, versions: Mapping[str, str], model_type: str) -> bool:
    for condition, actual in (("loop", plan.loop), ("method", plan.method), ("dtype", plan.dtype)):
        if condition in row and actual not in row[condition]:
            return False
    if "model_type" in row and model_type not in row["model_type"]:
        return False
    return "package" not in row or _holds(row, versions.get(row["package"], ""))


def _holds(row: Row, version: str) -> bool:
    """Is a release in a row's interval? One that is not known, or a nightly of no number, is the newest."""
    fixed = row.get("fixed")
    if comparable(version) is None:
        return fixed is None
    return Interval(row.get("introduced", "0"), fixed).contains(version)
