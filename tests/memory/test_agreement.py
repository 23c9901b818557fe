"""The trace's bill of tiny models beside what torch really allocates for them on the CPU, to the byte.

Where the two differ, each difference has its name and its size here. A release of transformers or PEFT that
changes the bill changes both sides; one that the trace fails to follow breaks these tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from doctor.host import LocalHost
from doctor.measuring.run import measure
from doctor.memory.estimate import Device
from doctor.memory.kernels import for_child
from doctor.memory.measured import Measurement
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.stream import Stream
from doctor.target import Target
from doctor.tracing.run import traced

pytestmark = pytest.mark.environments

BATCH, LENGTH, HIDDEN, VOCAB, HEAD = 2, 64, 64, 512, 16
ARCHITECTURES = ("llama", "qwen2", "qwen3", "mistral", "gemma2", "phi3")
PLANS: Mapping[str, Mapping[str, Any]] = {
    "lora": {"method": "lora"},
    "full": {"method": "full"},
    "qlora": {"method": "qlora"},
    "checkpointed": {"method": "lora", "gradient_checkpointing": True},
}
# Every architecture with an adapter; the other plans on one of them, for the rest of the way is the same.
CASES = [(name, "lora") for name in ARCHITECTURES]
CASES += [("llama", plan) for plan in ("full", "qlora", "checkpointed")]


class Bill(NamedTuple):
    """Bytes that live where a phase ends, and the phase's peak; the highest of both steps."""

    alive: dict[str, int]
    peak: dict[str, int]


class Compared(NamedTuple):
    """Both sides of one model and plan."""

    stream: Stream
    trace: Bill
    real: Measurement
    plan: Plan

    @property
    def trained_tensors(self) -> int:
        """How many tensors the optimizer has a state for."""
        return sum(1 for birth in self.stream.births if birth.part == "optimizer") // 2


def shape_of(name: str) -> ModelShape:
    config = {
        "model_type": name,
        "hidden_size": HIDDEN,
        "intermediate_size": 160,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": HEAD,
        "vocab_size": VOCAB,
        "max_position_embeddings": 256,
        "sliding_window": 256,
        "pad_token_id": 0,
    }
    sizes = {"layers": 2, "hidden": HIDDEN, "heads": 4, "kv_heads": 2, "head_dim": HEAD}
    return ModelShape(
        name=name, config=config, source="config", model_type=name, intermediate=160, vocab=VOCAB, **sizes
    )


def plan_of(name: str) -> Plan:
    """In a bare loop, with the attention whose matrices both devices really make, and no dropout."""
    usual = {
        "rank": 4,
        "lora_dropout": 0.0,
        "batch_size": BATCH,
        "sequence_length": LENGTH,
        "attention": "eager",
        "loop": "bare",
        "gradient_checkpointing": False,
        "kbit_upcast": False,
        "fused_loss": False,
        "adapter_dtype": "float32",
        "reentrant": False,
    }
    return Plan(**{**usual, **PLANS[name]})


def bill_of(stream: Stream) -> Bill:
    """The stream played by the plain rule: met once a storage is born, met again it is gone."""
    assert stream.traced_layers == stream.layers  # nothing is repeated, so that nothing is computed here
    alive: set[int] = set()
    bill = Bill({}, {})
    ends: dict[tuple[str, int], int] = {}
    for segment in stream.segments:
        for birth in segment.events:
            alive ^= {birth}
            if stream.operations[stream.births[birth].operation].startswith("cublas"):
                alive.discard(birth)  # a workspace, which a GPU alone has
            total = sum(stream.births[one].size_bytes for one in alive)
            bill.peak[segment.phase] = max(bill.peak.get(segment.phase, 0), total)
        ends[segment.phase, segment.step] = sum(stream.births[one].size_bytes for one in alive)
    for (phase, _), total in ends.items():
        bill.alive[phase] = max(bill.alive.get(phase, 0), total)
    return bill


