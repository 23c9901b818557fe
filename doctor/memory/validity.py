"""Plans that no run can have, refused before anything is computed."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import get_args

import msgspec

from doctor.memory.plan import OPTIMIZERS, Attention, Dtype, Loop, Method, Offload, Plan, Sharding
from doctor.memory.shapes import ModelShape

CHOICES = {
    "method": get_args(Method),
    "loop": get_args(Loop),
    "attention": get_args(Attention),
    "dtype": get_args(Dtype),
    "sharding": get_args(Sharding),
    "offload": get_args(Offload),
}
COUNTS = ("rank", "batch_size", "accumulation", "sequence_length", "gpus")
MOST = 1 << 31  # of each count: no run has more, and products of them stay numbers
# Further names that transformers' OptimizerNames takes, for what each of them is here.
ALIASES = {
    "adamw": "adamw_torch",
    "adamw_hf": "adamw_torch",
    "adamw_bnb_8bit": "adamw_8bit",
    "paged_adamw": "paged_adamw_32bit",
    "lion": "lion_32bit",
}


class PlanInvalid(ValueError):
    """A plan that cannot be: what is wrong with it, and what would be right."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def validated(plan: Plan) -> Plan:
    """The plan with its optimizer by the name that is used here. Raises :class:`PlanInvalid`."""
    for field, choices in CHOICES.items():
        if (word := getattr(plan, field)) not in choices:
            raise PlanInvalid(f"{spoken(field)} {word!r} is not known", f"one of {', '.join(choices)}")
    for field in COUNTS:
        _check_count(field, getattr(plan, field))
    dropout = plan.lora_dropout
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise PlanInvalid(f"lora dropout {_shown(dropout)} is no share", "a number from 0 to below 1")
    if plan.method == "full" and plan.dtype == "float16":
        hint = "bfloat16, or float32 weights under fp16: a gradient scaler refuses gradients in float16"
        raise PlanInvalid("weights in float16 cannot be trained in full", hint)
    return msgspec.structs.replace(plan, optimizer=optimizer_named(plan.optimizer))


def optimizer_named(word: str) -> str:
    """The optimizer of a word of transformers'. Raises :class:`PlanInvalid` with the nearest names."""
    name = ALIASES.get(word, word)
    if name in OPTIMIZERS:
        return name
    near = get_close_matches(word, (*OPTIMIZERS, *ALIASES), n=3, cutoff=0.5) or OPTIMIZERS
    raise PlanInvalid(f"the states of the optimizer {word!r} are not known", f"one of {', '.join(near)}")


def remarks(plan: Plan, shape: ModelShape) -> tuple[str, ...]:
    """Sentences: what is odd about a plan for a model."""
    found: list[str] = []
    positions = shape.config.get("max_position_embeddings")
    if isinstance(positions, int) and 0 < positions < plan.sequence_length:
        asked = plan.sequence_length
        found.append(f"{asked} tokens are more than the {positions} positions of the model's config.")
    if plan.gpus == 1 and plan.sharding != "none":
        found.append(f"On one GPU {plan.sharding} divides nothing.")
    if plan.offload != "none" and plan.sharding == "none":
        found.append("Offloading is DeepSpeed's or FSDP's work: without --sharding nothing does it.")
    takes_in_experts = (
        plan.method != "full" and plan.target_modules == ("all-linear",) and plan.adapter is None
    )
    if takes_in_experts and any(one.fused for one in shape.matrices) and (plan.lora_dropout or plan.dora):
        found.append(
            "From PEFT 0.20 on all-linear takes in stacked experts, on which dropout and DoRA are refused."
        )
    return tuple(found)


def spoken(field: str) -> str:
    """The name of a field in a sentence."""
    return field.replace("_", " ")


def _check_count(field: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST:
        said = f"{spoken(field)} {_shown(count)} is no number of anything"
        raise PlanInvalid(said, "a whole number from 1 on")


def _shown(value: object) -> str:
    """A number as people write it: floats that count nothing by their name."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else repr(value)
