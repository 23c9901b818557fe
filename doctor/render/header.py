"""A report in two lines, for the head of another program's output."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Report
from doctor.plain import one_line
from doctor.render import describe
from doctor.render.markdown_text import clipped
from doctor.render.verdict import verdict
from doctor.stack import STACK

MARK = "lora-doctor: "  # begins each line
LIMIT = 300  # characters of a line


def lines(report: Report) -> list[str]:
    """Versions of the stack; then GPU, driver and verdict."""
    told = (", ".join(_versions(report.facts)), "; ".join(_standing(report)))
    return [clipped(f"{MARK}{one_line(text)}", LIMIT) for text in told if text]


def _versions(facts: Facts) -> Iterator[str]:
    if facts.interpreter:
        yield f"Python {facts.interpreter.version}"
    versions = {name: facts.version_of(name) for name in STACK}
    yield from (f"{name} {version}" for name, version in versions.items() if version)
    if facts.packages and not any(versions.values()):
        yield "nothing of the stack is installed"


def _standing(report: Report) -> Iterator[str]:
    facts = report.facts
    yield describe.gpu(facts) if facts.gpus or facts.accelerators else "no GPU seen"
    if facts.driver:
        yield f"driver {facts.driver.version}"
    yield verdict(report).partition(" Not judged:")[0]
