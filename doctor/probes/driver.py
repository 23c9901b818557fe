"""The NVIDIA driver: NVML first, nvidia-smi second, and what all witnesses say of its version."""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.driver_text import TABLE_CUDA, TABLE_HEAD, VERSION
from doctor.facts import Driver, Gap
from doctor.host import Host
from doctor.probes import CUDA_LIBRARY, SMI_ANSWERS, Looks, Smi
from doctor.probes.driver_signs import bus_gpus, refusal
from doctor.probes.signs import kernel, libraries

# The driver's libraries bear its version: libcuda.so.535.104.05. WSL's bear none.
IN_FILE_NAME = re.compile(r"\.so\.(\d{3,4}\.\d+(?:\.\d+)?)")
COMPATIBILITY = "/compat/"  # a newer libcuda on an older driver, by intent
# NVML does not refuse to answer: its library, or the doctor's bindings to it, are not there.
NVML_ABSENT = (12, -1)


def smi_versions(smi: Smi | None) -> tuple[str | None, str | None]:
    """(driver version, driver's CUDA) from nvidia-smi; None for what it does not say."""
    if smi is None or smi.table.code not in SMI_ANSWERS:
        return None, None
    version, cuda = TABLE_HEAD.search(smi.table.stdout), TABLE_CUDA.search(smi.table.stdout)
    return version and version.group(1), cuda and cuda.group(1)


def probe(looks: Looks) -> Driver | Gap:
    """The driver as the first witness that answers has it, with every contradiction kept."""
    nvml = looks.nvml.result().section("nvml") or {}
    smi_version, smi_cuda = smi_versions(looks.smi.result())
    witnesses = {
        name: version
        for name, version in {
            "nvml": plain_version(str(nvml.get("driver") or "")),
            "nvidia-smi": smi_version,
            "kernel": kernel.module(looks.host).version,
            CUDA_LIBRARY: libcuda_version(looks.host),
        }.items()
        if version
    }
    differing = witnesses if len(set(witnesses.values())) > 1 else {}
    if "nvml" in witnesses:
        return Driver(
            version=witnesses["nvml"], cuda_version=nvml.get("cuda"), source="nvml", disagreement=differing
        )
    if smi_version:
        return Driver(version=smi_version, cuda_version=smi_cuda, source="nvidia-smi", disagreement=differing)
    if "kernel" in witnesses and has_no_tools(looks, nvml):
        return Driver(version=witnesses["kernel"], cuda_version=None, source="kernel", disagreement=differing)
    return absence(looks)


def plain_version(told: str) -> str:
    """The numbers alone: "535.104.05" of "535.104.05-grid"; "" where there is none, as in "N/A"."""
    found = VERSION.search(told)
    return found[0] if found else ""


def libcuda_version(host: Host) -> str:
    """The version in the name of the libcuda that programs get, "" where it bears none."""
    path = libraries.libraries(host).get(CUDA_LIBRARY, "")
    found = IN_FILE_NAME.search(path)
    return found[1] if found and COMPATIBILITY not in path else ""


def has_no_tools(looks: Looks, nvml: Mapping[str, object]) -> bool:
    """Is libcuda here while NVML and nvidia-smi are not, as in a container for computing alone?"""
    is_here = looks.host.find_library(CUDA_LIBRARY) is not None
    return is_here and nvml.get("code") in NVML_ABSENT and looks.smi.result() is None


def absence(looks: Looks) -> Gap:
    """Why there is no driver to speak of: none needed, or one that does not answer."""
    refused = refusal(looks.smi.result())
    answer = looks.nvml.result()
    nvml = answer.section("nvml")
    if refused or nvml is None:
        return Gap(
            about="driver", kind="failed", reason=refused and f"nvidia-smi: {refused}" or answer.trouble
        )
    if looks.smi.result() is not None:
        return Gap(about="driver", kind="failed", reason="nvidia-smi ran and named no driver version")
    on_bus, error = bus_gpus(looks.host), nvml.get("error")
    if on_bus:
        reason = f"{on_bus} NVIDIA device on the bus, but NVML says: {error}"
        return Gap(about="driver", kind="failed", reason=reason)
    is_told = looks.host.os == "linux"  # elsewhere the bus is not read
    reason = f"none is needed: no NVIDIA GPU is on the bus ({error})" if is_told else f"NVML says: {error}"
    return Gap(about="driver", kind="not-applicable", reason=reason)
