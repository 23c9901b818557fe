"""A measured run beside its prediction, in the words of every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.memory.measured import Difference, Measured, Measurement
from doctor.render.fit_words import PHASES, gib

if TYPE_CHECKING:
    from doctor.render.layout import Layout

COLUMNS = ("", "measured", "predicted", "missed by")
ON_CPU = (
    "On the CPU, allocated is the size of the storages that live at once, counted as the trace counts them; "
    "what kernels take for themselves, and what the heap keeps, is in the resident memory alone."
)
OUTCOMES = {
    "ok": "ran to its end",
    "out-of-memory": "ran out of memory",
    "failed": "failed",
    "hung": "did not end in time",
}
_MIB = 1 << 20


def size(size_bytes: int) -> str:
    """A size in MiB where GiB would hide it."""
    return gib(size_bytes) if size_bytes >= 100 * _MIB else f"{size_bytes / _MIB:.1f} MiB"


def head(measurement: Measurement) -> str:
    """What ran where, and how it ended."""
    made_up = f" with random {' and '.join(measurement.random)}" if measurement.random else ""
    where = "the CPU" if measurement.kind == "cpu" else measurement.device
    what = f"Two steps on {where}{made_up}"
    if measurement.outcome == "ok":
        return f"{what}: measured in {measurement.seconds:.0f} s"
    when = f" {PHASES[measurement.died_in]}" if measurement.died_in in PHASES else ""
    step = f" of step {measurement.step}" if measurement.step else ""
    return f"{what}: {OUTCOMES[measurement.outcome]}{when}{step}"


def rows(measured: Measured) -> Iterator[tuple[str, str, str, str]]:
    """Of the table: what, measured, predicted, by how much the prediction missed."""
    yield from (_row(one) for one in measured.differences)
    measurement = measured.measurement
    told = {one.name for one in measured.differences}
    for name, phase in measurement.phases.items():
        if name not in told:
            yield name, size(phase.allocated_bytes), "", ""
    if measurement.kind == "cpu" and measurement.phases:
        yield "resident beyond libraries", size(measurement.peak_reserved_bytes), "", ""
        if measurement.context_bytes:
            yield "libraries", size(measurement.context_bytes), "", ""
    saved = [phase.saved_bytes for phase in measurement.phases.values() if phase.saved_bytes is not None]
    if saved:
        yield "saved for backward", size(max(saved)), "", ""


def _row(one: Difference) -> tuple[str, str, str, str]:
    if one.name == "trainable parameters":
        return one.name, f"{one.measured:,}", f"{one.predicted:,}", f"{one.relative:+.1%}"
    return one.name, size(one.measured), size(one.predicted), f"{one.relative:+.1%}"


def sentences(measured: Measured) -> Iterator[str]:
    """What the table cannot say."""
    measurement = measured.measurement
    if measurement.reason:
        yield measurement.reason
    if measurement.outcome == "failed" and measurement.frames:
        yield f"It was raised at {measurement.frames[-1]}."
    if measurement.kind == "cpu" and measurement.phases:
        yield ON_CPU
    yield from measurement.notes
    yield from measured.notes


def terminal(measured: Measured, layout: Layout) -> Iterator[str]:
    """The section of a terminal's answer."""
    yield from ("", *layout.wrap(head(measured.measurement), 0, "strong"))
    table = list(rows(measured))
    if table:
        wide = max(len(row[0]) for row in table)
        yield layout.paint(f"  {'':{wide}}  {COLUMNS[1]:>14}  {COLUMNS[2]:>14}  {COLUMNS[3]:>9}", "dim")
    for name, seen, predicted, missed in table:
        yield f"  {name:{wide}}  {seen:>14}  {predicted:>14}  {missed:>9}".rstrip()
    for sentence in sentences(measured):
        yield from layout.wrap(sentence, 2, "dim")


def markdown(measured: Measured) -> Iterator[str]:
    """The blocks of an answer in Markdown."""
    from doctor.render.markdown_text import prose, table

    yield f"**{prose(head(measured.measurement))}**"
    found = list(rows(measured))
    if found:
        yield table(COLUMNS, found)
    told = [f"- {prose(sentence)}" for sentence in sentences(measured)]
    if told:
        yield "\n".join(told)
