"""What a GPU cannot compute, whatever is installed: bfloat16, int8 matrices, FlashAttention-2."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import uninstall
from doctor.facts import Facts
from doctor.failures import all_failure_text, shows
from doctor.findings import Evidence, Severity
from doctor.matrix.devices import Device, visible_devices
from doctor.matrix.gpus import has_feature
from doctor.rules import Hit, rule
from doctor.rules.cures_by_words import fp16, nf4, without_flash_attn
from doctor.versions import comparable

NO_BF16 = (
    "Your setup doesn't support bf16/gpu",
    "Your device does not support bf16",
    "bf16 mixed precision requires",
    "does not support bfloat16",
    "Bfloat16 is only supported on GPUs with compute capability",
    "BFloat16 is not supported on MPS",
    r"re:(?i:feature '[^'\n]{0,40}bf16[^'\n]{0,20}' ?requires ?\.?target sm_80)",
)
NO_FLASH = (
    "FlashAttention only supports Ampere GPUs or newer",
    "FlashAttention only supports Turing GPUs or newer",
    r"re:Expected is_sm8x (?:\|\| is_sm\w{2,4} )?to be true",
    "FlashAttention forward only supports",
)


def without(facts: Facts, feature: str) -> Device | None:
    """The first visible GPU, where none of them has a feature."""
    devices = visible_devices(facts)
    if any(has_feature(device.capability, feature) for device in devices):
        return None
    return devices[0] if devices else None


def severity_of(symptoms: tuple[str, ...], facts: Facts) -> Severity | None:
    """An error where its words were seen here, else the rule's own."""
    text = all_failure_text(facts)
    return "error" if any(shows(symptom, text) for symptom in symptoms) else None


def named(device: Device) -> str:
    """The GPU with its compute capability."""
    return f"{device.name}, compute capability {device.capability}"


@rule(
    "gpu/bf16-unsupported",
    "note",
    needs=("gpus",),
    symptoms=NO_BF16,
    cure=fp16,
    question="Which GPU is it? nvidia-smi -L prints it; bfloat16 needs an RTX 30, an A100 or newer.",
)
def bf16_unsupported(facts: Facts) -> Iterator[Hit]:
    """This GPU trains in float16, not bfloat16

    Why: bfloat16 came with compute capability 8.0 (Ampere). On a T4, V100 or P100 torch computes it by way of
    float32, slowly, and torch.cuda.is_bf16_supported() says True all the same unless it is asked with
    including_emulation=False. Nothing is broken: a script must ask for fp16, and bnb_4bit_compute_dtype for
    torch.float16.

    See: the GPU is a T4, V100, P100, RTX 20 or GTX: torch.cuda.get_device_capability() is below (8, 0).

    Fix: fp16=True in place of bf16=True, and torch.float16 as compute type.

    Tried in vain: upgrading torch, CUDA or the driver: the GPU has no such unit.

    References: https://github.com/pytorch/pytorch/issues/124996
    https://github.com/pytorch/pytorch/pull/148322 https://github.com/tatsu-lab/stanford_alpaca/issues/133
    """
    device = without(facts, "bfloat16")
    if device:
        yield Hit(
            title=f"{device.name} trains in float16: it has no bfloat16",
            severity=severity_of(NO_BF16, facts),
            evidence=(Evidence("gpu", named(device), "8.0 or newer for bfloat16"),),
        )


@rule(
    "gpu/int8-unsupported",
    "note",
    needs=("gpus",),
    cure=nf4,
)
def int8_unsupported(facts: Facts) -> Iterator[Hit]:
    """This GPU has no int8 matrix kernels, which load_in_8bit needs

    Why: LLM.int8() of bitsandbytes multiplies on int8 tensor cores, which came with compute capability 7.5
    (Turing). Releases up to 0.44 had a slow way round for older GPUs. 4-bit training does not need them.

    Fix: load_in_4bit in place of load_in_8bit.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/529
    https://huggingface.co/docs/bitsandbytes/main/en/installation
    """
    device = without(facts, "int8-tensor-cores")
    if device:
        yield Hit(
            title=f"{device.name} has no int8 matrix kernels, which load_in_8bit needs",
            evidence=(Evidence("gpu", named(device), "7.5 or newer for LLM.int8()"),),
        )


@rule(
    "flash-attn/gpu-too-old",
    "warning",
    needs=("packages", "gpus"),
    symptoms=NO_FLASH,
    cure=without_flash_attn,
)
def flash_attn_gpu_too_old(facts: Facts) -> Iterator[Hit]:
    """flash-attn 2 is installed and this GPU is older than it serves

    Why: FlashAttention-2 has kernels from compute capability 8.0 (Ampere) on; on Turing and Volta its first
    call raises. Only what asks for it breaks: attn_implementation="flash_attention_2", or code that imports
    it.

    Fix: attn_implementation="sdpa", or uninstall flash-attn, so that nothing takes it by itself.

    References: https://github.com/Dao-AILab/flash-attention/issues/720
    https://github.com/Dao-AILab/flash-attention/issues/762
    """
    version, device = comparable(facts.version_of("flash-attn") or ""), without(facts, "flash-attention-2")
    if version and version.major >= 2 and device:
        yield Hit(
            title=f"flash-attn {version} does not serve {device.name}",
            severity=severity_of(NO_FLASH, facts),
            evidence=(
                Evidence("flash-attn", str(version), "not used, or below 2"),
                Evidence("gpu", named(device), "8.0 or newer"),
            ),
            fixes=(uninstall(facts, "Uninstall flash-attn", "flash-attn"),),
        )
