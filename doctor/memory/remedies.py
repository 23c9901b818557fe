"""What to do about an out of memory error, in the order in which it is worth trying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.fact import Fact
from doctor.findings import Evidence, Finding, Fix
from doctor.memory import allocator_setting, out_of_memory
from doctor.memory.amounts import MIB, amount
from doctor.memory.answer import Saving
from doctor.memory.levers import LEVERS
from doctor.memory.usage import Failure, Gpu, Process, Run

OTHERS_BYTES = 256 * MIB  # held by others: below that no end of them helps
NOT_A_LEVER_HERE = "expandable-segments"  # has an answer of its own
FIRST_OTHERS = (
    "memory/leak",
    "memory/evaluation-with-gradients",
)  # findings whose cure comes before a smaller plan


class Failed(Fact, frozen=True, kw_only=True):
    """One failure with all that is known of it."""

    kind: out_of_memory.Kind
    pid: int | None = None
    device: int | None = None
    asked_bytes: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None

    @property
    def pieces_bytes(self) -> int:
        """Reserved and in no tensor. What was wholly free was given back before the failure."""
        if self.reserved_bytes is None or self.allocated_bytes is None:
            return 0
        return max(self.reserved_bytes - self.allocated_bytes, 0)


def failures(run: Run) -> list[Failed]:
    """What ran out of memory: of each process the last failure, words and numbers together."""
    found: list[Failed] = []
    for failure in run.failures:
        read = of(failure)
        if read is None:
            continue
        same = next((known for known in found if _are_one(known, read)), None)
        if same is None:
            found.append(read)
        else:
            found[found.index(same)] = _together(same, read)
    return found


def _are_one(known: Failed, later: Failed) -> bool:
    """Is it one failure that two tell of: the allocator and an exception, a child and who started it?"""
    if known.pid == later.pid or None in (known.pid, later.pid):
        return True
    return bool(known.asked_bytes and later.asked_bytes) and (
        abs((known.asked_bytes or 0) - (later.asked_bytes or 0)) < 0.01 * (known.asked_bytes or 0)
    )


def of(failure: Failure) -> Failed | None:
    """One failure; None where its words are about something else."""
    read = out_of_memory.read(failure.text) if failure.text else None
    if failure.text and read is None:
        return None
    if failure.source == "kernel":
        return Failed(kind="cpu")
    told = read or out_of_memory.OutOfMemory(kind="device")
    return Failed(
        kind=told.kind,
        pid=failure.pid,
        device=_first(told.device, failure.device),
        asked_bytes=_first(told.asked_bytes, failure.asked_bytes),
        total_bytes=_first(told.total_bytes, failure.total_bytes),
        free_bytes=_first(told.free_bytes, failure.free_bytes),
        allocated_bytes=_first(told.allocated_bytes, failure.allocated_bytes),
        reserved_bytes=_first(told.reserved_bytes, failure.reserved_bytes),
    )


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _together(known: Failed, later: Failed) -> Failed:
    """The later one, with what only the earlier tells."""
    told = {name: value for name in later.__struct_fields__ if (value := getattr(later, name)) is not None}
    return msgspec.structs.replace(known, **told)


def answered(run: Run, found: Sequence[Finding], savings: Sequence[Saving] = ()) -> Iterator[Finding]:
    """A finding for each failure, with the way out. ``found`` is what the curves have told.

    ``savings`` are those of the run's own plan, where that is known.
    """
    for failed in failures(run):
        process = next((one for one in run.processes if one.pid == failed.pid), None)
        gpu = _gpu_of(run, failed, process)
        caught = run.exit_code == 0
        yield Finding(
            id="memory/out-of-memory",
            severity="warning" if caught else "error",
            confidence="confirmed",
            title=_title(failed, gpu) + (", and was caught" if caught else ""),
            why=_why(failed),
            evidence=tuple(_evidence(run, failed, gpu)),
            fixes=(*_answers(failed, process, gpu, found), *_levers(savings)),
        )


def _gpu_of(run: Run, failed: Failed, process: Process | None) -> Gpu | None:
    """The GPU by NVML's count on which a process failed."""
    devices = process.devices if process else ()
    index = next((one.gpu for one in devices if one.device == failed.device), None)
    if index is None and len(run.gpus) == 1:
        return run.gpus[0]
    return next((gpu for gpu in run.gpus if gpu.index == index), None)


