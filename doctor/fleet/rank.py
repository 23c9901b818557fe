"""Runs one rank of a collective test inside the target, and turns what it told, or its death, into facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from doctor.child import Patience
from doctor.collectors import Collected, Event, collect, program
from doctor.fleet.envelope import Collective
from doctor.fleet.place import Place
from doctor.fleet.ranks import PARTS
from doctor.host import Host
from doctor.target import Target

# A test of its own ends a wait itself; NCCL's watchdog would end the process, and the answer with it.
QUIET = {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "NCCL_ASYNC_ERROR_HANDLING": "0"}
NOISE_KEPT = 300
SHORTEST_STALL_S = 3.0  # a rank beats twice a second, and a busy machine may hold it up


class Limits(NamedTuple):
    """Seconds that a rank waits: for all to come, for the group, for a pair, for a sign of life."""

    presence_s: float
    group_s: float
    pair_s: float
    stall_s: float

    @property
    def silence_s(self) -> float:
        """The longest time between two things that a rank tells, before it counts as hung."""
        return self.presence_s + self.group_s + 2 * self.stall_s


def limits_within(seconds: float) -> Limits:
    """The limits of a test in which no wait is longer than ``seconds``."""
    return Limits(seconds, max(seconds / 3, 3.0), max(seconds / 6, 3.0), max(seconds / 12, SHORTEST_STALL_S))


def run_rank(host: Host, target: Target, place: Place, limits: Limits, backend: str = "") -> Collective:
    """The collective test as this rank saw it. The place has a rank, a world and a master."""
    config = {
        **limits._asdict(),
        "node": place.node,
        "rank": place.rank,
        "world_size": place.world_size,
        "local_rank": place.local_rank or 0,
        "master": place.master,
        "port": place.port,
        "agent_store": place.agent_store,
        "backend": backend,
        "pair_numbers": 1 << 18,
        # A second test at the same store must not find the keys of the first.
        "run": host.env.get("TORCHELASTIC_RUN_ID", "") + host.env.get("SLURM_STEP_ID", ""),
    }
    child = collect(
        host,
        target.executable,
        program(PARTS, "doctor.fleet.ranks"),
        config,
        patience=Patience(limits.silence_s, ask_stack=True),
        env={"NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "1", **host.env, **QUIET},
        merge=True,
    )
    return collective_of(child, place)


def collective_of(child: Collected, place: Place) -> Collective:
    """What a rank told. Raises nothing: a rank that tells rubbish has failed."""
    try:
        return msgspec.convert({**told(child.events), **ended(child), **known(place)}, Collective)
    except msgspec.ValidationError as error:
        reason = f"the test told what it cannot have seen: {error}"
        return Collective(outcome="failed", step="start", reason=reason, **known(place))


def known(place: Place) -> dict[str, Any]:
    """What the launcher told of this rank."""
    master = f"{place.master}:{place.port}"
    return {"rank": place.rank, "world_size": place.world_size, "master": master}


def told(events: tuple[Event, ...]) -> dict[str, Any]:
    """The fields of a collective that a rank told of itself."""
    begin, present = last(events, "begin"), last(events, "present")
    own = {key: value for key, value in begin.items() if key != "event"}
    pairs = [without(event, "event") for event in events if event.get("event") == "pair"]
    speeds = [without(event, "event") for event in events if event.get("event") == "speed"]
    sums = last(events, "sum")
    return {
        **own,
        "seats": present.get("seats", ()),
        "missing": present.get("missing", ()),
        "silent": last(events, "silent").get("ranks", ()),
        "pairs": pairs,
        "speeds": speeds,
        "all_reduce": without(sums, "event") if sums else None,
    }


def ended(child: Collected) -> dict[str, Any]:
    """How the test ended: its last step, and why there was no further one."""
    events, done = child.events, child.completed
    step = last(events, "step").get("step", "start")
    raised = next((event for event in events if event.get("event") == "raised"), {})
    reached = {"step": step, "seconds": round(done.seconds, 3)}
    if step == "end" and not done.timed_out:
        return {**reached, "outcome": "ok" if went_well(events) else "failed"}
    if raised:
        words = [str(raised.get("reason")), *reversed(raised.get("frames") or ())]
        return {**reached, "outcome": "failed", "reason": " in ".join(words[:2])}
    noise = child.noise.strip()[-NOISE_KEPT:]
    if done.timed_out:
        return {**reached, "outcome": "hung", "reason": f"no word for {done.seconds:.0f} s"}
    reason = f"killed by {done.signal}" if done.signal else child.trouble
    return {**reached, "outcome": "died", "reason": reason + (f": {noise}" if done.signal and noise else "")}


def went_well(events: tuple[Event, ...]) -> bool:
    """Was every sum right, and was there one of all ranks?"""
    pairs = [event for event in events if event.get("event") == "pair"]
    together = last(events, "sum").get("outcome") == "ok"
    return together and all(event.get("outcome") == "ok" for event in pairs)


def last(events: tuple[Event, ...], name: str) -> Mapping[str, Any]:
    """The last event of a kind, empty where there was none."""
    return next((event for event in reversed(events) if event.get("event") == name), {})


def without(event: Event, key: str) -> dict[str, Any]:
    """An event without one of its fields."""
    return {name: value for name, value in event.items() if name != key}
