"""How long ``fit`` takes, and how much memory of its own.

    python scripts/bench_memory.py TARGET_PYTHON

Run it from an installed wheel on a quiet machine. A figure is the best of several runs, beside its bound.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

RUNS = 3
PLAN = ("--batch-size", "4", "--sequence-length", "2048", "--format", "json")
DOCTOR = Path(sys.executable).with_name("lora-doctor")


def seconds(*words: str) -> float:
    """The best of several runs of ``fit``."""
    return min(once(*words) for _ in range(RUNS))


def once(*words: str) -> float:
    """Wall seconds of one run; one that fails ends the bench."""
    start = time.monotonic()
    done = subprocess.run([DOCTOR, "fit", *words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"fit {' '.join(words)}: {done.stderr}")
    return time.monotonic() - start


def tracing_s(target: str) -> float:
    """What one more plan costs a child that has imported everything."""
    from doctor.host import LocalHost
    from doctor.memory.kernels import for_child
    from doctor.memory.models import listed
    from doctor.memory.plan import Plan
    from doctor.memory.settling import settled
    from doctor.target import Target
    from doctor.tracing.run import traced

    shape = listed("llama-2-7b")
    assert shape is not None
    plan = settled(Plan(), {})
    host = LocalHost()
    spent = []
    for count in (1, 5):
        start = time.monotonic()
        list(traced(host, Target(target, "a benchmark"), shape, [plan] * count, for_child("")))
        spent.append(time.monotonic() - start)
    return (spent[1] - spent[0]) / 4


def main(target: str) -> None:
    """Print one line a promise: measured, bound."""
    python = ("--python", target)
    small = seconds("llama-2-7b", *PLAN, *python)
    print(f"fit of a 7B plan, traced    {small:6.2f} s  (at most 6)")
    print(f"  of which the trace        {tracing_s(target):6.2f} s  (at most 2)")
    large = seconds("llama-2-70b", *PLAN, *python)
    print(f"70B against 7B              {large / small:6.2f}    (at most 1.5)")
    formula = seconds("llama-2-7b", *PLAN, "--estimator", "formula")
    print(f"formula tier                {formula:6.2f} s  (at most 0.3)")
    print(f"table of twelve points      {once('llama-2-7b', *PLAN, '--table', *python):6.2f} s  (at most 20)")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"resident memory, the child  {peak:6.0f} MiB (at most 1000)")


if __name__ == "__main__":
    main(sys.argv[1])
