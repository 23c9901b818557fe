"""GPUs against torch's build: has it code for them?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.cures import set_variable, torch_for_machine
from doctor.facts import Facts
from doctor.findings import Confidence, Evidence, Fix
from doctor.matrix.devices import Device, kinds, visible_devices
from doctor.matrix.drivers import last_branch, major_of
from doctor.matrix.gpu_code import JETSON, Fit, fit, numbers, oldest_and_newest, sm
from doctor.matrix.machine import plain_arch
from doctor.matrix.torch_builds import architectures_of, is_published, minor_of
from doctor.rules import Hit, rule
from doctor.rules.cures_by_words import torch_for_gpu

NO_CODE = ("older", "newer", "between")
COMPUTE = ("load-4bit", "lora-step", "qlora-step", "trainer-step", "sft-step")


class Build(NamedTuple):
    """What a build has GPU code for."""

    cuda: str  # "12.6"
    architectures: tuple[str, ...]  # () where that is not known
    confidence: Confidence  # confirmed: seen in the build itself; likely: from the tables

    def fit(self, device: Device) -> Fit:
        """How it suits a GPU. What a CUDA dropped no build of it has, whatever it is."""
        found = fit(self.architectures, device.capability, self.cuda)
        last = last_branch(device.capability)
        dropped = last is not None and numbers(self.cuda)[:1] > numbers(last["cuda"])[:1]
        return "older" if found == "unknown" and dropped else found


def torch_build(facts: Facts) -> Build | None:
    """What torch was built for: as it answers once imported, else by its version; None without CUDA."""
    build, runtime = facts.torch, facts.torch_runtime
    cuda = (runtime.cuda_version if runtime else None) or (build.cuda_version if build else None)
    if cuda is None:
        return None
    if runtime and runtime.arch_list:
        return Build(cuda, runtime.arch_list, "confirmed")
    return Build(cuda, listed_architectures(facts), "likely")


def listed_architectures(facts: Facts) -> tuple[str, ...]:
    """What the table has of this build; () for one that is not torch's own: a fork, a nightly, of conda."""
    assert facts.torch
    installed = facts.packages.installed.get("torch") if facts.packages else None
    if not is_published(facts.torch.version) or (installed and installed.installer == "conda"):
        return ()
    arch = plain_arch(facts.system.arch) if facts.system else "x86_64"
    return architectures_of(minor_of(facts.torch.version), facts.torch.variant, arch)


def unserved(build: Build, facts: Facts) -> list[Device]:
    """The visible GPUs that a build has no code for; the trial's own may not be denied after it has run."""
    lacking = (device for device in visible_devices(facts) if build.fit(device) in NO_CODE)
    return [device for device in lacking if not has_trained(device, facts)]


def has_trained(device: Device, facts: Facts, stage: str = "lora-step") -> bool:
    """Did a step of the trial pass on this GPU?"""
    run = facts.trial.run_of(stage) if facts.trial and facts.trial.device == "cuda:0" else None
    return run is not None and run.outcome == "ok" and device.ordinal == 0


@rule(
    "torch/gpu-arch-missing",
    "error",
    needs=("torch", "gpus"),
    breaks=COMPUTE,
    symptoms=(
        "no kernel image is available for execution",
        r"re:capability (?P<gpu_capability>sm_\d{2,3}a?) is not compatible with the current PyTorch",
        r"re:supports CUDA capabilities (?P<torch_architectures>(?:(?:sm|compute)_\d{2,3}[af]? ?){1,30})",
        r"re:(?P<gpu>NVIDIA [\w ()/-]{2,50}|Tesla [\w -]{2,30}|GeForce [\w ]{2,30}) with CUDA capability sm_",
        r"re:of cuda capability (?P<gpu_capability>\d{1,2}\.\d)\.\s{1,5}PyTorch no longer supports this GPU",
        "does not include kernels for this GPU",
        "nvrtc: error: invalid value for --gpu-architecture",
    ),
    cure=torch_for_gpu,
    question="What do torch.cuda.get_arch_list() and torch.cuda.get_device_capability() print?",
)
def gpu_arch_missing(facts: Facts) -> Iterator[Hit]:
    """This torch build has no kernels for this GPU

    Why: a wheel carries machine code for a list of architectures. A GPU runs code of its own major and of no
    newer minor; PTX, which the driver translates, is in few wheels. CUDA 13 dropped Maxwell, Pascal and
    Volta, so builds from cu130 on have nothing for a V100, P100 or GTX 1080, whatever the driver. Blackwell
    (RTX 50, B200) needs a build for CUDA 12.8 or newer, and so torch 2.7 or newer.

    See: torch.cuda.get_arch_list() does not name the GPU: sm_120 for an RTX 50, sm_61 for a GTX 10, sm_70
    for a V100.

    Fix: install the build of this torch whose list holds the GPU, else the nearest release that has one.
    Where another GPU of the machine is served, CUDA_VISIBLE_DEVICES can leave this one out.

    Verify: torch.ones(1, device="cuda") + 1 prints a tensor.

    Tried in vain: another CUDA toolkit or driver: the code is in the wheel, or it is not.

    References: https://github.com/pytorch/pytorch/issues/157517
    https://github.com/pytorch/pytorch/issues/167244 https://github.com/pytorch/pytorch/issues/31285
    """
    build = torch_build(facts)
    lacking = unserved(build, facts) if build else []
    if build is None or is_jetson_wheel(facts, build):
        return
    for device in kinds(lacking):
        yield Hit(
            title=f"torch {version_of(facts)} has no kernels for {device.name}, {sm(device.capability)}"
            f", {compared(build, device)}",
            severity="warning" if others_serve(device, lacking, facts) else None,
            confidence=build.confidence,
            evidence=(
                Evidence("torch", version_of(facts), f"a build with code for {sm(device.capability)}"),
                Evidence("gpu", sm(device.capability), wanted(build)),
            ),
            fixes=(*hide(lacking, facts), *torch_for_machine(facts))[:2],
        )


