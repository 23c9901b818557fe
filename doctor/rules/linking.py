"""Libraries that cannot be loaded whatever is installed beside them, and what was told wrongly before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.cures import install, reinstall
from doctor.facts import Facts, FileFault
from doctor.findings import Evidence, Fix, Severity
from doctor.native import Dependency, NativeLibrary
from doctor.rules import Hit, rule
from doctor.rules.linked import is_cuda, lay_down, unreadable_by, was_loaded, wheel_of, without_folder
from doctor.rules.packages import file_faults
from doctor.versions import comparable

SHARED_OBJECT = re.compile(r"/(lib[^/]*\.so)(\.\d+)?(?:\.\d+)*$")
GLIBC_PART = re.compile(r"/lib(?:c|m|dl|rt|pthread|util|resolv|mvec)[.-]")
CXX_VERSION = re.compile(r"\b(?:GLIBCXX|CXXABI)_[\d.]+")
CUDA_LIBRARY = "libbitsandbytes_cuda"
FIRST_FOR_OLD_GLIBC = "0.46.0"  # of bitsandbytes
IMPORTS = {"torch": ("import-torch",), "bitsandbytes": ("import-bitsandbytes", "load-4bit", "qlora-step")}


def unloaded(facts: Facts) -> Iterator[NativeLibrary]:
    """The libraries that were read and not seen to load."""
    for library in facts.linkage.libraries if facts.linkage else ():
        if not was_loaded(facts, library.package):
            yield library


def refused(facts: Facts) -> Iterator[tuple[NativeLibrary, Dependency]]:
    """What was found for these libraries and cannot serve, each file once."""
    told = set()
    for library in unloaded(facts):
        for one in library.missing:
            if one.path and (one.path, one.fault) not in told:
                told.add((one.path, one.fault))
                yield library, one


def severity_of(package: str) -> Severity:
    """An error where training cannot do without the package; of others the trial shows whether it bites."""
    return "error" if package in IMPORTS else "warning"


def name_of(path: str) -> str:
    """A file's name."""
    return path.rpartition("/")[2]


@rule(
    "system/glibc-too-old",
    "error",
    needs=("linkage", "system"),
    symptoms=(r"re:version [`'‘]?GLIBC_[\d.]{3,8}['’]? not found",),
    question="Which system is it? ldd --version prints its glibc.",
)
def glibc_too_old(facts: Facts) -> Iterator[Hit]:
    """The system's C library is older than a wheel needs

    Why: a native library asks glibc for the versions of its functions, and a process has one glibc: that of
    the system. Wheels that were built elsewhere, or forced past pip's check of tags, may ask for a newer.

    Fix: use a release whose wheel fits this system, or a newer system, or a container of one. bitsandbytes
    0.46 and newer run from glibc 2.24 on; some libraries of 0.45 ask for 2.34.

    Tried in vain: installing a newer glibc beside the system's: it is one for all programs.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1610
    """
    assert facts.linkage and facts.system
    have = comparable((facts.system.libc or "").removeprefix("glibc "))
    told = set()
    for library in unloaded(facts):
        need = comparable(library.glibc)
        if have and need and need > have and library.package not in told:
            told.add(library.package)
            name = name_of(library.path)
            yield Hit(
                title=f"{name} of {library.package} needs glibc {need}, and this system has {have}",
                severity=severity_of(library.package),
                breaks=IMPORTS.get(library.package, ()),
                evidence=(Evidence("glibc", str(have), f"{need} or newer, for {library.package}"),),
                fixes=for_older_systems(facts, library.package),
            )


def for_older_systems(facts: Facts, package: str) -> tuple[Fix, ...]:
    """The release whose wheels are built for old systems, where this one's are not."""
    have, first = comparable(facts.version_of(package) or ""), comparable(FIRST_FOR_OLD_GLIBC)
    if package != "bitsandbytes" or not have or not first or have >= first:
        return ()
    title = f"Upgrade bitsandbytes to {FIRST_FOR_OLD_GLIBC} or newer"
    return (install(facts, title, f"bitsandbytes>={FIRST_FOR_OLD_GLIBC}"),)


