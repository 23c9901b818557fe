"""Faults of the bitsandbytes native library, without which 4-bit training is slow or impossible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from doctor.cures import install, reinstall
from doctor.facts import BitsandbytesBuild, BitsandbytesRuntime, Facts
from doctor.findings import Evidence, Fix
from doctor.matrix.platform import bitsandbytes_with
from doctor.rules import Hit, rule
from doctor.rules.cures_by_words import newer_bitsandbytes
from doctor.rules.linked import lacks_library, selection, unreadable_by
from doctor.rules.packages import NATIVE, file_faults
from doctor.versions import comparable

BREAKS = ("import-bitsandbytes", "load-4bit", "qlora-step")
# By the system: its name, how its libraries end, and the first release that brings them.
SYSTEMS = {"darwin": ("macOS", ".dylib", "0.49.0"), "win32": ("Windows", ".dll", "0.43.0")}
NOT_THERE = "is not there"  # the library that is selected is absent: a rule of its own speaks of that


@rule(
    "bitsandbytes/native-library-missing",
    "error",
    needs=("bitsandbytes",),
    breaks=BREAKS,
    symptoms=(
        "Configured CUDA binary not found",
        "No compatible CUDA binary found at",
        "Could not find the bitsandbytes CUDA binary",
        "Required library version not found: libbitsandbytes",
        r"re:libbitsandbytes_(?:cuda|cpu)\w{0,20}\.so: cannot open shared object file",
        r"re:[Ll]ibrary not found: .{0,200}libbitsandbytes_cuda",
        "CUDA VERSION MISMATCH",
        "Forgot to compile the bitsandbytes library?",
    ),
    cure=newer_bitsandbytes,
    question="Which CUDA is torch built for? python -m bitsandbytes prints it.",
)
def native_library_missing(facts: Facts) -> Iterator[Hit]:
    """bitsandbytes has no native library to load

    Why: its Python code imports all the same, and on a CPU even a 4-bit step passes, since slow fallbacks
    stand in. On a GPU nothing quantised runs.

    Fix: reinstall it; if the release never shipped a library for torch's CUDA, upgrade it.

    Verify: python -m bitsandbytes ends with SUCCESS!

    Tried in vain: installing the CUDA toolkit: the library that is absent comes with bitsandbytes alone.
    """
    build = facts.bitsandbytes
    assert build is not None
    if lacks_library(facts, build) and not first_for_system(facts):
        runtime = facts.bitsandbytes_runtime
        wanted = build.expected or "libbitsandbytes for this device"
        none_at_all = not build.libraries
        seen = "none" if none_at_all else f"none of {len(build.libraries)} fits"
        yield Hit(
            title=f"bitsandbytes {build.version} has no native library to load"
            + ("" if none_at_all else f": {wanted} is not there"),
            evidence=(
                Evidence("bitsandbytes", f"libraries in its folder: {seen}", wanted),
                *((Evidence("loaded", f"none, {runtime.handle} stands in"),) if is_mocked(runtime) else ()),
            ),
            fixes=(library_cure(facts, build),),
        )


def library_cure(facts: Facts, build: BitsandbytesBuild) -> Fix:
    """Lay a deleted library down again, or go to the first release that ships one for this CUDA."""
    fault = file_faults(facts).get("bitsandbytes")
    deleted = fault and any(NATIVE.search(name) for name in fault.missing)
    first = None if deleted else bitsandbytes_with(build.expected or "", build.version, facts)
    if first is None:
        return reinstall(facts, "bitsandbytes", build.version)
    return install(facts, f"Upgrade bitsandbytes to {first} or newer", f"bitsandbytes>={first}")


def is_mocked(runtime: BitsandbytesRuntime | None) -> TypeGuard[BitsandbytesRuntime]:
    """Does an object that only raises errors stand in the library's place?"""
    return runtime is not None and runtime.library is None and "Mock" in runtime.handle


