"""A node's part: its own check, in a child with a deadline, so that a check that hangs is an answer too."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from doctor.child import Completed, Patience
from doctor.fleet.envelope import Collective, Envelope
from doctor.fleet.place import Place
from doctor.host import Host
from doctor.plain import one_line

SCHEMA = 1  # of the reports that this doctor reads
REASON_KEPT = 300


def examined(host: Host, place: Place, options: Sequence[str], limit_s: float) -> Envelope:
    """This node's report, or why there is none. ``options`` are those of ``check``."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "doctor", "check", "--format", "json", *options]
    done = host.run(argv, patience=Patience(limit_s, ask_end=True))
    report, failure = report_in(done, limit_s)
    return Envelope(
        node=place.node,
        rank=place.rank,
        local_rank=place.local_rank,
        report=report,
        failure=failure,
        seconds=round(time.monotonic() - began, 3),
    )


def with_collective(place: Place, found: Collective, envelope: Envelope | None) -> Envelope:
    """A rank's collective test, beside its node's report where this rank is the one that makes it."""
    seconds = found.seconds
    if envelope is None:
        envelope = Envelope(node=place.node, rank=place.rank, local_rank=place.local_rank, seconds=seconds)
    return msgspec.structs.replace(envelope, collective=found)


def report_in(done: Completed, limit_s: float) -> tuple[dict[str, Any] | None, str]:
    """The report that a check printed, and in one line why there is none."""
    if done.code is None:
        return None, f"the check cannot be started: {done.error}"
    if done.timed_out:
        return None, f"the check gave no report within {limit_s:.0f} s and was ended"
    try:
        report = msgspec.json.decode(done.stdout)
    except msgspec.DecodeError:
        report = None
    if isinstance(report, dict) and report.get("schema") == SCHEMA:
        return report, ""
    ended = f"was killed by {done.signal}" if done.signal else f"ended with exit code {done.code}"
    words = one_line(done.stderr)[-REASON_KEPT:]
    return None, f"the check {ended} and gave no report" + (f": {words}" if words else "")
