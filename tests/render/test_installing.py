"""What is told of the making of an environment."""

from __future__ import annotations

import json

import msgspec
import pytest

from doctor.facts import Reading
from doctor.findings import Report
from doctor.render import installing
from doctor.render.installing import Installation, Problem, is_proven
from doctor.resolution import Resolution
from render.machines import broken_pair, healthy_cpu


def told(state: str, **fields: object) -> Installation:
    return Installation(tool_version="1", folder="/home/me/.venv", state=state, **fields)  # type: ignore[arg-type]


def test_a_problem_is_what_is_wrong_what_was_seen_and_what_to_run() -> None:
    problem = Problem(
        why="it is full", seen="0 free", advice="elsewhere", command=("lora-doctor", "install", "a b")
    )
    assert installing.render(told("refused", problem=problem)) == (
        "lora-doctor: it is full\n  seen  0 free\n  next  elsewhere\n        lora-doctor install 'a b'\n"
    )


def test_a_plan_is_lines_for_the_shell() -> None:
    commands = (("python", "-m", "venv", "a b"), ("pip", "install", "peft>=0.18"))
    assert installing.render(told("planned", commands=commands)) == (
        "python -m venv 'a b'\npip install 'peft>=0.18'\n"
    )


def test_no_set_is_told_as_resolve_tells_it() -> None:
    none = Resolution(python="3.11", because=("they clash",), machine="a machine")
    assert "they clash" in installing.render(told("no-set", set=none))


@pytest.mark.parametrize(
    ("proof", "words"), [(healthy_cpu(), "is complete and proven"), (broken_pair(), "and not proven")]
)
def test_the_end_says_whether_it_is_proven(proof: Report, words: str) -> None:
    text = installing.render(told("made", proof=proof), proof_is_told=True)
    assert words in text and text.endswith("  source /home/me/.venv/bin/activate\n")
    assert len(text.splitlines()) == 3
    assert len(installing.render(told("made", proof=proof)).splitlines()) > 10


def test_what_was_only_read_is_to_be_proven_elsewhere() -> None:
    facts = msgspec.structs.replace(healthy_cpu().facts, trial=None, reading=Reading(runs=()))
    proof = msgspec.structs.replace(healthy_cpu(), facts=facts)
    text = installing.render(told("made", proof=proof), proof_is_told=True)
    assert "read rather than run" in text and "lora-doctor check --python /home/me/.venv" in text


def test_nothing_is_proven_without_a_trial() -> None:
    assert is_proven(healthy_cpu())
    facts = msgspec.structs.replace(healthy_cpu().facts, trial=None)
    assert not is_proven(msgspec.structs.replace(healthy_cpu(), facts=facts))


def test_windows_has_its_own_way_in() -> None:
    text = installing.render(told("made", proof=healthy_cpu()), proof_is_told=True, windows=True)
    assert "source" not in text and "Scripts" in text


def test_json_holds_the_proof() -> None:
    found = json.loads(installing.json(told("made", proof=broken_pair())))
    assert (found["schema"], found["state"], found["proof"]["verdict"]) == (1, "made", "broken")
