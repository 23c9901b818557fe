"""What triton compiles with at run time, and the limits that a training meets; nothing is compiled here.

Triton builds a small C extension around each GPU it meets: by its own rules for the compiler, for libcuda
and for ptxas, which are followed here (``runtime/build.py`` and ``backends/nvidia`` of its releases).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from doctor.child import Patience
from doctor.facts import Compiling, Gap
from doctor.host import Host
from doctor.loader_cache import default_folders
from doctor.probes import CUDA_LIBRARY, Looks, gpus
from doctor.versions import comparable

SHARED_MEMORY = "/dev/shm"
NAMES = ("triton", "pytorch-triton")  # torch's own nightly builds of it have another name
FULL_NAME_SINCE = (3, 6)  # before, triton links with -lcuda, for which a linker wants libcuda.so
TOOL_FOLDERS = ("backends/nvidia/bin", "third_party/cuda/bin")  # since 3.0, and before
PTXAS_PATIENCE = Patience(limit_s=10.0)


class Triton(NamedTuple):
    """An installed triton."""

    version: str
    folder: str


def probe(looks: Looks) -> Compiling | Gap:
    """The tools as triton would find them, its cache, and what is free where a training writes."""
    answer = looks.survey.result()
    headers, packages = answer.section("headers"), answer.section("packages")
    if headers is None or packages is None:
        return Gap(about="compiling", kind="failed", reason=answer.trouble)
    host, limits = looks.host, looks.host.limits()
    triton = installed_triton(packages)
    cache, hub = triton_cache(host), hub_cache(host)
    header = os.path.join(headers["include_folder"], "Python.h")
    tool = ptxas(looks, triton) if triton else ""
    return Compiling(
        compiler=compiler(host),
        python_header=header if host.is_file(header) else "",
        libcuda_link=libcuda(host, triton),
        ptxas=tool,
        ptxas_version="" if looks.quick or not tool else ptxas_version(host, tool),
        triton=triton.version if triton else "",
        cache_folder=cache,
        cache_fault=fault(host, cache),
        cache_free_bytes=free_bytes(host, cache),
        hub_cache_folder=hub,
        hub_cache_free_bytes=free_bytes(host, hub),
        shared_memory_free_bytes=free_bytes(host, SHARED_MEMORY) if host.is_folder(SHARED_MEMORY) else None,
        memory_lock_bytes=limits.get("memory_lock_bytes"),
        open_files=limits.get("open_files"),
        rdma_devices=host.list_folder("/sys/class/infiniband"),
    )


def installed_triton(packages: Any) -> Triton | None:
    """The triton among what the survey found."""
    found = next((one for one in packages["found"] if one["name"] in NAMES), None)
    return Triton(found["version"], os.path.join(found["location"], "triton")) if found else None


def compiler(host: Host) -> str:
    """The C compiler that triton takes: $CC, and without that gcc, else clang; "" where that is not there."""
    stated = host.env.get("CC")
    names = ("gcc", "clang") if stated is None else (stated,)
    return next((path for name in names if (path := host.find_program(name))), "")


def libcuda(host: Host, triton: Triton | None) -> str:
    """The file that triton's linker takes for libcuda; "" where it finds none.

    It is given the folders of the driver's libcuda.so.1; the linker adds LIBRARY_PATH and its own.
    """
    release = comparable(triton.version) if triton else None
    name = "libcuda.so" if release and release.release < FULL_NAME_SINCE else CUDA_LIBRARY
    folders = (*libcuda_folders(host), *split(host, "LIBRARY_PATH"), *default_folders())
    return next((path for folder in folders if host.is_file(path := os.path.join(folder, name))), "")


def libcuda_folders(host: Host) -> Iterator[str]:
    """Where triton looks: TRITON_LIBCUDA_PATH alone, else the loader's folder of libcuda.so.1."""
    stated = host.env.get("TRITON_LIBCUDA_PATH")
    found = host.find_library(CUDA_LIBRARY)
    if stated or found:
        yield stated or os.path.dirname(found or "")


def split(host: Host, name: str) -> list[str]:
    """The folders that a variable lists."""
    return [folder for folder in host.env.get(name, "").split(":") if folder]


def ptxas(looks: Looks, triton: Triton) -> str:
    """The ptxas that triton takes for this machine's GPUs: the variable's where that is there, else its own.

    Since 3.3 most releases bring a second one for compute capability 10.0 and above.
    """
    seen = gpus.probe(looks)
    newest = max((major(gpu.compute_capability) for gpu in seen), default=0) if isinstance(seen, tuple) else 0
    for name in ("ptxas-blackwell", "ptxas") if newest >= 10 else ("ptxas",):
        own = [f"{triton.folder}/{folder}/{name}" for folder in TOOL_FOLDERS]
        stated = looks.host.env.get(f"TRITON_{name.upper().replace('-', '_')}_PATH", "")
        if any(looks.host.is_file(path) for path in own):
            return next(path for path in (stated, *own) if looks.host.is_file(path))
    return ""


def major(capability: str | None) -> int:
    """The number before the point of a compute capability, 0 where it is not known."""
    return int((capability or "0").split(".")[0])


def ptxas_version(host: Host, path: str) -> str:
    """The CUDA release that a ptxas is of: "12.8"; "" where it does not say."""
    done = host.run([path, "--version"], patience=PTXAS_PATIENCE)
    found = re.search(r"\brelease (\d+\.\d+)", done.stdout)
    return found.group(1) if found else ""


def triton_cache(host: Host) -> str:
    """The folder of what triton compiled; "" where no home is known."""
    own = host.env.get("TRITON_CACHE_DIR", "").strip()
    home = host.env.get("TRITON_HOME") or home_of(host)
    return own or (os.path.join(home, ".triton", "cache") if home else "")


def hub_cache(host: Host) -> str:
    """The folder of models that huggingface_hub keeps; "" where no home is known."""
    env, home = host.env, home_of(host)
    stated = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE")
    common = env.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else "")
    kept = env.get("HF_HOME") or (os.path.join(common, "huggingface") if common else "")
    folder = stated or (os.path.join(kept, "hub") if kept else "")
    return home + folder[1:] if folder.startswith("~") and home else folder


def home_of(host: Host) -> str:
    """The user's folder by the variables of each system, "" where none is set."""
    return host.env.get("HOME") or host.env.get("USERPROFILE") or ""


def fault(host: Host, folder: str) -> str:
    """Why compiled code cannot be kept in a folder and run from it, "" where it can."""
    disk = host.disk(folder) if folder else None
    if disk is None or (disk.writable and disk.executable):
        return ""
    return "mounted noexec" if disk.writable else "not writable"


def free_bytes(host: Host, folder: str) -> int | None:
    """What is free below a folder, None where that is not known."""
    disk = host.disk(folder) if folder else None
    return disk.free_bytes if disk else None
