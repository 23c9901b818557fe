"""Does it fit? An estimate with its error held against what a device has free."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.memory.estimate import Device, Estimate, Verdict

# Sizes in which GPUs are sold, as their makers write them; GB stands for GiB there.
TIERS_GIB = (6, 8, 12, 16, 24, 32, 48, 80)
GIB = 1 << 30


def verdict(estimate: Estimate, device: Device) -> Verdict:
    """The verdict against what is free; "unknown" where nothing tells how much that is."""
    return "unknown" if device.free_bytes is None else against(estimate, device.free_bytes)


def against(estimate: Estimate, free_bytes: int) -> Verdict:
    """Fits where even the highest the estimate allows is free, tight where only the lowest is."""
    if estimate.peak_bytes * (1 + estimate.error) <= free_bytes:
        return "fits"
    return "tight" if estimate.peak_bytes * (1 - estimate.error) <= free_bytes else "does-not-fit"


def on_tiers(estimate: Estimate) -> Mapping[str, Verdict]:
    """The verdict for a GPU of each size in which they are sold, with nothing else on it: {"12 GB": ...}."""
    from doctor.memory.device import usable_bytes

    return {f"{size} GB": against(estimate, usable_bytes(size * GIB)) for size in TIERS_GIB}
