"""Options that commands share, and how their words are taken."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Format = Literal["terminal", "json", "jsonl", "markdown", "html"]
FileFormat = Literal["terminal", "json", "jsonl", "markdown", "html", "github", "sarif"]

Python = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help="The interpreter to examine, or its environment's folder."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Leave out whatever imports a heavy library.")]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", help="Longest time for one stage of the trial."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="PREFIX", help="Leave out findings whose id begins so."),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with 1 for warnings and gaps as well; --quick leaves gaps.")
]
Static = Annotated[
    bool, typer.Option("--static", help="Read the packages' sources instead of importing them, in seconds.")
]
PlanFile = Annotated[
    str | None,
    typer.Option("--plan", metavar="FILE", help="A plan.toml or train.py: will it fit into memory?"),
]
PlanModel = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="The plan's model, where it names none.")
]
NoColor = Annotated[bool, typer.Option("--no-color", help="Plain text.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How to tell it.")]
FileFormatOption = Annotated[FileFormat, typer.Option("--format", help="How to tell it.")]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")]
TorchIndex = Annotated[
    str,
    typer.Option(
        "--torch-index",
        envvar="TORCH_INDEX_URL",
        show_envvar=False,
        metavar="URL",
        help="A mirror of the index of torch's builds (or TORCH_INDEX_URL).",
    ),
]
