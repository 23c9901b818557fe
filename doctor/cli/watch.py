"""``lora-doctor watch``."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from doctor.cli import options
from doctor.cli.early import this_machine
from doctor.cli.output import (
    EXIT_ERROR,
    EXIT_USAGE,
    FILE_STYLE,
    deliver,
    is_animated,
    refuse,
    refuse_unwritable,
    style_of,
)

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.host import LocalHost
    from doctor.memory.usage import Run
    from doctor.watching.run import Now, OnNow

NOT_FOUND, NOT_EXECUTABLE = 127, 126  # as shells say it
Form = Literal["terminal", "json", "markdown", "html", "svg"]
BY_SUFFIX: dict[str, Form] = {
    "svg": "svg", "html": "html", "htm": "html", "json": "json", "md": "markdown", "txt": "terminal",
}  # fmt: skip
SHORTEST_S, LONGEST_S = 0.05, 3600.0
UNITS = {"": 1e9, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


Command = Annotated[
    list[str] | None, typer.Argument(metavar="-- COMMAND...", help="What to run, as it is run otherwise.")
]
Pid = Annotated[int | None, typer.Option("--pid", metavar="N", help="Watch a process that runs already.")]
Interval = Annotated[
    str, typer.Option("--interval", metavar="TIME", help="Time between two looks: 1s, 500ms.")
]
Limit = Annotated[
    str | None, typer.Option("--limit", metavar="SIZE", help="What the run must stay under: 20GiB, 16GB.")
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write a file: .svg, .html, .json, .md, .txt."),
]
FormOption = Annotated[
    Form | None, typer.Option("--format", help="How to tell it; by default as the file is named.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing: write the file alone.")]


def watch(
    command: Command = None,
    pid: Pid = None,
    interval: Interval = "1s",
    limit: Limit = None,
    output: Output = None,
    format: FormOption = None,
    quiet: Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """Run a training and watch its memory: the curve, the peak, and whether growth is a leak.

    The command has the terminal to itself; what watch says goes to standard error after it. The exit code is
    the command's own.
    """
    gc.enable()  # a long life
    host = this_machine()
    if (pid is None) == (not command):
        refuse("watch takes a command or --pid", "lora-doctor watch -- python train.py")
    seconds, limit_bytes = seconds_of(interval), None if limit is None else bytes_of(limit)
    form = form_of(format, output)
    refuse_unwritable(output)
    live = Live(host, no_color) if is_animated(host, sys.stderr) and not quiet else None
    run = watched(host, command, pid, seconds, limit_bytes, live)
    try:
        judged = judged_run(host, run, command or ())
        found_errors = tell(host, *judged, form, output, quiet=quiet, no_color=no_color)
    except Exception as error:  # the doctor's own fault must not become the command's exit code
        if run.kind == "process":
            raise
        own_fault(error)
    raise typer.Exit((run.exit_code or 0) if run.kind == "command" else EXIT_ERROR if found_errors else 0)


def judged_run(host: LocalHost, run: Run, command: Sequence[str]) -> tuple[Run, list[Finding]]:
    """The run without names and secrets, and what it means: how it failed, then what its curves say."""
    from doctor.cli.examination import identity_of
    from doctor.cli.watch_levers import savings_for
    from doctor.memory.remedies import answered, failures, with_messages_alone
    from doctor.memory.watched import diagnosed
    from doctor.redact import redact_fact

    run = redact_fact(with_messages_alone(run), identity_of(host))
    found = diagnosed(run)
    savings = savings_for(host, command, run) if failures(run) else ()
    failed = list(answered(run, found, savings))
    quiet = ("memory/steady", "memory/undetermined")
    return run, [*failed, *(one for one in found if not (failed and one.id in quiet))]


def tell(
    host: LocalHost,
    run: Run,
    findings: Sequence[Finding],
    form: Form,
    output: str | None,
    *,
    quiet: bool,
    no_color: bool,
) -> bool:
    """Say what was seen. True where a finding is an error."""
    if not quiet:
        told = "terminal" if output is not None or form == "svg" else form
        sys.stderr.write(rendered(run, findings, told, host, no_color))
        sys.stderr.flush()
    if output is not None:
        with contextlib.suppress(typer.Exit):  # it has said so; the exit code is the command's
            deliver(rendered(run, findings, form, None, no_color), output)
    return any(finding.severity == "error" for finding in findings)


def own_fault(error: Exception) -> None:
    """One line and a crash file, as for any command."""
    from doctor.cli import OWN_WORDS, crash_file, masked

    sys.stderr.write(masked(f"{OWN_WORDS}: {type(error).__name__}: {error}") + f"\n{crash_file()}\n")


def watched(
    host: LocalHost,
    command: Sequence[str] | None,
    pid: int | None,
    interval_s: float,
    limit_bytes: int | None,
    live: Live | None,
) -> Run:
    """The run after its end. Leaves where it cannot begin, with the code that a shell would give."""
    from doctor.watching.run import Watch

    on_now: OnNow | None = live.show if live else None
    watch = Watch(host, interval_s, on_now)
    try:
        return watch.command(command, limit_bytes) if command else watch.process(pid or 0, limit_bytes)
    except ProcessLookupError as error:
        refuse(str(error), "name a process of this machine, by its number")
    except FileNotFoundError:
        refuse_command(command, "was not found", NOT_FOUND)
    except OSError as error:
        refuse_command(command, f"cannot be started: {error.strerror or error}", NOT_EXECUTABLE)
    finally:
        if live:
            live.leave()


def refuse_command(command: Sequence[str] | None, what: str, code: int) -> NoReturn:
    """End because there is nothing to watch."""
    refuse(f"{command[0] if command else 'the command'} {what}", "check the command behind --", code)


class Live:
    """The moving line."""

    def __init__(self, host: LocalHost, no_color: bool) -> None:
        from doctor.render.layout import Layout
        from doctor.render.watch_live import Foot, Moment

        self._host, self._no_color, self._layout = host, no_color, Layout
        self._moment = Moment()
        self._foot = Foot(sys.stderr, lambda: os.get_terminal_size(sys.stderr.fileno()))

    def show(self, now: Now) -> None:
        """Put this moment into the last row."""
        layout = self._layout(**style_of(self._host, sys.stderr, self._no_color))
        text = self._moment.text(
            layout,
            now.at_s,
            used=now.used_bytes,
            peak=now.peak_bytes,
            total=now.total_bytes,
            free=now.free_bytes,
            others=now.others_bytes,
            allocated=now.allocated_bytes,
            gpu=now.gpu,
            step=now.step,
        )
        self._foot.write(text)

    def leave(self) -> None:
        """Give the row back."""
        self._foot.leave()


def rendered(
    run: Run, findings: Sequence[Finding], form: Form, host: LocalHost | None, no_color: bool
) -> str:
    """The run in one of the forms; for a file where there is no host."""
    if form == "svg":
        from doctor.render import watch_plot

        return watch_plot.render(run)
    if form == "html":
        from doctor.render import watch_html

        return watch_html.render(run, findings)
    if form == "json":
        from doctor.render import watch_json

        return watch_json.render(run, findings)
    if form == "markdown":
        from doctor.render import watch_markdown

        return watch_markdown.render(run, findings)
    from doctor.render import watch_text
    from doctor.render.layout import Layout

    style = style_of(host, sys.stderr, no_color) if host else FILE_STYLE
    return watch_text.render(run, findings, Layout(**style))


def form_of(format: Form | None, output: str | None) -> Form:
    """The form that is asked for, else that of the file's suffix. Leaves with 2 for a suffix of none."""
    if format is not None or output is None:
        return format or "terminal"
    suffix = output.rpartition(".")[2].lower()
    if suffix not in BY_SUFFIX:
        refuse(f"{output}: no form goes by that name", f"end it in {', '.join(BY_SUFFIX)}, or add --format")
    return BY_SUFFIX[suffix]


def seconds_of(text: str) -> float:
    """ "1s", "500ms", "2" in seconds. Leaves with 2 for what is none."""
    words = text.strip().lower()
    number, factor = (words[:-2], 0.001) if words.endswith("ms") else (words.removesuffix("s"), 1.0)
    try:
        seconds = float(number) * factor
    except ValueError:
        seconds = 0.0
    if not SHORTEST_S <= seconds <= LONGEST_S:
        refuse(f"{text!r} is no interval", f"--interval takes {SHORTEST_S:g}s to {LONGEST_S:g}s", EXIT_USAGE)
    return seconds


def bytes_of(text: str) -> int:
    """ "20GiB", "16GB", "16" (GB) in bytes. Leaves with 2 for what is none."""
    words = text.strip().lower()
    number = words.rstrip("kmgib ")
    unit = words[len(number) :].strip()
    try:
        size = float(number) * UNITS[unit]
    except (ValueError, KeyError):
        size = 0.0
    if not 0 < size < 1 << 50:
        refuse(f"{text!r} is no size", "--limit takes 20GiB, 16GB or 800MiB")
    return int(size)
