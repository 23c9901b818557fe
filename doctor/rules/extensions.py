"""Extensions that were built against torch: for another torch, for another CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.cures import install, installer_of, uninstall
from doctor.facts import Facts
from doctor.failures import failed_runs, failure_text
from doctor.findings import Evidence, Fix, Severity
from doctor.native import NativeLibrary
from doctor.rules import Hit, rule
from doctor.rules.cures_by_words import flash_attn_built_here, xformers_of_torch
from doctor.rules.linked import absent, torch_major, was_loaded

# "…/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
OF_ANOTHER_TORCH = re.compile(r"([\w./+-]+\.so): undefined symbol: (_ZN?K?(?:3c10|2at|5torch)\w*)")
CUDART = re.compile(r"libcudart\.so\.(\d+)")
PIN = re.compile(r"torch\s*==\s*(\d[\d.]*\d)(?=$|[\s;,)])")
FLASH, XFORMERS = "flash-attn", "xformers"
STACK_OWN = ("torch", "bitsandbytes")
UNDEFINED = r"re:undefined symbol:? _ZN?K?(?:3c10|2at|5torch)"
# "xFormers was built for:\n    PyTorch 2.10.0+cu128 with CUDA 1208 (you have 2.11.0+cu130)"
BUILT_FOR = re.compile(r"xFormers was built for:\s{1,20}PyTorch (\S{1,60}) ")
NO_CUDART = r"re:libcudart\.so\.\d[\d.]*: cannot open shared object file"


def package_of(path: str) -> str:
    """The package that a library belongs to, "" for one that has no rule of its own.

    >>> package_of("/site-packages/xformers/_C.so"), package_of("flash_attn_2_cuda.so")
    ('xformers', 'flash-attn')
    """
    name = path.rpartition("/")[2]
    return FLASH if name.startswith("flash_attn") else XFORMERS if "/xformers/" in path else ""


def of_another_torch(facts: Facts, package: str) -> Iterator[Hit]:
    """One hit for each extension that was built against another torch: a stage failed of it, or will."""
    told = set()
    for run in failed_runs(facts):
        found = OF_ANOTHER_TORCH.search(failure_text(run))
        name = found[1].rpartition("/")[2] if found else ""
        if found and "/torch/lib/" not in found[1] and name not in told:
            told.add(name)
            if package_of(found[1]) == package:
                yield abi_hit(facts, name, found[2], "error", (run.stage,))
    for library in facts.linkage.libraries if facts.linkage else ():
        name = library.path.rpartition("/")[2]
        if library.undefined and name not in told and not was_loaded(facts, library.package):
            told.add(name)
            if (library.package if library.package in (FLASH, XFORMERS) else "") == package:
                yield abi_hit(facts, name, library.undefined[0], "warning", ())


def abi_hit(facts: Facts, name: str, symbol: str, severity: Severity, breaks: tuple[str, ...]) -> Hit:
    """A hit for one extension: where no stage has failed of it yet, a warning."""
    torch = facts.version_of("torch") or "the installed one"
    return Hit(
        title=f"{name} was built for another torch than {torch}",
        severity=severity,
        breaks=breaks,
        evidence=(
            Evidence(name, f"undefined symbol {symbol[:60]}", f"built for torch {torch}"),
            Evidence("torch", torch),
        ),
        fixes=(rebuilt(facts),) if name.startswith("flash_attn") else (),
    )


def rebuilt(facts: Facts) -> Fix:
    """Build flash-attn here, against the torch that is installed."""
    options = ("--no-build-isolation", "--no-cache-dir")
    return install(facts, "Build flash-attn for this torch", FLASH, again=True, options=options)


@rule(
    "flash-attn/torch-abi-mismatch",
    "error",
    needs=("packages",),
    symptoms=(
        UNDEFINED,
        r"re:flash_attn_2_cuda[\w.-]{0,60}:? undefined symbol",
        r"re:DLL load failed while importing flash_attn\w{0,30}",
    ),
    cure=flash_attn_built_here,
    question="Which torch, CUDA and flash-attn are installed? python -m pip list prints them.",
)
def flash_abi_mismatch(facts: Facts) -> Iterator[Hit]:
    """flash-attn was built for another torch, or for the other C++ ABI

    Why: its library calls C++ functions of torch by names in which types and ABI are spelt out. A wheel for
    another minor release of torch, or with the other of the two string types, asks for names that are not
    there.

    Fix: take the wheel whose name says this torch, CUDA and cxx11abi, or build it here.

    Verify: python -c "import flash_attn_2_cuda" prints nothing.

    Tried in vain: pip install flash-attn again: pip takes the wheel that it built before out of its
    cache.

    References: https://github.com/Dao-AILab/flash-attention/issues/975
    https://github.com/Dao-AILab/flash-attention/issues/1644
    """
    yield from of_another_torch(facts, FLASH)


@rule(
    "extension/torch-abi-mismatch",
    "error",
    needs=("packages",),
    symptoms=(UNDEFINED,),
    question="Which file does the line name that lacks the symbol?",
)
def extension_abi_mismatch(facts: Facts) -> Iterator[Hit]:
    """An extension was built for another torch

    Why: it calls C++ functions of torch by names in which their types are spelt out; another release of
    torch has other names.

    Fix: install the release that was built for this torch, or build it anew.
    """
    yield from of_another_torch(facts, "")


@rule(
    "xformers/torch-mismatch",
    "error",
    needs=("packages",),
    symptoms=(
        "xFormers can't load C++/CUDA extensions",
        "xFormers was built for:",
        "xFormers wasn't build with CUDA support",
        r"re:PyTorch \S{1,40} with CUDA \d{3,4} \(you have (?P<v_torch>\d[\w.+]{2,40})\)",
        r"re:Python\s{1,4}3\.[\d.]{1,8} \(you have (?P<python>3\.[\d.]{1,8})\)",
    ),
    cure=xformers_of_torch,
)
def xformers_mismatch(facts: Facts) -> Iterator[Hit]:
    """xformers was built for another torch

    Why: each release of xformers is compiled for one torch and one CUDA. Beside another its Python code is
    imported all the same, with a warning, and its kernels are not there: memory-efficient attention fails
    where it is asked for, as by unsloth and diffusers. An upgrade of torch leaves xformers as it was.

    Fix: install the xformers of this torch, or uninstall it; torch has an attention of its own (sdpa).

    Verify: python -m xformers.info shows memory_efficient_attention as available.

    References: https://github.com/facebookresearch/xformers/issues/982
    https://github.com/invoke-ai/InvokeAI/issues/6590
    """
    torch, version = facts.version_of("torch") or "", facts.version_of(XFORMERS) or ""
    failed = list(of_another_torch(facts, XFORMERS))
    yield from (msgspec.structs.replace(hit, fixes=xformers_cures(facts, torch)) for hit in failed)
    of = built_for(facts, torch)
    if of and not failed and not (facts.torch and facts.torch.variant == "cpu"):
        yield Hit(
            title=f"xformers {version} was built for torch {of}, not {torch}",
            severity="warning",
            evidence=(Evidence(XFORMERS, f"built for torch {of}", torch), Evidence("torch", torch)),
            fixes=xformers_cures(facts, torch),
        )


def built_for(facts: Facts, torch: str) -> str:
    """The other torch that xformers was built for: as it says itself, or as its metadata pins it; else ""."""
    package = facts.packages.installed.get(XFORMERS) if facts.packages else None
    noise = "\n".join(run.noise for run in facts.trial.runs) if facts.trial else ""
    said = BUILT_FOR.search(noise)
    pins = [found[1] for one in (package.requires if package else ()) if (found := PIN.match(one))]
    other = bool(pins and torch) and pins[0] != torch.partition("+")[0]
    return said[1] if said else pins[0] if other else ""


def xformers_cures(facts: Facts, torch: str) -> tuple[Fix, ...]:
    """The xformers that goes with this torch, which must stay; else none."""
    by_uv = installer_of(facts, XFORMERS) == "uv"
    options = ("--upgrade-package", XFORMERS) if by_uv else ("--upgrade",)
    kept = f"torch=={torch.partition('+')[0]}"
    return (
        install(facts, "Install the xformers of this torch", XFORMERS, kept, options=options),
        uninstall(facts, "Uninstall xformers, if nothing asks for it", XFORMERS),
    )


def of_another_cuda(facts: Facts, *, flash: bool) -> Iterator[Hit]:
    """One hit for each extension that is linked to the CUDA runtime of another major than torch's."""
    major = torch_major(facts)
    for library in facts.linkage.libraries if facts.linkage and major else ():
        wanted = cudart_of(library)
        foreign = wanted and wanted != major and library.package not in STACK_OWN
        if not foreign or (library.package == FLASH) is not flash or was_loaded(facts, library.package):
            continue
        torch = facts.version_of("torch") or ""
        yield Hit(
            title=f"{library.package} is linked to CUDA {wanted}, and torch {torch} brings CUDA {major}",
            evidence=(
                Evidence(library.package, f"libcudart.so.{wanted} is not found", f"built for CUDA {major}"),
                Evidence("torch", torch),
            ),
            fixes=(rebuilt(facts),) if flash else (),
        )


