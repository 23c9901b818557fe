"""Faults of the CUDA libraries that torch is linked to: absent, shadowed, of two majors."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.facts import Facts
from doctor.failures import all_failure_text
from doctor.findings import Evidence, Severity
from doctor.native import Dependency, NativeLibrary
from doctor.rules import Hit, rule
from doctor.rules.cuda_majors import is_overwritten, overwritten, pairs
from doctor.rules.linked import (
    NvidiaWheel,
    absent,
    is_cuda,
    lay_down,
    stem_of,
    was_loaded,
    wheel_of,
    without_folder,
)
from doctor.rules.machine_cures_by_words import no_foreign_libraries

IMPORT = ("import-torch",)
NO_LIBRARY = (
    r"re:lib(?:cudart|cublas|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|nccl|nvJitLink|nvrtc|nvToolsExt"
    r"|nvtx3interop|nvshmem)\w{0,20}\.so[.\d]{0,12}: cannot open shared object file"
)
UNDEFINED_NCCL = re.compile(r"undefined symbol:? (nccl\w+)")
STAGES = {"torch": IMPORT, "bitsandbytes": ("import-bitsandbytes", "load-4bit", "qlora-step")}


@rule(
    "cuda/libraries-missing",
    "error",
    needs=("linkage",),
    breaks=IMPORT,
    symptoms=(NO_LIBRARY,),
)
def libraries_missing(facts: Facts) -> Iterator[Hit]:
    """A CUDA library that torch is linked to is not there

    Why: a CUDA build of torch takes cuBLAS, cuDNN and the rest from wheels of NVIDIA beside it. One that is
    not installed, or whose files went with an uninstalled wheel of another CUDA, ends import torch. The
    driver brings none of them, and neither does bitsandbytes.

    Fix: lay the wheel of that library down anew.

    References: https://github.com/sgl-project/sglang/pull/31035
    """
    assert facts.linkage
    lost = absent(facts.linkage.library_of("torch"))
    if not lost or was_loaded(facts, "torch"):
        return
    names = list(dict.fromkeys(one.name for one in lost))
    verb = "is" if len(names) == 1 else "are"
    yield Hit(
        title=f"{' and '.join(names[:3])}, which torch needs, {verb} not where the loader looks",
        evidence=tuple(lost_evidence(facts, one) for one in lost[:3]),
        fixes=(lay_down(facts, names[0]),),
    )


@rule("cuda/libraries-mismatched", "error", needs=("linkage",), breaks=IMPORT)
def libraries_mismatched(facts: Facts) -> Iterator[Hit]:
    """A wheel of NVIDIA is not of the release that torch and its other libraries ask for

    Why: the CUDA libraries call each other by versions and symbols of their own release. One that another
    package or a hand-written pin has moved lacks some, and import torch ends.

    Fix: install the release that torch asks for.

    References: https://github.com/pytorch/pytorch/issues/131312
    """
    library = facts.linkage.library_of("torch") if facts.linkage else None
    if library is None or was_loaded(facts, "torch"):
        return
    for one in library.missing:
        of_own = one.by not in ("LD_LIBRARY_PATH", "preload")
        if one.path and is_cuda(one.name) and of_own and one.fault.startswith("lacks"):
            conflict = stem_of(one.name) == "libnccl" and is_overwritten(facts, "nvidia-nccl")
            if not conflict:
                yield mismatch_hit(facts, one)


def mismatch_hit(facts: Facts, one: Dependency) -> Hit:
    """A hit for a library of torch's own that lacks what another asks of it."""
    wheel = wheel_of(facts, one.name)
    version = facts.version_of(wheel) or "of which nothing is registered"
    return Hit(
        title=f"{one.name} of {wheel} {version} {one.fault}, which {one.asked_by} asks for",
        evidence=(
            Evidence(wheel, version, "the release that torch asks for"),
            Evidence("torch", facts.version_of("torch") or ""),
        ),
        fixes=(lay_down(facts, one.name, as_asked=True),),
    )


