"""Faults of what triton compiles with. torch.compile, unsloth and Liger run on it, plain QLoRA does not."""

from __future__ import annotations

import os
from collections.abc import Iterator

from doctor.cures import set_variable
from doctor.distribution import python_headers
from doctor.facts import Facts, Gpu
from doctor.findings import Evidence, Fix
from doctor.matrix.triton import first_triton_for, is_new_enough, knows, ptxas_of
from doctor.rules import Hit, rule
from doctor.rules.machine_cures_by_words import compilers, linkable_libcuda

LIBCUDA = "libcuda.so.1"


def compiles_here(facts: Facts) -> bool:
    """Will triton compile on this machine? Where it is installed and an NVIDIA GPU answers, on Linux."""
    is_linux = facts.system is None or facts.system.os == "linux"
    return bool(facts.compiling and facts.compiling.triton and facts.gpus) and is_linux


@rule(
    "triton/python-headers-missing",
    "warning",
    needs=("compiling", "gpus"),
    symptoms=(
        "fatal error: Python.h: No such file or directory",
        "fatal error: 'Python.h' file not found",
        r"re:(?:Python|pyconfig)\.h(?::\d{1,5})?[^\n]{0,40}not found",
        "Failed to find Python libs",
        "Failed to find C compiler. Please specify via CC",
        "No working C++ compiler found in torch._inductor",
        r"re:\b(?:gcc|g\+\+)'?:? (?:failed: No such file|command not found)",
        r"re:No such file or directory: '(?:gcc|cc|g\+\+|clang)'",
    ),
    cure=compilers,
)
def python_headers_missing(facts: Facts) -> Iterator[Hit]:
    """triton finds no C compiler or no Python.h

    Why: triton compiles a small extension module in C for the driver when its first kernel starts. Without a
    compiler and the headers of the very Python that runs, torch.compile, unsloth and Liger fail; plain QLoRA
    does not need them.

    Fix: install a C compiler and the development package of that Python. With conda, install the compiler
    into the environment.

    Verify: python -c "import sysconfig, os; print(os.path.exists(sysconfig.get_paths()['include'] +
    '/Python.h'))" prints True.

    References:
    https://github.com/pytorch/pytorch/issues/129351
    https://github.com/sgl-project/sglang/pull/18644
    """
    seen = facts.compiling
    assert seen is not None
    if not compiles_here(facts) or (seen.compiler and seen.python_header):
        return
    stated = (facts.environment or {}).get("CC", "")
    lacks = [
        name for name, path in (("C compiler", seen.compiler), ("Python.h", seen.python_header)) if not path
    ]
    yield Hit(
        title=f"triton {seen.triton} finds no {' and no '.join(lacks)} to compile its launcher with",
        evidence=(
            Evidence("C compiler", seen.compiler or stated or "none", "$CC, else gcc or clang on PATH"),
            Evidence("Python.h", seen.python_header or "not there", "the headers of the target's Python"),
        ),
        fixes=headers_fixes(facts, stated if not seen.compiler else ""),
    )


def headers_fixes(facts: Facts, stated: str) -> tuple[Fix, ...]:
    """Where CC states a compiler that is not there, triton can look for one itself; else one is installed."""
    assert facts.compiling is not None
    if stated and facts.compiling.python_header:
        return (set_variable("Let triton look for a compiler", "CC", None),)
    return python_headers(facts, not facts.compiling.compiler, not facts.compiling.python_header)


@rule(
    "triton/libcuda-not-linkable",
    "warning",
    needs=("compiling", "gpus", "driver_signs"),
    symptoms=(
        "cannot find -lcuda",
        "unable to find library -lcuda",
        "libcuda.so cannot found!",
    ),
    cure=linkable_libcuda,
)
def libcuda_not_linkable(facts: Facts) -> Iterator[Hit]:
    """The driver's libcuda.so.1 is there, and triton's linker finds no file by the name it asks for

    Why: up to 3.5 triton links with -lcuda, for which a linker wants a file libcuda.so. Driver packages and
    containers often bring libcuda.so.1 alone. From 3.6 on it links libcuda.so.1 by its full name.

    Fix: put a link libcuda.so beside libcuda.so.1, or name a folder that has one in TRITON_LIBCUDA_PATH.

    References:
    https://github.com/triton-lang/triton/issues/8667
    https://github.com/triton-lang/triton/pull/8668
    https://github.com/triton-lang/triton/pull/1981
    """
    assert facts.compiling and facts.driver_signs
    library = facts.driver_signs.libraries.get(LIBCUDA)
    if not compiles_here(facts) or facts.compiling.libcuda_link or not library:
        return
    folder = os.path.dirname(library)
    link = ("sudo", "ln", "-s", LIBCUDA, f"{folder}/libcuda.so")
    yield Hit(
        title=f"triton {facts.compiling.triton} links with -lcuda, and {folder} has no libcuda.so",
        evidence=(Evidence("libcuda", library, "a file libcuda.so that the linker finds"),),
        fixes=(Fix("Link libcuda.so to the driver's libcuda.so.1", (link,), "system"),),
    )