@rule("bitsandbytes/native-library-not-loaded", "warning", needs=("bitsandbytes", "bitsandbytes_runtime"))
def native_library_not_loaded(facts: Facts) -> Iterator[Hit]:
    """bitsandbytes has a native library and does not load it

    Why: the loader refused it: a CUDA library that it links to is not found, or the system's C library is
    older than it needs. Its Python code imports all the same.

    Fix: see what bitsandbytes printed when it was imported.
    """
    build, runtime = facts.bitsandbytes, facts.bitsandbytes_runtime
    assert build and runtime
    if is_mocked(runtime) and not lacks_library(facts, build) and not is_explained(facts):
        run = facts.trial.run_of("import-bitsandbytes") if facts.trial else None
        said = next((line for line in (run.noise if run else "").splitlines() if line.strip()), "nothing")
        on_gpu = bool(facts.torch_runtime and facts.torch_runtime.cuda_available)
        yield Hit(
            title=f"bitsandbytes {build.version} has {len(build.libraries)} native libraries and loads none",
            severity="error" if on_gpu else None,
            breaks=("load-4bit", "qlora-step") if on_gpu else (),
            evidence=(
                Evidence("loaded", f"none, {runtime.handle} stands in", build.expected or "a native library"),
                Evidence("it said", said[:300]),
            ),
        )


def is_explained(facts: Facts) -> bool:
    """Do the files or the variable say why nothing is loaded? Rules of their own speak of that."""
    library = facts.linkage.library_of("bitsandbytes") if facts.linkage else None
    overridden = selection(facts) != selection(facts, by_itself=True)
    return overridden or bool(library and (library.fault or library.missing))


@rule(
    "bitsandbytes/native-library-corrupt",
    "error",
    needs=("bitsandbytes", "files"),
    breaks=BREAKS,
    symptoms=(r"re:libbitsandbytes\w{0,30}\.so: (?:file too short|invalid ELF header)",),
)
def native_library_corrupt(facts: Facts) -> Iterator[Hit]:
    """A bitsandbytes library is truncated or altered

    Why: a full disk or a broken download cut the file. Loading a shared object that is shorter than its own
    headers say kills the process by SIGBUS, without a word of Python's.

    Fix: reinstall it over itself.
    """
    build, fault = facts.bitsandbytes, file_faults(facts).get("bitsandbytes")
    assert build is not None
    yield from unreadable(facts, build, (*fault.altered, *fault.missing) if fault else ())
    ill = [name for name in fault.altered if NATIVE.search(name)] if fault else []
    if fault and ill:
        cut = [name for name in ill if name in fault.truncated]
        state = "cut short" if cut else "not the file that was installed"
        yield Hit(
            title=f"{ill[0].rsplit('/', 1)[-1]} of bitsandbytes {build.version} is {state}",
            evidence=tuple(
                Evidence(
                    "bitsandbytes",
                    f"{name}: {'shorter than' if name in cut else 'not as'} recorded",
                    "as in RECORD",
                )
                for name in ill[:3]
            ),
            fixes=(reinstall(facts, "bitsandbytes", build.version),),
        )


def unreadable(facts: Facts, build: BitsandbytesBuild, told: tuple[str, ...]) -> Iterator[Hit]:
    """A hit for the selected library where no loader takes it; ``told``: those that RECORD tells of."""
    library = facts.linkage.library_of("bitsandbytes") if facts.linkage else None
    name = library.path.rpartition("/")[2] if library else ""
    fault = unreadable_by(library) if library else ""
    if fault not in ("", NOT_THERE) and not any(one.endswith(name) for one in told):
        yield Hit(
            title=f"{name} of bitsandbytes {build.version} {fault}",
            evidence=(Evidence("bitsandbytes", f"{name} {fault}", "a library for this machine"),),
            fixes=(reinstall(facts, "bitsandbytes", build.version),),
        )


