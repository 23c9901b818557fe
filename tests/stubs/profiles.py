"""Profiles of machines: JSON for people, lines of key=value for the C stubs.

In JSON a size is in MiB (``total_mib``); the lines have bytes (``total``). A row of ``gpus`` may stand for
several equal ones (``copies``). What a GPU does not support is simply not in its profile.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "profiles"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.json")))
MIB = 1 << 20

# One release of each driver branch, mostly the first that NVIDIA lists, and the newest CUDA that it offers.
RELEASES = """
440.33.01 10.2
450.51.05 11.0
460.27.03 11.2
470.82.01 11.4
495.29.05 11.5
510.39.01 11.6
515.43.04 11.7
520.61.05 11.8
525.60.13 12.0
530.30.02 12.1
535.54.03 12.2
545.23.06 12.3
550.54.14 12.4
555.42.02 12.5
560.28.03 12.6
565.57.01 12.7
570.26 12.8
575.51.03 12.9
580.65.06 13.0
590.44.01 13.1
595.45.04 13.2
610.43.02 13.3
"""
CUDA_OF_BRANCH = {int(line[:3]): line.split()[1] for line in RELEASES.split("\n") if line}
# By branch, those that a machine may still have.
DRIVERS = {int(line[:3]): line.split()[0] for line in RELEASES.split("\n") if line >= "470"}
# nvmlGpuP2PStatus_t
P2P_STATUS = {
    "ok": 0,
    "chipset not supported": 1,
    "gpu not supported": 2,
    "topology not supported": 3,
    "disabled by the registry key": 4,
    "not supported": 5,
}


def branch_of(driver: str) -> int:
    """The branch of a driver that the table knows: 546 of Windows and 545 of Linux are one."""
    major = int(driver.split(".")[0])
    return max(branch for branch in CUDA_OF_BRANCH if branch <= max(major, min(CUDA_OF_BRANCH)))


def read(name: str, driver: str | None = None) -> dict[str, Any]:
    """A profile as it is written, with another driver where one is given."""
    profile: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    if driver is not None:
        profile["driver"] = driver
        profile.pop("smi", None)
    return profile


def lines(profile: Mapping[str, Any]) -> str:
    """A profile as the stubs read it."""
    driver = str(profile["driver"])
    cuda = CUDA_OF_BRANCH[branch_of(driver)]
    major, minor = cuda.split(".")
    gpus = [gpu for row in profile["gpus"] for gpu in [row] * row.get("copies", 1)]
    told: dict[str, Any] = {
        "driver": driver,
        "smi": profile.get("smi", driver),
        "cuda": int(major) * 1000 + int(minor) * 10,
        "nvml": f"{major}.{driver}",
        "count": len(gpus),
        "topology": profile.get("topology", 30),
    }
    for index, gpu in enumerate(gpus):
        told.update({f"gpu{index}.{key}": value for key, value in _of_gpu(gpu, index)})
        told.update(_peers(profile.get("peers", ""), index, len(gpus)))
    return "".join(f"{key}={_value(value)}\n" for key, value in told.items())


def _value(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _of_gpu(gpu: Mapping[str, Any], index: int) -> Iterator[tuple[str, Any]]:
    own = {key: value for key, value in gpu.items() if key not in ("processes", "slices", "copies")}
    yield from {
        "uuid": _uuid("GPU", gpu["name"], index),
        "pci": f"00000000:{index + 1:02X}:00.0",
        "minor": index,
        **_flat(own),
    }.items()
    if gpu.get("processes") is not None:  # absent: the driver does not tell
        yield "processes", len(gpu["processes"])
    for number, process in enumerate(gpu.get("processes") or ()):
        yield from _flat(process, f"process{number}.").items()
    for number, part in enumerate(gpu.get("slices", ())):
        yield f"mig{number}.uuid", _uuid("MIG", gpu["name"], index, number)
        yield from _flat(part, f"mig{number}.").items()


def _peers(peers: str, index: int, count: int) -> Iterator[tuple[str, Any]]:
    """How each pair of GPUs is connected: "nvlink", or a word of P2P_STATUS."""
    for other in range(count) if peers else ():
        if other != index:
            yield f"gpu{index}.peer{other}", P2P_STATUS["ok" if peers == "nvlink" else peers]
            yield f"gpu{index}.peer{other}.nvlink", P2P_STATUS["ok" if peers == "nvlink" else "not supported"]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found.update(_flat(value, f"{prefix}{key}."))
        elif key.endswith("_mib"):
            found[prefix + key.removesuffix("_mib")] = value * MIB
        else:
            found[prefix + key] = value
    return found


def _uuid(kind: str, *of: object) -> str:
    return f"{kind}-{uuid.uuid5(uuid.NAMESPACE_OID, ' '.join(map(str, of)))}"
