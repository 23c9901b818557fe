"""The options of ``fix``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from doctor.cli.output import refuse

Words = Literal["own", "pip", "uv", "conda", "mamba", "pixi", "poetry", "pdm", "dockerfile", "requirements"]

Apply = Annotated[
    bool, typer.Option("--apply", help="Carry the plan out after a yes, check again; undo what fails.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Ask the target's own installer about each step; change nothing.")
]
Undo = Annotated[bool, typer.Option("--undo", help="Go back to what the last --apply changed.")]
NewVenv = Annotated[
    str | None,
    typer.Option("--new-venv", metavar="FOLDER", help="Leave the target alone: a cured one beside it."),
]
As = Annotated[Words, typer.Option("--as", help="In whose words; own: those of the target's installer.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE", help="Plan for a saved JSON report in place of a check."),
]


def refuse_contradictions(
    *, apply: bool, dry_run: bool, undo: bool, new_venv: str | None, saved: str | None, python: str | None
) -> None:
    """Leave with 2 where options exclude one another."""
    named = {"--apply": apply, "--undo": undo, "--new-venv": bool(new_venv), "--from": bool(saved)}
    given = [option for option, is_given in named.items() if is_given]
    if len(given) > 1:
        refuse(f"{given[0]} and {given[1]} exclude one another", "leave one of them out")
    if dry_run and (apply or new_venv):
        refuse("--dry-run changes nothing", "run it first, then leave it out")
    if saved and (python or dry_run):
        other = "--python" if python else "--dry-run"
        refuse(f"{other} asks a target, and --from FILE has none", "leave one of them out")


def refuse_foreign_words(words: Words, language: str) -> None:
    """Leave with 2 where a plan would be carried out by a program that changes something else.

    conda without an environment of its own changes the base one, and poetry the project of this folder.
    """
    ours = ("pip", "uv") if language in ("pip", "uv") else (language,)
    if words not in ("own", *ours):
        refuse(
            f"--apply carries out what {language} does here, and --as {words} is for you to read",
            "leave one of them out",
        )
