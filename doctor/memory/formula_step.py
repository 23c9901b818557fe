"""What an optimizer takes for the moment of its step, beside states and gradients."""

from __future__ import annotations

from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.statics import trained_tensors


def step_bytes(shape: ModelShape, plan: Plan) -> int:
    """Temporaries of one step.

    torch's AdamW works on all tensors at once and makes the root of the second moment for each of them
    (torch/optim/adamw.py, ``_multi_tensor_adamw``: exp_avg_sq_sqrt). Adafactor makes a float32 update of
    one tensor at a time, and its square (transformers/optimization.py). The others work in place.
    """
    tensors = list(trained_tensors(shape, plan))
    if plan.optimizer == "adamw_torch":
        return sum(tensor.times * tensor.elements * tensor.item_bytes for tensor in tensors)
    if plan.optimizer == "adafactor":
        return max(2 * 4 * tensor.elements for tensor in tensors)
    return 0
