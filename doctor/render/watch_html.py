"""A watched run as one HTML page that stands by itself, light or dark as the reader has it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.findings import Finding
from doctor.memory.usage import Run
from doctor.render import html, watch_markdown, watch_plot


def render(run: Run, findings: Sequence[Finding]) -> str:
    """The page: the plot, then what it means."""
    told = watch_markdown.render(run, findings)
    return html.render(told, title="lora-doctor watch", picture=watch_plot.render(run))
