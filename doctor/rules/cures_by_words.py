"""Cures where only words tell of a fault, as in a pasted report: sensible with few facts and with all.

No rule stands here.
"""

from __future__ import annotations

from doctor.cures import TORCH_INDEX, install, newer_driver, set_variable, torch_for_machine, uninstall
from doctor.driver_cures import on_host
from doctor.facts import Facts
from doctor.findings import Fix
from doctor.matrix.choosing import driver_of
from doctor.matrix.drivers import ptx_floor
from doctor.matrix.machine import Machine
from doctor.versions import comparable

Fixes = tuple[Fix, ...]
COMMON_BUILD = "cu126"  # runs on every 12.x driver, on GPUs from GTX 900 to H100
VISION_AHEAD = 15  # torchvision 0.15 goes with torch 2.0


def cuda_torch(facts: Facts) -> Fixes:
    """A CUDA build of torch: the one for this machine, or how to choose it."""
    if facts.system and facts.system.os == "darwin":
        return (Fix("A Mac has no CUDA: train on its own GPU, device mps", scope="script"),)
    known = torch_for_machine(facts) if facts.gpus or facts.driver else ()
    if known:
        return known
    gone = uninstall(facts, "", "torch")
    there = install(facts, "", "torch", options=("--index-url", TORCH_INDEX + COMMON_BUILD))
    title = (
        f"Install a CUDA build of torch in its place: {COMMON_BUILD} runs on drivers from 525 on;"
        " an RTX 50 or B200 needs cu128 and driver 570 (nvidia-smi names both)"
    )
    return (Fix(title, (*gone.commands, *there.commands), verified=False),)


def torch_for_gpu(facts: Facts) -> Fixes:
    """A torch with code for the GPU."""
    known = torch_for_machine(facts) if facts.gpus else ()
    page = "https://pytorch.org/get-started/locally/"
    choose = (
        "Install a torch with code for this GPU: cu128 or newer, and torch 2.7 or newer, for RTX 50 and B200;"
        f" cu126 for GTX 900, GTX 10, P100 and V100 ({page})"
    )
    return known or (Fix(choose),)


def driver_or_torch(facts: Facts) -> Fixes:
    """A driver that runs this torch, or a torch that this driver runs."""
    cuda = (facts.torch.cuda_version if facts.torch else None) or ""
    machine = Machine.of(facts)
    floor = driver_of(cuda, machine) if cuda else ""
    older = torch_for_machine(facts) if facts.driver else ()
    driver = newer_driver(facts, floor) or (
        on_host(facts, "Upgrade the NVIDIA driver: CUDA 13 needs 580, CUDA 12 needs 525, CUDA 11 needs 450"),
    )
    return (*older, *driver)[:2]


def newer_driver_alone(facts: Facts) -> Fixes:
    """A driver that translates what a newer toolkit made."""
    cuda = (facts.torch.cuda_version if facts.torch else None) or ""
    title = (
        "Upgrade the NVIDIA driver to one as new as the CUDA that the extension or the image was built with"
    )
    return newer_driver(facts, ptx_floor(cuda, Machine.of(facts).side) if cuda else "") or (
        on_host(facts, title),
    )


def newer_bitsandbytes(facts: Facts) -> Fixes:
    """The newest bitsandbytes."""
    return (install(facts, "Upgrade bitsandbytes", "bitsandbytes", options=("--upgrade",)),)


def no_override(facts: Facts) -> Fixes:
    """bitsandbytes left to choose."""
    return (set_variable("Let bitsandbytes choose its library", "BNB_CUDA_VERSION", None),)


def flash_attn_built_here(facts: Facts) -> Fixes:
    """flash-attn of this torch, or none."""
    options = ("--no-build-isolation", "--no-cache-dir")
    return (
        install(
            facts,
            "Build flash-attn for this torch, or take the wheel whose name says torch, CUDA and ABI",
            "flash-attn",
            again=True,
            options=options,
        ),
        uninstall(facts, 'Or uninstall it: attn_implementation="sdpa" needs none', "flash-attn"),
    )


def without_flash_attn(facts: Facts) -> Fixes:
    """torch's own attention in its place."""
    return (
        Fix('Ask for attn_implementation="sdpa" in from_pretrained', scope="script"),
        uninstall(facts, "Or uninstall flash-attn, so that nothing takes it by itself", "flash-attn"),
    )


def xformers_of_torch(facts: Facts) -> Fixes:
    """The xformers of this torch, or none."""
    torch = (facts.version_of("torch") or "").partition("+")[0]
    kept = (f"torch=={torch}",) if torch else ()
    return (
        install(facts, "Install the xformers of this torch", "xformers", *kept, options=("--upgrade",)),
        uninstall(facts, "Or uninstall xformers: torch has an attention of its own", "xformers"),
    )


def torchvision_of_torch(facts: Facts) -> Fixes:
    """The torchvision of this torch, or none."""
    torch = comparable(facts.version_of("torch") or "")
    partner = (
        f"torchvision==0.{torch.minor + VISION_AHEAD}.*" if torch and torch.major == 2 else "torchvision"
    )
    label = (facts.version_of("torch") or "").partition("+")[2]
    options = ("--index-url", TORCH_INDEX + label) if label else ()
    return (
        install(
            facts,
            "Install the torchvision of this torch, from the same index",
            partner,
            again=True,
            options=options,
        ),
        uninstall(
            facts,
            "Or uninstall torchvision and torchaudio, if nothing needs images or sound",
            "torchvision",
            "torchaudio",
        ),
    )


def fp16(facts: Facts) -> Fixes:
    """float16 in place of bfloat16."""
    return (
        Fix(
            "Train with fp16=True in place of bf16=True, and bnb_4bit_compute_dtype=torch.float16",
            scope="script",
        ),
    )


def nf4(facts: Facts) -> Fixes:
    """4 bit in place of 8."""
    return (Fix("load_in_4bit=True in place of load_in_8bit=True", scope="script"),)


def smaller_plan(facts: Facts) -> Fixes:
    """What makes a fine-tune smaller, the cheapest first."""
    return (
        Fix(
            "Batch size 1 with gradient accumulation, gradient checkpointing, a shorter max_length, then "
            "4 bits (QLoRA)",
            scope="script",
        ),
        Fix("Then a smaller model, ZeRO-3 or FSDP over several GPUs, or a larger GPU", scope="hardware"),
    )