def cudart_of(library: NativeLibrary) -> int | None:
    """The major of the CUDA runtime that a library misses, None where it misses none."""
    found = [match for one in absent(library) if (match := CUDART.match(one.name))]
    return int(found[0][1]) if found else None


@rule(
    "flash-attn/cuda-major-mismatch",
    "warning",
    needs=("linkage", "torch"),
    symptoms=(NO_CUDART,),
    cure=flash_attn_built_here,
)
def flash_cuda_mismatch(facts: Facts) -> Iterator[Hit]:
    """flash-attn was built for another CUDA major than torch's

    Why: its library names the CUDA runtime of its own major, which this torch does not bring. It fails where
    attn_implementation="flash_attention_2" is asked for, and some releases of transformers import it at
    once.

    Fix: take the wheel for torch's CUDA, or build it here; sdpa needs no flash-attn.

    References: https://github.com/Dao-AILab/flash-attention/releases
    """
    yield from of_another_cuda(facts, flash=True)


@rule("extension/cuda-major-mismatch", "warning", needs=("linkage", "torch"), symptoms=(NO_CUDART,))
def extension_cuda_mismatch(facts: Facts) -> Iterator[Hit]:
    """An extension was built for another CUDA major than torch's

    Why: its library names the CUDA runtime of its own major, which this torch does not bring.

    Fix: install the release that was built for torch's CUDA.
    """
    yield from of_another_cuda(facts, flash=False)
