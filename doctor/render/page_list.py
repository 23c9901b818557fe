"""Faults by name: for a terminal by subject, for a pipe one a line, in Markdown as an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from doctor.page import Brief
from doctor.render.layout import Layout
from doctor.render.markdown_text import code, prose

SHOWN_SYMPTOMS = 3


def terminal(
    faults: Sequence[Brief], *, width: int | None = None, color: bool = False, unicode: bool = False
) -> str:
    """By subject where lines have a width; else one fault a line, its parts between tabs."""
    layout = Layout(width, color, unicode)
    lines = by_subject(faults, layout) if width else (one_in_a_line(fault, layout) for fault in faults)
    return "\n".join(lines).strip("\n") + "\n"


def by_subject(faults: Sequence[Brief], layout: Layout) -> Iterator[str]:
    """Each subject with its faults, their titles and what people see first."""
    for subject, group in groupby(faults, subject_of):
        yield from ("", layout.paint(subject, "strong"))
        for fault in group:
            yield f"  {layout.paint(fault.id, 'command')}"
            yield from layout.wrap(fault.title, 4)
            for symptom in fault.symptoms[:SHOWN_SYMPTOMS]:
                yield from layout.wrap(symptom, 6, "dim")


def one_in_a_line(fault: Brief, layout: Layout) -> str:
    """The id, the title and what people see, so that a line that grep finds is whole."""
    parts = (fault.id, fault.title, " | ".join(fault.symptoms[:SHOWN_SYMPTOMS]))
    return layout.clean("\t".join(" ".join(part.split()) for part in parts)).replace("    ", "\t").rstrip()


def markdown(faults: Sequence[Brief], suffix: str = "") -> str:
    """By subject, each fault a link to its page where there are pages: with the suffix of their names."""
    blocks: list[str] = []
    for subject, group in groupby(faults, subject_of):
        blocks.append(f"## {prose(subject)}")
        blocks.append("\n".join(entry(fault, suffix) for fault in group))
    return "\n\n".join(blocks) + "\n"


def entry(fault: Brief, suffix: str) -> str:
    """One fault, with what people see beneath it."""
    name = f"[{code(fault.id)}]({fault.id}{suffix})" if suffix else code(fault.id)
    seen = [f"  - {code(symptom)}" for symptom in fault.symptoms[:SHOWN_SYMPTOMS]]
    return "\n".join([f"- {name}: {prose(fault.title)}", *seen])


def subject_of(fault: Brief) -> str:
    """ "torch" of "torch/cpu-only-build"."""
    return fault.id.partition("/")[0]
