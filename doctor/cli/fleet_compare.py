"""``lora-doctor fleet compare``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli import options
from doctor.cli.early import this_machine
from doctor.cli.output import EXIT_ERROR, EXIT_USAGE, FILE_STYLE, deliver, refuse, style_of

if TYPE_CHECKING:
    from doctor.fleet.comparison import Comparison
    from doctor.fleet.envelope import Envelope
    from doctor.fleet.roll import Roll
    from doctor.host import LocalHost

Reports = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[REPORT]...",
        help="What check --format json wrote on each node: files, folders; - is standard input.",
    ),
]
Expect = Annotated[
    int | None, typer.Option("--expect", metavar="N", help="How many nodes there ought to be.")
]
Nodes = Annotated[
    str | None,
    typer.Option("--nodes", metavar="LIST", help='Which: a file of names, or "node[001-128],login1".'),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="PREFIX", help="Leave out topics and findings whose id begins so."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 for warnings as well.")]


def compare(
    reports: Reports = None,
    expect: Expect = None,
    nodes: Nodes = None,
    format: options.FormatOption = "terminal",
    output: options.Output = None,
    ignore: Ignore = None,
    strict: Strict = False,
    no_color: options.NoColor = False,
) -> None:
    """Show what differs between nodes and which node is the odd one, from the reports of all of them."""
    from doctor.fleet.roll import Roll
    from doctor.fleet_files import call_up

    host = this_machine()
    if not reports and (sys.stdin is None or sys.stdin.isatty()):
        refuse("there is no report to compare", "name files or folders: lora-doctor fleet compare reports/")
    if expect is not None and (expect < 1 or nodes):
        refuse(
            "--expect is a number of nodes, 1 or more, where --nodes does not name them",
            "give one of the two",
        )
    expected = expected_nodes(host, nodes)
    roll = Roll()
    call_up(roll, host, reports or ["-"])
    found = judged(roll, expected, expect, tuple(ignore or ()))
    told(host, found, format, output, no_color)
    raise typer.Exit(exit_code(found, strict))


def compare_lines(
    host: LocalHost,
    lines: Iterable[str | bytes],
    expected: Sequence[str] = (),
    *,
    expect_count: int | None = None,
    format: str = "terminal",
    output: str | None = None,
    ignore: Sequence[str] = (),
    strict: bool = False,
    no_color: bool = False,
) -> int:
    """Compare what a launcher prints, line by line as it comes; the exit code."""
    from doctor.fleet.roll import Roll
    from doctor.fleet_files import enter

    roll = Roll()
    stream = (line.encode("utf-8", "replace") if isinstance(line, str) else line for line in lines)
    enter(roll, (line if line.endswith(b"\n") else line + b"\n" for line in stream), "the launcher", "")
    found = judged(roll, expected, expect_count, ignore)
    told(host, found, format, output, no_color)
    return exit_code(found, strict)


def expected_nodes(host: LocalHost, nodes: str | None) -> tuple[str, ...]:
    """The names of ``--nodes``. Leaves with 2 where they cannot be read."""
    from doctor.fleet_files import node_names

    try:
        return node_names(host, nodes) if nodes else ()
    except ValueError as error:
        refuse(f"--nodes: {error}", 'write names as in "node[001-128],login1", or name a file of them')


def judged(
    roll: Roll, expected: Sequence[str], expect_count: int | None, ignore: Sequence[str]
) -> Comparison:
    """The comparison, with what ranks found out together where they did."""
    from doctor.fleet.judging import compare as compared

    if not roll.collective:
        return compared(roll, expected, expect_count, ignore)
    import msgspec

    from doctor.fleet.collective import findings, speeds

    envelopes = heard_together(roll)
    found = compared(roll, expected, expect_count, ignore, findings(envelopes))
    return msgspec.structs.replace(found, speeds=speeds(envelopes))


def heard_together(roll: Roll) -> list[Envelope]:
    """What ranks told of their collective tests; what none can have told is a row of the comparison."""
    import msgspec

    from doctor.fleet.envelope import Envelope

    envelopes = []
    for data in roll.collective:
        try:
            envelopes.append(msgspec.json.decode(data, type=Envelope))
        except msgspec.DecodeError as error:
            roll.trouble("", "", "unreadable", f"the collective test of a rank: {error}")
    return envelopes


def told(host: LocalHost, found: Comparison, format: str, output: str | None, no_color: bool) -> None:
    """Write the comparison in one of the formats."""
    style = style_of(host, sys.stdout, no_color) if output is None else FILE_STYLE
    deliver(rendered(found, format, style), output)


def rendered(found: Comparison, form: str, style: dict[str, Any]) -> str:
    """The comparison as text."""
    if form in ("json", "jsonl"):
        from doctor.render import fleet_json

        return fleet_json.render(found) if form == "json" else fleet_json.render_line(found)
    if form in ("markdown", "html"):
        from doctor.render import fleet_markdown, html

        text = fleet_markdown.render(found)
        return text if form == "markdown" else html.render(text)
    from doctor.render import fleet_terminal

    return fleet_terminal.render(found, **style)


def exit_code(found: Comparison, strict: bool) -> int:
    """0 alike and well, 1 an error (strict: or a warning), 2 where no report could be read at all."""
    if not found.compared and not found.ranks and not any(one.kind == "failed" for one in found.troubles):
        return EXIT_USAGE
    grave = ("error", "warning") if strict else ("error",)
    return EXIT_ERROR if found.severity in grave else 0
