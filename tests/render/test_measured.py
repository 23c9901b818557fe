"""Measurements and searches as they are told: every outcome in words, foreign text made harmless."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doctor.memory.bisection import Found, Trial
from doctor.memory.measured import Difference, Measured, Measurement, Phase
from doctor.memory.plan import Plan
from doctor.render import bisected, measured
from doctor.render.layout import Layout

GIB, MIB = 1 << 30, 1 << 20
PHASES = {
    "load": Phase(allocated_bytes=4 * GIB, alive_bytes=4 * GIB, reserved_bytes=4 * GIB),
    "backward": Phase(
        allocated_bytes=6 * GIB, alive_bytes=4 * GIB, reserved_bytes=7 * GIB, saved_bytes=50 * MIB
    ),
}


def told(differences: tuple[Difference, ...] = (), **how: Any) -> Measured:
    usual = {
        "plan": Plan(),
        "kind": "cuda",
        "device": "NVIDIA T4",
        "outcome": "ok",
        "phases": PHASES,
        "random": ("weights", "tokens"),
        "seconds": 31.4,
    }
    return Measured(measurement=Measurement(**{**usual, **how}), differences=differences)


def lines(section: Measured) -> list[str]:
    return list(measured.terminal(section, Layout()))


def test_measured_stands_beside_predicted() -> None:
    section = told(
        (
            Difference(name="load", measured=4 * GIB, predicted=4 * GIB),
            Difference(name="trainable parameters", measured=40_370_176, predicted=40_370_176),
            Difference(name="allocated", measured=6 * GIB, predicted=int(5.7 * GIB)),
        )
    )
    text = lines(section)
    assert text[1] == "Two steps on NVIDIA T4 with random weights and tokens: measured in 31 s"
    rows = [" ".join(line.split()) for line in text]
    assert "load 4.00 GiB 4.00 GiB +0.0%" in rows
    assert "trainable parameters 40,370,176 40,370,176 +0.0%" in rows
    assert "allocated 6.00 GiB 5.70 GiB -5.0%" in rows
    assert "backward 6.00 GiB" in rows  # no tier predicts it here
    assert "saved for backward 50.0 MiB" in rows
    assert "| allocated | 6.00 GiB | 5.70 GiB | -5.0% |" in "\n".join(measured.markdown(section))


@pytest.mark.parametrize(
    ("how", "head"),
    [
        (
            {"outcome": "out-of-memory", "died_in": "backward", "step": 1},
            "ran out of memory in the backward pass of step 1",
        ),
        ({"outcome": "out-of-memory", "died_in": "load"}, "ran out of memory while the model is loaded"),
        ({"outcome": "failed", "died_in": ""}, "failed"),
        (
            {"outcome": "hung", "died_in": "forward", "step": 2},
            "did not end in time in the forward pass of step 2",
        ),
    ],
)
def test_an_end_before_the_end_says_where(how: dict[str, Any], head: str) -> None:
    assert lines(told(**how))[1].endswith(f": {head}")


def test_a_reason_from_outside_is_harmless() -> None:
    section = told(outcome="failed", reason="\x1b[31mno\x1b[0m | `such` module", frames=("a.py:1 in f",))
    assert "\x1b" not in "\n".join(lines(section))
    assert "  It was raised at a.py:1 in f." in lines(section)
    assert "\x1b" not in "".join(measured.markdown(section))


def test_on_the_cpu_it_says_what_is_what() -> None:
    text = "\n".join(lines(told(kind="cpu", device="cpu", context_bytes=400 * MIB)))
    assert "Two steps on the CPU" in text and measured.ON_CPU in text
    assert "resident beyond libraries" in text and "libraries" in text


FOUND = Found(
    length=4992,
    batch_size=2,
    batch_length=2048,
    trials=(
        Trial(batch_size=1, sequence_length=1024, outcome="ok", peak_bytes=GIB, seconds=9.6),
        Trial(batch_size=1, sequence_length=8192, outcome="out-of-memory", seconds=7.0),
    ),
)


def test_trials_are_told_one_a_line() -> None:
    assert [bisected.trial_line(trial) for trial in FOUND.trials] == [
        "1 x 1024 tokens: runs, peak 1.00 GiB (10 s)",
        "1 x 8192 tokens: out of memory (7 s)",
    ]


def test_what_was_found() -> None:
    assert list(bisected.terminal(FOUND, Layout())) == [
        "Largest length at batch 1: 4992 tokens.",
        "Largest batch at 2048 tokens: 2.",
    ]
    assert json.loads(bisected.json(FOUND)) == json.loads(bisected.json_line(FOUND))
    document = json.loads(bisected.json_line(FOUND))
    assert (document["schema"], document["length"], len(document["trials"])) == (1, 4992, 2)
    assert "| 1 | 8192 | out of memory |" in bisected.markdown(FOUND)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Found(), "Nothing runs"),
        (Found(length=64, ended="interrupted"), "more may run"),
        (Found(ended="failed", reason="ValueError: no"), "ValueError: no"),
    ],
)
def test_an_end_without_the_whole_answer(found: Found, words: str) -> None:
    assert words in "\n".join(bisected.terminal(found, Layout()))


def test_leftovers_are_told_first() -> None:
    line = bisected.others_line({"python (pid 4711)": 3 * GIB})
    assert "python (pid 4711) 3.00 GiB" in line and "End what is left over first" in line
