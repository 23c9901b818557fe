"""Environments whose releases do not go together, most of them as ``pip install --no-deps`` leaves them."""

from __future__ import annotations

from sandboxes import install

from .environment import HEALTHY, Target, broken, environment
from .lab import Lab


def with_releases(lab: Lab, *requirements: str) -> Target:
    """The newest stack, in which these releases took the place of others, without what they need."""
    venv = lab.copy()
    install(venv, *requirements)
    return Target(venv.python)


@environment(broken("peft/too-old-for-transformers"))
def peft_too_old_for_transformers(lab: Lab) -> Target:
    """peft 0.17.1 imports HybridCache, which transformers 5 no longer has"""
    return with_releases(lab, "peft==0.17.1")


@environment(broken("peft/needs-newer-transformers"))
def peft_needs_newer_transformers(lab: Lab) -> Target:
    """peft 0.21.2 imports EncoderDecoderCache, which transformers 4.41.2 does not have yet"""
    return Target(lab.base("older_transformers").python)


@environment(broken("peft/too-old-for-transformers"))
def peft_0_17_0(lab: Lab) -> Target:
    """peft 0.17.0 beside transformers 5"""
    return with_releases(lab, "peft==0.17.0")


@environment(HEALTHY)
def peft_0_11_0(lab: Lab) -> Target:
    """peft 0.11.0 beside transformers 5: an old one that works, though it merges on a GPU alone"""
    return with_releases(lab, "peft==0.11.0")


@environment(broken("python/release-out-of-step"))
def transformers_4_40_0(lab: Lab) -> Target:
    """transformers 4.40.0 among packages of 2026"""
    return with_releases(lab, "transformers==4.40.0")


@environment(broken("huggingface-hub/too-old"))
def huggingface_hub_0_23_0(lab: Lab) -> Target:
    """huggingface_hub 0.23.0 beside transformers 5"""
    return with_releases(lab, "huggingface-hub==0.23.0")


@environment(broken("accelerate/too-old"))
def accelerate_0_20_3(lab: Lab) -> Target:
    """accelerate 0.20.3 imports pkg_resources, which setuptools no longer has"""
    return with_releases(lab, "accelerate==0.20.3")


@environment(broken("accelerate/too-old"))
def accelerate_1_0_0(lab: Lab) -> Target:
    """accelerate 1.0.0 beside a transformers that calls it absent"""
    return with_releases(lab, "accelerate==1.0.0")


@environment(broken("tokenizers/too-old"))
def tokenizers_0_15_2(lab: Lab) -> Target:
    """tokenizers 0.15.2 beside transformers 5, which then advises an upgrade of itself"""
    return with_releases(lab, "tokenizers==0.15.2")


@environment(broken("numpy/abi-mismatch"))
def numpy_1_26_4(lab: Lab) -> Target:
    """numpy 1.26.4 beside a pandas that was built for NumPy 2"""
    return with_releases(lab, "numpy==1.26.4")


@environment(broken("torch/torchvision-mismatch"))
def torchvision_0_20_1(lab: Lab) -> Target:
    """torchvision 0.20.1, which was built for torch 2.5, beside torch 2.13"""
    return with_releases(lab, "torchvision==0.20.1", "pillow==12.0.0")


@environment(broken("bitsandbytes/too-old"))
def bitsandbytes_0_41_0(lab: Lab) -> Target:
    """bitsandbytes 0.41.0, which imports scipy and does not require it"""
    return with_releases(lab, "bitsandbytes==0.41.0")


@environment(broken("bitsandbytes/too-old"))
def bitsandbytes_0_45_0(lab: Lab) -> Target:
    """bitsandbytes 0.45.0, which transformers 5 refuses at the 4-bit load"""
    return with_releases(lab, "bitsandbytes==0.45.0")


@environment(broken("trl/too-old-for-transformers"))
def trl_0_7_4(lab: Lab) -> Target:
    """trl 0.7.4 imports top_k_top_p_filtering, which transformers removed"""
    return with_releases(lab, "trl==0.7.4")