@pytest.fixture(scope="module")
def host() -> Iterator[LocalHost]:
    host = LocalHost()
    host.env = {**host.env, "OMP_NUM_THREADS": "1"}
    yield host
    host.close()


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def compared(request: pytest.FixtureRequest, host: LocalHost, base_python: str) -> Compared:
    name, kind = request.param
    target, shape, plan = Target(base_python, "a test"), shape_of(name), plan_of(kind)
    (stream,) = traced(host, target, shape, [plan], for_child("8.6"))
    assert isinstance(stream, Stream), stream
    real = measure(host, target, shape, plan, Device(kind="cpu", name="the CPU"))
    assert (real.outcome, real.reason) == ("ok", "")
    return Compared(stream, bill_of(stream), real, plan)


# What differs, by name.

NUMBERS = 8 * BATCH * LENGTH  # a batch of whole numbers, as input_ids, labels or a mask
LOGITS = 2 * BATCH * LENGTH * VOCAB  # in the type of the model
LOSS = 4
CODE = 4 * 256  # of 8-bit numbers, which bitsandbytes keeps for itself once it has quantised anything
HIDDEN_STATES = 4 * BATCH * LENGTH * HIDDEN  # in float32


def step_counters(compared: Compared) -> int:
    """AdamW counts its steps in a tensor each, on the CPU in either case: the trace leaves them out."""
    return 4 * compared.trained_tensors


def lasting(compared: Compared) -> int:
    """What the real side has more of all the time: a mask, counters, and what loading left."""
    return loaded(compared) + NUMBERS + step_counters(compared)


def loaded(compared: Compared) -> int:
    """What it has more of once the model is loaded."""
    return CODE if compared.plan.method == "qlora" else 0


def held_by_the_outputs(compared: Compared) -> int:
    """A script has the outputs of a step until the next one's are there; the trace drops them before."""
    return LOGITS + LOSS + (HIDDEN_STATES if compared.plan.gradient_checkpointing else 0)


def test_parameters_agree(compared: Compared) -> None:
    of_trace = {"weights": 0, "adapter": 0}
    for birth in compared.stream.births:
        if birth.part in of_trace:
            of_trace[birth.part] += birth.size_bytes
    assert of_trace["weights"] == compared.real.weights_bytes
    assert of_trace["adapter"] == compared.real.adapter_bytes
    assert compared.stream.trainable_parameters == compared.real.trainable_parameters
    assert compared.trace.alive["load"] + loaded(compared) == compared.real.phases["load"].alive_bytes


def test_what_is_kept_for_the_backward_agrees(compared: Compared) -> None:
    real = compared.real.phases["forward"]
    assert compared.trace.alive["forward"] + lasting(compared) == real.alive_bytes
    # Checkpoints are held past autograd's own hooks, so that what these see is less.
    assert real.saved_bytes is not None and real.saved_bytes <= real.alive_bytes


def test_the_peak_of_the_backward_agrees(compared: Compared) -> None:
    divided = LOSS  # the loss, divided by the number of micro-batches
    real = compared.real.phases["backward"].allocated_bytes
    assert compared.trace.peak["backward"] + lasting(compared) + divided == real


def test_what_is_left_of_a_step_agrees(compared: Compared) -> None:
    real = compared.real.phases
    batch = 2 * NUMBERS  # input_ids and labels, which a script's loop has until the next batch
    assert compared.trace.alive["backward"] + lasting(compared) + batch == real["backward"].alive_bytes
    left = lasting(compared) + batch + held_by_the_outputs(compared)
    assert compared.trace.alive["optimizer"] + left == real["optimizer"].alive_bytes


def test_the_peak_of_the_forward_agrees(compared: Compared) -> None:
    real = compared.real.phases["forward"].allocated_bytes
    assert compared.trace.peak["forward"] + lasting(compared) + held_by_the_outputs(compared) == real
