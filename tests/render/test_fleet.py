"""How a comparison of nodes is told."""

from __future__ import annotations

import json
import re

import pytest
import write_schemas
from fleet_reports import HEALTHY, alike, compared, enveloped, finding, gpus, report, roll_of, with_driver
from healthy import but, packages
from jsonschema import Draft202012Validator

from doctor.findings import Evidence, Fix
from doctor.fleet.comparison import Comparison
from doctor.fleet.envelope import Speed
from doctor.fleet.judging import compare
from doctor.fleet.roll import Roll
from doctor.render import fleet_json, fleet_markdown, fleet_terminal, html
from doctor.render.fleet_words import headline, names

HOSTILE = "550\x1b]0;owned\x07\x1b[2J\u202e|`<script>alert(1)</script>\r\nnew line"


def terminal(told: Comparison, **style: object) -> str:
    return fleet_terminal.render(told, **style)  # type: ignore[arg-type]


def test_three_odd_nodes_are_named_with_what_they_have() -> None:
    nodes = {**alike(125), **{name: with_driver("535.104.05") for name in ("node217", "node244", "node301")}}
    text = terminal(compared({**nodes, "node302": report(finding("torch/cpu-only-build"))}))
    assert text.startswith("129 nodes: node217, node244, node301, node302 are odd\n")
    assert "[FAIL]  node217, node244, node301: driver: 535.104.05, others 580.95.05" in text
    assert "driver: 3 of 129: node217, node244, node301: 535.104.05, others 580.95.05" in text
    assert "\n126 of 129 differ in no value: node[001-125,302]\n" in text
    assert "torch/cpu-only-build: on 1 of 129: node302: something is wrong" in text
    assert text.endswith("Look closer, on node217: lora-doctor check\n")


def test_what_all_have_is_said_once() -> None:
    text = terminal(compared(alike(128, report(finding("torch/cpu-only-build")))))
    assert text.count("torch/cpu-only-build") == 2 and "on all 128 nodes: something is wrong" in text
    assert text.endswith("What it is and what cures it: lora-doctor explain torch/cpu-only-build\n")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (compared({}), "No node could be compared"),
        (compared(alike(1)), "1 node: there is nothing to compare it with"),
        (compared(alike(3)), "3 nodes, all alike"),
        (
            compared(alike(3), expect_count=5),
            "3 nodes of 5: those that were compared are alike, and not all could be",
        ),
        (
            compared({"a": report(), "b": with_driver("535.1")}),
            "2 nodes differ, and no majority says which are right",
        ),
        (
            compared({**alike(3), "k": report(system=but(HEALTHY.system, kernel="Linux 5.4"))}),
            "4 nodes, all alike but for what matters little",
        ),
        (compared({**alike(3), "b": with_driver("535.1")}), "4 nodes: b is odd"),
    ],
)
def test_the_answer_in_one_sentence(told: Comparison, said: str) -> None:
    assert headline(told) == said


def test_where_there_is_no_majority_both_sides_are_named() -> None:
    text = terminal(compared({"a": report(), "b": with_driver("535.1")}))
    assert "driver: no majority: 535.1 on b; 580.95.05 on a" in text and "Odd nodes" not in text


def test_kinds_are_told_with_what_they_have_not_in_common() -> None:
    a100 = report(gpus=gpus(1, name="NVIDIA A100"), driver=but(HEALTHY.driver, version="550.1"))
    text = terminal(compared({**alike(20), **alike(9, a100, start=50)}))
    assert "x86_64 with NVIDIA A100: 9 nodes: node[050-058]" in text
    assert "580.95.05 on x86_64 with NVIDIA GeForce RTX 4090; 550.1 on x86_64 with NVIDIA A100" in text


def test_rows_about_nodes_that_could_not_be_compared() -> None:
    roll = roll_of(alike(3))
    roll.add(enveloped("x", None, failure="no answer in 120 s"), "a stream", "")
    text = terminal(compare(roll, expected=tuple(alike(5))))
    assert "node004, node005: it has not reported" in text and "x: no answer in 120 s" in text