@rule(
    "system/libstdcxx-too-old",
    "error",
    needs=("linkage",),
    symptoms=(r"re:version [`'‘]?(?:GLIBCXX|CXXABI)_[\d.]{3,8}['’]? not found",),
)
def libstdcxx_too_old(facts: Facts) -> Iterator[Hit]:
    """libstdc++ lacks a version that a library needs

    Why: a process has one libstdc++: the first that is loaded. Where LD_LIBRARY_PATH, a conda environment or
    an old system gives an older one than a wheel was built with, that wheel cannot be loaded.

    Fix: leave the folder out of LD_LIBRARY_PATH; else install a newer one (conda: libstdcxx-ng).

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1663
    """
    for library, one in refused(facts):
        lacks = CXX_VERSION.search(one.fault)
        if lacks and one.name.startswith("libstdc++"):
            by_variable = one.by in ("LD_LIBRARY_PATH", "preload")
            yield Hit(
                title=f"{one.path} lacks {lacks[0]}, which {one.asked_by} of {library.package} needs",
                severity=severity_of(library.package),
                breaks=IMPORTS.get(library.package, ()),
                evidence=(Evidence("libstdc++", f"{one.path}, by {one.by}", f"one with {lacks[0]}"),),
                fixes=(without_folder(facts, one),) if by_variable else (),
            )


@rule(
    "torch/native-library-corrupt",
    "error",
    needs=("linkage",),
    breaks=("import-torch",),
    symptoms=(r"re:torch/lib/[\w.+-]{3,60}: (?:file too short|invalid ELF header)",),
)
def torch_library_corrupt(facts: Facts) -> Iterator[Hit]:
    """A library that torch loads is no file that a loader can take

    Why: a full disk or a broken download left it out or cut it short, or it was built for another machine.
    Loading a file that is shorter than its own headers say kills the process by SIGBUS.

    Fix: reinstall the package that brings it.
    """
    library = facts.linkage.library_of("torch") if facts.linkage else None
    if library is None or was_loaded(facts, "torch"):
        return
    ill = {one.path: one.fault for one in library.missing if one.path and not one.fault.startswith("lacks")}
    if library.fault and library.fault != "is not there":
        ill[library.path] = library.fault
    own = all_named(file_faults(facts).get("torch"))
    for path, fault in ill.items():
        if not any(path.endswith(name) for name in own):
            yield Hit(
                title=f"{path}, which torch loads, {fault}",
                evidence=(
                    Evidence("torch", f"{path} {fault}", "a library for this machine"),
                    *(
                        Evidence(wheel, facts.version_of(wheel) or "")
                        for wheel in (bringing(facts, path),)
                        if wheel
                    ),
                ),
                fixes=(cure_of(facts, path),),
            )


def all_named(fault: FileFault | None) -> tuple[str, ...]:
    """The files of a package that are not as recorded: the rules on files speak of them."""
    return (*fault.missing, *fault.altered, *fault.truncated) if fault else ()


def bringing(facts: Facts, path: str) -> str:
    """The installed wheel of NVIDIA that brings a library, "" for torch's own."""
    name = name_of(path)
    wheel = wheel_of(facts, name) if is_cuda(name) and "/nvidia/" in path else ""
    return wheel if facts.version_of(wheel) else ""


def cure_of(facts: Facts, path: str) -> Fix:
    """Lay what brings a library down anew."""
    name = name_of(path)
    return lay_down(facts, name) if is_cuda(name) and "/nvidia/" in path else reinstall(facts, "torch")


