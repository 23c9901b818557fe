"""A model, plans and a bill that a reader can do in the head: what the estimators are stood in for by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.facts import Gap
from doctor.memory.estimate import Device, Estimate, Moment, Part
from doctor.memory.plan import Plan
from doctor.memory.shapes import Matrix, ModelShape

GIB = 1 << 30

SHAPE = ModelShape(
    name="example/seven-billion",
    config={"model_type": "llama", "max_position_embeddings": 4096},
    source="list",
    model_type="llama",
    layers=32,
    hidden=4096,
    heads=32,
    kv_heads=32,
    head_dim=128,
    intermediate=11008,
    vocab=32000,
    matrices=(
        Matrix(name="q_proj", rows=4096, columns=4096, count=32),
        Matrix(name="v_proj", rows=4096, columns=4096, count=32),
    ),
)
WEIGHTS_GIB = {"full": 14, "lora": 14, "qlora": 4}


def estimate(plan: Plan, *, error: float = 0.05, tier: str = "trace") -> Estimate:
    """Weights 14 GiB or 4 in NF4; logits 1 GiB for 1024 tokens unless fused; the rest small and round."""
    amounts = {
        "weights": WEIGHTS_GIB[plan.method] * GIB + (GIB if plan.kbit_upcast else 0),
        "adapter": plan.rank * GIB // 128 if plan.method != "full" else 0,
        "optimizer": (14 * GIB if plan.method == "full" else GIB // 8)
        // (4 if "8bit" in plan.optimizer else 1),
        "activations": plan.tokens * GIB // (8192 if plan.gradient_checkpointing else 1024),
        "logits": 0 if plan.fused_loss else plan.tokens * GIB // 1024,
        "overhead": GIB // (4 if plan.expandable_segments else 2),
    }
    peak = sum(amounts.values())
    context = GIB // 4
    return Estimate(
        plan=plan,
        tier=tier,  # type: ignore[arg-type]
        parts={name: Part(amount_bytes=size, source="assumed") for name, size in amounts.items()},
        peak_allocated_bytes=peak - amounts["overhead"],
        peak_reserved_bytes=peak - context,
        context_bytes=context,
        error=error,
        moment=Moment(phase="backward", operation="aten._log_softmax_backward_data", module="loss"),
        trainable_parameters=40_000_000,
        total_parameters=6_738_415_616,
        phases={"forward": peak - 2 * GIB, "backward": peak - amounts["overhead"]},
    )


class Billing:
    """An estimator that counts how often it is called, and for how many plans."""

    def __init__(self, tier: str = "trace", refuses: str = "") -> None:
        self.tier, self.refuses = tier, refuses
        self.calls: list[int] = []

    def __call__(self, shape: ModelShape, plans: Sequence[Plan], device: Device) -> Iterator[Estimate | Gap]:
        self.calls.append(len(plans))
        for plan in plans:
            if plan.optimizer == self.refuses:
                yield Gap(about="memory", kind="failed", reason=f"{plan.optimizer} cannot be traced")
            else:
                yield estimate(plan, tier=self.tier)


def device(free_gib: float | None, **fields: object) -> Device:
    """A device with so much free."""
    free = None if free_gib is None else int(free_gib * GIB)
    return Device(**{"name": "RTX 3060", "total_bytes": free, "free_bytes": free, **fields})  # type: ignore[arg-type]
