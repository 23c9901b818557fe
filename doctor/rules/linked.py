"""What rules on linking ask of the facts: which dependency is at fault, whose file it is, what was seen.

What was seen outweighs what was told from files: of a library that was loaded no rule says that it cannot be.
No rule stands here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from doctor.cures import install, name_of, reinstall, set_variable
from doctor.facts import BitsandbytesBuild, Facts, Package
from doctor.findings import Fix
from doctor.linking.choice import select
from doctor.native import Dependency, LibraryChoice, NativeLibrary

# The wheels of NVIDIA by the libraries that they bring; "nvidia-cublas-cu12" up to CUDA 12, without an
# ending since 13, but for those that have releases of their own.
WHEELS = {
    "libcudart": "nvidia-cuda-runtime",
    "libcublas": "nvidia-cublas",
    "libcublasLt": "nvidia-cublas",
    "libnvblas": "nvidia-cublas",
    "libcudnn": "nvidia-cudnn",
    "libcufft": "nvidia-cufft",
    "libcufile": "nvidia-cufile",
    "libcupti": "nvidia-cuda-cupti",
    "libcurand": "nvidia-curand",
    "libcusolver": "nvidia-cusolver",
    "libcusparse": "nvidia-cusparse",
    "libcusparseLt": "nvidia-cusparselt",
    "libnccl": "nvidia-nccl",
    "libnvJitLink": "nvidia-nvjitlink",
    "libnvrtc": "nvidia-cuda-nvrtc",
    "libnvshmem_host": "nvidia-nvshmem",
    "libnvtx3interop": "nvidia-nvtx",
    "libnvToolsExt": "nvidia-nvtx",
}
NAME = re.compile(r"[\w.+-]+", re.ASCII)  # of a library
OWN_RELEASES = ("nvidia-cudnn", "nvidia-nccl", "nvidia-nvshmem", "nvidia-cusparselt")
NVIDIA = re.compile(r"(nvidia-[a-z-]+?)(?:-cu(\d{2}))?$")
FIRST_WITHOUT_ENDING = 13


class NvidiaWheel(NamedTuple):
    """One installed wheel of NVIDIA's CUDA libraries."""

    package: Package
    stem: str  # "nvidia-nccl"
    major: int  # of CUDA


def stem_of(soname: str) -> str:
    """ "libcudnn" of "libcudnn_ops.so.9", "libcublasLt" of "libcublasLt.so.12"."""
    base = soname.split(".so")[0].split("-")[0]
    return base if base in WHEELS else base.split("_")[0]


def is_cuda(soname: str) -> bool:
    """Is this one of the libraries that come with CUDA, and not with the driver?"""
    return stem_of(soname) in WHEELS


def nvidia_wheels(facts: Facts) -> list[NvidiaWheel]:
    """The installed wheels of CUDA libraries. Those without an ending are of CUDA 13 and later."""
    found = []
    for package in (facts.packages.installed if facts.packages else {}).values():
        match = NVIDIA.fullmatch(package.name)
        if match and match[1] in WHEELS.values():
            found.append(NvidiaWheel(package, match[1], int(match[2] or FIRST_WITHOUT_ENDING)))
    return found


def torch_major(facts: Facts) -> int | None:
    """The major of torch's CUDA, None for a build without."""
    cuda = facts.torch.cuda_version if facts.torch else None
    return int(cuda.split(".")[0]) if cuda and cuda.split(".")[0].isdigit() else None


def wheel_of(facts: Facts, soname: str) -> str:
    """The distribution that brings a library for torch's CUDA: "nvidia-nccl-cu13"."""
    stem, major = WHEELS[stem_of(soname)], torch_major(facts) or FIRST_WITHOUT_ENDING
    installed = {wheel.package.name for wheel in nvidia_wheels(facts) if wheel.stem == stem}
    ending = f"-cu{major}" if major < FIRST_WITHOUT_ENDING or stem in OWN_RELEASES else ""
    return stem + ending if stem + ending in installed or len(installed) != 1 else installed.pop()


def lay_down(facts: Facts, soname: str, *, as_asked: bool = False) -> Fix:
    """Install the wheel that brings a library at the release that torch asks for; one that is there anew.

    ``as_asked``: the one that is there is of another release.
    """
    name = wheel_of(facts, soname)
    if facts.version_of(name) and not as_asked:
        return reinstall(facts, name)
    installed = facts.packages.installed if facts.packages else {}
    asking = [installed[one] for one in ("torch", "cuda-toolkit") if one in installed]
    requires = (need for package in asking for need in package.requires if name_of(need) == name)
    asked = [need.split(";")[0].strip() for need in requires]
    return install(facts, f"Install {asked[0] if asked else name}", asked[0] if asked else name)


def without_folder(facts: Facts, one: Dependency) -> Fix:
    """Take what gave a library out of the variable that named it."""
    if one.by == "preload":
        return set_variable("Preload nothing", "LD_PRELOAD", None)
    path = one.path
    folders = (facts.environment or {}).get("LD_LIBRARY_PATH", "").split(":")
    left = [one for one in folders if one and one.rstrip("/") != path.rpartition("/")[0]]
    is_told = len(left) < len([one for one in folders if one])  # a link may hide which folder it is
    value = ":".join(left) if left and is_told else None
    return set_variable("Leave the folder out of LD_LIBRARY_PATH", "LD_LIBRARY_PATH", value)


def was_loaded(facts: Facts, package: str) -> bool:
    """Was the package's native library seen to load?"""
    if package == "bitsandbytes":
        runtime = facts.bitsandbytes_runtime
        chosen = facts.linkage.choice if facts.linkage else None
        return bool(runtime and runtime.library and (chosen is None or runtime.library == chosen.library))
    run = facts.trial.run_of(f"import-{package}") if facts.trial else None
    return run is not None and run.outcome == "ok"


def unreadable_by(library: NativeLibrary) -> str:
    """Why no loader can take the file itself, as the rest of a sentence; "" where one can."""
    rubbish = [one for one in library.missing if not one.path and not NAME.fullmatch(one.name)]
    return library.fault or ("names libraries that cannot be, and is damaged" if rubbish else "")


def absent(library: NativeLibrary | None) -> list[Dependency]:
    """The libraries of CUDA that it needs and the loader does not find."""
    return [one for one in (library.missing if library else ()) if not one.path and is_cuda(one.name)]


def selection(facts: Facts, *, by_itself: bool = False) -> LibraryChoice | None:
    """What bitsandbytes selects here; ``by_itself``: without the variable that names another library."""
    build = facts.bitsandbytes
    if build is None or facts.torch is None:
        return None
    return select(
        msgspec.structs.replace(build, override=None) if by_itself else build,
        facts.torch,
        gpus=facts.gpus or (),
        accelerators=facts.accelerators,
        env=facts.environment or {},
    )


def lacks_library(facts: Facts, build: BitsandbytesBuild) -> bool:
    """Does bitsandbytes lack the library that it would take here? Slim images delete those of other CUDAs."""
    choice = selection(facts, by_itself=True)
    if choice is None or not build.libraries:
        return not build.libraries
    stands_in = choice.asked and "_cpu" in choice.library
    # Listed in the folder and yet not there: a link to what is gone, as to a cache that was emptied.
    library = None if build.override else facts.linkage and facts.linkage.library_of("bitsandbytes")
    leads_nowhere = bool(library and library.fault == "is not there")
    return not choice.is_there or bool(stands_in) or leads_nowhere
