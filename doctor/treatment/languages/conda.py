"""A step as conda and mamba have it: other names, other builds, and no index of wheels.

Read in conda's and mamba's documentation; the specs were parsed by rattler, the library of pixi.
Names: https://github.com/prefix-dev/parselmouth, the map of PyPI's names to conda-forge's, of 2026-08-19.
"""

from __future__ import annotations

import re

from doctor.cures import name_of
from doctor.facts import Facts
from doctor.treatment.plan import Command, Step

CHANNEL = ("-c", "conda-forge")  # bitsandbytes, peft and trl are in no other
NAMES = {
    "auto-gptq": "auto_gptq",
    "cut-cross-entropy": "cut_cross_entropy",
    "huggingface-hub": "huggingface_hub",
    "ninja": "ninja-python",
    "torch": "pytorch",
    "typing-extensions": "typing_extensions",
    "unsloth-zoo": "unsloth_zoo",
    "xxhash": "python-xxhash",
}
# What conda-forge does not have, as far as that map tells.
ABSENT = re.compile(r"nvidia-.*|gptqmodel|kernels|torchtune|mergekit|axolotl")
BUILDS = (("cu", "cuda*"), ("cpu", "cpu*"))  # "pytorch 2.6.0 cuda126_mkl_py312_h30b5a27_300"


def commands(step: Step, facts: Facts, program: str) -> tuple[Command, ...]:
    """The command of a step that removes, installs or lays anew; ``program``: conda, mamba or micromamba."""
    interpreter = facts.interpreter
    prefix = ("-p", interpreter.prefix) if interpreter and interpreter.kind == "conda" else ()
    if step.kind == "remove":
        names = [named(name_of(one)) for one in step.packages]
        return ((program, "remove", "-y", *prefix, *names),)
    anew = ("--force-reinstall",) if step.kind == "anew" else ()
    specs = [spec(one, step.index_url) for one in step.packages]
    return ((program, "install", "-y", *prefix, *CHANNEL, *anew, *specs),)


def named(package: str) -> str:
    """conda-forge's name of a package."""
    return NAMES.get(package, package)


def has(requirement: str, index_url: str = "") -> bool:
    """Can conda-forge be asked for it? It builds no torch for ROCm, and knows no URL."""
    build = label(requirement, index_url)
    known = not build or any(build.startswith(start) for start, _ in BUILDS)
    return known and " @ " not in requirement and not ABSENT.fullmatch(name_of(requirement))


def spec(requirement: str, index_url: str = "") -> str:
    """What conda is asked for: pytorch[version="==2.6.0",build="cuda*"] for "torch==2.6.0+cu126".

    The build is left open within CUDA: conda holds each against the driver, by its package ``__cuda``.
    """
    bare, _, _marker = requirement.partition(";")
    version = re.sub(r"\[[^\]]*\]", "", bare.strip())[len(name_of(bare)) :].strip()
    public = version.partition("+")[0].replace("===", "==").replace(" ", "")
    name = named(name_of(bare))
    start = label(requirement, index_url)
    build = next((build for prefix, build in BUILDS if start.startswith(prefix)), "")
    if name != "pytorch" or not build:
        return f"{name}{public}"
    return f'{name}[version="{public or "*"}",build="{build}"]'


def label(requirement: str, index_url: str) -> str:
    """The build of torch that is asked for: "cu126"; "" for any, and for other packages."""
    if name_of(requirement) != "torch":
        return ""
    return requirement.partition("+")[2] or index_url.rstrip("/").rpartition("/")[2]
