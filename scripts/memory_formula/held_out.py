"""How far the formula is from the trace, on models and plans that it was not derived from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import msgspec

from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory import formula, models
from doctor.memory.estimate import Device
from doctor.memory.formula_reserved import key_of
from doctor.memory.kernels import for_child
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.stream import NotRepeating, Stream
from doctor.memory.trace import estimate_of
from doctor.memory.validity import PlanInvalid
from doctor.target import Target
from doctor.tracing.run import traced

MODELS = {
    "llama": ("llama-2-7b", "llama-3.2-1b", "qwen2.5-7b", "mistral-nemo-12b", "yi-34b"),
    "qwen3": ("qwen3-0.6b", "qwen3-8b", "qwen3-32b"),
    "gemma2": ("gemma-2-2b", "gemma-2-27b"),
    "gemma3": ("gemma-3-1b",),
    "phi3": ("phi-3-mini", "phi-4"),
    "glm4": ("glm-4-9b-0414",),
    "mixtral": ("mixtral-8x7b",),
    "qwen3_moe": ("qwen3-30b-a3b",),
}
FAMILIES_ON_ALL = {"llama"}  # of which both kinds of attention kernels were traced
DRAWN = 4  # plans for each model
# Sets of targets of which some were not traced.
TARGETS = {
    "phi3": (("all-linear",), ("qkv_proj",), ("o_proj", "down_proj")),
    "": (
        ("all-linear",),
        ("q_proj", "v_proj"),
        ("q_proj", "k_proj", "v_proj"),
        ("q_proj", "k_proj", "v_proj", "o_proj"),
    ),
}


class Deviation(NamedTuple):
    """One plan of one model: the formula's peak over the trace's, reserved over allocated in the trace."""

    model: str
    plan: Plan
    peak: float
    reserved: dict[str, float]  # by kind of plan and allocator
    is_between: bool  # its targets are none of the sets that were traced

    @property
    def line(self) -> str:
        """For whoever reads along."""
        plan = self.plan
        words = (
            f"{self.model:18}",
            f"{self.peak - 1:+.2%}",
            *(f"{ratio:.3f}" for ratio in self.reserved.values()),
            plan.method,
            plan.loop,
            plan.attention,
            "checkpointing" if plan.gradient_checkpointing else "",
            "upcast" if plan.kbit_upcast else "",
            f"rank {plan.rank} {','.join(plan.target_modules)}",
            f"dropout {plan.lora_dropout} {plan.batch_size} x {plan.sequence_length}, {plan.accumulation}",
        )
        return " ".join(filter(None, words))


def devices(family: str) -> Iterator[Device]:
    """GPUs with flash attention, and without."""
    yield Device(compute_capability="8.6")
    if family in FAMILIES_ON_ALL:
        yield Device(compute_capability="7.5")


def drawn(family: str, shape: ModelShape, device: Device) -> list[Plan]:
    """Plans at random, the same in every run."""
    random_of = random.Random(shape.name + device.compute_capability)
    found = []
    for _ in range(DRAWN):
        method = random_of.choice(("lora", "qlora", "qlora", "full"))
        loop = random_of.choice(("bare", "trainer", "sft"))
        found.append(
            Plan(
                method=method,
                rank=random_of.choice((4, 16, 64, 200)),
                target_modules=random_of.choice(TARGETS.get(family, TARGETS[""])),
                lora_dropout=0.0 if shape.experts else random_of.choice((0.0, 0.05)),
                batch_size=random_of.choice((1, 2, 4, 6)),
                sequence_length=random_of.choice((512, 1024, 1536, 4096)),
                accumulation=1 if loop == "bare" else random_of.choice((1, 1, 4)),
                gradient_checkpointing=random_of.random() < 0.7,
                dtype="float16" if device.compute_capability == "7.5" else "bfloat16",
                attention=random_of.choice(("sdpa", "sdpa", "flash_attention_2", "eager")),
                double_quant=random_of.random() < 0.5,
                kbit_upcast=method == "qlora" and loop != "sft" and random_of.random() < 0.5,
                loop=loop,
                fused_loss=loop == "sft",
                adapter_dtype="bfloat16" if loop == "sft" and method == "qlora" else "float32",
                reentrant=False,
            )
        )
    return found


def deviations(family: str, target: Target) -> Iterator[Deviation]:
    """All plans of all models of a family; prints what could not be traced."""
    for name, device in product(MODELS[family], devices(family)):
        shape = models.listed(name)
        assert shape is not None
        plans = drawn(family, shape, device)
        for plan, stream in zip(
            plans,
            traced(LocalHost(), target, shape, plans, for_child(device.compute_capability)),
            strict=True,
        ):
            if isinstance(stream, Gap):
                print(f"{name}: {stream.reason}")
                continue
            try:
                yield deviation(shape, plan, device, stream)
            except (NotRepeating, PlanInvalid) as reason:
                print(f"{name}: {reason}")


def deviation(shape: ModelShape, plan: Plan, device: Device, stream: Stream) -> Deviation:
    """Both tiers on one plan, with both kinds of allocator."""
    guessed = formula.estimate(shape, plan, device)
    reserved = {}
    for is_expandable in (False, True):
        replayed = msgspec.structs.replace(plan, expandable_segments=is_expandable)
        seen = estimate_of(stream, replayed, device)
        reserved[key_of(replayed)] = seen.peak_reserved_bytes / seen.peak_allocated_bytes
    peak = guessed.peak_allocated_bytes / seen.peak_allocated_bytes
    return Deviation(
        shape.name, plan, peak, reserved, any("target modules" in note for note in guessed.notes)
    )
