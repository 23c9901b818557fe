"""Growth that goes on: a leak, by what is held at the same point of each step, or by time without steps.

Nothing is said without enough steps, and nothing of what noise would explain as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.findings import Evidence, Finding, Fix
from doctor.memory.amounts import MIB, amount, duration
from doctor.memory.slope import Point, Slope, slope
from doctor.memory.usage import Curve, Level, Process, Run, Torch

WARM_UP_STEPS, WARM_UP_SHARE = 5, 0.1  # optimizer states, autotuning and caches come in the first steps
LEAST_STEPS, LEAST_POINTS = 20, 8
SURE_STEPS = 100
LEAST_SECONDS = 60  # where steps are not known
CERTAIN = 6.0  # times the scatter that growth must be
STILL = 0.3  # of the whole slope that the second half must have: else it levels off
DROP = 0.5  # of the growth that may be given back at once: more is a sawtooth
NEAR_SHARE = 0.1  # of what is held: so little room makes a leak an error


class Floor(NamedTuple):
    """Growth below which nothing is said."""

    steps: int
    absolute_bytes: int
    share: float

    def bytes_of(self, level_bytes: float) -> float:
        """The floor at a level."""
        return max(self.absolute_bytes, self.share * level_bytes)


ALLOCATED = Floor(LEAST_STEPS, 8 * MIB, 0.005)  # torch counts exactly
IN_PROCESS = "resident memory"
RESIDENT = Floor(50, 48 * MIB, 0.03)  # the C library and the kernel give back late


def grown(points: Sequence[Point], floor: Floor, warm_up: float) -> Slope | None:
    """The slope of points behind their warm-up, where it is growth that goes on; else None."""
    after = [point for point in points if point[0] >= warm_up]
    if len(after) < LEAST_POINTS or after[-1][0] - after[0][0] < floor.steps:
        return None
    line, half = slope(after), slope(after[len(after) // 2 :])
    if line is None or half is None:
        return None
    growth = line.value * (after[-1][0] - after[0][0])
    falls = (earlier[1] - later[1] for earlier, later in zip(after, after[1:], strict=False))
    goes_on = line.low > 0 and half.low > 0 and half.value >= STILL * line.value
    is_much = growth >= max(floor.bytes_of(after[0][1]), CERTAIN * line.scatter)
    return line if goes_on and is_much and max(falls, default=0.0) < DROP * growth else None


def is_told(levels: Sequence[Level], floor: Floor) -> bool:
    """Were there points enough, behind the warm-up, that growth above the floor would have been found?"""
    after = [level.step for level in levels if level.step >= warm_up_of(levels)]
    return len(after) >= LEAST_POINTS and after[-1] - after[0] >= floor.steps


def warm_up_of(levels: Sequence[Level]) -> float:
    """The step at which a run has warmed up."""
    first, last = levels[0].step, levels[-1].step
    return first + max(WARM_UP_STEPS, WARM_UP_SHARE * (last - first))


def growth_of(levels: Sequence[Level], floor: Floor = ALLOCATED) -> Slope | None:
    """The slope by the step of what is held after a step, where it goes on growing; else None."""
    points = [(float(level.step), float(level.held_bytes)) for level in levels]
    return grown(points, floor, warm_up_of(levels)) if levels else None


def leaks(run: Run, process: Process) -> Iterator[Finding]:
    """What each step of a process leaves behind, by device; of its own memory where it uses none."""
    for device in process.devices:
        line = growth_of(device.levels)
        if line:
            subject = f"torch, device {device.device}"
            yield _leak(run, process, device.levels, line, _headroom(run, device), subject)
    if not process.devices and (line := growth_of(process.resident, RESIDENT)):
        yield _leak(run, process, process.resident, line, _headroom(run, None), IN_PROCESS)


def _leak(
    run: Run, process: Process, levels: Sequence[Level], line: Slope, headroom: int | None, subject: str
) -> Finding:
    after = [level for level in levels if level.step >= warm_up_of(levels)]
    steps = after[-1].step - after[0].step
    exact = subject != IN_PROCESS
    evidence = [
        Evidence(f"{subject}, right after a step", f"{amount(after[0].held_bytes)} at step {after[0].step}"),
        Evidence(
            f"{subject}, right after a step", f"{amount(after[-1].held_bytes)} at step {after[-1].step}"
        ),
        Evidence(
            "growth a step", f"{amount(line.value)} (99 %: {amount(line.low)} to {amount(line.high)})", "none"
        ),
    ]
    if headroom is not None and not run.failures:
        evidence.append(Evidence("until the limit", _until(headroom, line, process.step_s)))
    return Finding(
        id="memory/leak",
        severity="error" if run.failures or _is_near(headroom, after[-1].held_bytes) else "warning",
        confidence="confirmed" if exact and steps >= SURE_STEPS else "likely",
        title=f"Every step leaves {amount(line.value)} behind"
        + ("" if exact else " in the memory of the process"),
        why="What is held at the same point of each step grows and does not level off, so something keeps "
        "what a step has made: a loss or an output that is appended with its graph, a metric, batches.",
        evidence=tuple(evidence),
        fixes=(
            Fix(
                "Keep numbers instead of tensors: loss.item(), or loss.detach() where it stays a tensor.",
                scope="script",
            ),
            Fix("Outputs that are collected: .detach().cpu() before they are appended.", scope="script"),
        ),
    )


def _is_near(headroom: int | None, held_bytes: int) -> bool:
    """Is the limit so near that the run will hardly end by itself?"""
    return headroom is not None and headroom < NEAR_SHARE * (headroom + held_bytes)


def _until(headroom: int, line: Slope, step_s: float | None) -> str:
    """ "some 1,200 steps (1,100 to 1,350), about 20 min"."""
    steps, least, most = (int(max(headroom, 0) / value) for value in (line.value, line.high, line.low))
    text = f"some {steps:,} steps ({least:,} to {most:,})"
    return text if step_s is None else f"{text}, about {duration(steps * step_s)}"


def _headroom(run: Run, device: Torch | None) -> int | None:
    """Bytes that may still be allocated; None where no limit is known."""
    if device is None:
        whole = run.limit_bytes or run.memory_bytes
        return whole - run.resident[-1][1] if whole and run.resident else None
    if not device.reserved or not device.allocated:
        return None
    cached = device.reserved[-1][1] - device.allocated[-1][1]
    if run.limit_bytes is not None:
        return run.limit_bytes - device.reserved[-1][1] + cached
    gpu = next((gpu for gpu in run.gpus if gpu.index == device.gpu), None)
    if gpu is None or not gpu.total_bytes or not gpu.used:
        return None
    return gpu.total_bytes - gpu.used[-1][1] + cached


def unexplained(run: Run) -> Iterator[Finding]:
    """Growth over time where no process told of its steps."""
    if any(process.steps for process in run.processes):
        return
    curves: dict[str, Curve] = {f"GPU {gpu.index}": gpu.own or gpu.used for gpu in run.gpus}
    floor = Floor(LEAST_SECONDS, 256 * MIB, 0.03)
    for subject, curve in (curves or {"resident memory": run.resident}).items():
        line = grown([(at_s, float(size)) for at_s, size in curve], floor, 0.2 * run.seconds)
        if line:
            yield Finding(
                id="memory/growth",
                severity="note",
                confidence="possible",
                title=f"{subject}: memory grows by {amount(line.value * 60)} a minute and does not level off",
                why="Without torch's own numbers a leak cannot be told from a cache that fills.",
                evidence=(Evidence(subject, f"{amount(curve[0][1])}, then {amount(curve[-1][1])}"),),
                fixes=(Fix("Start the run by lora-doctor watch -- COMMAND, so that torch is heard too."),),
            )