@rule(
    "bitsandbytes/cpu-library-loaded",
    "error",
    needs=("bitsandbytes_runtime", "torch_runtime"),
    breaks=("load-4bit", "qlora-step"),
    symptoms=(
        "The installed version of bitsandbytes was compiled without GPU support",
        "libbitsandbytes_cpu.so: undefined symbol",
        "CUDA Setup failed despite GPU being available",
        "not available in CPU-only version of bitsandbytes",
    ),
    cure=newer_bitsandbytes,
    question="What does python -m bitsandbytes print?",
)
def cpu_library_loaded(facts: Facts) -> Iterator[Hit]:
    """bitsandbytes loaded its CPU library where torch sees a GPU

    Why: it found no library for torch's CUDA, or CUDA was not ready when it was imported.

    Fix: reinstall bitsandbytes for this torch.

    Verify: python -m bitsandbytes ends with SUCCESS!
    """
    runtime, torch, build = facts.bitsandbytes_runtime, facts.torch_runtime, facts.bitsandbytes
    assert runtime and torch
    if build and lacks_library(facts, build):
        return  # releases up to 0.45 take it for want of another
    if torch.cuda_available and runtime.library and runtime.library.startswith("libbitsandbytes_cpu"):
        yield Hit(
            title=f"bitsandbytes {runtime.version} loaded {runtime.library} although torch sees a GPU",
            evidence=(Evidence("loaded", runtime.library, f"a library for CUDA {torch.cuda_version}"),),
            fixes=(reinstall(facts, "bitsandbytes"),),
        )


def first_for_system(facts: Facts) -> str:
    """The first release with libraries for this system, where the installed one has none; else ""."""
    version, build = facts.version_of("bitsandbytes"), facts.bitsandbytes
    _, ending, release = SYSTEMS.get(facts.system.os if facts.system else "", ("", "", ""))
    ours, first = comparable(version or ""), comparable(release)
    has_own = build is not None and any(name.endswith(ending) for name in build.libraries)
    return release if ours and first and ours < first and not has_own else ""


def without_system(facts: Facts, os: str) -> Iterator[Hit]:
    """A hit where bitsandbytes is of before the first release for this system."""
    first = first_for_system(facts)
    if first and facts.system and facts.system.os == os:
        name, ending, _ = SYSTEMS[os]
        version = facts.version_of("bitsandbytes") or ""
        yield Hit(
            title=f"bitsandbytes {version} has libraries for Linux alone, and this is {name}",
            evidence=(
                Evidence("bitsandbytes", version, f"{first} or newer, which has a {ending} for {name}"),
            ),
            fixes=(install(facts, f"Upgrade bitsandbytes to {first} or newer", f"bitsandbytes>={first}"),),
        )


@rule(
    "bitsandbytes/macos-unsupported",
    "error",
    needs=("packages", "system"),
    breaks=BREAKS,
    symptoms=(
        r"re:libbitsandbytes_cpu\.so.{0,300}not a mach-o file",
        "4-bit quantization requires the latest version of bitsandbytes",
        "No GPU found. A GPU is needed for quantization",
    ),
    cure=newer_bitsandbytes,
)
def macos_unsupported(facts: Facts) -> Iterator[Hit]:
    """This bitsandbytes has no library for macOS

    Why: up to 0.42 its wheel holds libraries for Linux and installs everywhere; from 0.43 to 0.48 there is no
    wheel for macOS, so that pip takes 0.42 there. Wheels for macOS 14 on Apple silicon come with 0.49. They
    quantise on the CPU.

    Fix: upgrade to 0.49 or newer; on an Intel Mac, train without quantisation.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/252
    https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1460
    """
    yield from without_system(facts, "darwin")


@rule(
    "bitsandbytes/no-windows-binary",
    "error",
    needs=("packages", "system"),
    breaks=BREAKS,
    symptoms=("argument of type 'WindowsPath' is not iterable",),
    cure=newer_bitsandbytes,
)
def no_windows_binary(facts: Facts) -> Iterator[Hit]:
    """This bitsandbytes has no library for Windows

    Why: up to 0.42 its wheel holds libraries for Linux alone and installs on Windows all the same. Wheels for
    Windows come with 0.43.

    Fix: upgrade to 0.43 or newer.

    References: https://pypi.org/project/bitsandbytes/0.43.0/#files
    """
    yield from without_system(facts, "win32")
