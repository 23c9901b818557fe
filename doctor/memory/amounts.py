"""Bytes and seconds as people read them."""

from __future__ import annotations

GIB, MIB = 1 << 30, 1 << 20


def amount(size: float) -> str:
    """Bytes for people: "3.21 GiB", "640 MiB", "12 KiB"."""
    for unit, letters in ((GIB, "GiB"), (MIB, "MiB")):
        if abs(size) >= unit:
            return (
                f"{size / unit:.2f} {letters}" if abs(size) < 100 * unit else f"{size / unit:.0f} {letters}"
            )
    return f"{size / 1024:.0f} KiB"


def duration(seconds: float) -> str:
    """ "45 s", "20 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
