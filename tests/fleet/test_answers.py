"""What becomes of hosts that answer, and of those that do not."""

from __future__ import annotations

import msgspec
import pytest
from fakes import HUNG, NOT_STARTED, FakeHost, ended

from doctor.fleet.answers import ask, ask_each
from doctor.fleet.envelope import Envelope, line
from doctor.fleet.frames import cut
from doctor.fleet.rendezvous import reason_of
from doctor.fleet.running import complaint
from doctor.host import Completed

REPORT = {"schema": 1, "findings": []}


def frames_of(node: str) -> list[str]:
    return cut(line(Envelope(node=node, report=REPORT)), node)


def told(host: FakeHost, *names: str, ranks: bool = False) -> dict[str, Envelope]:
    lines: list[str] = []
    ask_each(host, [(name, ("ssh", name)) for name in names], 9.0, 2, lines.append, ranks=ranks)
    return {one.node: one for one in (msgspec.json.decode(text, type=Envelope) for text in lines)}


def test_each_host_has_one_answer() -> None:
    host = FakeHost()
    host.on("ssh", "a", replies=ended("Welcome!\n" + "".join(frames_of("a"))))
    host.on("ssh", "b", replies=HUNG)
    host.on("ssh", "c", replies=NOT_STARTED)
    found = told(host, "a", "b", "c")
    assert found["a"].report == REPORT and found["a"].failure == ""
    assert found["b"].failure == "no answer within 9 s"
    assert "cannot be started" in found["c"].failure


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (
            ended(stderr="ssh: connect to host a: No route to host\n", code=255),
            "ssh: connect to host a: No route",
        ),
        (ended(stderr="sh: 1: lora-doctor: not found\n", code=127), "say where it is with --doctor PATH"),
        (ended("".join(frames_of("other"))), "it answered under another name: other"),
        (ended("rubbish \x1b[31mred\n"), "exit code 0 and no answer: rubbish red"),
        (ended("", code=3), "exit code 3 and no answer"),
    ],
)
def test_why_a_host_is_silent(done: Completed, why: str) -> None:
    found = told(FakeHost().on("ssh", replies=done), "a")["a"]
    assert why in found.failure and found.report is None


def test_a_torchrun_that_starts_no_rank_is_a_rendezvous_that_failed() -> None:
    said = "x\ntorch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n"
    found = told(FakeHost().on("ssh", replies=ended(stderr=said, code=1)), "a", ranks=True)["a"]
    assert found.collective and found.collective.step == "rendezvous" and found.failure == ""
    assert "not all of the others did in time (RendezvousTimeoutError)" in found.collective.reason
    hung = told(FakeHost().on("ssh", replies=HUNG), "a", ranks=True)["a"]
    assert hung.collective and "ended after 9 s" in hung.collective.reason


def test_a_launcher_of_many_nodes() -> None:
    lines: list[str] = []
    half = cut(line(Envelope(node="n2", report={**REPORT, "noise": [n * n for n in range(900)]})), "n2")
    host = FakeHost().on("srun", replies=ended("".join([*frames_of("n1"), half[0]]), code=1))
    ask(host, ("srun", "x"), 9.0, lines.append, here="box")
    first, second = (msgspec.json.decode(text, type=Envelope) for text in lines)
    assert first.node == "n1" and first.report
    assert second.node == "n2" and second.failure == f"1 of {len(half)} parts of its answer came"


def test_a_launcher_that_fails_altogether() -> None:
    lines: list[str] = []
    host = FakeHost().on("srun", replies=ended(stderr="srun: error: Unable to allocate resources\n", code=1))
    ask(host, ("srun", "x"), 9.0, lines.append, here="box")
    assert [msgspec.json.decode(text, type=Envelope).failure for text in lines] == [
        "exit code 1 and no answer: srun: error: Unable to allocate resources"
    ]


def test_what_a_launcher_says_is_passed_on_without_escapes_and_rulers() -> None:
    assert complaint("-----\n\x1b[1msrun: n2: task 1: Killed\x1b[0m\n\n") == "srun: n2: task 1: Killed\n"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "RuntimeError: The server socket has failed to listen ... EADDRINUSE",
            "another program on this node has",
        ),
        (
            "[W] The IPv6 network addresses of (x, 1) cannot be retrieved (gai error: -2)",
            "cannot resolve the name",
        ),
        (
            "torch.distributed.DistNetworkError: The client socket has timed out",
            "cannot reach the rendezvous",
        ),
        ("ModuleNotFoundError: No module named 'torch'", "has no torch"),
        ("ValueError: Cuda is not available.", "torch sees no GPU"),
        ("", "torchrun ended with exit code 1"),
    ],
)
def test_reasons_of_torchrun(said: str, reason: str) -> None:
    assert reason in reason_of(said, 1)


def test_the_inner_error_is_told_before_the_one_that_wraps_it() -> None:
    said = "a.DistNetworkError: timed out\n\nb.RendezvousConnectionError: See inner exception\n"
    assert reason_of(said, 1).endswith("(DistNetworkError: timed out)")
