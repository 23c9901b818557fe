"""What holds for every fleet: hypothesis plants differences and looks for what is said of them."""

from __future__ import annotations

import random

from fleet_reports import (
    HEALTHY,
    alike,
    compared,
    finding,
    gpus,
    odd,
    report,
    roll_of,
    with_driver,
    with_versions,
)
from healthy import but
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.findings import Report
from doctor.fleet.comparison import Comparison
from doctor.fleet.judging import compare
from doctor.render.json_report import encode

OTHERS: dict[str, Report] = {
    "healthy": report(),
    "old driver": with_driver("535.104.05"),
    "patched driver": with_driver("580.95.06"),
    "old peft": with_versions(peft="0.17.1"),
    "no trl": with_versions(trl=None),
    "variable": report(environment={"NCCL_P2P_DISABLE": "1"}),
    "kernel": report(system=but(HEALTHY.system, kernel="Linux 5.4")),
    "ill": report(finding("bitsandbytes/no-gpu-code")),
    "blind": report(packages="the interpreter does not answer"),
    "two GPUs": report(gpus=gpus(2)),
}
CHANGED = sorted(set(OTHERS) - {"healthy", "kernel"})


NAMES = st.lists(st.integers(1, 999).map("n{:03}".format), min_size=1, max_size=12, unique=True)


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Report]:
    names = draw(NAMES)
    return {name: OTHERS[draw(st.sampled_from(sorted(OTHERS)))] for name in names}


@settings(max_examples=60, deadline=None)
@given(fleets(), st.randoms(use_true_random=False))
def test_the_order_of_reports_does_not_matter(nodes: dict[str, Report], chance: random.Random) -> None:
    shuffled = list(nodes.items())
    chance.shuffle(shuffled)
    assert compared(dict(shuffled)) == compared(nodes)


@settings(max_examples=60, deadline=None)
@given(fleets(), st.sampled_from(sorted(OTHERS)))
def test_the_majority_is_never_odd(nodes: dict[str, Report], most: str) -> None:
    majority = {f"most{number}": OTHERS[most] for number in range(len(nodes) + 1)}
    told = compared({**nodes, **majority})
    assert not set(odd(told)) & set(majority)
    assert [one for one in told.classes if set(majority) <= set(one.nodes)]


@settings(max_examples=60, deadline=None)
@given(fleets(), st.integers(1, 3))
def test_one_more_of_the_majority_changes_nothing_for_the_others(nodes: dict[str, Report], more: int) -> None:
    majority = alike(len(nodes) + 3)
    before = compared({**nodes, **majority})
    after = compared({**nodes, **majority, **alike(more, start=900)})
    assert odd(after) == odd(before)
    assert [one.severity for one in after.odd] == [one.severity for one in before.odd]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_was_planted_is_found_and_nothing_else(data: st.DataObject) -> None:
    size = data.draw(st.integers(5, 20))
    count = data.draw(st.integers(0, (size - 1) // 2))
    planted = {f"ill{number}": OTHERS[data.draw(st.sampled_from(CHANGED))] for number in range(count)}
    told = compared({**alike(size - count), **planted})
    assert set(odd(told)) == set(planted)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(OTHERS)), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_reports_of_one_node_are_joined_in_any_order(kinds: list[str], chance: random.Random) -> None:
    def joined() -> Comparison:
        roll = roll_of(alike(3))
        for kind in kinds:
            roll.add(encode(OTHERS[kind]), "a test", "many")
        return compare(roll)

    before = joined()
    chance.shuffle(kinds)
    assert joined() == before
