"""Laws of the formula tier, what a published model must weigh by hand, and agreement with traces."""

from __future__ import annotations

import json
from itertools import product
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.memory import formula, models
from doctor.memory.estimate import PARTS, Device, Estimate
from doctor.memory.formula_kinds import kind_of
from doctor.memory.formula_table import FOLDER, TERM, Letters, coefficients, family, index
from doctor.memory.plan import Attention, Dtype, Loop, Method, Plan
from doctor.memory.shapes import ModelShape

DEVICE = Device(compute_capability="8.6")
SETTLED = {"kbit_upcast": False, "fused_loss": False, "adapter_dtype": "float32", "reentrant": False}
METHODS, LOOPS = get_args(Method), get_args(Loop)
ATTENTIONS, DTYPES = get_args(Attention), get_args(Dtype)
NAMES = ("llama-2-7b", "qwen2.5-7b", "qwen3-8b", "gemma-2-9b", "phi-3-mini", "mixtral-8x7b")


def shape(name: str) -> ModelShape:
    found = models.listed(name)
    assert found is not None
    return found


def estimated(name: str, plan: Plan) -> Estimate:
    return formula.estimate(shape(name), plan, DEVICE)


def other(plan: Plan, **fields: Any) -> Plan:
    return msgspec.structs.replace(plan, **fields)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    method = draw(st.sampled_from(("lora", "qlora", "full")))
    return Plan(
        method=method,
        rank=draw(st.integers(1, 256)),
        lora_dropout=draw(st.sampled_from((0.0, 0.05))),
        batch_size=draw(st.integers(1, 16)),
        sequence_length=draw(st.sampled_from((256, 512, 1024, 2048, 4096))),
        gradient_checkpointing=draw(st.booleans()),
        attention=draw(st.sampled_from(("sdpa", "flash_attention_2", "eager"))),
        dtype=draw(st.sampled_from(("bfloat16", "float16"))),
        double_quant=draw(st.booleans()),
        loop=draw(st.sampled_from(("bare", "trainer", "sft"))),
        **{**SETTLED, "kbit_upcast": method == "qlora" and draw(st.booleans())},
    )


@given(st.sampled_from(NAMES), plans())
@settings(max_examples=60, deadline=None)
def test_parts_add_up(name: str, plan: Plan) -> None:
    found = estimated(name, plan)
    assert tuple(found.parts) == PARTS
    assert sum(part.amount_bytes for part in found.parts.values()) == found.peak_bytes
    assert all(part.amount_bytes >= 0 for part in found.parts.values())
    assert found.peak_allocated_bytes == max(found.phases.values())
    assert found.peak_reserved_bytes >= found.peak_allocated_bytes
    assert 0 < found.error < 1


@given(st.sampled_from(NAMES), plans(), st.sampled_from(("batch_size", "sequence_length", "rank")))
@settings(max_examples=60, deadline=None)
def test_more_never_takes_less(name: str, plan: Plan, field: str) -> None:
    more = other(plan, **{field: getattr(plan, field) * 2})
    assert estimated(name, more).peak_allocated_bytes >= estimated(name, plan).peak_allocated_bytes


