"""The NVIDIA driver: NVML first, nvidia-smi second, and what they say of each other."""

from __future__ import annotations

import re

from doctor.facts import Driver, Gap
from doctor.probes import Looks, Smi
from doctor.probes.driver_signs import bus_gpus, refusal

TABLE_HEAD = re.compile(r"Driver Version: {0,9}(\d{3,4}\.\d+(?:\.\d+)?)")
TABLE_CUDA = re.compile(r"CUDA (?:UMD )?Version: {0,9}(\d+\.\d+)")


def smi_versions(smi: Smi | None) -> tuple[str | None, str | None]:
    """(driver version, driver's CUDA) from nvidia-smi; None for what it does not say."""
    if smi is None or smi.table.code != 0:
        return None, None
    version, cuda = TABLE_HEAD.search(smi.table.stdout), TABLE_CUDA.search(smi.table.stdout)
    return version and version.group(1), cuda and cuda.group(1)


def probe(looks: Looks) -> Driver | Gap:
    """The driver as the first witness that answers has it, with every contradiction kept."""
    nvml = looks.nvml.result().section("nvml") or {}
    smi_version, smi_cuda = smi_versions(looks.smi.result())
    witnesses = {
        name: version
        for name, version in (("nvml", nvml.get("driver")), ("nvidia-smi", smi_version))
        if version
    }
    if not witnesses:
        return absence(looks)
    differing = witnesses if len(set(witnesses.values())) > 1 else {}
    if "nvml" in witnesses:
        return Driver(
            version=nvml["driver"], cuda_version=nvml.get("cuda"), source="nvml", disagreement=differing
        )
    return Driver(version=witnesses["nvidia-smi"], cuda_version=smi_cuda, source="nvidia-smi")


def absence(looks: Looks) -> Gap:
    """Why there is no driver to speak of: none needed, or one that does not answer."""
    refused = refusal(looks.smi.result())
    answer = looks.nvml.result()
    nvml = answer.section("nvml")
    on_bus = bus_gpus(looks.host)
    if refused or nvml is None:
        return Gap(
            about="driver", kind="failed", reason=refused and f"nvidia-smi: {refused}" or answer.trouble
        )
    if looks.smi.result() is not None:
        return Gap(about="driver", kind="failed", reason="nvidia-smi ran and named no driver version")
    if on_bus:
        reason = f"{on_bus} NVIDIA device on the bus, but NVML says: {nvml.get('error')}"
        return Gap(about="driver", kind="failed", reason=reason)
    reason = f"none is needed: no NVIDIA GPU is on the bus ({nvml.get('error')})"
    return Gap(about="driver", kind="not-applicable", reason=reason)
