"""What a GPU must show of its memory, on answers that are good and on one fault in each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memory_claims
import pytest

MIB = 1 << 20


def difference(name: str, measured: int, predicted: int) -> dict[str, Any]:
    return {"name": name, "measured": measured, "predicted": predicted}


ANSWER: dict[str, Any] = {
    "measured": {
        "measurement": {"outcome": "ok", "kind": "cuda", "reason": "", "context_bytes": 400 * MIB},
        "differences": [
            difference("allocated", 1000, 1040),
            difference("reserved", 1000, 880),
            difference("weights", 10_000, 10_001),
            difference("trainable parameters", 12, 12),
        ],
    }
}
RUN: dict[str, Any] = {
    "run": {
        "exit_code": 0,
        "gpus": [{"peak_bytes": 900 * MIB}],
        "processes": [{"devices": [{"peak_allocated_bytes": 500 * MIB}]}],
    },
    "findings": [{"id": "memory/leak"}],
}


def broken(told: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    told = copy.deepcopy(told)
    change(told)
    return told


def not_held(claims: Any) -> list[str]:
    return [name for name, holds, _ in claims if not holds]


def test_good_answers_hold() -> None:
    assert not_held(memory_claims.of_fit(ANSWER)) == []
    assert not_held(memory_claims.of_watch(RUN, "memory/leak")) == []


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        (lambda t: t["measured"]["measurement"].update(outcome="out-of-memory"), "two steps ran on the GPU"),
        (lambda t: t["measured"]["measurement"].update(kind="cpu"), "two steps ran on the GPU"),
        (lambda t: t["measured"]["differences"][0].update(predicted=1060), "allocated as predicted"),
        (lambda t: t["measured"]["differences"][1].update(predicted=800), "reserved as predicted"),
        (lambda t: t["measured"]["differences"].pop(2), "weights as predicted"),
        (lambda t: t["measured"]["differences"][3].update(predicted=13), "trainable parameters as predicted"),
        (lambda t: t["measured"]["measurement"].update(context_bytes=None), "the context was seen"),
    ],
)
def test_a_fault_of_a_measurement_is_seen(change: Any, claim: str) -> None:
    assert not_held(memory_claims.of_fit(broken(ANSWER, change))) == [claim]


def test_an_answer_without_a_measurement_holds_nothing() -> None:
    assert len(not_held(memory_claims.of_fit({"measured": None}))) == 6


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        (lambda t: t["run"].update(exit_code=1), "the command ended well"),
        (lambda t: t["run"].update(processes=[]), "torch told of it"),
        (lambda t: t.update(findings=[]), "memory/leak was found"),
    ],
)
def test_a_fault_of_a_watched_run_is_seen(change: Any, claim: str) -> None:
    assert not_held(memory_claims.of_watch(broken(RUN, change), "memory/leak")) == [claim]


def test_the_exit_code_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(ANSWER))
    assert memory_claims.main("fit", str(path)) == 0
    path.write_text(json.dumps({"measured": None}))
    assert memory_claims.main("fit", str(path)) == 1
    assert "NO   allocated as predicted: not told" in capsys.readouterr().out
    assert memory_claims.main("nothing") == 2
