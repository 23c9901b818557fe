"""Judges what the probe saw."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule

NEEDED_BYTES = 2 << 30  # an adapter of a 7B model, its optimizer and the scheduler


@rule("acme/scratch-full", "error", needs=("extra.scratch",), breaks=("save-load",))
def scratch_full(facts: Facts) -> Iterator[Hit]:
    """The scratch disk has no room for a checkpoint

    Why: jobs at Acme save to the scratch disk, and a save that fails ends the run.

    See: df -h shows how much is free.

    Fix: remove old checkpoints.

    Verify: the check no longer names it.
    """
    disk = facts.extra["scratch"]
    if disk["free_bytes"] < NEEDED_BYTES:
        yield Hit(
            title=f"{disk['folder']} has no room for a checkpoint",
            evidence=(Evidence(disk["folder"], f"{disk['free_bytes']} bytes free", f"{NEEDED_BYTES}"),),
            fixes=(Fix("Remove old checkpoints", scope="system"),),
        )