@given(st.sampled_from(NAMES), plans())
@settings(max_examples=60, deadline=None)
def test_only_tokens_count_where_attention_has_no_matrix(name: str, plan: Plan) -> None:
    plan = other(plan, attention="sdpa", batch_size=2 * plan.batch_size)
    longer = other(plan, batch_size=plan.batch_size // 2, sequence_length=2 * plan.sequence_length)
    one, two = (estimated(name, each).peak_allocated_bytes for each in (plan, longer))
    if shape(name).model_type == "gemma2":  # caps its scores, which no fused kernel does
        assert two >= one
    else:
        assert two == pytest.approx(one, rel=2e-3)


@given(st.sampled_from(NAMES), plans())
@settings(max_examples=40, deadline=None)
def test_double_quantisation_takes_less_and_eager_attention_more(name: str, plan: Plan) -> None:
    quantised = other(plan, method="qlora", double_quant=False)
    assert (
        estimated(name, other(quantised, double_quant=True)).peak_allocated_bytes
        < estimated(name, quantised).peak_allocated_bytes
    )
    eager = estimated(name, other(plan, attention="eager")).peak_allocated_bytes
    assert eager >= estimated(name, other(plan, attention="sdpa")).peak_allocated_bytes


@given(st.sampled_from(NAMES), plans())
@settings(max_examples=40, deadline=None)
def test_accumulation_costs_the_gradients_once_and_nothing_more(name: str, plan: Plan) -> None:
    once, twice, often = (estimated(name, other(plan, accumulation=times)) for times in (1, 2, 16))
    assert twice.peak_allocated_bytes == often.peak_allocated_bytes
    further = twice.peak_allocated_bytes - once.peak_allocated_bytes
    assert 0 <= further <= twice.parts["gradients"].amount_bytes


@given(st.sampled_from(NAMES), plans())
@settings(max_examples=40, deadline=None)
def test_a_fused_loss_leaves_no_logits(name: str, plan: Plan) -> None:
    long = other(plan, sequence_length=4096, batch_size=4)
    whole, fused = (estimated(name, other(long, fused_loss=is_fused)) for is_fused in (False, True))
    assert fused.peak_allocated_bytes <= whole.peak_allocated_bytes
    tile = 4096 * 32768 * 4 + 4 * 4 * 4096 * shape(name).hidden
    assert fused.parts["logits"].amount_bytes <= tile


def test_llama_2_7b_in_16_bits_by_hand() -> None:
    """Weights 2 bytes each of 6,738,415,616; an adapter of rank 8 on all layers has 19,988,480."""
    found = estimated("llama-2-7b", Plan(method="lora", rank=8, batch_size=1, sequence_length=512, **SETTLED))
    assert found.parts["weights"].amount_bytes == 2 * 6_738_415_616
    assert found.parts["adapter"].amount_bytes == 4 * 19_988_480
    assert found.parts["optimizer"].amount_bytes == 8 * 19_988_480
    assert found.trainable_parameters == 19_988_480
    assert found.total_parameters == 6_738_415_616


def test_the_logits_of_a_bare_loop_by_hand() -> None:
    """In 16 bits, in float32, as log-softmax and as its gradient: 14 bytes for each logit."""
    plan = Plan(method="lora", loop="bare", batch_size=4, sequence_length=2048, lora_dropout=0.0, **SETTLED)
    found = estimated("qwen2.5-7b", plan)
    assert found.moment.operation == "aten::_log_softmax_backward_data"
    assert found.parts["logits"].amount_bytes == 14 * 4 * 2048 * 152_064


def test_checkpoints_of_a_bare_loop_by_hand() -> None:
    """A layer keeps what goes into it in 16 bits, and no more."""
    plan = Plan(method="full", loop="bare", batch_size=4, sequence_length=2048, **SETTLED)
    kind = kind_of(plan, frozenset(), expands_keys=False)
    loss = next(
        moment for moment in family("llama").kinds[kind.key] if moment.phase == "forward" and not moment.layer
    )
    assert loss.each == {"activations": "2th"}


@pytest.mark.parametrize("name", sorted({*index().values()}))
def test_the_tables_use_known_letters_and_parts(name: str) -> None:
    letters = set(Letters.__struct_fields__)
    for moments in family(name).kinds.values():
        for amounts in (amounts for moment in moments for amounts in (moment.once, moment.each)):
            assert set(amounts) <= set(PARTS)
            for text in amounts.values():
                assert "".join(TERM.sub("", text).split()) == ""
                assert {letter for _, term in TERM.findall(text) for letter in term} <= letters


def test_every_model_of_the_list_has_a_formula() -> None:
    for name in models.names():
        plan = Plan(target_modules=("all-linear",), lora_dropout=0.0, **SETTLED)
        found = estimated(name, plan)
        assert found.peak_bytes > found.parts["weights"].amount_bytes
        is_known = shape(name).model_type in index()
        assert is_known == (not any("no formula was derived" in note for note in found.notes)), name


@pytest.mark.parametrize("name", sorted({*index().values()}))
def test_every_plan_has_a_kind(name: str) -> None:
    """Of every family, whatever is asked of it."""
    model = next(
        found
        for found in map(models.listed, models.names())
        if found and found.model_type in index() and index()[found.model_type] == name
    )
    choices = (METHODS, LOOPS, ATTENTIONS, DTYPES, (0.0, 0.1), *4 * ((False, True),))
    for method, loop, attention, dtype, dropout, upcast, padded, dora, checkpointing in product(*choices):
        plan = Plan(
            method=method,
            loop=loop,
            attention=attention,
            dtype=dtype,
            lora_dropout=dropout,
            kbit_upcast=upcast,
            padded=padded,
            dora=dora,
            gradient_checkpointing=checkpointing,
            adapter_dtype=dtype,
        )
        for expands_keys in (False, True):
            kind = kind_of(plan, frozenset({"q_proj"}), expands_keys=expands_keys)
            assert coefficients(model, kind, is_traced_set=True).moments


def test_what_is_not_covered_is_said_and_widens_the_error() -> None:
    plain = Plan(method="lora", **SETTLED)
    covered, uncovered = (estimated("llama-3-8b", other(plain, dora=is_dora)) for is_dora in (False, True))
    assert not covered.notes
    assert any("DoRA" in note for note in uncovered.notes)
    assert uncovered.error > covered.error


def test_files_say_what_was_traced() -> None:
    for name in {*index().values()}:
        versions = json.loads((FOLDER / f"{name}.json").read_bytes())["versions"]
        assert {"torch", "transformers", "peft"} <= set(versions)
