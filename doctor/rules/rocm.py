"""Accelerators of other makers: a torch for another maker's GPU, and what ROCm needs."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import TORCH_INDEX, install, set_variable, torch_for_machine
from doctor.facts import Accelerator, Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE
from doctor.rules.machine_cures_by_words import card_alone, gfx_override
from doctor.rules.witnesses import Witnesses

STEPS = ("load-4bit", "lora-step", "qlora-step", "trainer-step", "sft-step")
# An architecture whose machine code a GPU of the same family takes, by the first letters of its name.
OVERRIDES = {
    "gfx103": ("gfx1030", "10.3.0"),
    "gfx110": ("gfx1100", "11.0.0"),
    "gfx115": ("gfx1100", "11.0.0"),
}
MAKERS = {"amd": "AMD", "intel": "Intel"}
SELECTORS = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def of_maker(facts: Facts, vendor: str) -> list[Accelerator]:
    """The accelerators of one maker, in their order."""
    return [one for one in facts.accelerators or () if one.vendor == vendor]


@rule("torch/built-for-another-vendor", "warning", needs=("torch", "accelerators"), breaks=SEE)
def built_for_another_vendor(facts: Facts) -> Iterator[Hit]:
    """torch is built for GPUs of another maker than the one in this machine

    Why: a build of torch computes on GPUs of one maker: a CUDA build on NVIDIA's, a ROCm build on AMD's, an
    XPU build on Intel's. With another it runs on the CPU and says nothing of the GPU. bitsandbytes has
    libraries for AMD, Intel and Apple as well, in its newer releases; many other kernels are for CUDA alone.

    Fix: install the build for this GPU. A machine that is meant to train on its CPU needs nothing.

    References: https://huggingface.co/docs/bitsandbytes/v0.50.0/installation
    https://pytorch.org/get-started/locally/
    """
    assert facts.torch is not None and facts.accelerators is not None
    nvidia = Witnesses(facts).gpu_is_here or bool(facts.gpus)
    if facts.torch.hip_version and facts.gpus and not of_maker(facts, "amd"):
        yield Hit(
            title=f"torch {facts.torch.version} is built for AMD GPUs, not for {facts.gpus[0].name}",
            severity="error",
            evidence=(
                Evidence("torch", facts.torch.version, "a CUDA build"),
                Evidence("gpu", facts.gpus[0].name),
            ),
            fixes=torch_for_machine(facts),
        )
    own = next((one for one in facts.accelerators if one.vendor in MAKERS and one.integrated is False), None)
    if facts.torch.cuda_version and own and not nvidia:
        maker = MAKERS[own.vendor]
        yield Hit(
            title=f"torch {facts.torch.version} is built for NVIDIA GPUs, and the GPU here is {maker}'s",
            evidence=(
                Evidence(
                    "torch", facts.torch.version, "a ROCm build" if own.vendor == "amd" else "an XPU build"
                ),
                Evidence("gpu", " ".join(filter(None, (own.name, own.architecture)))),
            ),
            fixes=(build_for(facts, own),),
        )


def build_for(facts: Facts, gpu: Accelerator) -> Fix:
    """The torch for a GPU of AMD or Intel."""
    if gpu.vendor == "intel":
        return install(
            facts,
            "Install torch built for Intel GPUs",
            "torch",
            again=True,
            options=("--index-url", TORCH_INDEX + "xpu"),
        )
    page = "https://pytorch.org/get-started/locally/"
    return Fix(f"Install torch built for ROCm, with the index that {page} names for this release")


@rule(
    "rocm/device-not-usable",
    "error",
    needs=("torch", "accelerators"),
    breaks=SEE,
    symptoms=("Unable to open /dev/kfd read-write", "Unable to open /dev/kfd"),
)
def device_not_usable(facts: Facts) -> Iterator[Hit]:
    """This user may not open the device files of the AMD GPU

    Why: ROCm reaches the GPU through /dev/kfd and /dev/dri/renderD128, which belong to the groups render and
    video. Who is in neither has no GPU, and torch says only that none is available.

    Fix: join both groups and log in anew; pass both files into a container.

    References: https://github.com/ROCm/ROCm-docker/issues/116 https://github.com/ROCm/ROCm-docker/issues/90
    """
    assert facts.torch is not None
    blocked = [one for one in of_maker(facts, "amd") if one.usable is False]
    if not facts.torch.hip_version or not blocked or len(blocked) < len(of_maker(facts, "amd")):
        return
    container = facts.system.container if facts.system else None
    flags = (
        "Start the container with --device /dev/kfd --device /dev/dri --group-add video --group-add render"
    )
    join = (("sh", "-c", "sudo usermod -a -G render,video $USER"),)  # the shell knows who asks
    yield Hit(
        title=f"{blocked[0].name} is here, and this user may not open its device files",
        evidence=(Evidence("/dev/kfd", "not usable", "readable and writable"),),
        fixes=(
            Fix(flags, scope="system")
            if container
            else Fix("Join the groups render and video, then log in anew", join, "system"),
        ),
    )


@rule(
    "rocm/gfx-not-in-build",
    "error",
    needs=("torch_runtime", "accelerators"),
    breaks=STEPS,
    symptoms=(
        "HIP error: invalid device function",
        "hipErrorNoBinaryForGpu",
        "Error invalid device function",
    ),
    cure=gfx_override,
    question="Which GPU is it? rocminfo | grep gfx prints its architecture.",
)
def gfx_not_in_build(facts: Facts) -> Iterator[Hit]:
    """This ROCm build of torch has no kernels for the AMD GPU

    Why: a ROCm build carries machine code for a list of architectures (gfx names) and nothing that could be
    translated. Within RDNA 2 and RDNA 3 the code of one member runs on the others, and ROCm can be told to
    take it.

    Fix: set HSA_OVERRIDE_GFX_VERSION to that member where there is one; else take a build that has the GPU.

    References: https://github.com/ROCm/legacy-rocm-build/issues/2536
    https://github.com/pytorch/pytorch/issues/132570 https://github.com/pytorch/pytorch/issues/164346
    """
    runtime = facts.torch_runtime
    assert runtime is not None
    override = (facts.environment or {}).get("HSA_OVERRIDE_GFX_VERSION")
    if not runtime.hip_version or not runtime.arch_list or override:
        return
    built = {one.partition(":")[0] for one in runtime.arch_list}
    known = [one for one in of_maker(facts, "amd") if one.architecture]
    if any(one.architecture in built for one in known):
        return  # one of them serves: another rule sees to which is taken
    for gpu in known[:1]:
        member, version = OVERRIDES.get(gpu.architecture[:6], ("", ""))
        fits = (set_variable(f"Take the code of {member}", "HSA_OVERRIDE_GFX_VERSION", version),)
        yield Hit(
            title=f"torch {runtime.version} has no kernels for {gpu.name}, {gpu.architecture}",
            evidence=(Evidence("gpu", gpu.architecture, f"one of {' '.join(sorted(built))}"),),
            fixes=fits if member in built else (),
        )


@rule(
    "rocm/integrated-gpu-selected",
    "warning",
    needs=("torch_runtime", "accelerators"),
    breaks=STEPS,
    symptoms=("HIP error: invalid device function",),
    cure=card_alone,
)
def integrated_gpu_selected(facts: Facts) -> Iterator[Hit]:
    """ROCm takes the graphics of the processor in place of the AMD card

    Why: the processor's own graphics counts as a GPU and often comes first. torch takes the first, for which
    most builds have no kernels, and crashes or says "invalid device function".

    Fix: name the card in HIP_VISIBLE_DEVICES, or switch the processor's graphics off in the firmware.

    References: https://github.com/ROCm/legacy-rocm-build/issues/3401
    """
    runtime, environment = facts.torch_runtime, facts.environment or {}
    gpus = of_maker(facts, "amd")
    card = next((place for place, one in enumerate(gpus) if one.integrated is False), None)
    chosen = any(name in environment for name in SELECTORS)
    if (
        runtime is None
        or not runtime.hip_version
        or not gpus
        or not gpus[0].integrated
        or card is None
        or chosen
    ):
        return
    if runtime.devices and runtime.devices[0] != gpus[0].name:
        return  # torch counts them in another order
    yield Hit(
        title=f"torch takes {gpus[0].name}, the processor's own graphics, before {gpus[card].name}",
        confidence="confirmed" if runtime.devices else "possible",
        evidence=(Evidence("gpu 0", f"{gpus[0].name}, integrated", gpus[card].name),),
        fixes=(set_variable("Let ROCm see the card alone", "HIP_VISIBLE_DEVICES", str(card)),),
    )


@rule(
    "rocm/hidden-by-environment",
    "error",
    needs=("environment", "torch_runtime", "accelerators"),
    breaks=SEE,
    symptoms=("No HIP GPUs are available",),
)
def hidden_by_environment(facts: Facts) -> Iterator[Hit]:
    """A variable hides every AMD GPU

    Why: ROCm shows a program only the devices that HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and
    CUDA_VISIBLE_DEVICES leave. An empty value, -1, or an index that is not here leaves none.

    Fix: unset it, or name a GPU that is here.

    References: https://rocm.docs.amd.com/en/docs-6.1.2/conceptual/gpu-isolation.html
    """
    runtime, environment = facts.torch_runtime, facts.environment or {}
    gpus = of_maker(facts, "amd")
    if runtime is None or not runtime.hip_version or runtime.cuda_available is not False or not gpus:
        return
    for name in SELECTORS:
        first = environment.get(name, "0").partition(",")[0].strip()
        if first in ("", "-1") or (first.isdigit() and int(first) >= len(gpus)):
            value = environment[name]
            yield Hit(
                title=f"{name} is {value!r}, which leaves none of the {len(gpus)} AMD GPUs",
                evidence=(
                    Evidence(name, repr(value), "unset, or the index of a GPU"),
                    Evidence("gpu", ", ".join(f"{place}: {one.name}" for place, one in enumerate(gpus[:8]))),
                ),
                fixes=(set_variable("Let ROCm see the GPUs", name, None),),
            )
            return