def version_of(facts: Facts) -> str:
    """torch's version with its label, as whoever knows best has it."""
    told = facts.torch_runtime.version if facts.torch_runtime else ""
    return told or (facts.torch.version if facts.torch else "")


def compared(build: Build, device: Device) -> str:
    """The GPU against the ends of what there is code for."""
    if not build.architectures:
        return f"which CUDA {major_of(build.cuda)} dropped"
    oldest, newest = oldest_and_newest(build.architectures)
    ends = {"older": f"older than {oldest}, the oldest", "newer": f"newer than {newest}, the newest"}
    end = ends.get(build.fit(device))
    return f"{end} it was built for" if end else "which it was not built for"


def wanted(build: Build) -> str:
    """What would do in place of the GPU, for evidence."""
    known = " ".join(build.architectures)
    return f"one of {known}" if known else f"compute capability 7.5 or newer for CUDA {build.cuda}"


def others_serve(device: Device, lacking: list[Device], facts: Facts) -> bool:
    """Does another GPU do the work: one that is served, while this one is not the first in CUDA's order?"""
    return len(lacking) < len(visible_devices(facts)) and device.ordinal != 0


def hide(lacking: list[Device], facts: Facts) -> Iterator[Fix]:
    """Show only the GPUs that are served, where there are some and their CUDA numbers are known."""
    good = [one for one in visible_devices(facts) if one not in lacking]
    ordinals = [one.ordinal for one in good if one.ordinal is not None]
    value = (facts.environment or {}).get("CUDA_VISIBLE_DEVICES")
    shown = value.split(",") if value else [str(number) for number in range(len(visible_devices(facts)))]
    if good and len(ordinals) == len(good) and max(ordinals) < len(shown):
        names = " and ".join(dict.fromkeys(one.name for one in good))
        chosen = ",".join(shown[number] for number in ordinals)
        yield set_variable(f"Use only {names}", "CUDA_VISIBLE_DEVICES", chosen)


def is_jetson_wheel(facts: Facts, build: Build | None) -> bool:
    """Is a wheel for servers on a Jetson: one for the CPU, or one without code for it?"""
    devices = [device for device in visible_devices(facts) if device.capability in JETSON]
    if not devices or facts.torch is None or facts.torch.variant == "unknown":
        return False
    return facts.torch.variant == "cpu" or bool(build and build.fit(devices[0]) in NO_CODE)


JETSON_WHEELS = "Install torch from NVIDIA's wheels for this JetPack: https://pypi.jetson-ai-lab.io"


@rule(
    "torch/jetson-wheel-not-l4t",
    "error",
    needs=("torch", "gpus"),
    breaks=("see-gpu", *COMPUTE),
    symptoms=("Error named symbol not found at line",),
)
def jetson_wheel_not_l4t(facts: Facts) -> Iterator[Hit]:
    """A wheel for ARM servers is installed on a Jetson

    Why: the aarch64 wheels of PyPI and of torch's own index are made for servers (SBSA). Jetson up to JetPack
    6 runs another CUDA, that of L4T, and their code is not for its GPU: until CUDA 13.2 a Jetson runs only
    code that was built for itself. Those of bitsandbytes are for servers too.

    See: uname -r ends in -tegra, and torch.version.cuda is None or the wheel came from PyPI.

    Fix: install NVIDIA's wheels for this JetPack, or build from source on the board.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1930
    https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1941
    https://github.com/conda-forge/pytorch-cpu-feedstock/issues/303
    """
    build = torch_build(facts)
    if is_jetson_wheel(facts, build):
        assert facts.torch
        board = next(one for one in visible_devices(facts) if one.capability in JETSON)
        l4t = facts.driver_signs.jetson if facts.driver_signs else ""
        yield Hit(
            title=f"torch {facts.torch.version} is a wheel for ARM servers, and {board.name} is a Jetson",
            confidence=build.confidence if build else "likely",
            evidence=(
                Evidence("torch", facts.torch.version, "a wheel for L4T" + (f" {l4t}" if l4t else "")),
                Evidence("gpu", f"{board.name}, {sm(board.capability)}", wanted(build) if build else ""),
            ),
            fixes=(Fix(JETSON_WHEELS, scope="environment"),),
        )
