"""Real traces in a real target: few layers stand for all of them, and the bill is what CUDA would take."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory.estimate import Device
from doctor.memory.kernels import for_child
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.stream import Stream
from doctor.memory.trace import estimate_of
from doctor.target import Target
from doctor.tracing.run import few_layers, traced

pytestmark = pytest.mark.environments

LAYERS = 7
T4, A100 = Device(compute_capability="7.5"), Device(compute_capability="8.0")
KERNELS = for_child("8.0")
LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 4000,
    "max_position_embeddings": 4096,
}
PLAN = Plan(
    method="lora",
    rank=8,
    lora_dropout=0.0,
    batch_size=2,
    sequence_length=512,
    kbit_upcast=False,
    fused_loss=False,
    loop="bare",
    reentrant=False,
    adapter_dtype="float32",
)
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
GEMMA = {**LLAMA, "model_type": "gemma2", "num_hidden_layers": 9, "head_dim": 32}
DEEPSEEK = {
    **LLAMA,
    "model_type": "deepseek_v3",
    "num_key_value_heads": 8,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 128,
    "first_k_dense_replace": 2,
    "q_lora_rank": 64,
    "kv_lora_rank": 64,
}


def changed(**fields: Any) -> Plan:
    import msgspec

    return msgspec.structs.replace(PLAN, **fields)


KINDS = {
    "lora": PLAN,
    "no checkpoints": changed(gradient_checkpointing=False),
    "dropout under autocast": changed(loop="trainer", lora_dropout=0.1),
    "qlora, upcast": changed(method="qlora", kbit_upcast=True, dtype="float16"),
    "qlora, single quantisation": changed(method="qlora", double_quant=False),
    "sft": changed(method="qlora", loop="sft", fused_loss=True, adapter_dtype="bfloat16"),
    "eager": changed(attention="eager"),
    "padded": changed(padded=True),
    "reentrant": changed(reentrant=True),
    "full": changed(method="full", optimizer="adamw_8bit"),
    "accumulated": changed(method="full", accumulation=4),
    "dora": changed(dora=True),
}


def shape_of(config: dict[str, Any]) -> ModelShape:
    return ModelShape(
        name="tiny",
        config=config,
        source="config",
        layers=config["num_hidden_layers"],
        hidden=256,
        heads=8,
        kv_heads=2,
        head_dim=32,
        intermediate=688,
        vocab=4000,
    )


def streams(
    python: str, config: dict[str, Any], *plans: Plan, device: Device = A100, **how: Any
) -> list[Stream]:
    target, kernels = Target(python, "--python"), for_child(device.compute_capability)
    found = list(traced(LocalHost(), target, shape_of(config), plans, kernels, **how))
    assert not [one for one in found if isinstance(one, Gap)], found
    return [one for one in found if isinstance(one, Stream)]


@pytest.mark.parametrize(
    "config", [LLAMA, MIXTRAL, DEEPSEEK, GEMMA], ids=lambda config: str(config["model_type"])
)
def test_few_layers_stand_for_all_of_them(base_python: str, config: dict[str, Any]) -> None:
    plans = list(KINDS.values()) if config is LLAMA else [PLAN, changed(method="qlora", loop="trainer")]
    few = streams(base_python, config, *plans)
    whole = streams(base_python, config, *plans, whole=True)
    assert {one.traced_layers for one in few} == {few_layers(shape_of(config))}
    assert {one.traced_layers for one in whole} == {config["num_hidden_layers"]}
    for plan, short, long in zip(plans, few, whole, strict=True):
        predicted, seen = estimate_of(short, plan, A100), estimate_of(long, plan, A100)
        assert predicted.peak_allocated_bytes == seen.peak_allocated_bytes, plan
        assert predicted.peak_reserved_bytes == seen.peak_reserved_bytes, plan
        assert predicted.phases == seen.phases
        assert predicted.trainable_parameters == seen.trainable_parameters
        assert predicted.total_parameters == seen.total_parameters


def sizes(stream: Stream, operation: str) -> Counter[int]:
    """How often an operation made a storage of a size."""
    index = stream.operations.index(operation)
    return Counter(birth.size_bytes for birth in stream.births if birth.operation == index)


def test_attention_makes_no_square_matrix_unless_it_is_eager(base_python: str) -> None:
    fused, eager = streams(base_python, LLAMA, PLAN, changed(attention="eager"))
    square = 2 * 8 * 512 * 512 * 2  # sequences, heads, tokens squared, bytes of bfloat16
    assert square not in {birth.size_bytes for birth in fused.births}
    assert sizes(eager, "aten::bmm")[square]


def test_before_ampere_each_query_head_has_its_key(base_python: str) -> None:
    (packed,) = streams(base_python, LLAMA, PLAN)
    (expanded,) = streams(base_python, LLAMA, PLAN, device=T4)
    keys = 2 * 8 * 512 * 32 * 2  # sequences, query heads, tokens, width, bytes of bfloat16
    more = Counter(birth.size_bytes for birth in expanded.births)
    more.subtract(birth.size_bytes for birth in packed.births)
    # Keys and values, in forward and in its recomputation, of four layers in two steps.
    assert more[keys] >= 2 * 2 * 4 * 2


def test_dropout_keeps_one_byte_a_value(base_python: str) -> None:
    plain, dropped = streams(base_python, LLAMA, PLAN, changed(lora_dropout=0.1))
    masks = Counter(birth.size_bytes for birth in dropped.births)
    masks.subtract(birth.size_bytes for birth in plain.births)
    assert masks[2 * 512 * 256] > 0  # tokens times hidden size, bool


def test_the_fused_loss_makes_no_logits(base_python: str) -> None:
    fused, whole = streams(base_python, LLAMA, changed(fused_loss=True), PLAN)
    logits = 2 * 512 * 4000 * 2
    assert max(birth.size_bytes for birth in fused.births if birth.part == "logits") < 4 * logits
    assert (
        estimate_of(fused, PLAN, A100).peak_allocated_bytes
        < estimate_of(whole, PLAN, A100).peak_allocated_bytes
    )


def test_what_a_step_makes_for_itself_is_no_state(base_python: str) -> None:
    (stream,) = streams(base_python, LLAMA, changed(method="full", optimizer="adamw_torch"), whole=True)
    states = sum(birth.size_bytes for birth in stream.births if birth.part == "optimizer")
    # Two states of each parameter in the parameters' own bfloat16; the root of one of them comes and goes.
    assert states == 2 * 2 * stream.total_parameters


def test_trainer_keeps_the_states_of_embeddings_in_32_bits(base_python: str) -> None:
    ours = changed(method="full", optimizer="adamw_8bit")
    bare, trainer = streams(
        base_python, LLAMA, ours, changed(method="full", optimizer="adamw_8bit", loop="trainer")
    )
    moment = 4000 * 256 * 4  # words, hidden size, bytes of float32
    found = [
        sum(birth.part == "optimizer" and birth.size_bytes == moment for birth in one.births)
        for one in (bare, trainer)
    ]
    assert found == [0, 2]


def test_a_model_that_cannot_be_built_leaves_a_gap_and_the_next_is_traced(base_python: str) -> None:
    target = Target(base_python, "--python")
    wrong = changed(target_modules=("no_such_module",))
    found = list(traced(LocalHost(), target, shape_of(LLAMA), [wrong, PLAN], KERNELS))
    assert isinstance(found[0], Gap) and "no_such_module" in found[0].reason
    assert isinstance(found[1], Stream)


def test_an_architecture_that_transformers_does_not_know(base_python: str) -> None:
    config = {**LLAMA, "model_type": "no_such_model"}
    (found,) = traced(LocalHost(), Target(base_python, "--python"), shape_of(config), [PLAN], KERNELS)
    assert isinstance(found, Gap) and "no_such_model" in found.reason


def test_a_target_without_torch_says_so() -> None:
    import sys

    (found,) = traced(LocalHost(), Target(sys.executable, "--python"), shape_of(LLAMA), [PLAN], KERNELS)
    assert isinstance(found, Gap) and "torch" in found.reason


@pytest.mark.parametrize(
    ("config", "few"),
    [
        ({}, 4),
        ({"first_k_dense_replace": 3}, 7),
        ({"first_k_dense_replace": True}, 4),
        ({"layer_types": ["full", "full"]}, 4),
        ({"layer_types": ["sliding", "sliding", "full", "sliding", "sliding", "full"]}, 7),
        ({"text_config": {"sliding_window_pattern": 6}}, 10),
        ({"model_type": "gemma2"}, 6),
        ({"num_hidden_layers": 3}, 3),
    ],
)
def test_how_many_layers_show_all_that_repeats(config: dict[str, Any], few: int) -> None:
    assert few_layers(shape_of({"num_hidden_layers": 40, **config})) == few
