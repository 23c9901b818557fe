"""The estimators of one target: what they need, and that a fault of one plan costs no other."""

from __future__ import annotations

import pytest

from doctor.estimating import Estimators
from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory import formula, models
from doctor.memory.estimate import Device, Estimate
from doctor.memory.plan import Plan

STACK = {"torch": "2.13.0", "transformers": "5.24.0", "peft": "0.21.2", "bitsandbytes": "0.50.2"}


def estimators(versions: dict[str, str]) -> Estimators:
    return Estimators(LocalHost(), None, versions)


@pytest.mark.parametrize(
    ("missing", "method", "lacking"),
    [
        ((), "qlora", ()),
        (("bitsandbytes",), "lora", ()),
        (("bitsandbytes",), "qlora", ("bitsandbytes",)),
        (("peft", "bitsandbytes"), "full", ()),
        (("peft",), "lora", ("peft",)),
        (("torch", "transformers"), "full", ("torch", "transformers")),
    ],
)
def test_what_a_trace_needs(missing: tuple[str, ...], method: str, lacking: tuple[str, ...]) -> None:
    versions = {name: version for name, version in STACK.items() if name not in missing}
    assert estimators(versions).lacks(Plan(method=method)) == lacking  # type: ignore[arg-type]


def test_a_plan_is_settled_by_the_versions_of_the_target() -> None:
    shape = models.listed("llama-2-7b")
    assert shape is not None
    assert estimators({**STACK, "trl": "1.16.0"}).settled(Plan(loop="sft"), shape).fused_loss is True
    assert estimators({**STACK, "trl": "1.3.0"}).settled(Plan(loop="sft"), shape).fused_loss is False


def test_a_plan_that_cannot_be_costs_no_other() -> None:
    shape = models.listed("llama-2-7b")
    assert shape is not None
    plans = [Plan(target_modules=("no_such_layer",)), Plan()]
    bad, good = estimators(STACK).formula(shape, plans, Device())
    assert isinstance(bad, Gap) and bad.about == "plan" and isinstance(good, Estimate)


def test_a_fault_of_ours_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*asked: object) -> Estimate:
        raise KeyError("a fault")

    shape = models.listed("llama-2-7b")
    assert shape is not None
    monkeypatch.setattr(formula, "estimate", raises)
    [gap] = estimators(STACK).formula(shape, [Plan()], Device())
    assert isinstance(gap, Gap) and gap.kind == "failed" and "KeyError" in gap.reason


def test_experts_are_quantised_where_transformers_keeps_them_apart() -> None:
    shape = models.listed("mixtral-8x7b")
    assert shape is not None
    plan = Plan(method="qlora", target_modules=("q_proj", "v_proj"), kbit_upcast=False)
    weights = []
    for version in ("4.57.0", "5.24.0"):
        (estimate,) = estimators({**STACK, "transformers": version}).formula(shape, [plan], Device())
        assert isinstance(estimate, Estimate)
        weights.append(estimate.parts["weights"].amount_bytes)
    experts = 32 * 8 * 3 * 4096 * 14336  # layers, experts, matrices of one, their sides
    nf4 = 0.5 + 1 / 64 + 4 / (64 * 256)  # bytes of a weight, doubly quantised
    assert weights[1] - weights[0] == pytest.approx(experts * (2 - nf4), rel=0.01)