def test_what_ranks_found_out_together() -> None:
    lost = but(
        finding("fleet/rank-died", title="Rank 1 died"),
        evidence=(Evidence("rank 1", "killed by SIGSEGV"),),
        fixes=(Fix("look into its log"),),
    )
    told = compare(Roll(), collective=(lost,))
    assert "Rank 1 died" in terminal(told) and "rank 1: killed by SIGSEGV" in terminal(told)
    assert told.severity == "error"
    sums = but(lost, evidence=(Evidence("all-reduce on rank 1", "16", "6"),))
    assert "all-reduce on rank 1: 16, wanted 6" in terminal(compare(Roll(), collective=(sums,)))


def test_how_fast_ranks_talk_where_they_do() -> None:
    slow = Speed(bytes=16 << 20, seconds=0.0297, algorithm_bytes_per_s=565e6, bus_bytes_per_s=753e6)
    text = terminal(but(compare(Roll()), ranks=3, speeds=(slow,)))
    assert "3 ranks they talk with each other" in " ".join(text.split())
    assert "all-reduce of 16 MiB: 29.7 ms, bus bandwidth 0.75 GB/s" in text


def test_many_names_are_folded() -> None:
    assert names([f"n{number:02}" for number in range(1, 4)]) == "n01, n02, n03"
    assert names([f"n{number:02}" for number in range(1, 31)]) == "n[01-30]"


def test_topics_in_which_the_same_nodes_differ_are_told_together() -> None:
    other = report(packages=packages(**{f"package{number}": "1.0" for number in range(9)}))
    text = terminal(compared({**alike(3), "b": other}))
    assert "package5: 1 of 4: b: 1.0, others not installed" in text
    assert "3 more of b: package6, package7, package8" in text and "package6:" not in text


def test_long_sections_say_what_they_leave_out() -> None:
    packages = {f"node{number:03}": with_driver(f"535.{number}") for number in range(60)}
    text = terminal(compared({**alike(100, start=100), **packages}))
    assert "and 20 more; --format json has all of them" in text


@pytest.mark.parametrize("style", [{}, {"width": 60, "color": True, "unicode": True}, {"width": 30}])
def test_what_hostile_nodes_say_does_nothing(style: dict[str, object]) -> None:
    hostile = report(
        finding("torch/cpu-only-build", title=HOSTILE),
        driver=but(HEALTHY.driver, version=HOSTILE + "x" * 999),
        environment={HOSTILE: HOSTILE},
        packages=packages(**{HOSTILE: HOSTILE}),
    )
    roll = roll_of({**alike(3), HOSTILE: hostile})
    roll.add(enveloped(HOSTILE, None, failure=HOSTILE), HOSTILE, "")
    told = compare(roll, expected=(HOSTILE,))
    text = re.sub(r"\x1b\[[\d;]*m", "", terminal(told, **style))
    assert text.replace("\n", "").isprintable()
    data = fleet_json.render(told)
    assert "\\u001b" not in data and "\\u202e" not in data and "owned" not in text
    assert max(len(shared.value) for one in told.differences for shared in one.values) <= 300
    markdown = fleet_markdown.render(told)
    assert "<script" not in html.render(markdown) and "\x1b" not in markdown


def test_json_is_the_comparison() -> None:
    told = compared({**alike(3), "b": with_driver("535.1")})
    data = json.loads(fleet_json.render(told))
    assert json.loads(fleet_json.render_line(told)) == data and fleet_json.render_line(told).count("\n") == 1
    assert data["schema"] == 1 and data["odd"] == [
        {
            "node": "b",
            "severity": "error",
            "reasons": [
                {
                    "about": "driver",
                    "severity": "error",
                    "title": "driver",
                    "seen": "535.1",
                    "norm": "580.95.05",
                }
            ],
        }
    ]


def test_json_is_as_published() -> None:
    odd = report(finding("torch/cpu-only-build"), driver=but(HEALTHY.driver, version="535.1"))
    data = json.loads(fleet_json.render(compared({**alike(3), "b": odd}, expect_count=9)))
    assert list(Draft202012Validator(write_schemas.schema_of("fleet")).iter_errors(data)) == []


def test_markdown_has_a_table_a_section() -> None:
    text = fleet_markdown.render(compared({**alike(3), "b": with_driver("535.1")}))
    assert text.startswith("**4 nodes: b is odd**")
    assert "| FAIL | `b` | driver: 535.1, others 580.95.05 |" in text
