"""The inside of a plugin's child: its probe is imported, called, and its answer made plain."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MOST_BYTES = 64 << 10  # of one probe's answer: it becomes part of every report


def ask(value: str, executable: str, chosen_by: str) -> dict[str, Any]:
    """What the probe answers, as an event: ``fact``, or why there is none in ``absent`` or ``error``."""
    import msgspec

    from doctor.host import LocalHost
    from doctor.target import Target

    module, _, name = value.partition(":")
    try:
        found = getattr(import_module(module), name or "probe")(LocalHost(), Target(executable, chosen_by))
        if found is None:
            return {"absent": "there is nothing for it here"}
        told = msgspec.json.encode(found)
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"}
    if len(told) > MOST_BYTES:
        return {"error": f"it told {len(told)} bytes, more than the {MOST_BYTES} that a report takes"}
    return {"fact": msgspec.json.decode(told)}
