"""What makes a change of the environment last in the project that it belongs to. Pure.

A project's tool makes the environment after its lock: the next ``uv sync``, ``poetry sync``, ``pdm sync`` or
``pixi install`` undoes what pip or ``uv pip`` changed, unless the project says the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from doctor.facts import Facts
from doctor.treatment.languages import pdm, pixi, poetry, uv
from doctor.treatment.plan import Command, Language, Step

OF_PROJECTS: tuple[tuple[str, Language], ...] = (  # a file of a project, and whose it is
    ("uv.lock", "uv"),
    ("poetry.lock", "poetry"),
    ("pdm.lock", "pdm"),
    ("pixi.lock", "pixi"),
    ("pixi.toml", "pixi"),
)
UNDOES = {"uv": "uv sync", "poetry": "poetry sync", "pdm": "pdm sync", "pixi": "pixi install"}


def project_of(project_files: Collection[str]) -> Language | None:
    """The tool of the project in whose folder these files lie; None where there is none that is known."""
    return next((language for name, language in OF_PROJECTS if name in project_files), None)


def lasting(steps: Sequence[Step], facts: Facts, project_files: Collection[str]) -> Step | None:
    """The step by hand that tells the project what was changed; None without one, or without a change."""
    tool = project_of(project_files)
    installed = [step for step in steps if step.kind == "install" and step.packages]
    gone = [name for step in steps if step.kind == "remove" for name in step.packages]
    if tool is None or not (installed or gone):
        return None
    dropped = (f"# delete {name} where the project asks for it" for name in gone)
    lines = (*(line for step in installed for line in lines_of(step, facts, tool)), *dropped)
    return Step(
        title=f"Tell the {tool} project the same: the next {UNDOES[tool]} would undo it",
        kind="hand",
        scope="environment",
        cures=tuple(dict.fromkeys(id for step in steps for id in step.cures)),
        commands=tuple(commands_of(installed, facts, tool)),
        lines=lines,
        place=(pixi.PLACE if tool == "pixi" else "pyproject.toml") if lines else "",
    )


def lines_of(step: Step, facts: Facts, tool: Language) -> tuple[str, ...]:
    """What the project's file must say first, so that packages come from their own index."""
    if not step.index_url:
        return ()
    if tool == "pixi":
        return pixi.lines(step, facts)
    written = {"uv": uv.source_lines, "pdm": pdm.source_lines}.get(tool)
    return written(step) if written else ()


def commands_of(installed: Sequence[Step], facts: Facts, tool: Language) -> Iterator[Command]:
    """What writes installations into the project and its lock, and leaves the environment as it is.

    All at once where the tool allows it: half of a set may contradict the other half's old releases.
    """
    everything = [one for step in installed for one in step.packages]
    if tool in ("uv", "pdm") and everything:
        yield uv.added(everything) if tool == "uv" else pdm.added(everything, lock_only=True)
    for step in installed:
        if tool == "poetry":
            yield from poetry.source(step)
            yield poetry.added(step.packages, step.index_url, lock_only=True)
        elif tool == "pixi":
            yield from pixi.commands(step, facts)
