"""The driver's files in user space: what the loader finds of them, and what lies where it does not look."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.host import Host
from doctor.probes import CUDA_LIBRARY, NVML_LIBRARY

LIBRARIES = (CUDA_LIBRARY, NVML_LIBRARY, "libnvidia-ptxjitcompiler.so.1")
ON_WSL = "/usr/lib/wsl/lib"  # Windows puts its driver's libraries there
# Where distributions, container engines and the toolkit put a libcuda that only their own settings reach.
OFF_PATH = (
    ON_WSL,
    "/usr/lib/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/local/cuda/compat",
    "/run/opengl-driver/lib",
)
ON_WINDOWS = ("nvcuda.dll", "nvml.dll")


def libraries(host: Host) -> Mapping[str, str]:
    """By the name that a program asks for, the file that it gets, links followed."""
    if host.os == "win32":
        system = f"{host.env.get('SYSTEMROOT', 'C:/Windows')}/System32"
        return {name: f"{system}/{name}" for name in ON_WINDOWS if host.is_file(f"{system}/{name}")}
    if host.os != "linux":
        return {}
    found = {name: host.find_library(name) for name in LIBRARIES}
    return {name: host.real_path(path) for name, path in found.items() if path}


def off_path(host: Host, found: Mapping[str, str]) -> tuple[str, ...]:
    """A libcuda that the loader does not reach, where it has none or, on WSL, another than WSL's own."""
    if host.os != "linux":
        return ()
    folders = (ON_WSL,) if CUDA_LIBRARY in found else OFF_PATH
    paths = [f"{folder}/{CUDA_LIBRARY}" for folder in folders]
    return tuple(path for path in paths if host.is_file(path) and not _is_taken(host, path, found))


def _is_taken(host: Host, path: str, found: Mapping[str, str]) -> bool:
    return found.get(CUDA_LIBRARY) == host.real_path(path)
