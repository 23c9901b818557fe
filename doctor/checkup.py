"""The check-up: gather facts from the live machine, and tell each subject as soon as it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import msgspec

from doctor.facts import Facts, Gap
from doctor.probes import Looks

OnField = Callable[[Facts], None]

# A machine has no plan, script or paste, and its sources are read only where that is asked for.
NOT_PROBED = ("reading", "workload", "script", "paste", "extra", "gaps")
# In the order of Facts; the module of the same name in ``probes`` fills each.
FIELDS = tuple(field for field in Facts.__struct_fields__ if field not in NOT_PROBED)
STATIC_FIELDS = (*FIELDS, "reading")


def gather(looks: Looks, on_field: OnField | None = None, fields: Sequence[str] = FIELDS) -> Facts:
    """Ask every probe in turn; one that fails or finds nothing leaves a gap and the next is asked.

    ``on_field`` is told the facts so far after each; ``fields`` are those that are wanted.
    """
    facts = Facts()
    for name in fields:
        value = ask(name, looks)
        if isinstance(value, Gap):
            facts = msgspec.structs.replace(facts, gaps=(*facts.gaps, value))
        else:
            facts = msgspec.structs.replace(facts, **{name: value})
        if on_field:
            on_field(facts)
    return facts


def ask(name: str, looks: Looks) -> object:
    """The fact of one probe, or the gap that stands in its place."""
    try:
        return import_module(f"doctor.probes.{name}").probe(looks)
    except Exception as error:  # a probe of ours that fails is a gap, never the end of the check-up
        return Gap(about=name, kind="failed", reason=f"the probe failed: {type(error).__name__}: {error}")
