"""Model states divided among GPUs, held against ZeRO's own formula and against each other."""

from __future__ import annotations

import pytest

from doctor.memory import models
from doctor.memory.estimate import PARTS, Estimate, Moment, Part
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.sharding import divided
from doctor.memory.statics import count

GIB = 1 << 30


def llama() -> ModelShape:
    found = models.listed("llama-3.1-8b")
    assert found is not None
    return found


def estimated(plan: Plan) -> Estimate:
    """Exact statics, 10 GiB of activations and 1 GiB of overhead, a quarter of that the context."""
    found = count(llama(), plan)
    amounts = dict.fromkeys(PARTS, 0) | {
        "weights": found.weights_bytes,
        "adapter": found.adapter_bytes,
        "gradients": found.gradients_bytes,
        "optimizer": found.optimizer_bytes,
        "activations": 10 * GIB,
        "overhead": GIB,
    }
    return Estimate(
        plan=plan,
        tier="trace",
        parts={name: Part(amount_bytes=size, source="exact") for name, size in amounts.items()},
        peak_allocated_bytes=sum(amounts.values()) - GIB,
        peak_reserved_bytes=sum(amounts.values()) - GIB // 4,
        context_bytes=GIB // 4,
        error=0.05,
        moment=Moment(phase="backward"),
        trainable_parameters=found.trainable_parameters,
        total_parameters=llama().parameters,
        phases={"forward": GIB},
    )


def amounts(estimate: Estimate) -> dict[str, int]:
    return {name: part.amount_bytes for name, part in estimate.parts.items()}


def test_one_gpu_by_itself_is_left_alone() -> None:
    estimate = estimated(Plan())
    assert divided(estimate, llama()) is estimate


@pytest.mark.parametrize("sharding", ["zero2", "zero3", "fsdp"])
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
@pytest.mark.parametrize("offload", ["none", "optimizer", "parameters"])
def test_the_parts_still_add_up_and_no_share_grows(sharding: str, method: str, offload: str) -> None:
    before = estimated(Plan(method=method, gpus=8, sharding=sharding, offload=offload))  # type: ignore[arg-type]
    after = divided(before, llama())
    assert sum(amounts(after).values()) == after.peak_bytes
    assert after.parts["activations"] == before.parts["activations"]
    for name in ("weights", "adapter", "gradients"):
        assert amounts(after)[name] <= amounts(before)[name]
    assert after.phases == {} and after.peak_bytes < before.peak_bytes


def test_zero_divides_as_its_paper_says() -> None:
    parameters, ways = llama().parameters, 8
    two = amounts(divided(estimated(Plan(method="full", gpus=ways, sharding="zero2")), llama()))
    states = two["weights"] + two["gradients"] + two["optimizer"]
    assert states == pytest.approx(2 * parameters + (2 + 12) * parameters / ways)
    three = amounts(divided(estimated(Plan(method="full", gpus=ways, sharding="zero3")), llama()))
    assert three["gradients"] + three["optimizer"] == pytest.approx((2 + 12) * parameters / ways)
    largest = 2 * 128256 * 4096  # the embedding, gathered as a whole
    assert 2 * parameters / ways < three["weights"] <= 2 * parameters / ways + 1.01 * largest


def test_data_parallelism_divides_nothing() -> None:
    before = estimated(Plan(gpus=4))
    after = divided(before, llama())
    assert {**amounts(after), "overhead": 0} == {**amounts(before), "overhead": 0}
    assert amounts(after)["overhead"] - GIB == amounts(before)["gradients"]
    assert any("divides nothing" in note for note in after.notes)


def test_scales_of_nf4_stay_whole_on_every_gpu() -> None:
    after = divided(estimated(Plan(gpus=1000, sharding="fsdp", kbit_upcast=False)), llama())
    scales = sum(m.rows * m.columns * m.count for m in llama().matrices if m.is_linear) / 64
    assert amounts(after)["weights"] > scales
    assert any("bnb_4bit_quant_storage" in note for note in after.notes)


def test_offloading_leaves_no_states() -> None:
    after = divided(estimated(Plan(method="full", sharding="zero3", offload="parameters")), llama())
    assert amounts(after)["optimizer"] == amounts(after)["gradients"] == 0
    assert amounts(after)["weights"] < 2 * llama().parameters / 4


def test_weights_do_not_leave_without_being_divided() -> None:
    after = divided(estimated(Plan(sharding="zero2", offload="parameters")), llama())
    assert any("leave the GPU only under ZeRO-3 or FSDP" in note for note in after.notes)
