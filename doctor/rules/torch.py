"""Faults of the torch build: no CUDA in it, a torchvision made for another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.cures import TORCH_INDEX, install, torch_for_machine, uninstall
from doctor.facts import Facts
from doctor.failures import failure_text
from doctor.findings import Evidence, Fix
from doctor.installation import build_in
from doctor.rules import Hit, rule
from doctor.rules.builds import is_jetson_wheel
from doctor.rules.cures_by_words import cuda_torch, torchvision_of_torch
from doctor.rules.machine_cures_by_words import vc_runtime
from doctor.versions import comparable

SEE = ("see-gpu", "load-4bit", "qlora-step")
VISION_AHEAD = 15  # torchvision 0.15 goes with torch 2.0
IMPORT = ("import-torch",)
NO_ITT = "undefined symbol: iJIT_NotifyEvent"
NO_DLL = re.compile(r"\[WinError 126\].{0,200}?\"[^\"]{0,300}?([\w.-]{1,60}\.dll)\"", re.S)


@rule(
    "torch/cpu-only-build",
    "error",
    needs=("torch", "gpus"),
    breaks=SEE,
    symptoms=(
        "Torch not compiled with CUDA enabled",
        "deserialize object on a CUDA device but torch.cuda.is_available() is False",
        "Unsloth: No NVIDIA GPU found?",
        "Unsloth cannot find any torch accelerator",
        r"re:Unsloth currently only works on NVIDIA",
    ),
    cure=cuda_torch,
    question="What do torch.__version__ and torch.version.cuda print? A version with +cpu, or None, is it.",
)
def cpu_only_build(facts: Facts) -> Iterator[Hit]:
    """torch is a CPU-only build on a machine with an NVIDIA GPU

    Why: a CPU-only wheel carries no CUDA kernels, and nothing at run time can add them. The plain index of
    pip holds CPU builds for Windows and macOS, and a later install from a CPU index replaces a CUDA build.

    See: python -c "import torch; print(torch.__version__, torch.version.cuda)" prints a version with
    +cpu, or None in place of a CUDA.

    Fix: reinstall torch from the index of a CUDA build that the driver can run.

    Verify: the same line prints a CUDA, and torch.cuda.is_available() is True.

    Tried in vain: installing the CUDA toolkit or another driver: a wheel brings its own CUDA, and this
    one has none.
    """
    assert facts.torch and facts.gpus is not None
    if not facts.gpus or facts.torch.variant != "cpu" or is_jetson_wheel(facts, None):
        return
    yield Hit(
        title=f"torch {facts.torch.version} is a CPU-only build, and this machine has {facts.gpus[0].name}",
        evidence=(
            Evidence("torch", facts.torch.version, "a CUDA build"),
            Evidence("gpu", facts.gpus[0].name),
        ),
        fixes=torch_for_machine(facts),
    )


@rule(
    "torch/torchvision-mismatch",
    "error",
    needs=("packages",),
    breaks=("import-transformers", "import-trl", "trainer-step", "sft-step"),
    symptoms=(
        "operator torchvision::nms does not exist",
        "Could not run 'torchvision::nms' with arguments from the 'CUDA' backend",
        "Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision versions",
        r"re:Detected that PyTorch and [Tt]orch(?:[Aa]udio|vision) were compiled with different CUDA",
        "module 'torchvision' has no attribute 'extension'",
    ),
    cure=torchvision_of_torch,
    question="Which torch, torchvision and torchaudio are installed? python -m pip list prints them.",
)
def torchvision_mismatch(facts: Facts) -> Iterator[Hit]:
    """torchvision was built for another release of torch

    Why: each minor release of torchvision is compiled for one minor release of torch, which it pins: 0.15
    for 2.0, and so on. With another its operators are not registered, and whatever imports it fails;
    transformers does where torchvision is installed.

    Fix: install the torchvision of this torch, or uninstall torchvision if nothing needs images.

    Verify: python -c "import torchvision; print(torchvision.ops.nms)" prints a function.

    References: https://github.com/pytorch/vision#installation
    """
    torch, vision = (comparable(facts.version_of(name) or "") for name in ("torch", "torchvision"))
    if not torch or not vision or torch.major != 2 or vision.major != 0:
        return
    partner = f"0.{torch.minor + VISION_AHEAD}"
    label = build_in(facts.version_of("torch") or "")
    # The plain index has it for one CUDA alone, and beside another build its operators are not there.
    options = ("--index-url", TORCH_INDEX + label) if label else ()
    if vision.minor != torch.minor + VISION_AHEAD:
        yield Hit(
            title=f"torchvision {vision} was built for torch 2.{vision.minor - VISION_AHEAD}, not {torch}",
            evidence=(Evidence("torchvision", str(vision), f"{partner}.*"), Evidence("torch", str(torch))),
            fixes=(
                install(
                    facts, f"Install torchvision {partner}", f"torchvision=={partner}.*", options=options
                ),
                uninstall(facts, "Uninstall torchvision", "torchvision"),
            ),
            confidence="likely",
        )


def said_at_import(facts: Facts) -> str:
    """What a failed import of torch said, "" where it did not fail."""
    run = facts.trial.run_of("import-torch") if facts.trial else None
    return failure_text(run) if run and run.failure else ""


@rule(
    "torch/mkl-mismatch",
    "error",
    needs=("trial",),
    breaks=IMPORT,
    symptoms=(NO_ITT, "undefined symbol: iJIT_IsProfilingActive"),
)
def mkl_mismatch(facts: Facts) -> Iterator[Hit]:
    """MKL lacks a symbol that this torch asks for

    Why: the builds of torch in conda's channels take MKL as a library of its own, those on PyPI bring it
    inside. MKL 2024.1 dropped iJIT_NotifyEvent, which builds of torch from before ask for, and nothing kept
    it from being installed beside them.

    See: conda list mkl shows 2024.1 or newer beside a torch from a channel of conda.

    Fix: go back to an MKL below 2024.1, or take torch from its own index of wheels.

    References: https://github.com/pytorch/pytorch/issues/123097
    """
    if NO_ITT in said_at_import(facts):
        mkl, torch = facts.version_of("mkl") or "not told", facts.version_of("torch") or ""
        yield Hit(
            title=f"torch {torch} asks MKL for iJIT_NotifyEvent, which MKL dropped in 2024.1",
            evidence=(Evidence("mkl", mkl, "below 2024.1"), Evidence("torch", torch, "one that brings MKL")),
            fixes=(install(facts, "Install an MKL below 2024.1", "mkl<2024.1"),),
        )


@rule(
    "torch/windows-runtime-missing",
    "error",
    needs=("trial", "system"),
    breaks=IMPORT,
    symptoms=(
        r"re:WinError (?:126|127|1114)\].{0,120}\n?.{0,200}\\torch\\lib\\",
        r're:Error loading "[^"\n]{0,200}\\torch\\lib\\',
        "Microsoft Visual C++ Redistributable is not installed",
    ),
    cure=vc_runtime,
)
def windows_runtime_missing(facts: Facts) -> Iterator[Hit]:
    """A library of Windows that torch needs is not there

    Why: torch's libraries need Microsoft's Visual C++ runtime. The fbgemm.dll of torch 2.3.1 and 2.4.0 needs
    its OpenMP library libomp140.x86_64.dll as well, which many machines do not have. Windows names the
    library that asks and not the one that is absent.

    Fix: install the newest Visual C++ runtime; for fbgemm.dll, another torch than these two.

    References: https://github.com/pytorch/pytorch/issues/131662
    https://github.com/pytorch/pytorch/issues/129568
    """
    found = NO_DLL.search(said_at_import(facts))
    if found and facts.system and facts.system.os == "win32":
        torch = facts.version_of("torch") or ""
        runtime = Fix(
            "Install Microsoft's Visual C++ runtime: https://aka.ms/vs/17/release/vc_redist.x64.exe"
        )
        yield Hit(
            title=f"{found[1]} of torch {torch} needs a library of Windows that is not there",
            evidence=(Evidence("torch", f"{found[1]} cannot be loaded (WinError 126)", "one that loads"),),
            fixes=(*other_torch(facts, torch), runtime) if found[1] == "fbgemm.dll" else (runtime,),
        )


def other_torch(facts: Facts, version: str) -> tuple[Fix, ...]:
    """The next torch of the same build whose fbgemm.dll needs nothing, where this one is known to need it."""
    release, _, label = version.partition("+")
    if release not in ("2.3.1", "2.4.0"):
        return ()
    options = ("--index-url", TORCH_INDEX + label) if label else ()
    return (
        install(facts, "Install torch 2.4.1, which needs no such library", "torch==2.4.1", options=options),
    )
