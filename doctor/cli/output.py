"""Where a report goes: a stream that may be closed, narrow, dumb or a file; and the exit code it means."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

from doctor.host import Host

if TYPE_CHECKING:
    from doctor.findings import Report

FILE_STYLE = {"width": None, "color": False, "unicode": True}  # files are written in UTF-8
EXIT_ERROR, EXIT_USAGE, EXIT_NOT_EXAMINED = 1, 2, 3


def style_of(host: Host, stream: TextIO | None, no_color: bool) -> dict[str, Any]:
    """How a stream can be written to: ``width``, ``color`` and ``unicode`` for the terminal renderer."""
    terminal = bool(stream and stream.isatty())
    dumb = host.env.get("TERM", "") in ("dumb", "unknown")
    plain = no_color or "NO_COLOR" in host.env or dumb or not terminal
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    stated = host.env.get("COLUMNS", "")
    width = columns_of(stream, stated) if terminal or stated.isdigit() else None
    return {"width": width, "color": not plain, "unicode": "utf" in encoding and not dumb}


def columns_of(stream: TextIO | None, stated: str) -> int:
    """COLUMNS where it states them, else of this stream's terminal: standard output may go elsewhere."""
    if stream and not (stated.isdigit() and int(stated)):
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size(stream.fileno()).columns or 80
    return shutil.get_terminal_size().columns


def is_animated(host: Host, stream: TextIO | None) -> bool:
    """May something move on this stream?"""
    dumb = host.env.get("TERM", "") in ("dumb", "unknown", "")
    return bool(stream and stream.isatty()) and not dumb and not host.env.get("CI")


def rendered(report: Report, form: str, style: dict[str, Any]) -> str:
    """A report in one of the formats, with a newline at its end."""
    if form == "html":
        from doctor.render.report_html import page

        return page.render(report)
    if form == "markdown":
        from doctor.render import markdown

        return markdown.render(report)
    if form in ("json", "jsonl"):
        from doctor.render import json_report

        return json_report.render(report) if form == "json" else json_report.render_line(report)
    from doctor.render import terminal

    return terminal.render(report, **style)


def rendered_all(reports: Sequence[Report], form: str, style: dict[str, Any]) -> str:
    """Reports of several files in one text: one document where the format knows of many, else in turn."""
    if form == "github":
        from doctor.render import github

        return "".join(github.render(report) for report in reports)
    if form == "sarif":
        from doctor.render import sarif

        return sarif.render(reports)
    if form == "terminal":
        from doctor.render import file_terminal

        return file_terminal.render(reports, **style)
    if form in ("markdown", "html"):
        from doctor.render import file_markdown, html

        text = file_markdown.render(reports)
        return text if form == "markdown" else html.render(text)
    if form == "json" and len(reports) != 1:
        refuse("--format json is for one input", "use jsonl, which gives one report a line")
    return "".join(rendered(report, form, style) for report in reports)


def rendered_pastes(reports: Sequence[Report], form: str, style: dict[str, Any]) -> str:
    """Reports of pastes in one text."""
    if form in ("reply", "labels"):
        from doctor.render import reply

        return "".join((reply.render if form == "reply" else reply.labels)(report) for report in reports)
    if form == "terminal":
        from doctor.render import paste_terminal

        return paste_terminal.render(reports, **style)
    if form in ("markdown", "html"):
        from doctor.render import html, paste_markdown

        text = paste_markdown.render(reports)
        return text if form == "markdown" else html.render(text)
    return rendered_all(reports, form, style)


def deliver(text: str, output: str | None) -> None:
    """Write to a file or, for None and "-", to standard output. Leaves with 2 where it cannot be written."""
    text = text if text.endswith("\n") else text + "\n"
    if output in (None, "-"):
        if sys.stdout is not None:
            sys.stdout.write(text)
            sys.stdout.flush()
        return
    try:
        with open(os.path.expanduser(output), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        refuse(
            f"{output} cannot be written: {error.strerror}", "name a file that you may write with --output"
        )


def refuse_unwritable(output: str | None) -> None:
    """Leave with 2 before a long run whose file could not be written after it."""
    path = os.path.expanduser(output or "-")
    folder = os.path.dirname(path) or "."
    if path == "-" or (os.access(path, os.W_OK) and not os.path.isdir(path)):
        return
    if os.path.exists(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        refuse(f"{output} cannot be written", "name a file that you may write with --output")


def refuse(message: str, hint: str, code: int = EXIT_USAGE) -> NoReturn:
    """End with one line of what is wrong and one of what to do."""
    typer.echo(f"lora-doctor: {message}\n             {hint}", err=True)
    raise typer.Exit(code)


def exit_code(report: Report, strict: bool) -> int:
    """0 no error finding, 1 at least one (strict: also warnings and gaps), 3 the target was not examined."""
    if report.subject.kind == "live" and report.facts.interpreter is None:
        return EXIT_NOT_EXAMINED
    grave = ("error", "warning") if strict else ("error",)
    # What does not apply here, such as a GPU that the machine lacks, is no gap in the examination.
    # Nor is a driver or GPU that nobody stated a gap in the reading of a file.
    harmless = ("not-applicable",) if report.subject.kind == "live" else ("not-applicable", "not-asked")
    gaps = [gap for gap in report.gaps if gap.kind not in harmless] if strict else []
    return EXIT_ERROR if gaps or any(finding.severity in grave for finding in report.findings) else 0
