"""Which native library bitsandbytes selects, by its own rule in each release. Pure.

Source: ``bitsandbytes/cextension.py`` and ``cuda_specs.py``, up to 0.43.0 ``cuda_setup/main.py``, of every
release from 0.40.2 to 0.50.2. A newer release is taken to keep the newest rule known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from doctor.facts import BitsandbytesBuild, TorchBuild
from doctor.hardware import Accelerator, Gpu
from doctor.native import LibraryChoice
from doctor.versions import comparable

STEM = "libbitsandbytes_"
SUFFIXES = (".dll", ".dylib")
NO_FILE = "cannot open shared object file: No such file or directory"
HIDING = ("", "-1", "none", "NoDevFiles")  # values of CUDA_VISIBLE_DEVICES that leave no device
FIRST_WITHOUT_LOG = "0.48.0"  # from here on a CPU library that is not there is passed over in silence
FIRST_WITH_XPU = "0.48.0"
FIRST_WITH_ROCM = "0.46.0"


class Era(NamedTuple):
    """The rule from one release on."""

    first: str
    override: Literal["cut", "strip", "replace", "whole"]  # how the variable changes the name
    twins: bool  # GPUs below compute capability 7.5 get a library without cuBLASLt
    missing: Literal["import fails", "CPU library", "error"]  # what a library that is not there leads to
    words: str  # what is raised then
    nearest: bool = False  # another library of the same major stands in


ERAS = (
    Era("0.40.2", "cut", True, "import fails", "CUDA Setup failed despite GPU being available."),
    Era("0.43.0", "strip", True, "import fails", "CUDA Setup failed despite GPU being available."),
    Era("0.43.1", "strip", True, "CPU library", ""),
    Era("0.44.0", "replace", True, "CPU library", ""),
    Era("0.45.0", "replace", False, "CPU library", ""),
    Era("0.46.0", "replace", False, "error", "Configured CUDA binary not found at {}"),
    Era("0.47.0", "replace", False, "error", "Configured {backend} binary not found at {}"),
    Era("0.50.0", "whole", False, "error", "No compatible {backend} binary found at {}", nearest=True),
)


class Question(NamedTuple):
    """What the rule of one release depends on."""

    version: str
    files: Sequence[str]
    torch_cuda: str | None
    hip: str | None
    override: str | None
    capability: str | None

    @property
    def kind(self) -> str:
        """The word for the device in file names: "cuda" or "rocm"."""
        return "rocm" if self.hip else "cuda"

    @property
    def backend(self) -> str:
        """The word for the device in texts."""
        return "ROCm" if self.hip else "CUDA"

    @property
    def device(self) -> str:
        """ "CUDA 12.6", "ROCm 6.4"."""
        return f"{self.backend} {'.'.join(numbers_of(self.torch_cuda or self.hip or ''))}"

    def name(self, label: str) -> str:
        """A file name: "libbitsandbytes_cuda126.so" for "cuda126". Each system has its own ending."""
        own = [end for end in SUFFIXES if any(f.startswith(STEM) and f.endswith(end) for f in self.files)]
        return STEM + label + (own[0] if own else ".so")

    def is_from(self, release: str) -> bool:
        """Is the release this one or a newer one?"""
        ours, first = comparable(self.version), comparable(release)
        return ours is not None and first is not None and ours >= first


def choose(
    version: str,
    files: Sequence[str],
    torch_cuda: str | None,
    hip: str | None,
    has_gpu: bool,
    override: str | None,
    capability: str | None,
    *,
    xpu: str | None = None,
) -> LibraryChoice | None:
    """What a release selects from the files in its folder; None where its rule cannot be told.

    ``torch_cuda``, ``hip`` and ``xpu`` are those of ``torch.version`` ("" for an XPU build of which no more
    is known), ``has_gpu`` is what ``torch.cuda.is_available()`` answers, ``override`` the variable that
    :func:`override_variable` names, ``capability`` the highest compute capability among the GPUs.
    """
    question = Question(version, files, torch_cuda, hip, override, capability)
    era = next((one for one in reversed(ERAS) if question.is_from(one.first)), None)
    if era is None:  # those before looked for the system's CUDA in the variables of the environment
        return None
    if xpu is not None and question.is_from(FIRST_WITH_XPU):
        return xpu_library(question, era, xpu)
    if not has_gpu or not (torch_cuda or hip):
        return cpu_library(question, "torch sees no GPU" if torch_cuda or hip else "torch has no GPU support")
    if hip and not question.is_from(FIRST_WITH_ROCM):
        error = "'NoneType' object has no attribute 'split'"
        return LibraryChoice(library="", because="it asks torch for CUDA alone", is_there=False, error=error)
    if era.twins and capability is None:
        return None
    return gpu_library(question, era)


def select(
    ours: BitsandbytesBuild,
    torch: TorchBuild,
    *,
    gpus: Sequence[Gpu] = (),
    accelerators: Sequence[Accelerator] | None = (),
    env: Mapping[str, str],
) -> LibraryChoice | None:
    """What bitsandbytes selects on a machine with these devices (None: not known) and variables."""
    if torch.hip_version and accelerators is None:
        return None
    amd = [one for one in accelerators or () if one.vendor == "amd"]
    devices = amd if torch.hip_version else gpus
    hidden = env.get("CUDA_VISIBLE_DEVICES", "all").strip() in HIDING
    known = [gpu.compute_capability for gpu in gpus if gpu.compute_capability]
    return choose(
        ours.version,
        ours.libraries,
        torch.cuda_version,
        torch.hip_version,
        bool(devices) and not hidden,
        ours.override,
        max(known, key=lambda text: [int(part) for part in text.split(".")], default=None),
        xpu=torch.xpu_version,
    )


def override_variable(version: str, hip: str | None) -> str:
    """The variable with which a user names the library."""
    release, first = comparable(version), comparable("0.50.0")
    renamed = release is not None and first is not None and release >= first
    return "BNB_ROCM_VERSION" if hip and renamed else "BNB_CUDA_VERSION"


def numbers_of(version: str) -> list[str]:
    """Major and minor: ["6", "4"] of "6.4.43482-0f2d60242"."""
    return version.split(".")[:2]


def cpu_library(question: Question, because: str) -> LibraryChoice:
    """The library for the CPU. Without it Python code stands in, and some releases log that."""
    name = question.name("cpu")
    is_there = name in question.files
    logs = question.is_from("0.43.1") and not question.is_from(FIRST_WITHOUT_LOG)
    error = f"{name}: {NO_FILE}" if logs and not is_there else ""
    return LibraryChoice(library=name, because=because, is_there=is_there, error=error)


def xpu_library(question: Question, era: Era, xpu: str) -> LibraryChoice | None:
    """The library for Intel GPUs, which torch's build alone decides."""
    plain, because = question.name("xpu"), "torch is built for Intel GPUs"
    if era.nearest:
        if not xpu:
            return None
        own = question.name(f"xpu{xpu[:4]}")
        if own in question.files:
            return LibraryChoice(library=own, because=because, is_there=True)
    return LibraryChoice(library=plain, because=because, is_there=plain in question.files)


