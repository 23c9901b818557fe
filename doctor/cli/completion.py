"""``lora-doctor completion``."""

from __future__ import annotations

import pkgutil
from typing import Annotated, Literal

import typer

Shell = Annotated[
    Literal["bash", "zsh", "fish"],
    typer.Argument(metavar="bash|zsh|fish", help="The shell that you type in."),
]


def completion(shell: Shell) -> None:
    """Print the script that completes words of lora-doctor: source <(lora-doctor completion bash)."""
    text = pkgutil.get_data("doctor", f"completion/lora-doctor.{shell}")
    assert text is not None  # it is part of the package
    typer.echo(text.decode("utf-8"), nl=False)
