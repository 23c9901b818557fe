"""``lora-doctor explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from doctor.cli.output import refuse


def explain(
    id: Annotated[str, typer.Argument(help="The id of a finding, such as torch/cpu-only-build.")],
) -> None:
    """Print the page of a finding, offline."""
    import inspect

    from doctor.diagnosis import all_rules

    pages = [rule.page for rule in all_rules() if rule.id == id]
    if not pages:
        near = sorted({rule.id for rule in all_rules() if set(id.split("/")) & set(rule.id.split("/"))})
        refuse(
            f"no finding has the id {id}", f"near it: {', '.join(near)}" if near else "see: lora-doctor check"
        )
    typer.echo(f"{id}\n")
    typer.echo("\n\n".join(inspect.cleandoc(page) for page in pages))
