"""An answer for a terminal: the bar of the parts with the free memory marked on it, levers, the best plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.memory.answer import Answer, Best, Cell, Saving
from doctor.memory.estimate import Estimate, Verdict
from doctor.render import measured
from doctor.render.fit_words import (
    SOURCES,
    VERDICTS,
    device_lines,
    gib,
    model_line,
    moment_line,
    parts_of,
    plan_line,
    sentence,
    tier_line,
    verdict_line,
)
from doctor.render.layout import Layout, Paint

WIDTH, WIDEST = 80, 76  # columns where the terminal does not say; the bar at most
GLYPHS = {
    "weights": "█",
    "adapter": "▚",
    "gradients": "▞",
    "optimizer": "◆",
    "activations": "▓",
    "logits": "▒",
    "overhead": "░",
}
LETTERS = {
    "weights": "#",
    "adapter": "a",
    "gradients": "g",
    "optimizer": "o",
    "activations": "+",
    "logits": "=",
    "overhead": ".",
}
PAINTS: dict[Verdict, Paint] = {"fits": "ok", "tight": "warn", "does-not-fit": "bad", "unknown": "note"}
SHORT = {"fits": "fits", "tight": "tight", "does-not-fit": "no", "unknown": ""}


def render(answer: Answer, *, width: int | None = None, color: bool = False, unicode: bool = False) -> str:
    """The whole answer. ``width`` is in columns, None for lines of any length."""
    layout = Layout(width, color, unicode)
    lines = [
        *layout.wrap(model_line(answer.model), 0, "strong"),
        *layout.wrap(plan_line(answer.estimate.plan), 0),
        "",
        *layout.wrap(verdict_line(answer), 0, PAINTS[answer.verdict]),
        "",
        *_bar(answer, layout),
        "",
        *_parts(answer.estimate, layout),
        "",
        *_sentences(answer, layout),
        *_levers(answer.advice, layout),
        *_best(answer, layout),
        *_table(answer.table, layout),
        *(measured.terminal(answer.measured, layout) if answer.measured else ()),
        *_snippets(answer, layout),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _glyph(name: str, layout: Layout) -> str:
    return GLYPHS[name] if layout.unicode else LETTERS[name]


def _bar(answer: Answer, layout: Layout) -> Iterator[str]:
    """The parts side by side; a mark where the free memory ends."""
    free = answer.device.free_bytes
    columns = max(min((layout.width or WIDTH) - 4, WIDEST), 20)
    scale = columns / max(answer.estimate.peak_bytes, free or 0, 1)
    bar, reached = "", 0
    for name, part in parts_of(answer.estimate):
        reached += part.amount_bytes
        bar += _glyph(name, layout) * (round(reached * scale) - len(bar))
    yield "  " + bar
    if free is not None:
        at = min(round(free * scale), columns)
        yield "  " + _marked(f"free: {gib(free)}", at, columns, "▲" if layout.unicode else "^")


def _marked(label: str, at: int, columns: int, sign: str) -> str:
    """A sign under a column, and its label on the side that has room."""
    at = max(at - 1, 0)
    if at + len(label) + 2 <= columns:
        return " " * at + f"{sign} {label}"
    return f"{label} {sign}".rjust(at + 1)


def _parts(estimate: Estimate, layout: Layout) -> Iterator[str]:
    for name, part in parts_of(estimate):
        share = part.amount_bytes / max(estimate.peak_bytes, 1)
        figures = f"{gib(part.amount_bytes):>10} {share:>4.0%}"
        yield f"  {_glyph(name, layout)} {name:12}{figures}  " + layout.paint(SOURCES[part.source], "dim")
    yield layout.paint(f"    {'peak':12}{gib(estimate.peak_bytes):>10}", "strong")


def _sentences(answer: Answer, layout: Layout) -> Iterator[str]:
    told = [moment_line(answer.estimate.moment), tier_line(answer.estimate), *device_lines(answer.device)]
    for text in (*told, *answer.notes, *answer.estimate.notes, *answer.model.notes):
        yield from layout.wrap(sentence(text), 2) if text else ()


def _levers(advice: Sequence[Saving], layout: Layout) -> Iterator[str]:
    """Levers that save something, in the order of their cost; the others in one sentence."""
    useful = [saving for saving in advice if saving.noticeable]
    if useful:
        yield from ("", layout.paint("What would make it smaller, what costs least first", "strong"))
        yield layout.paint(f"  {'saves':>9}  {'peak then':>9}  ", "dim")
    for saving in useful:
        figures = f"  {gib(saving.saves_bytes):>9}  {gib(saving.peak_bytes):>9}  "
        title = (
            f"{saving.title} ({VERDICTS[saving.verdict]})" if saving.verdict != "unknown" else saving.title
        )
        first, *rest = layout.wrap(title, len(figures))
        yield from (figures + first[len(figures) :], *rest, *layout.wrap(saving.cost, len(figures), "dim"))
    idle = [f"{saving.title} ({gib(saving.saves_bytes)})" for saving in advice if not saving.noticeable]
    if idle:
        yield from ("", *layout.wrap(f"Would save nothing worth having here: {', '.join(idle)}.", 2))
    if any(saving.tier == "formula" for saving in advice) and useful:
        yield from layout.wrap("Savings are differences by formula; --levers traced traces each.", 2, "dim")


def _best(answer: Answer, layout: Layout) -> Iterator[str]:
    best: Best | None = answer.best
    if best is None:
        return
    if best.estimate is None:
        yield from ("", *layout.wrap(f"No plan fits: {'; '.join(best.reasons)}.", 0, "bad"))
        return
    if not answer.searched:
        need = gib(best.estimate.peak_bytes)
        yield from ("", layout.paint("The best plan that fits", "strong"))
        yield from layout.wrap(f"{plan_line(best.estimate.plan)}: {need}", 2)
    if best.reasons:
        yield from ("", layout.paint("What is unlike the recommended recipe, so that it fits", "strong"))
    for reason in best.reasons:
        first, *rest = layout.wrap(reason, 4)
        yield from ("  - " + first[4:], *rest)


def _table(cells: Sequence[Cell], layout: Layout) -> Iterator[str]:
    if not cells:
        return
    batches = sorted({cell.batch_size for cell in cells})
    yield from ("", layout.paint("Sequence length against batch", "strong"))
    yield "  " + " " * 8 + "".join(f"{f'batch {batch}':>16}" for batch in batches)
    for length in sorted({cell.sequence_length for cell in cells}):
        row = [cell for cell in cells if cell.sequence_length == length]
        yield f"  {length:>8}" + "".join(_cell(cell, layout) for cell in row)


def _cell(cell: Cell, layout: Layout) -> str:
    if cell.peak_bytes is None:
        return f"{'?':>16}"
    text = f"{gib(cell.peak_bytes)} {SHORT[cell.verdict]:>5}"
    return layout.paint(f"{text:>16}", PAINTS[cell.verdict])


def _snippets(answer: Answer, layout: Layout) -> Iterator[str]:
    """The script of the plan that fits; further texts are in the other formats."""
    for title, text in [*answer.snippets.items()][:1]:
        yield from ("", layout.paint(title, "strong"))
        for line in text.splitlines():
            yield "  " + layout.paint(layout.clean(line), "command")
