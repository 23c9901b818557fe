"""Modules that are there and not what they should be, and builds that do not say what is built."""

from __future__ import annotations

import re

from doctor.stack import STACK
from doctor.triage.case import Case
from doctor.triage.suspects import Ambiguous, Suspect
from doctor.triage.suspects.stated import STALE, has, is_absent, names, unless
from doctor.triage.suspects.telling import all_of, any_of, certainly, one_of, says, untold, without

SHADOWED = (*STACK, "datasets", "tokenizers", "safetensors")  # names that people give to files of their own
ALWAYS_THERE = "__version__|load_dataset|Dataset|Tensor|nn|cuda|AutoModel|LoraConfig"
OTHER_BUILDS = "safetensors|tiktoken|cryptography|orjson|hf-xet|pydantic"

CUT_SHORT = ("Ignoring invalid distribution", "Can't uninstall", "DO NOT MATCH THE HASHES", "No space left")
CPU_TORCH = (r"re:\b[12]\.\d{1,2}\.\d{1,2}\+cpu\b", "Torch not compiled with CUDA enabled")
SITE = re.compile(r"python3\.(\d{1,2})[/\\](?:site|dist)-packages")


def mixes_pythons(case: Case) -> bool | None:
    """Do paths lie below the packages of another Python than the one that runs, or of two?"""
    minors = set(SITE.findall(case.text))
    runs = case.facts.interpreter.version if case.facts.interpreter else ""
    if runs.startswith("3."):
        minors.add(runs.split(".")[1])
    return len(minors) > 1


def lies_in_site_packages(case: Case) -> bool | None:
    """Does the message show that the module is an installed one, and hides nothing?"""
    return case.says(r"re:circular import\) ?\([^)\n]{0,300}(?:site|dist)-packages") or None


def of_metadata(package: str) -> Ambiguous:
    """Metadata that is asked for and not there."""
    return Ambiguous(
        rf"re:(?:No package metadata was found for|PackageNotFoundError:) ['\"]?{package}\b",
        (
            Suspect("python/metadata-unreadable", certainly(has(package)), f"{package} is told as installed"),
            Suspect(f"{package}/missing", untold),
        ),
    )


def of_module(module: str) -> Ambiguous:
    """A module without its names: a file or folder that hides the library, or a package that is half gone."""
    return Ambiguous(
        one_of(
            rf"cannot import name .\w{{1,80}}. from .{module}. \(unknown location\)",
            rf"module .{module}. has no attribute .(?:{ALWAYS_THERE})\b",
        ),
        (
            Suspect(
                "python/files-missing-or-altered",
                certainly(says(*CUT_SHORT)),
                "a download, upgrade or uninstall was cut short",
            ),
            Suspect("python/module-shadowed", untold),
            Suspect("python/files-missing-or-altered", untold),
        ),
        f"Where does Python find {module}? A path outside of site-packages is a file or folder that hides "
        "it, one inside that has no file is a package that is not whole.",
        ("python", "-c", f"import {module}; print({module}.__file__, list({module}.__path__))"),
    )


MODULES: tuple[Ambiguous, ...] = (
    Ambiguous(
        rf"re:partially initialized module .(?:{'|'.join(SHADOWED)}|numpy|random|tqdm|unsloth)\b"
        r"[^\n]{0,300}circular import",
        (
            Suspect(STALE, certainly(lies_in_site_packages), "the file lies among the installed packages"),
            Suspect("python/module-shadowed", untold),
        ),
        "Does a file or folder of the module's name lie where the script starts?",
    ),
    Ambiguous(
        r"re:No module named .\w{1,40}(?:\.\w{1,40}){0,5}\.(?:_multiarray_umath|_C|_ext|_imaging|lib)\b",
        (
            Suspect(
                "python/path-pollution",
                mixes_pythons,
                "packages of another Python are found before those of this one",
            ),
            Suspect("python/files-missing-or-altered", untold),
        ),
        'What does python -c "import sys; print(sys.version, sys.path)" print?',
    ),
    Ambiguous(
        r"re:\"\w{3,60}\" not implemented for .Half.",
        (
            Suspect(
                "torch/cpu-only-build",
                certainly(says(*CPU_TORCH)),
                "torch is a build for the CPU",
            ),
            Suspect("script/half-precision-on-cpu", untold),
        ),
        "Is a GPU meant to be used, and what does torch.cuda.is_available() give?",
        ("python", "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"),
    ),
    Ambiguous(
        r"re:name .(?:LoraConfig|PeftModel|PeftConfig|get_peft_model). is not defined",
        (
            Suspect(
                "peft/missing",
                certainly(says(r"re:packages[/\\]trl[/\\]")),
                "trl uses a name of peft that it imports where peft is installed",
            ),
            Suspect("script/name-not-imported", untold),
        ),
        "Is peft installed, and which file does the last frame of the traceback name?",
        ("python", "-m", "pip", "show", "peft"),
    ),
    Ambiguous(
        r"re:NameError: name .torch. is not defined",
        (
            Suspect(
                "transformers/torch-too-old",
                certainly(says("Disabling PyTorch", r"re:packages[/\\](?:transformers|accelerate)[/\\]")),
                "a library does without torch: it found none, or one too old",
            ),
            Suspect("script/name-not-imported", untold),
        ),
        "Which file does the last frame of the traceback name, and which torch is installed?",
        ("python", "-c", "import torch; print(torch.__version__)"),
    ),
    *map(of_metadata, STACK),
    *map(of_module, SHADOWED),
    Ambiguous(
        r"re:UnicodeDecodeError: .utf-8. codec can.t decode",
        (
            Suspect(
                "python/metadata-unreadable",
                certainly(says(r"re:importlib[._/\\]{1,2}metadata", "METADATA", "dist-info")),
                "it is metadata that is read",
            ),
            Suspect("script/data-encoding", untold),
        ),
        "Which file is read in the last frames of the traceback?",
    ),
    Ambiguous(
        one_of(r"can.t find Rust compiler", r"[Tt]his package requires Rust and Cargo"),
        (
            Suspect(
                "python/no-wheel-for-version",
                certainly(
                    all_of(
                        says(rf"re:(?:[Ww]heel for|Failed to build) .?(?:{OTHER_BUILDS})\b"),
                        without(says(r"re:(?:[Ww]heel for|Failed to build) .?tokenizers")),
                    )
                ),
                "another package than tokenizers is built",
            ),
            Suspect(
                "tokenizers/no-wheel",
                certainly(any_of(names("tokenizers"), names("transformers"))),
                "transformers brings tokenizers, which is written in Rust",
            ),
            Suspect("tokenizers/no-wheel", untold),
            Suspect("python/no-wheel-for-version", untold),
        ),
        "Which package is built when it fails, and which Python is it?",
        ("python", "-m", "pip", "--version"),
    ),
    Ambiguous(
        r"re:NameError: name .bnb. is not defined",
        (
            Suspect(
                "bitsandbytes/missing",
                certainly(is_absent("bitsandbytes")),
                "bitsandbytes is not installed",
            ),
            Suspect(
                "torch/cpu-only-build",
                certainly(says(*CPU_TORCH)),
                "torch is a build for the CPU",
            ),
            Suspect("bitsandbytes/missing", unless(has("bitsandbytes"))),
            Suspect("torch/cpu-only-build", untold),
        ),
        "Is bitsandbytes installed, and does torch see a GPU?",
        ("python", "-c", "import torch; print(torch.cuda.is_available()); import bitsandbytes"),
    ),
)