def lost_evidence(facts: Facts, one: Dependency) -> Evidence:
    """The wheel that should bring a library, as it is installed."""
    wheel = wheel_of(facts, one.name)
    version = facts.version_of(wheel)
    seen = f"{version} without {one.name}" if version else "not installed"
    return Evidence(wheel, seen, f"{one.name}, which {one.asked_by} is linked to")


def taken_elsewhere(facts: Facts, *stems: str) -> Iterator[tuple[NativeLibrary, Dependency]]:
    """The CUDA libraries that the environment's variables give to torch or bitsandbytes, each once."""
    told = set()
    for library in facts.linkage.libraries if facts.linkage else ():
        for one in library.dependencies:
            by_variable = one.by in ("LD_LIBRARY_PATH", "preload")
            if by_variable and one.path and stem_of(one.name) in stems and one.name not in told:
                told.add(one.name)
                yield whom_it_fails(facts, one) or (library, one)


def whom_it_fails(facts: Facts, one: Dependency) -> tuple[NativeLibrary, Dependency] | None:
    """The first library that this file cannot serve, though it came in for another, and why."""
    for library in facts.linkage.libraries if facts.linkage else ():
        for other in library.dependencies:
            if other.path == one.path and other.fault:
                return library, msgspec.structs.replace(one, fault=other.fault)
    return None


def shadow_hit(facts: Facts, library: NativeLibrary, one: Dependency, mild: Severity) -> Iterator[Hit]:
    """A hit for a library that came by a variable: an error where it cannot serve, else of ``mild``."""
    fails = bool(one.fault) and not was_loaded(facts, library.package)
    if not fails and not one.shadowed:
        return
    variable = "LD_PRELOAD" if one.by == "preload" else "LD_LIBRARY_PATH"
    state = f", which {one.fault}" if fails else ""
    instead = f" in place of {one.shadowed}" if one.shadowed else ""
    yield Hit(
        title=f"{variable} gives {library.package} {one.path}{instead}{state}",
        severity="error" if fails else mild,
        breaks=STAGES.get(library.package, ()) if fails else (),
        evidence=(
            Evidence(one.name, f"{one.path}, by {variable}", one.shadowed or "one that serves"),
            *((lost_evidence(facts, one),) if fails else ()),
        ),
        fixes=(without_folder(facts, one),),
    )


@rule(
    "cuda/nvjitlink-shadowed",
    "error",
    needs=("linkage",),
    breaks=IMPORT,
    symptoms=(r"re:(?:undefined )?symbol:? __nvJitLink\w+", "libcusparse.so.12: undefined symbol"),
    cure=no_foreign_libraries,
    question='What does echo "$LD_LIBRARY_PATH" print?',
)
def nvjitlink_shadowed(facts: Facts) -> Iterator[Hit]:
    """A system CUDA folder shadows torch's nvJitLink

    Why: libcusparse finds libnvJitLink by RUNPATH, and LD_LIBRARY_PATH comes before that. An older one of
    the same major lacks the symbols that cuSPARSE was linked to, and import torch ends. A newer one serves.

    Fix: leave the folder out of LD_LIBRARY_PATH; torch needs none.

    Verify: python -c "import torch" prints nothing.

    References: https://github.com/pytorch/pytorch/issues/111469 https://github.com/pytorch/pytorch/issues/134929
    """
    for library, one in taken_elsewhere(facts, "libnvJitLink"):
        yield from shadow_hit(facts, library, one, "note")