def _title(failed: Failed, gpu: Gpu | None) -> str:
    if failed.kind == "cpu":
        return "The system ran out of memory"
    index = gpu.index if gpu else failed.device
    place = "Out of memory" + (f" on GPU {index}" if index is not None and failed.kind == "device" else "")
    if failed.asked_bytes is None:
        return place
    free = f", {amount(failed.free_bytes)} free" if failed.free_bytes is not None else ""
    return f"{place}: {amount(failed.asked_bytes)} asked for{free}"


def _why(failed: Failed) -> str:
    asked, total = failed.asked_bytes, failed.total_bytes
    if asked and total and asked > total:
        return "The one tensor that was asked for is larger than the whole GPU: only a smaller plan helps."
    return ""


def _evidence(run: Run, failed: Failed, gpu: Gpu | None) -> Iterator[Evidence]:
    rows = {
        "asked for": failed.asked_bytes,
        "free on the device": failed.free_bytes,
        "in tensors": failed.allocated_bytes,
        "reserved by torch and in no tensor": failed.pieces_bytes if failed.reserved_bytes else None,
        "of the device in all": failed.total_bytes or (gpu.total_bytes if gpu else None),
    }
    if failed.kind == "cpu":
        rows = {
            "asked for": failed.asked_bytes,
            "resident at most": run.peak_resident_bytes,
            "in all": run.memory_bytes,
        }
    for subject, size in rows.items():
        if size is not None:
            yield Evidence(subject, amount(size))


def _answers(
    failed: Failed, process: Process | None, gpu: Gpu | None, found: Sequence[Finding]
) -> Iterator[Fix]:
    """Leftover processes first, then memory in pieces, then what grows."""
    if failed.kind != "cpu":
        yield from _others(failed, gpu)
        yield from _pieces(failed, process)
    for finding in found:
        if finding.id in FIRST_OTHERS:
            yield from (Fix(f"{finding.title}: {fix.title}", scope=fix.scope) for fix in finding.fixes[:1])
    if failed.kind == "cpu":
        yield Fix("Fewer workers of the data loader: each holds what it has loaded.", scope="script")


def _levers(savings: Sequence[Saving]) -> Iterator[Fix]:
    """What makes the plan smaller, in the order of what it costs."""
    noticed = [one for one in savings if one.noticeable and one.name != NOT_A_LEVER_HERE]
    for saving in noticed:
        saves = f"saves about {amount(saving.saves_bytes)} of this plan"
        yield Fix(f"{saving.title}: {saves}; {saving.cost}", scope="script")
    for lever in () if noticed else LEVERS:
        if lever.name != NOT_A_LEVER_HERE:
            yield Fix(f"{lever.title}: {lever.cost}", scope="script")


def _others(failed: Failed, gpu: Gpu | None) -> Iterator[Fix]:
    held = gpu.others[-1][1] if gpu and gpu.others else 0
    if held < OTHERS_BYTES or gpu is None:
        return
    names = ", ".join(
        f"{one.name or 'process'} (pid {one.pid})" for one in gpu.holders[:3] if one.memory_bytes
    )
    enough = failed.asked_bytes is not None and failed.asked_bytes <= held + (failed.free_bytes or 0)
    effect = "that alone would have been enough" if enough else "it would not have been enough by itself"
    yield Fix(
        f"End other processes on the GPU, which hold {amount(held)}: {names}; {effect}.", scope="system"
    )


def _pieces(failed: Failed, process: Process | None) -> Iterator[Fix]:
    pieces = failed.pieces_bytes
    if not pieces or not failed.asked_bytes or (process and process.expandable_segments):
        return
    setting = allocator_setting.against_pieces(process.torch if process else "")
    if pieces + (failed.free_bytes or 0) >= failed.asked_bytes:
        yield Fix(
            f"Start with {setting}: {amount(pieces)} lay between tensors, which with what was free is enough "
            "for what was asked for, had it been in one piece.",
            scope="setting",
        )


def with_messages_alone(run: Run) -> Run:
    """The run with the error messages out of all that was said, and without what is about something else."""
    kept = tuple(
        msgspec.structs.replace(failure, text=out_of_memory.excerpt(failure.text))
        for failure in run.failures
        if of(failure) is not None
    )
    return msgspec.structs.replace(run, failures=kept)
