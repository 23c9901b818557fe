"""Faults of the bitsandbytes native library, without which 4-bit training is slow or impossible."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.cures import reinstall, set_variable
from doctor.facts import Facts, FileFault
from doctor.findings import Evidence
from doctor.rules import Hit, rule
from doctor.rules.python import NATIVE

BREAKS = ("import-bitsandbytes", "load-4bit", "qlora-step")
CUDA_LIBRARY = re.compile(r"libbitsandbytes_cuda(\d{2,3})(?:_nocublaslt\w*)?\.")


@rule(
    "bitsandbytes/native-library-missing",
    "error",
    needs=("bitsandbytes",),
    breaks=BREAKS,
    symptoms=("Configured CUDA binary not found", "Configured ROCm binary not found"),
)
def native_library_missing(facts: Facts) -> Iterator[Hit]:
    """bitsandbytes has no native library to load

    Why: its Python code imports all the same, and on a CPU even a 4-bit step passes, since slow fallbacks
    stand in. On a GPU nothing quantised runs.

    Fix: reinstall it; if the release never shipped a library for torch's CUDA, upgrade it.
    """
    build = facts.bitsandbytes
    assert build is not None
    fault = native_fault(facts)
    absent = [name for name in fault.missing if NATIVE.search(name)] if fault else []
    if not build.libraries or absent or lacks_major(build.libraries, build.expected):
        runtime = facts.bitsandbytes_runtime
        mocked = bool(runtime and runtime.library is None)
        wanted = f"{build.expected}.so" if build.expected else "a library for torch's CUDA"
        seen = f"{fault.missing_count} of its libraries deleted" if fault and absent else "none that fits"
        seen = seen if build.libraries else "none"
        yield Hit(
            title=f"bitsandbytes {build.version} has no native library to load"
            + (f": {wanted} is not there" if build.libraries else ""),
            evidence=(
                Evidence("bitsandbytes", f"libraries in its folder: {seen}", wanted),
                *((Evidence("loaded", f"none, {runtime.handle} stands in"),) if mocked and runtime else ()),
            ),
            fixes=(reinstall(facts, "bitsandbytes", build.version),),
        )


def native_fault(facts: Facts) -> FileFault | None:
    """What RECORD says of the package's files, None where they are whole or not recorded."""
    for check in (facts.files, facts.hashes):
        found = [fault for fault in (check.faults if check else ()) if fault.package == "bitsandbytes"]
        if found:
            return found[0]
    return None


def lacks_major(libraries: tuple[str, ...], expected: str | None) -> bool:
    """Is there no library of the CUDA major (or of the kind) that this torch wants?"""
    if expected is None:
        return False
    wanted = re.search(r"cuda(\d+)$", expected)
    if not wanted:
        return not any(name.startswith(expected) for name in libraries)
    majors = {match.group(1)[:2] for name in libraries if (match := CUDA_LIBRARY.match(name))}
    return wanted.group(1)[:2] not in majors


@rule(
    "bitsandbytes/native-library-corrupt",
    "error",
    needs=("bitsandbytes", "files"),
    breaks=BREAKS,
    symptoms=("file too short", "invalid ELF header"),
)
def native_library_corrupt(facts: Facts) -> Iterator[Hit]:
    """A bitsandbytes library is truncated or altered

    Why: a full disk or a broken download cut the file. Loading a shared object that is shorter than its own
    headers say kills the process by SIGBUS, without a word of Python's.

    Fix: reinstall it over itself.
    """
    build, fault = facts.bitsandbytes, native_fault(facts)
    assert build is not None
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


@rule(
    "bitsandbytes/cpu-library-loaded",
    "error",
    needs=("bitsandbytes_runtime", "torch_runtime"),
    breaks=("load-4bit", "qlora-step"),
    symptoms=("The installed version of bitsandbytes was compiled without GPU support",),
)
def cpu_library_loaded(facts: Facts) -> Iterator[Hit]:
    """bitsandbytes loaded its CPU library where torch sees a GPU

    Why: it found no library for torch's CUDA, or CUDA was not ready when it was imported.

    Fix: reinstall bitsandbytes for this torch.
    """
    runtime, torch = facts.bitsandbytes_runtime, facts.torch_runtime
    assert runtime and torch
    if torch.cuda_available and runtime.library and runtime.library.startswith("libbitsandbytes_cpu"):
        yield Hit(
            title=f"bitsandbytes {runtime.version} loaded {runtime.library} although torch sees a GPU",
            evidence=(Evidence("loaded", runtime.library, f"a library for CUDA {torch.cuda_version}"),),
            fixes=(reinstall(facts, "bitsandbytes"),),
        )


@rule("bitsandbytes/override-variable-wrong", "error", needs=("bitsandbytes", "torch"), breaks=BREAKS)
def override_variable_wrong(facts: Facts) -> Iterator[Hit]:
    """BNB_CUDA_VERSION names a library that is not there

    Why: the variable bypasses bitsandbytes' own choice; nothing checks that the library exists or fits torch.

    Fix: unset it.
    """
    build, torch = facts.bitsandbytes, facts.torch
    assert build and torch
    override = build.override
    if override and torch.cuda_version and f"cuda{override}." not in "".join(build.libraries):
        versions = {match.group(1) for name in build.libraries if (match := CUDA_LIBRARY.match(name))}
        have = ", ".join(sorted(versions))
        yield Hit(
            title=f"BNB_CUDA_VERSION={override} names no library of bitsandbytes {build.version}",
            evidence=(Evidence("BNB_CUDA_VERSION", override, f"unset, or one of {have}"),),
            fixes=(set_variable("Let bitsandbytes choose", "BNB_CUDA_VERSION", None),),
        )
