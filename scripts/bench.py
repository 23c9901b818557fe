#!/usr/bin/env python3
"""How fast the check is, as ratios taken in one run: medians of 7, the commands in turn.

    scripts/bench.py TARGET_PYTHON

TARGET_PYTHON holds the stack (torch, transformers, peft, accelerate, trl, bitsandbytes, datasets). The doctor
is the one that is installed beside the Python that runs this script. Linux and macOS.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7
# A user's own first script: the five libraries, then the steps that the trial tries.
PLAIN_SCRIPT = Path(__file__).with_name("plain_qlora.py")


def seconds(argv: list[str]) -> float:
    """Wall seconds of one run. A run that fails ends the bench: its time would mean nothing."""
    began = time.perf_counter()
    done = subprocess.run(argv, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(argv)} failed:\n{done.stderr[-2000:]}")
    return took


def medians(commands: dict[str, list[str]]) -> dict[str, float]:
    """The median time of each command, run in turn so that a drift of the machine hits all alike."""
    for argv in commands.values():
        seconds(argv)  # caches and byte code
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, argv in commands.items():
            taken[name].append(seconds(argv))
    return {name: statistics.median(times) for name, times in taken.items()}


def resident_bytes(argv: list[str]) -> int:
    """Peak memory of a process, or of a child of its if that took more."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Print one line a promise: measured, bound."""
    target = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)
    doctor = [sys.executable, "-m", "doctor", "check", "--python", target]
    environment = [target, str(Path(target).parent / "transformers"), "env"]
    quick = medians(
        {
            "imports": [sys.executable, "-c", "import typer, rich"],
            "quick": [*doctor, "--quick"],
            "transformers env": environment,
            "resolve": [sys.executable, "-m", "doctor", "resolve", "--python", target],
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        whole = medians({"plain": [target, str(PLAIN_SCRIPT), folder], "check": doctor})
    rss = resident_bytes([*doctor, "--quick"]) / 2**20
    print(f"check --quick                   {quick['quick']:.3f} s, {rss:.0f} MiB resident (at most 70)")
    print(f"  / import typer, rich          {quick['quick'] / quick['imports']:.2f} (at most 2.5)")
    print(f"  transformers env /            {quick['transformers env'] / quick['quick']:.1f} (at least 10)")
    print(f"resolve                         {quick['resolve']:.3f} s (at most 1.5)")
    print(f"check                           {whole['check']:.2f} s")
    print(f"  / plain script of the same    {whole['check'] / whole['plain']:.2f} (at most 1.3)")


if __name__ == "__main__":
    main()