@rule(
    "cuda/cudnn-shadowed",
    "error",
    needs=("linkage",),
    breaks=IMPORT,
    symptoms=(
        "cuDNN version incompatibility",
        "Could not load library libcudnn",
        "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        "CUDNN_STATUS_VERSION_MISMATCH",
    ),
    cure=no_foreign_libraries,
    question='What does echo "$LD_LIBRARY_PATH" print?',
)
def cudnn_shadowed(facts: Facts) -> Iterator[Hit]:
    """Another cuDNN is loaded in place of torch's

    Why: torch was compiled against one cuDNN and refuses an older one at run time. Builds whose libraries
    carry RUNPATH take what LD_LIBRARY_PATH holds first; those with RPATH do not.

    Fix: leave the folder out of LD_LIBRARY_PATH.

    References: https://github.com/pytorch/pytorch/issues/80637
    """
    for library, one in taken_elsewhere(facts, "libcudnn"):
        yield from shadow_hit(facts, library, one, "warning")


@rule(
    "cuda/nccl-conflict",
    "error",
    needs=("packages",),
    breaks=(*IMPORT, "multi-gpu"),
    symptoms=(r"re:undefined symbol:? nccl\w+",),
)
def nccl_conflict(facts: Facts) -> Iterator[Hit]:
    """Another NCCL stands in the place of torch's

    Why: torch is linked to the symbols of its own NCCL. The wheels of two CUDA majors bring NCCL under one
    file name, so that the last one installed wins; LD_LIBRARY_PATH or a hand-written pin may give another.

    Fix: uninstall the other wheel and lay torch's own down anew, for they share their files.

    References: https://github.com/pytorch/pytorch/issues/186591 https://github.com/pytorch/pytorch/issues/119932
    """
    shadows = list(taken_elsewhere(facts, "libnccl"))
    for library, one in shadows:
        yield from shadow_hit(facts, library, one, "warning")
    own, others = pairs(facts).get("nvidia-nccl", (None, []))
    if own and is_overwritten(facts, "nvidia-nccl"):
        yield overwritten(facts, own, others)
    elif own and not shadows:
        yield from nccl_lacks_symbol(facts, own)


def nccl_lacks_symbol(facts: Facts, own: NvidiaWheel) -> Iterator[Hit]:
    """A hit for torch's own NCCL at another release, once the loader named what it lacks.

    Its symbols carry no versions, so that the files alone do not tell.
    """
    lacks = UNDEFINED_NCCL.search(all_failure_text(facts))
    name, version = own.package.name, own.package.version
    torch = facts.packages.installed.get("torch") if facts.packages else None
    is_as_asked = any(need.startswith(f"{name}=={version}") for need in (torch.requires if torch else ()))
    if lacks:
        yield Hit(
            title=f"libnccl.so.2 of {name} {version} lacks {lacks[1]}, which torch asks for",
            evidence=(
                Evidence(name, version, "the release that torch asks for"),
                Evidence("torch", facts.version_of("torch") or ""),
            ),
            fixes=(lay_down(facts, "libnccl.so.2", as_asked=not is_as_asked),),
        )


@rule(
    "cuda/libraries-shadowed",
    "error",
    needs=("linkage",),
    breaks=IMPORT,
    symptoms=("Inconsistency detected by ld.so", r"re:version `lib\w+\.so[.\d]*' not found"),
    cure=no_foreign_libraries,
)
def libraries_shadowed(facts: Facts) -> Iterator[Hit]:
    """A CUDA library of another installation is loaded in place of torch's

    Why: LD_LIBRARY_PATH comes before the folders that a library names by RUNPATH, and before the system's
    own. What it gives must have the versions of symbols that are asked for; where it has none at all the
    loader itself gives up.

    Fix: leave the folder out of LD_LIBRARY_PATH.
    """
    rest = {
        stem_of(one.name)
        for lib in (facts.linkage.libraries if facts.linkage else ())
        for one in lib.dependencies
    }
    others = rest - {"libnvJitLink", "libcudnn", "libnccl"}
    for library, one in taken_elsewhere(facts, *(stem for stem in others if is_cuda(stem))):
        yield from shadow_hit(facts, library, one, "note")
