"""What every form of a watched run says: its parts as rows of label and words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from doctor.memory.amounts import amount, duration
from doctor.memory.usage import Curve, Gpu, Process, Run, Torch
from doctor.render.lines import Mark

MARKS: dict[str, Mark] = {"error": "FAIL", "warning": "warn", "note": "note"}
HOOK_WORDS = {
    "silent": "no Python process of the run imported torch while it was listened to",
    "impossible": "no Python found the hook: -I, -E or -S was given, it ran in a container, or none ran",
    "not-asked": "",
    "worked": "",
}
BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.-=*#"


def heading(run: Run) -> str:
    """ "Watched python for 3 min: exit code 1"."""
    ended = ""
    if run.exit_code is not None:
        ended = f": ended by {run.signal}" if run.signal else f": exit code {run.exit_code}"
    return f"Watched {run.program or 'a process'} for {duration(run.seconds)}{ended}"


def rows(run: Run) -> Iterator[tuple[str, str]]:
    """Label and words of everything that was seen."""
    for gpu in run.gpus:
        yield from _gpu_rows(gpu)
    busy = [one for one in run.processes if one.devices or one.steps] or list(run.processes[:1])
    for process in busy:
        yield from _process_rows(run, process)
    if len(run.processes) > len(busy):
        idle = len(run.processes) - len(busy)
        yield "", f"{idle} more processes imported torch; no step and no memory of a GPU was seen"
    if run.resident:
        unique = f", {amount(run.unique_bytes)} at most its own alone" if run.unique_bytes else ""
        last = f", {amount(run.resident[-1][1])} at the end"
        yield "system memory", f"peak {amount(run.peak_resident_bytes)} resident{unique}{last}"
    for words in (HOOK_WORDS[run.hook], *(gap.reason for gap in run.gaps if gap.kind != "not-applicable")):
        if words:
            yield "not seen", words


def _gpu_rows(gpu: Gpu) -> Iterator[tuple[str, str]]:
    total = f" of {amount(gpu.total_bytes)}" if gpu.total_bytes else ""
    free = f", at least {amount(gpu.least_free_bytes)} free" if gpu.least_free_bytes is not None else ""
    yield f"GPU {gpu.index}", f"{gpu.name}: peak {amount(gpu.peak_bytes)}{total}{free}"
    if gpu.own:
        yield "this run", f"peak {amount(peak(gpu.own))}"
    else:
        yield "this run", "its share is not known: the driver counts processes by other numbers"
    if gpu.others and peak(gpu.others):
        names = (
            f"{one.name or 'process'} (pid {one.pid}) {amount(one.memory_bytes)}" for one in gpu.holders[:3]
        )
        yield "others", f"peak {amount(peak(gpu.others))}: {', '.join(names)}"


def _process_rows(run: Run, process: Process) -> Iterator[tuple[str, str]]:
    who = f"{process.torch}{f' in pid {process.pid}' if len(run.processes) > 1 else ''}: "
    if process.steps:
        pace = f", {duration(process.step_s)} each" if process.step_s and process.step_s >= 1 else ""
        yield "torch", f"{who}{process.steps:,} optimizer steps{pace}"
    elif process.steps is None:
        yield "torch", f"{who}its optimizer steps cannot be counted, which needs torch 2.0"
    else:
        yield "torch", f"{who}no optimizer step"
    for device in process.devices:
        yield f"device {device.device}", torch_words(device)
    if not process.devices:
        yield "", "no memory of a GPU; on the CPU torch does not tell what its tensors hold"


def torch_words(device: Torch) -> str:
    """The peaks of torch's allocator."""
    allocated, reserved = amount(device.peak_allocated_bytes), amount(device.peak_reserved_bytes)
    words = f"allocated peak {allocated}, reserved peak {reserved}"
    retries = f", cache given back {device.retries} times for want of memory" if device.retries else ""
    return words + retries


def peak(curve: Curve) -> int:
    """The highest point, 0 of an empty curve."""
    return max((size for _, size in curve), default=0)


def main_curve(run: Run) -> tuple[Curve, int | None]:
    """The curve that matters most, and its ceiling where there is one."""
    if run.gpus:
        gpu = max(run.gpus, key=lambda gpu: gpu.peak_bytes / gpu.total_bytes if gpu.total_bytes else 0)
        return gpu.used, gpu.total_bytes
    return run.resident, None


def sparkline(curve: Curve, width: int, ceiling: int | None, *, unicode: bool) -> str:
    """A curve as bars from zero to the ceiling, else to its peak; a column takes the largest of its time."""
    bars = BARS if unicode else PLAIN_BARS
    top = ceiling or peak(curve)
    if not top or width < 1:
        return ""
    columns = min(width, len(curve))
    began, seconds = curve[0][0], max(curve[-1][0] - curve[0][0], 1e-9)
    highs = [0] * columns
    for at_s, size in curve:
        column = min(int((at_s - began) / seconds * columns), columns - 1)
        highs[column] = max(highs[column], size)
    # A column without a look stays as it was.
    held: Iterator[int] = accumulate(highs, lambda before, high: high or before)
    return "".join(bars[min(int(high / top * len(bars)), len(bars) - 1)] for high in held)
