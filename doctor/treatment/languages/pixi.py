"""A step as a pixi project has it, whose environment is made from its file alone.

Read in https://pixi.prefix.dev (``pixi add``, ``pixi reinstall``, the page on PyTorch), not run.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import name_of
from doctor.facts import Facts
from doctor.treatment.languages import conda
from doctor.treatment.languages.owners import parted
from doctor.treatment.languages.sources import quoted
from doctor.treatment.plan import Command, Step

PLACE = "pixi.toml"


def commands(step: Step, facts: Facts) -> Iterator[Command]:
    """The commands of a step; conda's packages and those of PyPI are asked for apart.

    ``pixi add`` takes no index, so what needs one stands in the lines, which come first.
    """
    ours, wheels = parted(step, facts, wants_conda=True)
    verb = {"remove": ("pixi", "remove"), "install": ("pixi", "add"), "anew": ("pixi", "reinstall")}[
        step.kind
    ]
    if ours:
        specs = (conda.spec(one, step.index_url) for one in ours.packages)
        names = (conda.named(name_of(one)) for one in ours.packages)
        yield (*verb, *(specs if step.kind == "install" else names))
    if wheels and lines(step, facts):
        yield ("pixi", "install")
    elif wheels:
        pypi = () if step.kind == "anew" else ("--pypi",)
        asked = wheels.packages if step.kind == "install" else [name_of(one) for one in wheels.packages]
        yield (*verb, *pypi, *asked)


def lines(step: Step, facts: Facts) -> tuple[str, ...]:
    """What pixi.toml must say of wheels from an index of their own."""
    wheels = parted(step, facts, wants_conda=True)[1]
    if wheels is None or not step.index_url or step.kind != "install":
        return ()
    index = quoted(step.index_url)
    told = (
        f"{name_of(one)} = {{ version = {quoted(one[len(name_of(one)) :].strip() or '*')}, index = {index} }}"
        for one in wheels.packages
    )
    return ("[pypi-dependencies]", *told)


def variable_lines(name: str, value: str | None) -> tuple[str, ...]:
    """What pixi.toml must say for a variable to be set where the environment is active."""
    if value is None:
        return (f"# delete {name} from [activation.env]",)
    return ("[activation.env]", f"{name} = {quoted(value)}")