@rule(
    "system/library-missing",
    "error",
    needs=("linkage",),
    symptoms=(
        r"re:lib(?:numa|gomp|openblas|mpi|GL|gthread-2\.0|aio|ibverbs|nvpl_\w{3,30}|cudss|ffi|sqlite3|bz2|lzma)"
        r"\.so[.\d]{0,8}: cannot open shared object file",
    ),
)
def library_missing(facts: Facts) -> Iterator[Hit]:
    """A system library that a package is linked to is not there

    Why: wheels bring most of what they need and leave some to the system; slim images and unusual builds
    lack it. The loader then refuses the package's own library.

    Fix: install the system's package that has it.
    """
    for library in unloaded(facts):
        lost = [one for one in library.missing if not one.path and not is_cuda(one.name)]
        if lost and not unreadable_by(library):
            one = lost[0]
            yield Hit(
                title=f"{one.asked_by} of {library.package} needs {one.name}, and the loader finds none",
                severity=severity_of(library.package),
                confidence="likely",
                breaks=IMPORTS.get(library.package, ()),
                evidence=tuple(Evidence(one.name, f"not found for {one.asked_by}") for one in lost[:3]),
            )


@rule("doctor/prediction-differs", "note", needs=("linkage",))
def prediction_differs(facts: Facts) -> Iterator[Hit]:
    """The loader took another file than this doctor had told from the files

    Why: before anything is loaded, the doctor follows the loader's rules by the files alone. What is then
    mapped is seen, and outweighs it. A difference is a library that a program opened by itself, a preloaded
    one, or a fault of this doctor.

    Fix: none is needed for training; a report of both paths helps this project.
    """
    for package in ("torch", "bitsandbytes"):
        differing = differences(facts, package)
        if differing:
            told, seen = differing[0]
            yield Hit(
                title=f"For {package} this doctor told {told}, and saw {seen}",
                evidence=tuple(Evidence(package, seen, told) for told, seen in differing[:4]),
            )


def differences(facts: Facts, package: str) -> list[tuple[str, str]]:
    """What was told of a package and what was seen in its place; nothing where it did not come to that."""
    library = facts.linkage.library_of(package) if facts.linkage else None
    runtime = facts.torch_runtime if package == "torch" else facts.bitsandbytes_runtime
    if library is None or runtime is None or not is_as_supposed(facts, package):
        return []
    if not was_loaded(facts, package):
        taken = (facts.bitsandbytes_runtime.library if facts.bitsandbytes_runtime else None) or ""
        # Of the CPU's on a GPU a rule of its own speaks.
        is_other = package == "bitsandbytes" and CUDA_LIBRARY in taken
        return [(name_of(library.path), taken)] if is_other else []
    if library.fault or library.missing:
        return [(f"that {name_of(library.path)} cannot be loaded", f"{package} loaded")]
    return files_differing(library, runtime.objects)


def is_as_supposed(facts: Facts, package: str) -> bool:
    """Is the machine as the telling supposed? bitsandbytes goes by what torch says of GPUs."""
    choice = facts.linkage.choice if facts.linkage else None
    if package == "torch":
        return True
    available = bool(facts.torch_runtime and facts.torch_runtime.cuda_available)
    return choice is not None and choice.is_there and available is ("_cpu" not in choice.library)


def files_differing(library: NativeLibrary, objects: tuple[str, ...]) -> list[tuple[str, str]]:
    """The files that were told and not mapped, with what was mapped of the same name."""
    mapped = {key_of(path): path for path in objects}
    told = [path for path in (library.path, *(one.path for one in library.dependencies)) if is_told(path)]
    return [
        (path, mapped.get(key_of(path), "nothing of that name"))
        for path in told
        if objects and path not in objects
    ]


def is_told(path: str) -> bool:
    """Does the trial tell of files of this name? It passes over glibc's parts and Python's own modules."""
    return bool(SHARED_OBJECT.search(path)) and not GLIBC_PART.search(path)


def key_of(path: str) -> str:
    """By what files of one library are known: "libcudart.so.13" of "libcudart.so.13.0.88"."""
    found = SHARED_OBJECT.search(path)
    return found[1] + (found[2] or "") if found else path
