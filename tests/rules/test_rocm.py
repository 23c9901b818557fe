"""Accelerators of other makers, and what comes near their faults."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import GPU_NAME, but

from doctor.facts import Accelerator, Facts

from .judging import case, check, facts, ids
from .machines import (
    UNUSABLE,
    amd,
    without_nvidia,
)

ROCM = but(
    healthy.FACTS.torch, version="2.8.0+rocm6.4", cuda_version=None, hip_version="6.4", variant="rocm6.4"
)
ON_AMD = but(
    UNUSABLE, cuda_version=None, hip_version="6.4", version="2.8.0+rocm6.4", arch_list=("gfx1030", "gfx1100")
)
ARC = Accelerator(vendor="intel", name="Arc A770", kernel_driver="xe", integrated=False)


def on_amd(*cards: Accelerator, **changes: Any) -> Facts:
    bare = {"bitsandbytes": "not installed", "bitsandbytes_runtime": "not installed"}
    return without_nvidia(
        **{**bare, "torch": ROCM, "torch_runtime": ON_AMD, "accelerators": cards, **changes}
    )


HITS = {
    "torch for NVIDIA beside an AMD card": case(
        "torch/built-for-another-vendor",
        "warning",
        without_nvidia(accelerators=(amd(),)),
        "is built for NVIDIA GPUs, and the GPU here is AMD's",
        seen=("Radeon RX 6700 XT gfx1031",),
    ),
    "torch for NVIDIA beside an Intel card": case(
        "torch/built-for-another-vendor",
        "warning",
        without_nvidia(accelerators=(ARC,)),
        "is built for NVIDIA GPUs, and the GPU here is Intel's",
        command="whl/xpu",
    ),
    "torch for AMD beside an NVIDIA card": case(
        "torch/built-for-another-vendor",
        "error",
        facts(torch=ROCM, torch_runtime=ON_AMD),
        f"is built for AMD GPUs, not for {GPU_NAME}",
    ),
    "not in the group render": case(
        "rocm/device-not-usable",
        "error",
        on_amd(amd(architecture="gfx1030", usable=False)),
        "this user may not open its device files",
        command="sudo usermod -a -G render,video",
    ),
    "an AMD card outside of the build": case(
        "rocm/gfx-not-in-build",
        "error",
        on_amd(amd()),
        "torch 2.8.0+rocm6.4 has no kernels for Radeon RX 6700 XT, gfx1031",
        seen=("one of gfx1030 gfx1100",),
        command="export HSA_OVERRIDE_GFX_VERSION=10.3.0",
    ),
    "an AMD GPU that is hidden": case(
        "rocm/hidden-by-environment",
        "error",
        on_amd(amd(architecture="gfx1030"), environment={"ROCR_VISIBLE_DEVICES": "1"}),
        "ROCR_VISIBLE_DEVICES is '1', which leaves none of the 1 AMD GPUs",
        command="unset ROCR_VISIBLE_DEVICES",
    ),
    "the processor's graphics come first": case(
        "rocm/integrated-gpu-selected",
        "warning",
        on_amd(
            amd(name="Radeon Graphics", architecture="gfx1036", integrated=True),
            amd(architecture="gfx1030"),
        ),
        "torch takes Radeon Graphics, the processor's own graphics, before Radeon RX 6700 XT",
        command="export HIP_VISIBLE_DEVICES=1",
    ),
}

MISSES = {
    "an AMD card that the build has": on_amd(amd(architecture="gfx1030")),
    "an AMD card that is chosen": on_amd(
        amd(architecture="gfx1030"), environment={"HIP_VISIBLE_DEVICES": "0"}
    ),
    "an AMD card with an override": on_amd(amd(), environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
    "the processor's graphics beside an NVIDIA card": facts(
        accelerators=(amd(name="Radeon Graphics", architecture="gfx1036", integrated=True),)
    ),
    "the processor's graphics alone": without_nvidia(accelerators=(amd(integrated=True),)),
    "an Apple": without_nvidia(
        accelerators=(Accelerator(vendor="apple", name="Apple M3", integrated=True),),
        torch=but(healthy.FACTS.torch, cuda_version=None, variant="cpu"),
        torch_runtime=but(UNUSABLE, cuda_version=None),
    ),
    "the card is chosen": on_amd(
        amd(name="Radeon Graphics", architecture="gfx1036", integrated=True),
        amd(architecture="gfx1030"),
        environment={"HIP_VISIBLE_DEVICES": "1"},
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []
