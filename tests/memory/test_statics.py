"""Statics of Llama-2-7B and of small models, with figures worked out by hand or published."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.memory import models
from doctor.memory.optimizers import Trained, states
from doctor.memory.plan import Plan
from doctor.memory.shapes import Matrix, ModelShape
from doctor.memory.statics import count, nf4_bytes
from doctor.memory.targets import adapted, recipe
from doctor.memory.validity import PlanInvalid

LINEAR, OTHER = 6_476_005_376, 262_410_240  # elements of Llama-2-7B's linear layers, and of all else
ATTENTION, MLP = 2 * 4096, 4096 + 11008  # in plus out of one matrix


def llama() -> ModelShape:
    found = models.listed("llama-2-7b")
    assert found is not None
    return found


def mixtral() -> ModelShape:
    found = models.listed("mixtral-8x7b")
    assert found is not None
    return found


@pytest.mark.parametrize("rank", [8, 16, 64])
def test_all_linear_adds_rank_times_in_plus_out(rank: int) -> None:
    found = count(llama(), Plan(rank=rank))
    assert found.trainable_parameters == rank * 32 * (
        4 * ATTENTION + 3 * MLP
    )  # r 8: 19,988,480 of the articles
    assert found.adapter_bytes == found.gradients_bytes == 4 * found.trainable_parameters
    assert found.optimizer_bytes == 8 * found.trainable_parameters


def test_peft_takes_queries_and_values_of_llama_by_itself() -> None:
    own = count(llama(), Plan(rank=8, target_modules=()))
    assert own.trainable_parameters == 4_194_304  # as PEFT prints it for Llama-2-7B
    assert own == count(llama(), Plan(rank=8, target_modules=("q_proj", "v_proj")))


def test_peft_has_no_choice_of_its_own_for_every_model() -> None:
    glm = models.listed("glm-4-9b")
    assert glm is not None
    with pytest.raises(PlanInvalid, match="no target modules of its own for glm"):
        count(glm, Plan(target_modules=()))


def test_weights_in_nf4() -> None:
    blocks = LINEAR // 64
    plain = count(llama(), Plan(double_quant=False)).weights_bytes
    assert plain == LINEAR // 2 + 4 * blocks + 224 * 64 + 2 * OTHER
    double = count(llama(), Plan(double_quant=True)).weights_bytes
    assert double == LINEAR // 2 + blocks + 4 * blocks // 256 + 224 * (64 + 4 + 1024) + 2 * OTHER
    upcast = count(llama(), Plan(double_quant=True, kbit_upcast=True)).weights_bytes
    assert upcast == double + 2 * OTHER


def test_a_last_block_may_be_short() -> None:
    odd = Matrix(name="x", rows=5, columns=13)  # 65 elements: two blocks
    assert nf4_bytes(odd, double_quant=False) == 33 + 2 * 4 + 64


def test_full_tuning_trains_all() -> None:
    found = count(llama(), Plan(method="full", optimizer="adamw_torch"))
    assert found.trainable_parameters == 6_738_415_616
    assert found.weights_bytes == found.gradients_bytes == 2 * 6_738_415_616
    assert found.optimizer_bytes == 4 * 6_738_415_616 and found.adapter_bytes == 0


def test_experts_stay_in_16_bits_and_are_paid_for() -> None:
    found = count(mixtral(), Plan())
    experts = 32 * 8 * 3 * 4096 * 14336
    assert found.quantised_parameters == 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096)
    assert found.weights_bytes > 2 * experts


def test_names_of_experts_are_carried_over() -> None:
    ranks = {item.matrix.name: (item.rank, item.times) for item in adapted(mixtral(), recipe(Plan(rank=4)))}
    assert (
        ranks["gate_up_proj"] == (8, 32 * 8)
        and ranks["down_proj"] == (4, 32 * 8)
        and ranks["gate"] == (4, 32)
    )
    with pytest.raises(PlanInvalid, match="together or not at all"):
        count(mixtral(), Plan(target_modules=("w1",)))
    with pytest.raises(PlanInvalid, match="no DoRA for stacked experts"):
        count(mixtral(), Plan(dora=True))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"target_modules": ("nope",)}, "has no module called nope"),
        ({"adapter": {"peft_type": "IA3"}}, "an adapter of the kind IA3 is not counted"),
        ({"adapter": {"r": -1}}, "the adapter's rank is -1"),
        ({"adapter": {"r": 8, "target_modules": "(("}}, "is no pattern"),
        ({"adapter": {"r": "8"}}, "the adapter's rank is 8"),
    ],
)
def test_adapters_that_cannot_be_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanInvalid, match=message):
        count(llama(), Plan(method="lora", **how))


def test_an_adapter_config_replaces_the_plans_own_words() -> None:
    config = {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"], "layers_to_transform": [0, 1]}
    found = count(llama(), Plan(rank=64, adapter=config))
    assert found.trainable_parameters == 2 * 8 * ATTENTION


def test_saved_modules_are_trained_beside_their_frozen_selves() -> None:
    without, with_head = count(llama(), Plan()), count(llama(), Plan(modules_to_save=("lm_head",)))
    head = 32000 * 4096
    assert with_head.trainable_parameters - without.trainable_parameters == head
    assert with_head.adapter_bytes - without.adapter_bytes == 2 * head
    assert with_head.weights_bytes == without.weights_bytes


@pytest.mark.parametrize(
    ("optimizer", "wanted"),
    [
        ("adamw_torch", 4 * 65536),  # two of the parameter's own 16 bits
        ("adamw_torch_fused", 4 * 65536 + 4),
        ("paged_adamw_32bit", 8 * 65536),
        ("adamw_8bit", 2 * (65536 + 4 * 256)),
        ("lion_8bit", 65536 + 4 * 256),
        ("lion_32bit", 4 * 65536),
        ("adafactor", 4 * (4096 + 16) + 4),
        ("sgd", 0),
    ],
)
def test_states_of_one_tensor(optimizer: str, wanted: int) -> None:
    assert states(optimizer, Trained((16, 4096), 1, 2), trainer=True).total_bytes == wanted


def test_small_tensors_keep_32_bits_and_are_not_paged() -> None:
    assert states("adamw_8bit", Trained((4095,), 1, 2), trainer=True).total_bytes == 8 * 4095
    assert states("paged_adamw_8bit", Trained((99_999,), 1, 2), trainer=True).paged_bytes == 0
    assert states("paged_adamw_8bit", Trained((100_000,), 1, 2), trainer=True).paged_bytes == 200_000


def test_the_trainer_keeps_states_of_embeddings_in_32_bits() -> None:
    embedding = Trained((100, 100), 1, 2, embedding=True)
    assert states("adamw_8bit", embedding, trainer=True).total_bytes == 80_000
    assert states("adamw_8bit", embedding, trainer=False).total_bytes == 2 * (10_000 + 4 * 40)
