#!/usr/bin/env python3
"""What being watched costs a training of small steps: with and without, in turn, and part by part.

    scripts/bench_watch.py TARGET_PYTHON [ROUNDS]

TARGET_PYTHON has torch; the doctor is the one beside the Python that runs this script. Each run measures its
own loop, so that the start is not counted. Whole runs differ by some per cent on a machine that does other
things; so the parts of the cost are measured apart as well. The promise: below 1 %. Linux and macOS.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
# Small steps are the hard case: some 10 ms each, with a hook in every one. Blocks of steps with the hook and
# without it take turns in one process, so that whatever else the machine does meets both alike.
LOOP = """
import json, statistics, sys, time, torch
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(384, 384) for _ in range(6)])
optimizer = torch.optim.AdamW(model.parameters())
data = torch.randn(128, 384)
def steps(count):
    began = time.thread_time()
    for _ in range(count):
        model(data).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return time.thread_time() - began
steps(60)
began, whole, mine = time.perf_counter(), time.process_time(), time.thread_time()
steps(STEPS)
wall = time.perf_counter() - began
whole, mine = time.process_time() - whole, time.thread_time() - mine
hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
kept, blocks = dict(hooks), {True: [], False: []}
for number in range(BLOCKS):
    for on in (True, False) if number % 2 else (False, True):
        hooks.clear()
        hooks.update(kept if on else {})
        blocks[on].append(steps(10))
hook = statistics.median(a - b for a, b in zip(blocks[True], blocks[False]))
hook /= statistics.median(blocks[False])
print(json.dumps({"wall": wall, "whole": whole, "others": whole - mine, "hook": hook, "hooks": len(kept)}))
"""
STEPS, BLOCKS = 200, 40


def measured(argv: list[str]) -> dict[str, float]:
    """What the loop measured of itself. A run that fails ends the bench."""
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode:
        sys.exit(f"{' '.join(argv[:4])} failed:\n{done.stderr[-2000:]}")
    told: dict[str, float] = json.loads(done.stdout)
    return told


def computed_by_children(argv: list[str]) -> float:
    """Seconds of processor that a command and its children take."""
    before = os.times()
    subprocess.run(argv, capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def own_share(watch: list[str], seconds: int = 20) -> float:
    """What watch and its collector compute while a run sleeps, without their start, as a share of time."""
    sleeping = computed_by_children([*watch, "sleep", str(seconds)])
    return (sleeping - computed_by_children([*watch, "true"])) / seconds


def main() -> None:
    """Print what was measured, part by part."""
    target = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    watch = [sys.executable, "-m", "doctor", "watch", "--quiet", "--"]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "loop.py")
        script.write_text(LOOP.replace("STEPS", str(STEPS)).replace("BLOCKS", str(BLOCKS)))
        bare, watched = [target, str(script)], [*watch, target, str(script)]
        taken: dict[str, list[dict[str, float]]] = {"bare": [], "watched": []}
        for number in range(rounds):
            order = [("bare", bare), ("watched", watched)]
            for name, argv in order if number % 2 else reversed(order):
                taken[name].append(measured(argv))
    for key, what in (("wall", "wall time of the loop"), ("whole", "its processor time")):
        one, other = (statistics.median(told[key] for told in taken[name]) for name in ("bare", "watched"))
        print(f"{what:40} bare {one:.3f} s, watched {other:.3f} s: {other / one - 1:+.2%}")
    middle = {key: statistics.median(told[key] for told in taken["watched"]) for key in taken["watched"][0]}
    print(f"{'hook after a step, of the step':40} {middle['hook']:+.3%} ({middle['hooks']:.0f} hook)")
    print(f"{'looks of its thread, of the run':40} {middle['others'] / middle['wall']:+.3%}")
    print(f"{'watch beside it, of one processor':40} {own_share(watch):+.3%}")


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"measured in {time.perf_counter() - began:.0f} s; the bound is 1 %")
