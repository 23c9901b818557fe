"""The words for an answer, the same in every format."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.memory.answer import Answer, Model
from doctor.memory.estimate import PARTS, Device, Estimate, Moment, Part
from doctor.memory.plan import Plan

METHODS = {"lora": "LoRA", "qlora": "QLoRA", "full": "all weights"}
LOOPS = {"bare": "a loop of your own", "trainer": "Trainer", "sft": "SFTTrainer"}
SOURCES = {
    "exact": "counted",
    "traced": "traced",
    "assumed": "by formula or table",
    "measured": "measured",
}
TIERS = {"formula": "by formula", "trace": "by a trace of the installed model class", "measured": "measured"}
PHASES = {
    "load": "while the model is loaded",
    "forward": "in the forward pass",
    "backward": "in the backward pass",
    "optimizer": "in the optimizer's step",
}
VERDICTS = {"fits": "fits", "tight": "tight", "does-not-fit": "does not fit", "unknown": "no device known"}


def gib(size_bytes: int) -> str:
    """A size as it is told: in GiB with three digits, in MiB where that would be less than a tenth."""
    size = size_bytes / 2**30
    if 0 < abs(size) < 0.0995:
        return f"{size * 1024:.0f} MiB"
    return f"{size:.2f} GiB" if abs(size) < 9.995 else f"{size:.1f} GiB"


def billions(parameters: int) -> str:
    """A number of parameters as people say it: "7.62 B", "40.4 M"."""
    if parameters >= 10**9:
        return f"{parameters / 10**9:.2f} B"
    return f"{parameters / 10**6:.1f} M" if parameters >= 10**6 else f"{parameters:,}"


def model_line(model: Model) -> str:
    """The model and its size."""
    error = f" (give or take {model.error:.0%})" if model.error else ""
    return f"{model.name}: {billions(model.parameters)} parameters{error}, {model.layers} layers"


def plan_line(plan: Plan) -> str:
    """The plan in one line, what matters most for memory first."""
    return ", ".join(_plan_words(plan))


def _plan_words(plan: Plan) -> Iterator[str]:
    yield METHODS[plan.method]
    if plan.adapter is not None:
        yield f"{plan.adapter.get('peft_type', 'adapter')} as configured"
    elif plan.method != "full":
        targets = "+".join(plan.target_modules) or "PEFT's own targets"
        yield f"rank {plan.rank} on {targets}" + (" (DoRA)" if plan.dora else "")
    step = f" x {plan.accumulation} micro-batches" if plan.accumulation > 1 else ""
    yield f"{plan.batch_size} x {plan.sequence_length} tokens{step}"
    yield "checkpointing" if plan.gradient_checkpointing else "no checkpointing"
    yield plan.optimizer
    yield plan.attention
    yield plan.dtype
    yield LOOPS[plan.loop] + (", fused loss" if plan.fused_loss else "")
    if plan.gpus > 1:
        yield f"{plan.gpus} GPUs, {plan.sharding if plan.sharding != 'none' else 'nothing divided'}"


def parts_of(estimate: Estimate) -> list[tuple[str, Part]]:
    """The parts that are there, in their order."""
    return [(name, part) for name in PARTS if (part := estimate.parts.get(name)) and part.amount_bytes > 0]


def verdict_line(answer: Answer) -> str:
    """The verdict with its figures."""
    estimate, device = answer.estimate, answer.device
    need = f"{gib(estimate.peak_bytes)} (give or take {estimate.error:.0%})"
    if device.free_bytes is None:
        return f"needs {need}; {tiers_line(answer)}"
    free = f"{gib(device.free_bytes)} are free on {device_name(device)}"
    return f"{VERDICTS[answer.verdict]}: needs {need}, {free}"


def device_name(device: Device) -> str:
    """The device in a sentence."""
    return device.name or "the device"


def tiers_line(answer: Answer) -> str:
    """On which sizes of GPU it fits, where no device is known."""
    if not answer.tiers:
        return "no device is known"
    fitting, tight = (
        [size for size, word in answer.tiers.items() if word == one] for one in ("fits", "tight")
    )
    if not fitting and not tight:
        return f"not even a GPU of {list(answer.tiers)[-1]} is enough"
    said = f"fits a GPU of {fitting[0]}" if fitting else "fits no common GPU for sure"
    return said + (f", tight on {' and '.join(tight)}" if tight else "")


def device_lines(device: Device) -> Iterator[str]:
    """Who holds what is not free, and what the driver keeps."""
    if device.others:
        held = ", ".join(f"{name} {gib(size)}" for name, size in device.others.items())
        yield f"Held by others now: {held}."
    elif device.total_bytes and device.free_bytes and device.kind == "cuda":
        kept = device.total_bytes - device.free_bytes
        yield (f"Of its {gib(device.total_bytes)} the driver keeps {gib(kept)}." if kept > 0 else "")


def moment_line(moment: Moment) -> str:
    """When the peak comes."""
    module = moment.module.removeprefix("base_model.model.")  # PEFT's wrapper says nothing of the place
    where = f", in {module}" if module else ""
    what = f" ({moment.operation})" if moment.operation else ""
    return f"The peak comes {PHASES[moment.phase]}{where}{what}."


def sentence(text: str) -> str:
    """A note as a sentence of its own."""
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    return ended[:1].upper() + ended[1:]


def tier_line(estimate: Estimate) -> str:
    """How the estimate was made, and what it counts."""
    trained = billions(estimate.trainable_parameters)
    share = estimate.trainable_parameters / max(estimate.total_parameters, 1)
    return (
        f"Estimated {TIERS[estimate.tier]}; {trained} parameters are trained ({share:.2%} of the model). "
        f"Allocated {gib(estimate.peak_allocated_bytes)}, reserved {gib(estimate.peak_reserved_bytes)}, "
        f"CUDA's context {gib(estimate.context_bytes)}."
    )
