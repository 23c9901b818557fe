"""A watched run as one HTML page that stands by itself, light or dark as the reader has it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.findings import Finding
from doctor.memory.usage import Run
from doctor.render import watch_markdown, watch_plot

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>lora-doctor watch</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  background: #fff; color: #222; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; }}
td, th {{ border: 1px solid #ccc; padding: .2rem .6rem; text-align: left; vertical-align: top; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #16181c; color: #e6e6e6; }}
  td, th {{ border-color: #444; }} }}
</style>
</head>
<body>
{plot}{text}
</body>
</html>
"""


def render(run: Run, findings: Sequence[Finding]) -> str:
    """The page: the plot, then what it means."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = parser.render(watch_markdown.render(run, findings))
    return _PAGE.format(plot=watch_plot.render(run), text=text.strip())
