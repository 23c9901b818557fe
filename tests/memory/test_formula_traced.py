"""The formula tier beside traces of models that its coefficients were not derived from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory import formula, models
from doctor.memory.estimate import Device
from doctor.memory.formula_table import family, index
from doctor.memory.kernels import for_child
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.trace import estimate_of
from doctor.target import Target
from doctor.tracing.run import traced

DOCUMENT = Path(__file__).parents[2] / "docs" / "memory_formula.md"
SETTLED = {"kbit_upcast": False, "fused_loss": False, "adapter_dtype": "float32", "reentrant": False}
PLANS = (
    Plan(method="lora", rank=24, batch_size=3, sequence_length=1280, gradient_checkpointing=False, **SETTLED),
    Plan(method="qlora", rank=48, batch_size=2, sequence_length=3072, loop="bare", **SETTLED),
    Plan(method="full", batch_size=5, sequence_length=640, **SETTLED),
    Plan(method="lora", rank=8, batch_size=1, sequence_length=2048, attention="eager", **SETTLED),
)


@pytest.fixture(scope="module")
def host() -> Iterator[LocalHost]:
    host = LocalHost()
    host.env = {**host.env, "OMP_NUM_THREADS": "1"}
    yield host
    host.close()


def shape(name: str) -> ModelShape:
    found = models.listed(name)
    assert found is not None
    return found


@pytest.mark.environments
@pytest.mark.parametrize("name", ["llama-3.2-3b", "qwen2-1.5b", "qwen3-4b"])
def test_a_trace_agrees(name: str, host: LocalHost, base_python: str) -> None:
    device = Device(compute_capability="8.9")
    streams = traced(host, Target(base_python, "a test"), shape(name), PLANS, for_child("8.9"))
    for plan, stream in zip(PLANS, streams, strict=True):
        assert not isinstance(stream, Gap), stream
        seen = estimate_of(stream, plan, device)
        guessed = formula.estimate(shape(name), plan, device)
        assert guessed.peak_allocated_bytes == pytest.approx(seen.peak_allocated_bytes, rel=0.01)
        assert guessed.trainable_parameters == seen.trainable_parameters
        assert guessed.moment.phase == seen.moment.phase


def test_the_document_has_each_familys_error() -> None:
    text = DOCUMENT.read_text()
    for name in {*index().values()}:
        known = family(name)
        row = rf"\| {name} \| [^|]* \| {known.plans} \| {known.median:.2%} \| {known.error:.1%} \|"
        assert re.search(row, text), row
