#!/usr/bin/env python3
"""How fast triage is: a thousand reports on one core, and the one error in a training log of 30 MB.

    scripts/bench_triage.py

The reports are those that the tests captured from real environments, each with another version beside it, so
that no result is kept from the one before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

REPORTS = 1_000
LOG_BYTES = 30_000_000
CAPTURED = Path(__file__).parents[1] / "tests" / "triage" / "captured"
ERROR = (
    "ImportError: cannot import name 'HybridCache' from 'transformers'\npeft==0.17.1\ntransformers==5.24.0\n"
)


class Run(NamedTuple):
    """One run of the command."""

    seconds: float
    resident_bytes: int
    output: str


def triage(*arguments: str) -> Run:
    """Run it, and see what it took. One that could not read its input ends the bench."""
    with tempfile.TemporaryFile("w+") as told:
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "doctor", "triage", *arguments], stdout=told)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            sys.exit(f"triage {' '.join(arguments)} failed")
        told.seek(0)
        return Run(took, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), told.read())


def reports(folder: Path) -> list[str]:
    """A thousand files, no two alike."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(CAPTURED.glob("*.txt"))]
    names = []
    for number in range(REPORTS):
        path = folder / f"{number}.md"
        path.write_text(f"{texts[number % len(texts)]}\nevaluate==0.4.{number}\n", encoding="utf-8")
        names.append(str(path))
    return names


def log(path: Path) -> None:
    """Losses and progress bars, and one error in the middle."""
    lines = (
        f"{{'loss': {step % 977 / 500:.4f}, 'epoch': {step / 1000:.3f}}}\n"
        f"{step % 100:3d}%|{'#' * (step % 40)}| {step}/900000\n"
        for step in range(1 << 30)
    )
    with path.open("w", encoding="utf-8") as file:
        written, is_told = 0, False
        while written < LOG_BYTES:
            if not is_told and written > LOG_BYTES // 2:
                written, is_told = written + file.write(ERROR), True
            written += file.write(next(lines))


def main() -> None:
    """Print one line a promise: measured, bound."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = triage("--format", "jsonl", *reports(folder))
        log(folder / "train.log")
        large = triage("--format", "json", str(folder / "train.log"))
    if many.output.count("\n") != REPORTS or "peft/too-old-for-transformers" not in large.output:
        sys.exit("a report or the error in the log is missing")
    print(f"{REPORTS} reports           {many.seconds:.1f} s (at most 60)")
    print(f"error in {LOG_BYTES / 1e6:.0f} MB of log   {large.seconds:.2f} s (at most 3)")
    print(f"  resident              {large.resident_bytes / 2**20:.0f} MiB (at most 200)")


if __name__ == "__main__":
    main()
