"""What the curves of a run mean: steady, a leak, a cache that grows, memory in pieces, an evaluation that
records gradients, another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.findings import Evidence, Finding, Fix
from doctor.memory import allocator_setting
from doctor.memory.amounts import MIB, amount
from doctor.memory.growth import (
    ALLOCATED,
    LEAST_POINTS,
    LEAST_STEPS,
    RESIDENT,
    Floor,
    growth_of,
    is_told,
    leaks,
    unexplained,
    warm_up_of,
)
from doctor.memory.usage import Gpu, Level, Look, Process, Run, Torch

LEAST_LOOKS = 3  # in a row, into the forward of a model in eval mode
PIECES_SHARE, PIECES_BYTES = 0.15, 256 * MIB
FULL_SHARE = 0.1  # less free than this is nearly full
OTHERS_SHARE, OTHERS_BYTES = 0.03, 512 * MIB


def diagnosed(run: Run) -> tuple[Finding, ...]:
    """All that can be said of a run except of how it failed (``remedies``), the graver first."""
    found = [
        *_over_limit(run),
        *(finding for gpu in run.gpus for finding in _other_process(gpu)),
        *(finding for process in run.processes for finding in _of_process(run, process)),
        *unexplained(run),
        *_spill(run),
    ]
    order = ("error", "warning", "note")
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity))) or (_quiet(run),)


def _of_process(run: Run, process: Process) -> Iterator[Finding]:
    yield from leaks(run, process)
    for device in process.devices:
        yield from _pieces(run, process, device)
        if growth_of(device.levels) is None:
            yield from _cache(device)
    yield from _evaluation(process)


def _pieces(run: Run, process: Process, device: Torch) -> Iterator[Finding]:
    pieces, reserved = device.unusable_bytes, device.peak_reserved_bytes
    if pieces < max(PIECES_SHARE * reserved, PIECES_BYTES) or not (
        device.retries or _nearly_full(run, device)
    ):
        return
    setting = allocator_setting.against_pieces(process.torch)
    known = () if process.expandable_segments else (Fix(f"Start with {setting}", scope="setting"),)
    yield Finding(
        id="memory/fragmentation",
        severity="warning",
        confidence="likely",
        title=f"{amount(pieces)} of the reserved memory lies in pieces between tensors",
        why="torch holds that memory from the driver, but in segments that tensors still use in part. What "
        "asks for more than one piece has to be found elsewhere, and may fail while much is unused.",
        evidence=(
            Evidence("reserved at its peak", amount(reserved)),
            Evidence("in pieces", amount(pieces), f"below {PIECES_SHARE:.0%}"),
            Evidence("times the cache was given back to the driver", str(device.retries), "0"),
        ),
        fixes=(
            *known,
            Fix("Batches of similar length ask for similar sizes: group by length.", scope="script"),
        ),
    )


def _nearly_full(run: Run, device: Torch) -> bool:
    gpus = (gpu for gpu in run.gpus if gpu.index == device.gpu and gpu.total_bytes)
    return any((gpu.least_free_bytes or 0) < FULL_SHARE * (gpu.total_bytes or 0) for gpu in gpus)


def _cache(device: Torch) -> Iterator[Finding]:
    """Reserved has grown while allocated has not."""
    levels = device.levels
    if len(levels) < LEAST_POINTS or levels[-1].step - levels[0].step < LEAST_STEPS:
        return
    began_s = next(level.at_s for level in levels if level.step >= warm_up_of(levels))
    reserved = [size for at_s, size in device.reserved if at_s >= began_s]
    held = [level.held_bytes for level in levels if level.at_s >= began_s]
    if not reserved or not held:
        return
    growth = reserved[-1] - reserved[0]
    if growth < max(0.02 * reserved[0], 64 * MIB) or held[-1] - held[0] > growth / 4:
        return
    yield Finding(
        id="memory/cache-growth",
        severity="note",
        confidence="confirmed",
        title=f"torch's cache has grown by {amount(growth)}, which is harmless",
        why="Tensors after a step take what they took before. The allocator keeps freed memory for the next "
        "longer batch instead of giving it back; nvidia-smi counts that as used.",
        evidence=(
            Evidence("reserved", f"{amount(reserved[0])}, then {amount(reserved[-1])}"),
            Evidence("allocated right after a step", f"{amount(held[0])}, then {amount(held[-1])}"),
        ),
    )


def _evaluation(process: Process) -> Iterator[Finding]:
    recording = _recording(process)
    if len(recording) < LEAST_LOOKS:
        return
    sizes = [look.allocated_bytes for look in recording if look.allocated_bytes is not None]
    held = [level.held_bytes for device in process.devices for level in device.levels]
    evidence = [
        Evidence(
            "looks in a row into the model in eval mode that found autograd recording",
            str(len(recording)),
            "0",
        ),
    ]
    if sizes and held:
        evidence.append(
            Evidence(
                "allocated meanwhile",
                f"up to {amount(max(sizes))}",
                f"about {amount(held[-1])}, as after a step",
            )
        )
    yield Finding(
        id="memory/evaluation-with-gradients",
        severity="warning",
        confidence="confirmed",
        title="Evaluation records gradients",
        why="The model was in eval mode and made no steps, yet autograd recorded: activations were kept for "
        "a backward pass that never comes. model.eval() alone does not switch that off.",
        evidence=tuple(evidence),
        fixes=(Fix("Evaluate inside torch.inference_mode() or torch.no_grad().", scope="script"),),
    )


def _recording(process: Process) -> list[Look]:
    """The longest row of looks that found a model in eval mode, between steps, with autograd recording.

    None where the run trains in eval mode.
    """
    best: list[Look] = []
    row: list[Look] = []
    for earlier, look in zip(process.looks, process.looks[1:], strict=False):
        if look.step != earlier.step or look.training is not False:
            row = []
        elif look.inside and look.gradients is not None:
            row = [*row, look] if look.gradients else []
        best = max(best, row, key=len)
    return [] if process.steps_in_eval_mode else best


def _other_process(gpu: Gpu) -> Iterator[Finding]:
    """Others took memory while the run went on, or left it little."""
    if not gpu.others or not gpu.total_bytes:
        return
    first, most = gpu.others[0][1], max(size for _, size in gpu.others)
    floor = max(OTHERS_SHARE * gpu.total_bytes, OTHERS_BYTES)
    nearly_full = (gpu.least_free_bytes or 0) < FULL_SHARE * gpu.total_bytes
    grew = most - first >= floor
    if most < floor or not (grew or nearly_full):
        return
    title = (
        f"took {amount(most - first)} more of GPU {gpu.index} meanwhile"
        if grew
        else (f"hold {amount(most)} of GPU {gpu.index}, which is nearly full")
    )
    yield Finding(
        id="memory/other-process",
        severity="warning",
        confidence="confirmed",
        title=f"Other processes {title}",
        why="What they hold is missing here: runs that ended badly, notebooks, displays.",
        evidence=tuple(
            Evidence(f"{holder.name or 'process'} (pid {holder.pid})", amount(holder.memory_bytes))
            for holder in gpu.holders[:5]
            if holder.memory_bytes
        ),
        fixes=(Fix("End what is left over of earlier runs, or choose another GPU.", scope="system"),),
    )


def _over_limit(run: Run) -> Iterator[Finding]:
    if run.limit_bytes is None:
        return
    peaks = {
        f"GPU {gpu.index}": max((size for _, size in gpu.own), default=gpu.peak_bytes) for gpu in run.gpus
    }
    for subject, peak in (peaks or {"resident memory": run.peak_resident_bytes}).items():
        if peak > run.limit_bytes:
            yield Finding(
                id="memory/over-limit",
                severity="error",
                confidence="confirmed",
                title=f"{subject}: the peak of {amount(peak)} is above the limit",
                evidence=(Evidence("peak", amount(peak), f"at most {amount(run.limit_bytes)}"),),
            )


def _spill(run: Run) -> Iterator[Finding]:
    full = [
        gpu for gpu in run.gpus if gpu.total_bytes and (gpu.least_free_bytes or 0) < 0.05 * gpu.total_bytes
    ]
    if run.spills and full:
        yield Finding(
            id="memory/may-spill",
            severity="note",
            confidence="possible",
            title=f"GPU {full[0].index} was full: Windows may have moved memory out of it",
            why="There the driver goes on in the system's memory instead of failing, many times slower. NVML "
            "does not tell how much; the task manager shows it as shared GPU memory.",
            evidence=(Evidence("least free", amount(full[0].least_free_bytes or 0)),),
            fixes=(
                Fix("NVIDIA control panel, CUDA sysmem fallback policy: prefer no fallback.", scope="system"),
            ),
        )


def _quiet(run: Run) -> Finding:
    """Nothing was found: because it is steady, or because too little was seen."""
    seen = [
        (levels, floor)
        for one in run.processes
        for levels, floor in [(d.levels, ALLOCATED) for d in one.devices] or [(one.resident, RESIDENT)]
        if levels
    ]
    judged = [(levels[-1].step - levels[0].step, floor) for levels, floor in seen if is_told(levels, floor)]
    if judged:
        steps, floor = max(judged)
        return Finding(
            id="memory/steady",
            severity="note",
            confidence="confirmed" if floor is ALLOCATED else "likely",
            title=f"Steady: over {steps} steps nothing grows that should not",
            why=""
            if floor is ALLOCATED
            else "In the memory of a process, growth below "
            f"{amount(RESIDENT.absolute_bytes)} is not told from what the C library keeps.",
        )
    return Finding(
        id="memory/undetermined",
        severity="note",
        confidence="possible",
        title="Too little was seen to tell whether memory grows",
        why=_too_little(*max(seen, key=lambda one: len(one[0]))) if seen else "No optimizer step was seen.",
    )


def _too_little(levels: Sequence[Level], floor: Floor) -> str:
    steps = levels[-1].step - levels[0].step
    return (
        f"{steps} steps were seen at {len(levels)} moments; behind the warm-up {floor.steps} steps at "
        f"{LEAST_POINTS} moments are needed. For a short run, take a shorter --interval."
    )
