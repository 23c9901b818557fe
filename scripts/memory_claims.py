"""What a run on a real GPU must show of ``fit --measure`` and ``watch``.

    python scripts/memory_claims.py fit ANSWER      a measurement against its prediction
    python scripts/memory_claims.py watch RUN ID    a watched run, and the finding that must come

ANSWER is what ``lora-doctor fit --measure --format json`` wrote, RUN what ``lora-doctor watch --output`` did.
Prints a line for each claim; exit code 1 where one does not hold.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ALLOCATED, RESERVED = 0.05, 0.15  # the worst that a prediction may miss by, relative
CONTEXT_BYTES = (32 << 20, 4 << 30)
MIB = 1 << 20

Claim = tuple[str, bool, str]  # its name, whether it holds, what was seen


def of_fit(answer: Mapping[str, Any]) -> Iterator[Claim]:
    """The claims of a measured answer."""
    measured = answer["measured"] or {"measurement": {"outcome": "not measured"}, "differences": ()}
    measurement = measured["measurement"]
    outcome = f"{measurement['outcome']}: {measurement.get('reason') or 'no error'}"
    yield "two steps ran on the GPU", outcome.startswith("ok") and measurement["kind"] == "cuda", outcome
    found = {one["name"]: one for one in measured["differences"]}
    yield from (_close(name, found.get(name), most) for name, most in TOLERATED.items())
    context = measurement.get("context_bytes") or 0
    least, most = CONTEXT_BYTES
    yield "the context was seen", least <= context <= most, f"{context / MIB:.0f} MiB"


TOLERATED = {"allocated": ALLOCATED, "reserved": RESERVED, "weights": 0.001, "trainable parameters": 0.0}


def _close(name: str, one: Mapping[str, Any] | None, most: float) -> Claim:
    claim = f"{name} as predicted"
    if one is None:
        return claim, False, "not told"
    missed = one["predicted"] / one["measured"] - 1
    return claim, abs(missed) <= most, f"{one['measured']} measured, {missed:+.2%}"


def of_watch(told: Mapping[str, Any], finding: str) -> Iterator[Claim]:
    """The claims of a watched run."""
    run = told["run"]
    devices = [device for process in run["processes"] for device in process["devices"]]
    by_driver = max((gpu["peak_bytes"] for gpu in run["gpus"]), default=0)
    by_torch = max((device["peak_allocated_bytes"] for device in devices), default=0)
    yield "the command ended well", run["exit_code"] == 0, f"exit code {run['exit_code']}"
    yield "the driver told of it", by_driver > 0, f"peak {by_driver / MIB:.0f} MiB"
    yield "torch told of it", 0 < by_torch <= by_driver, f"peak {by_torch / MIB:.0f} MiB allocated"
    ids = [one["id"] for one in told["findings"]]
    yield f"{finding} was found", finding in ids, ", ".join(ids) or "nothing"


def main(command: str, *arguments: str) -> int:
    """Run one command; the exit code."""
    claims = {"fit": of_fit, "watch": of_watch}.get(command)
    if claims is None or not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    path, *more = arguments
    rows = list(claims(json.loads(Path(path).read_text(encoding="utf-8")), *more))
    for name, holds, seen in rows:
        print(f"{'yes' if holds else 'NO '}  {name}: {seen}")
    return int(not all(holds for _, holds, _ in rows))


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [""])))
