"""Looks at the machine and has no opinion."""

from __future__ import annotations

from typing import Any

from doctor.host import Host
from doctor.target import Target


def scratch(host: Host, target: Target) -> dict[str, Any] | None:
    """The scratch disk that jobs write checkpoints to; None where this machine has none."""
    folder = host.env.get("ACME_SCRATCH", "/scratch")
    disk = host.disk(folder) if host.is_folder(folder) else None
    if disk is None or disk.free_bytes is None:
        return None
    return {"folder": folder, "free_bytes": disk.free_bytes, "writable": disk.writable}
