"""``lora-doctor report``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli import options
from doctor.cli.early import take_up, this_machine
from doctor.cli.examination import chosen_target, identity_of
from doctor.cli.output import FILE_STYLE, deliver, refuse, refuse_unwritable, rendered
from doctor.smoke.trial import STAGE_LIMIT_S

if TYPE_CHECKING:
    from doctor.findings import Report
    from doctor.host import LocalHost

FORM = ".github/ISSUE_TEMPLATE/bug_report.yml"  # where GitHub looks for it
LONGEST_FILE = 64 << 20  # characters of a saved report


def report(
    issue_form: Annotated[
        bool,
        typer.Option("--issue-form", help=f"Write {FORM}, a GitHub issue form that asks for this report."),
    ] = False,
    saved: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Of a report in JSON that was saved; - reads it here."),
    ] = None,
    open_issue: Annotated[
        str | None,
        typer.Option("--open-issue", metavar="OWNER/REPO", help="Print the address of an issue with it."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option("--template", metavar="FILE[:FIELD]", help="The form or template of that issue."),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option("--max-bytes", metavar="N", help="Longest Markdown; GitHub takes 65536 characters."),
    ] = None,
    python: options.Python = None,
    quick: options.Quick = False,
    timeout: options.Timeout = STAGE_LIMIT_S,
    format: options.FormatOption = "markdown",
    output: options.Output = None,
    ignore: options.Ignore = None,
) -> None:
    """The redacted report that goes into an issue; its exit code says only that it was written."""
    if issue_form:
        write_form(output)
        return
    refuse_what_does_not_go_together(saved, python, open_issue, template, max_bytes, format)
    refuse_unwritable(output)
    host = this_machine()
    told = read(host, saved) if saved else examined(host, python, quick, timeout, ignore or ())
    if output or not open_issue:
        deliver(text_of(told, format, max_bytes), output)
    if open_issue:
        show_address(told, open_issue, template or "", output)


def text_of(told: Report, form: str, max_bytes: int | None) -> str:
    """The report in one of the formats, with the facts that may be published."""
    if form != "markdown":
        from doctor.disclosure import disclosed

        return rendered(disclosed(told), form, FILE_STYLE)
    from doctor.render.issue_limits import BODY_LIMIT_BYTES
    from doctor.render.markdown import render

    return render(told, max_bytes or BODY_LIMIT_BYTES)


def examined(
    host: LocalHost, python: str | None, quick: bool, timeout: float, ignore: tuple[str, ...] | list[str]
) -> Report:
    """The report of this machine and the target. Leaves with 3 where there is no target."""
    from doctor.cli.publication import Publication

    target = chosen_target(host, python)
    return Publication(take_up(host, target), quick=quick, stage_limit_s=timeout, ignore=ignore).run()


def read(host: LocalHost, path: str) -> Report:
    """The report of a file, masked once more. Leaves with 2 where it holds none."""
    from doctor.redact import redact_numbered

    return redact_numbered(saved_report(path), identity_of(host))


def saved_report(path: str) -> Report:
    """The report of a file; - reads standard input. Leaves with 2 where it holds none."""
    from doctor.render import json_report

    hint = "save one with: lora-doctor check --format json --output FILE"
    try:
        with open(0 if path == "-" else os.path.expanduser(path), encoding="utf-8-sig") as file:
            text = file.read(LONGEST_FILE + 1)
        if len(text) > LONGEST_FILE:
            raise ValueError(f"it is longer than {LONGEST_FILE >> 20} MiB")
        return json_report.read(text)
    except OSError as error:
        refuse(f"{path} cannot be read: {error.strerror}", hint)
    except UnicodeError:
        refuse(f"{path} is no text in UTF-8", hint)
    except (ValueError, RecursionError) as error:
        refuse(f"{path}: {error}", hint)


def show_address(told: Report, repository: str, template: str, output: str | None) -> None:
    """Print the address alone, so that a program can take it; who reads it is told what is missing."""
    from doctor.render.issue_url import issue_url

    deliver(issue_url(told, repository, template), None)
    if sys.stderr is not None and not output:
        typer.echo(
            "             that holds the short form; for the whole: lora-doctor report --output report.md",
            err=True,
        )


def refuse_what_does_not_go_together(
    saved: str | None,
    python: str | None,
    open_issue: str | None,
    template: str | None,
    max_bytes: int | None,
    form: str,
) -> None:
    """Leave with 2 before a long run whose outcome could not be told."""
    from doctor.render.issue_limits import REPOSITORY, SMALLEST_LIMIT, TEMPLATE

    if saved and python:
        refuse("--from and --python exclude one another", "leave one of them out")
    if open_issue is not None and not REPOSITORY.fullmatch(open_issue):
        refuse(f"--open-issue {open_issue!r} names no repository", "name it as in --open-issue owner/name")
    if template is not None and not open_issue:
        refuse("--template is of an issue, and none is asked for", "add --open-issue OWNER/REPO")
    if template is not None and not TEMPLATE.fullmatch(template):
        hint = "name a file of .github/ISSUE_TEMPLATE: bug_report.yml, or bug_report.yml:id-of-its-field"
        refuse(f"--template {template!r} names no template", hint)
    if max_bytes is not None and max_bytes < SMALLEST_LIMIT:
        refuse(f"--max-bytes {max_bytes} holds no report", f"allow at least {SMALLEST_LIMIT}")
    if max_bytes is not None and form != "markdown":
        refuse("--max-bytes is of Markdown", "leave --format or --max-bytes out")


def write_form(output: str | None) -> None:
    """Write the form into the repository, or where ``--output`` says; "-" is standard output."""
    from doctor.issue_form import issue_form

    if output is None and os.path.exists(FORM):
        refuse(f"{FORM} is there already", "compare it with: lora-doctor report --issue-form --output -")
    if output is None:
        os.makedirs(os.path.dirname(FORM), exist_ok=True)
    deliver(issue_form(), output or FORM)
    if output is None:
        typer.echo(f"wrote {FORM}")
