"""NVML's answer, put together from what one child or several told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fakes import HUNG, ended

from doctor.collectors import Collected
from doctor.host import Completed
from doctor.probes.nvml import STARTS, gathered

DIED = ended(code=-11)


def head(count: int) -> dict[str, Any]:
    return {"section": "nvml", "driver": "580.95.05", "cuda": "13.0", "count": count}


def row(index: int) -> dict[str, Any]:
    return {"section": "nvml-gpu", "index": index, "name": "NVIDIA L4"}


class Children:
    """NVML's children that we write, each by what it tells and how it ends."""

    def __init__(self, *children: tuple[Sequence[dict[str, Any]], Completed]) -> None:
        self.children = list(children)
        self.asked: list[int] = []

    def ask(self, first: int) -> Collected:
        self.asked.append(first)
        events, completed = self.children.pop(0)
        return Collected(tuple(events), "", completed)


def gpus(children: Children) -> list[dict[str, Any]]:
    section = gathered(children.ask).section("nvml")
    assert section is not None
    return list(section["gpus"])


def test_the_pieces_of_one_child() -> None:
    peers = {"section": "nvml-peers", "index": 1, "peers": {"0": "p2p"}}
    children = Children(([head(2), row(0), row(1), peers], ended()))
    assert gathered(children.ask).events == (
        {
            **head(2),
            "gpus": [
                {"index": 0, "name": "NVIDIA L4"},
                {"index": 1, "name": "NVIDIA L4", "peers": {"0": "p2p"}},
            ],
        },
    )
    assert children.asked == [0]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (HUNG, "no answer within 10 s"),
        (DIED, "asking it killed the process (SIGSEGV)"),
        (ended(stderr="MemoryError\n", code=1), "the interpreter ended with exit code 1: MemoryError"),
    ],
)
def test_the_gpu_at_which_the_child_ends_is_the_one_at_fault(end: Completed, words: str) -> None:
    children = Children(([head(4), row(0)], end), ([head(4), row(2), row(3)], ended()))
    found = gpus(children)
    assert children.asked == [0, 2]
    assert [gpu["index"] for gpu in found] == [0, 1, 2, 3]
    assert ["error" in gpu for gpu in found] == [False, True, False, False]
    assert found[1] == {"index": 1, "error": words, "code": None}


def test_the_last_gpu_needs_no_other_child() -> None:
    children = Children(([head(2), row(0)], HUNG))
    assert ["error" in gpu for gpu in gpus(children)] == [False, True]


def test_it_is_not_tried_for_ever() -> None:
    children = Children(*([([head(8)], HUNG)] * STARTS))
    found = gpus(children)
    assert children.asked == [0, 1]
    assert [gpu["index"] for gpu in found] == [0, 1]  # nothing is known of those behind
    assert all("error" in gpu for gpu in found)


def test_a_refusal_and_a_silence_stay_as_they_are() -> None:
    refused = {"section": "nvml", "error": "Driver Not Loaded", "code": 9}
    assert gathered(Children(([refused], ended())).ask).events == (refused,)
    assert gathered(Children(([], HUNG)).ask).events == ()


def test_a_driver_without_gpus() -> None:
    assert gpus(Children(([head(0)], ended()))) == []
