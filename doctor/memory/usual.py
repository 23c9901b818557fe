"""The plan that a stack is used with where nobody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doctor.matrix.gpus import has_feature
from doctor.memory.estimate import Device
from doctor.memory.plan import Dtype, Method, Plan
from doctor.memory.shapes import ModelShape


def usual_plan(versions: Mapping[str, str], device: Device, method: Method | None) -> Plan:
    """SFTTrainer where trl is installed; where the GPU has no bfloat16 half precision, of all weights full.

    ``method`` is the one that is asked for: a gradient scaler refuses gradients in float16.
    """
    capability = device.compute_capability
    has_bfloat16 = not capability or has_feature(capability, "bfloat16")
    instead: Dtype = "float32" if method == "full" else "float16"
    return Plan(
        method=method or Plan().method,
        loop="sft" if "trl" in versions else "trainer",
        dtype="bfloat16" if has_bfloat16 else instead,
    )


def without_refused_dropout(plan: Plan, shape: ModelShape) -> Plan:
    """The plan without dropout where PEFT refuses it: on adapters of stacked experts, from PEFT 0.20 on."""
    stacked = any(matrix.fused for matrix in shape.matrices) and plan.target_modules == ("all-linear",)
    changed: Plan = msgspec.structs.replace(plan, lora_dropout=0.0) if stacked else plan
    return changed
