"""Residuals of measurements on this machine, kept for its next prediction in a file of the cache folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

import doctor
from doctor.facts import Gap
from doctor.host import Host
from doctor.memory.calibrated import Correction, Residual, Store, corrected, correction_of, residual_of
from doctor.memory.estimate import Device, Estimate
from doctor.memory.estimator import Estimator
from doctor.memory.measured import Measurement
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape

KEPT = "memory-calibration-1.json"
KEPT_RESIDUALS = 16  # of one machine, the newest
KEPT_MACHINES = 64
IGNORED = (
    f"what was measured on this machine before cannot be read and is ignored ({KEPT} in the cache folder)"
)


def key_of(device: Device, versions: Mapping[str, str], tier: str) -> str:
    """What a residual is true of: the device, its driver, torch, and who predicted."""
    return " | ".join((device.name, device.driver, versions.get("torch", ""), tier, doctor.__version__))


def correction(host: Host, device: Device, versions: Mapping[str, str], tier: str) -> Correction | None:
    """What earlier measurements say of a prediction here, None where there were none.

    A file that cannot be believed gives a correction of no points, whose note says so. Of a device that is
    only described, or of a run on the CPU, nothing was measured.
    """
    data = host.cached(KEPT)
    if data is None or device.kind == "cpu" or not device.driver:
        return None
    store = _decoded(data)
    if store is None:
        return Correction(points=0, notes=(IGNORED,))
    return correction_of(store.machines.get(key_of(device, versions, tier), ()))


def remember(host: Host, device: Device, measurement: Measurement, estimate: Estimate) -> Residual | None:
    """Keep a measurement's residual for the next prediction; None where it says nothing."""
    residual = residual_of(measurement, estimate)
    if residual is None:
        return None
    store = _decoded(host.cached(KEPT) or b"") or Store()
    key = key_of(device, measurement.versions, estimate.tier)
    others = {name: kept for name, kept in store.machines.items() if name != key}
    newest = (*store.machines.get(key, ()), residual)[-KEPT_RESIDUALS:]
    machines = dict(list(others.items())[1 - KEPT_MACHINES :]) | {key: newest}
    host.cache(KEPT, msgspec.json.encode(Store(machines=machines)))
    return residual


def calibrated(host: Host, estimator: Estimator, versions: Mapping[str, str]) -> Estimator:
    """An estimator whose estimates are corrected by what was measured on this machine."""

    def estimates(shape: ModelShape, plans: Sequence[Plan], device: Device) -> Iterator[Estimate | Gap]:
        for found in estimator(shape, plans, device):
            known = None if isinstance(found, Gap) else correction(host, device, versions, found.tier)
            yield found if isinstance(found, Gap) or known is None else corrected(found, known)

    return estimates


def _decoded(data: bytes) -> Store | None:
    try:
        return msgspec.json.decode(data, type=Store)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
