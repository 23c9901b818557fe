"""What follows from what all ranks told."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doctor.findings import Finding
from doctor.fleet.collective import findings, speeds
from doctor.fleet.envelope import Collective, Envelope, PairTrial, Seat, Speed, Sum

SIZE = 4
SEATS = tuple(
    Seat(rank=rank, node=f"gpu-{rank // 2}", device=f"GPU {rank % 2}, H100") for rank in range(SIZE)
)


def pair(other: int, outcome: Any = "ok", reason: str = "") -> PairTrial:
    return PairTrial(other=other, outcome=outcome, reason=reason)


def rank(own: int, bad: Iterable[PairTrial] = (), **told: Any) -> Envelope:
    changed = {one.other: one for one in bad}
    pairs = tuple(changed.get(other, pair(other)) for other in range(SIZE) if other != own)
    well = {
        "outcome": "ok",
        "step": "end",
        "seats": SEATS,
        "all_reduce": Sum(outcome="ok", wanted=10, seen=10),
    }
    found = Collective(**{**well, "pairs": pairs, "rank": own, "world_size": SIZE, **told})
    return Envelope(node=f"gpu-{own // 2}", rank=own, collective=found)


def speed(size: int, seconds: float) -> Speed:
    return Speed(bytes=size, seconds=seconds, algorithm_bytes_per_s=size, bus_bytes_per_s=size)


def world(*ill: Envelope) -> list[Envelope]:
    own = {one.rank: one for one in ill}
    return [own.get(number) or rank(number) for number in range(SIZE)]


def only(envelopes: list[Envelope]) -> Finding:
    found = findings(envelopes)
    assert len(found) == 1, found
    assert found[0].severity == "error" and found[0].breaks == ("multi-gpu",) and found[0].fixes
    return found[0]


def test_a_world_that_is_well_and_one_that_was_not_tested() -> None:
    assert findings(world()) == ()
    assert findings([Envelope(node="a", report={})]) == ()


def test_a_rank_that_never_came() -> None:
    others = [rank(own, [pair(2, "absent")], outcome="failed", missing=(2,)) for own in (0, 1, 3)]
    found = only(others)
    assert (
        found.id == "fleet/rank-missing"
        and found.title == "Rank 2 (gpu-1, GPU 0) never came to the rendezvous"
    )
    assert found.evidence[0].seen == "missed by 3 of 3 ranks that answered"


def test_a_rank_that_died_tells_more_than_those_that_miss_it() -> None:
    others = [
        rank(own, outcome="failed", step="all-reduce", reason="Connection reset", silent=(1,))
        for own in (0, 2, 3)
    ]
    dead = rank(1, outcome="died", step="all-reduce", reason="killed by SIGBUS", all_reduce=None)
    found = only([*others, dead])
    assert (
        found.id == "fleet/rank-died" and found.title == "Rank 1 (gpu-0, GPU 1) died in the step all-reduce"
    )
    assert [one.seen for one in found.evidence] == [
        "killed by SIGBUS",
        "missed by 3 of 4 ranks that answered",
    ]


def test_a_rank_that_fell_silent_with_its_doctor() -> None:
    others = [rank(own, outcome="failed", step="all-reduce", silent=(3,)) for own in (0, 1, 2)]
    assert only(others).id == "fleet/rank-silent"


def test_a_liar_is_who_is_in_every_wrong_pair() -> None:
    wrong = Sum(outcome="wrong", wanted=10, seen=20)
    ill = [
        rank(own, [pair(2, "wrong", "13 instead of 3")], outcome="failed", all_reduce=wrong)
        for own in (0, 1, 3)
    ]
    liar = rank(2, [pair(own, "wrong") for own in (0, 1, 3)], outcome="failed", all_reduce=wrong)
    found = only(world(*ill, liar))
    assert found.id == "fleet/wrong-sum"
    assert found.title == "Rank 2 (gpu-1, GPU 0) adds up wrongly with every rank it was paired with"


def test_one_wrong_pair_accuses_nobody() -> None:
    ill = rank(0, [pair(1, "wrong", "4 instead of 3")], outcome="failed")
    title = only(world(ill)).title
    assert title == "Rank 0 (gpu-0, GPU 0) and rank 1 (gpu-0, GPU 1) add up wrongly"


def test_a_wrong_sum_of_all_where_every_pair_is_right() -> None:
    ill = [
        rank(own, outcome="failed", all_reduce=Sum(outcome="wrong", wanted=10, reason="nan"))
        for own in range(SIZE)
    ]
    found = only(ill)
    assert found.title == "The all-reduce of 4 ranks gives a wrong sum, and no pair of them does"
    assert found.evidence[0].seen == "nan"


def test_a_pair_that_fails_between_live_ranks() -> None:
    ill = rank(1, [pair(3, "failed", "Connect timeout")], outcome="failed")
    found = only(world(ill))
    assert found.id == "fleet/pair-fails"
    assert found.title == "Rank 1 (gpu-0, GPU 1) and rank 3 (gpu-1, GPU 1) cannot talk to each other"
    assert found.evidence[0].seen == "Connect timeout"


def test_a_rank_that_reaches_nobody_and_a_world_in_which_nobody_does() -> None:
    alone = [rank(own, [pair(0, "failed")], outcome="failed") for own in (1, 2, 3)]
    assert only(world(*alone)).title == "Rank 0 (gpu-0, GPU 0) does not get through to 3 of the others"
    env = {"NCCL_SOCKET_IFNAME": "ib7"}
    nobody = [
        rank(
            own,
            [pair(other, "failed") for other in range(SIZE) if other != own],
            env=env,
            interfaces=("eth0",),
        )
        for own in range(SIZE)
    ]
    found = only(nobody)
    assert found.title == "No pair of the 4 ranks can talk"
    assert any(one.seen == "NCCL_SOCKET_IFNAME=ib7" and one.wanted == "one of eth0" for one in found.evidence)


def test_all_together_fail_where_every_pair_gets_through() -> None:
    ill = [
        rank(own, outcome="failed", step="all-reduce", reason="TimeoutError", all_reduce=None)
        for own in range(SIZE)
    ]
    assert only(ill).id == "fleet/all-reduce-fails"


def test_no_rendezvous_is_told_once_for_all_nodes() -> None:
    failed = Collective(outcome="failed", step="rendezvous", reason="cannot reach it")
    found = only([Envelope(node=f"n{number}", collective=failed) for number in range(9)])
    assert found.id == "fleet/rendezvous-failed" and "5 more" in found.title


def test_what_a_node_says_is_made_harmless() -> None:
    ill = rank(0, [pair(1, "failed", "\x1b]0;title\x07bad\n\x1b[31mred")], outcome="failed")
    assert "\x1b" not in repr(only(world(ill)).evidence) and "\\x1b" not in repr(only(world(ill)))


def test_the_slowest_rank_says_how_fast_all_are() -> None:
    told = [rank(own, speeds=tuple(speed(size, own + 1.0) for size in (64, 8))) for own in range(SIZE)]
    assert [(one.bytes, one.seconds) for one in speeds(told)] == [(8, 4.0), (64, 4.0)]
    assert speeds([Envelope(node="a")]) == ()


OUTCOMES = st.sampled_from(["ok", "wrong", "failed", "absent"])
PAIRS = list(combinations(range(SIZE), 2))


@given(st.fixed_dictionaries(dict.fromkeys(PAIRS, OUTCOMES)), st.sets(st.integers(0, 3), min_size=1))
def test_no_fault_is_ever_silent(outcomes: dict[tuple[int, int], str], here: set[int]) -> None:
    envelopes = []
    for own in sorted(here):
        bad = [
            pair(high if own == low else low, outcome)
            for (low, high), outcome in outcomes.items()
            if own in (low, high)
        ]
        is_well = all(one.outcome == "ok" for one in bad)
        envelopes.append(rank(own, bad, outcome="ok" if is_well else "failed"))
    is_well = all(one.collective and one.collective.outcome == "ok" for one in envelopes)
    assert bool(findings(envelopes)) != is_well
