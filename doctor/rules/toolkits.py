"""The CUDA toolkit that extensions are built with here: of another CUDA than torch's, or not there."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts, Toolkit
from doctor.findings import Evidence
from doctor.rules import Hit, rule
from doctor.rules.features import severity_of
from doctor.rules.linked import torch_major
from doctor.rules.machine_cures_by_words import toolkit_of_torch

# Of a minor release that differs torch and DeepSpeed only tell, and go on.
OTHER_TOOLKIT = (
    r"re:does not match the version torch was\s{1,3}compiled with(?!\s{1,3}[\d.]{1,6}\s{1,3}but since)",
    "CUDAMismatchException",
    r"re:Installed CUDA version (?P<toolkit>\d{1,2}\.\d{1,2}) does not match the version torch was"
    r"\s{1,3}compiled with (?P<torch_cuda>\d{1,2}\.\d{1,2})(?!\s{1,3}but since)",
    r"re:The detected CUDA version \((?P<toolkit>\d{1,2}\.\d{1,2})\) mismatches",
    "FlashAttention is only supported on CUDA",
)


def compiler(facts: Facts) -> Toolkit | None:
    """The toolkit whose nvcc torch's extension builder takes."""
    have = [one for one in facts.toolkits or () if one.has_compiler]
    return next((one for one in have if one.is_used), have[0] if have else None)


def compiles(facts: Facts) -> bool:
    """Is something installed that compiles CUDA code on this machine? deepspeed builds its operators late."""
    return bool(facts.version_of("deepspeed") and facts.torch and facts.torch.cuda_version)


@rule(
    "cuda/toolkit-mismatch",
    "note",
    needs=("toolkits", "torch", "packages"),
    symptoms=OTHER_TOOLKIT,
    cure=toolkit_of_torch,
    question='What do nvcc --version and python -c "import torch; print(torch.version.cuda)" print?',
)
def toolkit_mismatch(facts: Facts) -> Iterator[Hit]:
    """The CUDA toolkit is of another major than torch's CUDA

    Why: wheels that are installed never look at it. What is compiled here does, deepspeed's operators above
    all, and torch refuses to build with the nvcc of another major.

    Fix: where something must be compiled, install the toolkit of torch's CUDA and name it in CUDA_HOME.

    References: https://github.com/deepspeedai/DeepSpeed/issues/3223
    """
    assert facts.torch
    toolkit, major = compiler(facts), torch_major(facts)
    if compiles(facts) and toolkit and toolkit.version and toolkit.version.split(".")[0] != str(major):
        cuda = facts.torch.cuda_version
        yield Hit(
            title=f"The toolkit in {toolkit.path} is CUDA {toolkit.version}, and torch is built for {cuda}",
            severity=severity_of(OTHER_TOOLKIT, facts),
            evidence=(Evidence("toolkit", f"{toolkit.version} in {toolkit.path}", f"CUDA {major}"),),
        )


@rule(
    "cuda/nvcc-missing",
    "note",
    needs=("toolkits", "torch", "packages"),
    symptoms=(
        "CUDA_HOME environment variable is not set",
        "CUDA_HOME does not exist",
        "nvcc was not found",
        "nvcc not found",
        "raise_if_cuda_home_none",
        r"re:\bnvcc: (?:command )?not found",
        r"re:No such file or directory: '[^'\n]{0,120}nvcc'",
        "cannot find -lcurand",
        "cannot find -lcudart",
        "fatal error: cuda_runtime.h: No such file",
        "fatal error: cuda.h: No such file",
    ),
    cure=toolkit_of_torch,
    question='What does nvcc --version print, and echo "$CUDA_HOME"?',
)
def nvcc_missing(facts: Facts) -> Iterator[Hit]:
    """Something must be compiled for CUDA, and there is no nvcc

    Why: deepspeed compiles the operators that it is asked for when they are first used. Training without
    those operators needs no toolkit.

    Fix: install the toolkit of torch's CUDA and name it in CUDA_HOME.
    """
    assert facts.torch
    if compiles(facts) and compiler(facts) is None:
        yield Hit(
            title=f"deepspeed {facts.version_of('deepspeed')} compiles operators, and no nvcc is found",
            evidence=(Evidence("nvcc", "not found", f"one of CUDA {facts.torch.cuda_version}"),),
        )