@rule(
    "triton/gpu-too-new",
    "warning",
    needs=("packages", "gpus"),
    symptoms=(
        r"re:ptxas(-blackwell)? fatal\s*: Value 'sm_\d+a?' is not defined",
        r"re:Value '(?P<gpu_capability>sm_\d{2,3})[af]?' is not defined for option 'gpu-name'",
        "is not a recognized processor for this target",
        r"re:'(?P<gpu_capability>sm_\d{2,3})[af]?' is not a recognized processor",
        "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm",
    ),
)
def gpu_too_new(facts: Facts) -> Iterator[Hit]:
    """The assembler that triton brings does not know this GPU

    Why: triton hands its code to ptxas, of which each release brings one, and a ptxas knows the GPUs of its
    own day. torch's own kernels need none of it; torch.compile, unsloth and Liger do.

    Fix: upgrade torch, which brings the triton it was built with. Until then a newer ptxas, from a CUDA
    toolkit on the machine, can be named in TRITON_PTXAS_PATH.

    Tried in vain: another driver: the assembler that is asked comes with triton.

    References:
    https://github.com/triton-lang/triton/issues/8539
    https://github.com/triton-lang/triton/issues/8096
    https://github.com/vllm-project/vllm/pull/31338
    """
    version = facts.version_of("triton") or facts.version_of("pytorch-triton")
    assert facts.gpus is not None
    for gpu in facts.gpus:
        cuda = assembler(facts, version, gpu) if version else None
        if cuda and knows(cuda, gpu.compute_capability or "0") is False:
            yield Hit(
                title=f"triton {version} assembles with ptxas {cuda}, which does not know the {gpu.name}",
                evidence=(
                    Evidence("gpu", f"{gpu.name}, compute capability {gpu.compute_capability}"),
                    Evidence("ptxas", cuda, f"one that knows {gpu.compute_capability}"),
                ),
                fixes=newer_assembler(facts, gpu),
            )
            return


def assembler(facts: Facts, version: str, gpu: Gpu) -> str | None:
    """The CUDA release of the ptxas that triton takes for a GPU: as it says itself, else by the table."""
    seen = facts.compiling.ptxas_version if facts.compiling else ""
    return seen or (ptxas_of(version, gpu.compute_capability) if gpu.compute_capability else None)


def newer_assembler(facts: Facts, gpu: Gpu) -> tuple[Fix, ...]:
    """The ways to a ptxas that knows a GPU: that of a toolkit on the machine, and a newer triton."""
    capability = gpu.compute_capability or "0"
    named = os.path.basename(facts.compiling.ptxas) if facts.compiling else ""
    variable = f"TRITON_{named.upper().replace('-', '_')}_PATH" if named else "TRITON_PTXAS_PATH"
    newer = (one for one in facts.toolkits or () if one.has_compiler and one.version)
    toolkit = next((one for one in newer if is_new_enough(one.version or "", capability)), None)
    told = []
    if toolkit:
        path = f"{toolkit.path}/bin/ptxas"  # nvcc, which is there, does not work without it
        told.append(set_variable("Assemble with the toolkit's ptxas", variable, path))
    first = first_triton_for(capability)
    if first:
        told.append(Fix(f"Upgrade torch to a release that brings triton {first} or newer"))
    return tuple(told)


@rule(
    "triton/cache-not-writable",
    "warning",
    needs=("compiling", "gpus"),
    symptoms=(r"re:PermissionError: \[Errno 13\] Permission denied: '[^']*/\.triton",),
)
def cache_not_writable(facts: Facts) -> Iterator[Hit]:
    """triton cannot keep and run what it compiles

    Why: triton writes each compiled kernel and its launcher into its cache folder and loads the launcher from
    there. A home that is read-only, of another user or mounted noexec stops torch.compile, unsloth and Liger.

    Fix: name a folder on a local disk in TRITON_CACHE_DIR.

    References:
    https://github.com/triton-lang/triton/issues/518
    https://github.com/pytorch/pytorch/pull/184362
    """
    seen = facts.compiling
    assert seen is not None
    if compiles_here(facts) and seen.cache_fault:
        yield Hit(
            title=f"triton's cache folder {seen.cache_folder} is {seen.cache_fault}",
            evidence=(
                Evidence(
                    "cache folder", f"{seen.cache_folder} is {seen.cache_fault}", "writable and executable"
                ),
            ),
            fixes=(set_variable("Keep the cache elsewhere", "TRITON_CACHE_DIR", "/tmp/triton-cache"),),
        )
