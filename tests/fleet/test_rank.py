"""What one rank told, or how it ended, as a collective test; and the program itself, part by part."""

from __future__ import annotations

import ast
import itertools
import pkgutil
from typing import Any

import pytest
from fakes import FakeHost, emits

from doctor.fleet.envelope import Collective
from doctor.fleet.place import Place
from doctor.fleet.rank import limits_within, run_rank
from doctor.fleet.ranks import PARTS
from doctor.target import Target

PLACE = Place("n1", 1, 3, 1, "n0", 29500)
STEPS = [{"event": "step", "step": name} for name in ("import-torch", "store", "presence", "pairs", "group")]
BEGIN = {
    "event": "begin",
    "backend": "gloo",
    "device": "CPU",
    "torch": "2.13.0",
    "nccl": "",
    "interfaces": ["lo"],
    "env": {},
}
PRESENT = {
    "event": "present",
    "seats": [{"rank": 0, "node": "n0", "local_rank": 0, "device": "CPU"}],
    "missing": [2],
}
PAIR = {"event": "pair", "other": 0, "outcome": "ok", "seconds": 0.1, "bytes": 4, "reason": ""}
SUM = {"event": "sum", "outcome": "ok", "wanted": 6.0, "seen": 6.0, "reason": ""}
RAISED = {"event": "raised", "reason": "E: x", "frames": ["a.py:1 in f", "b.py:2 in g"]}
END = {"event": "step", "step": "end"}


def of(*items: Any, **how: Any) -> Collective:
    host = FakeHost().on("/env/python", "-", replies=emits(*items, **how))
    return run_rank(host, Target("/env/python", "--python"), PLACE, limits_within(60))


def test_a_rank_that_ends_well() -> None:
    found = of(*STEPS, BEGIN, PRESENT, PAIR, SUM, END)
    assert (found.outcome, found.step, found.rank, found.master) == ("ok", "end", 1, "n0:29500")
    assert found.missing == (2,) and found.seats[0].node == "n0" and found.pairs[0].outcome == "ok"


@pytest.mark.parametrize(
    ("items", "how", "outcome", "reason"),
    [
        ([*STEPS, BEGIN, PRESENT, {**PAIR, "outcome": "failed"}, SUM, END], {}, "failed", ""),
        ([*STEPS, BEGIN, PRESENT, PAIR, END], {}, "failed", ""),
        ([*STEPS, RAISED], {}, "failed", "E: x in b.py:2 in g"),
        (STEPS, {"code": -11}, "died", "killed by SIGSEGV"),
        (STEPS, {"code": 1, "stderr": "boom\n"}, "died", "the interpreter ended with exit code 1: boom"),
        (STEPS, {"code": -9, "timed_out": True, "seconds": 82.0}, "hung", "no word for 82 s"),
        ([*STEPS, {**PAIR, "other": "zero"}], {}, "failed", "the test told what it cannot have seen"),
    ],
)  # fmt: skip
def test_how_a_rank_ends(items: list[Any], how: dict[str, Any], outcome: str, reason: str) -> None:
    found = of(*items, **how)
    assert found.outcome == outcome and found.reason.startswith(reason)


def test_the_environment_keeps_what_the_user_set_and_quiets_the_watchdog() -> None:
    host = FakeHost(env={"NCCL_SOCKET_IFNAME": "eth1", "NCCL_DEBUG": "INFO"}).on(
        "/env/python", "-", replies=emits(END)
    )
    run_rank(host, Target("/env/python", "--python"), PLACE, limits_within(60))
    env = host.calls[0].env or {}
    assert env["NCCL_SOCKET_IFNAME"] == "eth1" and env["NCCL_DEBUG"] == "INFO"
    assert env["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "0"


@pytest.mark.parametrize("part", PARTS)
def test_the_program_is_python_3_8(part: str) -> None:
    text = pkgutil.get_data("doctor.fleet.ranks", f"{part}.py")
    assert text and ast.parse(text, feature_version=(3, 8))


def partners(world: int) -> list[list[int]]:
    """The order in which each rank of a world meets the others, by the program's own words."""
    text = pkgutil.get_data("doctor.fleet.ranks", "pairs.py")
    assert text
    found = []
    for rank in range(world):
        names: dict[str, Any] = {"RANK": rank, "WORLD": world}
        exec(compile(text, "pairs.py", "exec"), names)
        found.append(names["partners"]())
    return found


@pytest.mark.parametrize("world", [*range(1, 12), 31, 32])
def test_in_a_small_world_every_pair_meets_once(world: int) -> None:
    met = partners(world)
    assert all(
        sorted(others) == [rank for rank in range(world) if rank != own] for own, others in enumerate(met)
    )


@pytest.mark.parametrize("world", [2, 3, 4, 7, 8, 31, 33, 64, 100])
def test_ranks_that_only_wait_for_their_partner_all_come_to_an_end(world: int) -> None:
    waiting = [list(others) for others in partners(world)]
    while any(waiting):
        fitting = [
            (low, high)
            for low, high in itertools.combinations(range(world), 2)
            if waiting[low][:1] == [high] and waiting[high][:1] == [low]
        ]
        assert fitting, "all wait for one another"
        for low, high in fitting:
            waiting[low].pop(0), waiting[high].pop(0)


def test_in_a_large_world_each_rank_meets_few() -> None:
    assert max(map(len, partners(1000))) <= 10
