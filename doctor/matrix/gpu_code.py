"""The GPU code in a build, held against a GPU: what runs as it is, and what the driver must translate first.

Architectures are written as torch.cuda.get_arch_list() has them: "sm_86" is machine code, "compute_86" is
PTX, an "a" binds either to one compute capability, an "f" to the later ones of its major. Sources:
DEVICE_REQUIREMENT in torch/cuda/__init__.py of 2.13;
https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capability
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

# native: machine code runs. ptx: only PTX would, which the driver translates if it is new enough.
# older, newer: the GPU lies below or above all that there is code for. between: neither, and still none.
Fit = Literal["native", "ptx", "older", "newer", "between", "unknown"]
Capability = tuple[int, int]

ARCHITECTURE = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)$")
# GPUs on one chip with their processor: until CUDA 13.2 no code for other GPUs of their major runs on them.
JETSON = ("5.3", "6.2", "7.2", "8.7")
JETSON_UNITED = (13, 2)
RENAMED = {(10, 1): (11, 0)}  # CUDA 13 gave Thor another number


class Code(NamedTuple):
    """Code for one architecture."""

    is_ptx: bool
    capability: Capability
    suffix: str  # "", "a" or "f"


def fit(architectures: Iterable[str], capability: str, cuda: str) -> Fit:
    """How a build for these architectures, made with a CUDA ("12.6"), suits a GPU ("8.6")."""
    codes = [code for text in architectures if (code := code_of(text))]
    gpu = numbers(capability)
    if not codes or len(gpu) != 2:
        return "unknown"
    gpu = RENAMED.get(gpu, gpu)
    if any(runs(code, gpu, numbers(cuda)) for code in codes):
        return "native"
    if any(is_translated(code, gpu) for code in codes):
        return "ptx"
    return place(gpu, [code.capability for code in codes])


def place(gpu: Capability, built_for: list[Capability]) -> Fit:
    """Where a GPU stands to all that there is code for."""
    if gpu < min(built_for):
        return "older"
    return "newer" if gpu > max(built_for) else "between"


def code_of(architecture: str) -> Code | None:
    """What an architecture stands for; None for one that is not NVIDIA's."""
    found = ARCHITECTURE.match(architecture)
    if found is None:
        return None
    capability = (int(found[2]), int(found[3]))
    return Code(found[1] == "compute", RENAMED.get(capability, capability), found[4])


def runs(code: Code, gpu: Capability, cuda: tuple[int, ...]) -> bool:
    """Does it run on a GPU without translation?"""
    if code.is_ptx:
        return False
    bound = code.suffix == "a" or (cuda < JETSON_UNITED and (is_jetson(gpu) or is_jetson(code.capability)))
    return code.capability == gpu if bound else is_of_family(code.capability, gpu)


def is_translated(code: Code, gpu: Capability) -> bool:
    """Is it PTX that a driver can turn into code for a GPU?"""
    if not code.is_ptx or code.suffix == "a":
        return code.is_ptx and code.capability == gpu
    return is_of_family(code.capability, gpu) if code.suffix == "f" else code.capability <= gpu


def is_of_family(built_for: Capability, gpu: Capability) -> bool:
    """Is a GPU of the same major and no older?"""
    return built_for[0] == gpu[0] and built_for[1] <= gpu[1]


def is_jetson(capability: Capability) -> bool:
    """Is it the compute capability of a Jetson alone?"""
    return "{}.{}".format(*capability) in JETSON


def numbers(version: str) -> tuple[int, ...]:
    """ "12.6" as (12, 6); () for what is no such version."""
    return tuple(int(part) for part in version.split(".")) if re.fullmatch(r"\d+(\.\d+)*", version) else ()


def sm(capability: str) -> str:
    """A compute capability as compilers write it: "sm_86" of "8.6"."""
    return f"sm_{capability.replace('.', '')}"


def oldest_and_newest(architectures: Iterable[str]) -> tuple[str, str]:
    """The ends of what there is machine code for, or PTX where there is none: ("sm_75", "sm_120")."""
    codes = sorted(code for text in architectures if (code := code_of(text)))
    kept = [code for code in codes if not code.is_ptx] or codes
    return sm("{}.{}".format(*kept[0].capability)), sm("{}.{}".format(*kept[-1].capability))