def gpu_library(question: Question, era: Era) -> LibraryChoice:
    """The library for torch's CUDA or ROCm, or for what the variable asks."""
    variable = override_variable(question.version, question.hip)
    because = f"torch is built for {question.device} and a GPU is seen"
    wanted = own_name(question, era)
    if question.override or (question.override == "" and era.nearest):
        error = refusal(question, era, variable)
        if error:
            return LibraryChoice(library="", because=f"{variable} is set", is_there=False, error=error)
        renamed = overridden(question, era, wanted)
        if renamed != wanted:
            because = f"{variable}={question.override} asks for it"
        return outcome(question, era, renamed, because)
    if era.twins and wanted.find("_nocublaslt") > 0:
        because += f", of compute capability {question.capability}, below 7.5"
    near = nearest(question) if era.nearest and wanted not in question.files else None
    if near:
        because = f"it has none for {question.device}, and this is the nearest of the same major"
        return LibraryChoice(library=near, because=because, is_there=True, asked=wanted)
    return outcome(question, era, wanted, because)


def own_name(question: Question, era: Era) -> str:
    """The name for exactly torch's CUDA or ROCm."""
    major, minor = numbers_of(question.torch_cuda or question.hip or "")
    digits = major + minor
    if question.is_from("0.46.0") and not era.nearest:
        digits = str(int(major) * 10 + int(minor))
    twin = era.twins and tuple(int(part) for part in (question.capability or "").split(".")) < (7, 5)
    return question.name(f"{question.kind}{digits}" + ("_nocublaslt" if twin else ""))


def refusal(question: Question, era: Era, variable: str) -> str:
    """What is raised for the variable itself, whatever files there are; "" for nothing."""
    value = question.override
    if era.nearest and not (value or "").isdigit():
        return f"{variable}={value!r}: value must be digits only (e.g. '124' for 12.4)."
    if question.hip and question.is_from("0.47.0") and not era.nearest:
        return f"BNB_CUDA_VERSION={value} detected for ROCm!!"
    return ""


def overridden(question: Question, era: Era, wanted: str) -> str:
    """The name once the variable has changed it, the slips of old releases included."""
    value, (stem, _, end) = question.override or "", wanted.rpartition(".")
    if era.override == "cut":
        return f"{wanted[:-6]}{value}.so"
    if era.override == "strip":
        return f"{stem.rstrip('0123456789')}{value}.{end}"
    if era.override == "replace":
        return re.sub(r"cuda\d+", lambda _: f"cuda{value}", wanted, count=1)
    return question.name(question.kind + value)


def outcome(question: Question, era: Era, wanted: str, because: str) -> LibraryChoice:
    """One name, and what comes of it where no such file is there."""
    if wanted in question.files:
        return LibraryChoice(library=wanted, because=because, is_there=True)
    if era.missing == "CPU library":
        instead = cpu_library(question, "")
        because = f"it has no {wanted} and takes its CPU library instead"
        return LibraryChoice(
            library=instead.library,
            because=because,
            is_there=instead.is_there,
            asked=wanted,
            error=instead.error,
        )
    error = era.words.format(wanted, backend=question.backend)
    return LibraryChoice(library=wanted, because=because, is_there=False, error=error)


def nearest(question: Question) -> str | None:
    """The library of the same major next below torch's CUDA or ROCm, else next above."""
    pattern = re.compile(rf"{STEM}{question.kind}(\d+)")
    width = 1 if question.hip else 2  # digits of the major
    have: dict[tuple[int, int], str] = {}
    for name in question.files:
        found = pattern.match(name)
        if found and len(found[1]) > width:
            have[int(found[1][:width]), int(found[1][width:])] = name
    major, minor = (int(part) for part in numbers_of(question.torch_cuda or question.hip or ""))
    same = [key for key in have if key[0] == major]
    below = [key for key in same if key[1] < minor]
    if not same:
        return None
    return have[max(below) if below else min(same)]
