"""An answer for an issue, a chat or a page: the parts, the levers, the best plan, the snippets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.memory.answer import Answer, Cell, Saving
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
from doctor.render.markdown_text import fenced, prose, table

LANGUAGES = {"LLaMA-Factory": "yaml"}


def render(answer: Answer) -> str:
    """The whole answer."""
    blocks = [
        f"**{prose(model_line(answer.model))}**",
        prose(plan_line(answer.estimate.plan)),
        f"**{prose(verdict_line(answer))}**",
        _parts(answer),
        "\n".join(_sentences(answer)),
        *_levers(answer.advice),
        *_best(answer),
        *_table(answer.table),
        *(measured.markdown(answer.measured) if answer.measured else ()),
        *_snippets(answer),
    ]
    return "\n\n".join(blocks) + "\n"


def _parts(answer: Answer) -> str:
    peak = answer.estimate.peak_bytes
    rows = [
        (name, gib(part.amount_bytes), f"{part.amount_bytes / max(peak, 1):.0%}", SOURCES[part.source])
        for name, part in parts_of(answer.estimate)
    ]
    return table(("part", "size", "share", "source"), [*rows, ("**peak**", f"**{gib(peak)}**", "", "")])


def _sentences(answer: Answer) -> Iterator[str]:
    told = [moment_line(answer.estimate.moment), tier_line(answer.estimate), *device_lines(answer.device)]
    for text in (*told, *answer.notes, *answer.estimate.notes, *answer.model.notes):
        if text:
            yield f"- {prose(sentence(text))}"


def _levers(advice: Sequence[Saving]) -> Iterator[str]:
    if not advice:
        return
    yield "**What would make it smaller, what costs least first**"
    rows = [
        (
            prose(saving.title),
            gib(saving.saves_bytes) if saving.noticeable else f"nothing ({gib(saving.saves_bytes)})",
            gib(saving.peak_bytes),
            VERDICTS[saving.verdict] if saving.verdict != "unknown" else "",
            prose(saving.cost),
        )
        for saving in advice
    ]
    yield table(("lever", "saves", "peak then", "", "what it costs"), rows)


def _best(answer: Answer) -> Iterator[str]:
    best = answer.best
    if best is None:
        return
    if best.estimate is None:
        yield f"**No plan fits:** {prose('; '.join(best.reasons))}"
        return
    if not answer.searched:
        line = f"{plan_line(best.estimate.plan)}: {gib(best.estimate.peak_bytes)}"
        yield f"**The best plan that fits:** {prose(line)}"
    if best.reasons:
        yield "\n".join(
            [
                "Unlike the recommended recipe, so that it fits:",
                "",
                *(f"- {prose(reason)}" for reason in best.reasons),
            ]
        )


def _table(cells: Sequence[Cell]) -> Iterator[str]:
    if not cells:
        return
    batches = sorted({cell.batch_size for cell in cells})
    rows = [
        (str(length), *(_cell(cell) for cell in cells if cell.sequence_length == length))
        for length in sorted({cell.sequence_length for cell in cells})
    ]
    yield table(("sequence length", *(f"batch {batch}" for batch in batches)), rows)


def _cell(cell: Cell) -> str:
    if cell.peak_bytes is None:
        return "?"
    word = f", {VERDICTS[cell.verdict]}" if cell.verdict != "unknown" else ""
    return f"{gib(cell.peak_bytes)}{word}"


def _snippets(answer: Answer) -> Iterator[str]:
    for title, text in answer.snippets.items():
        yield f"**{prose(title)}**"
        yield fenced(text, LANGUAGES.get(title, "python"))
