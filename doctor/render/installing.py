"""The making of an environment for people and programs: its plan, its proof, and why it ended early."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from doctor.findings import Report
from doctor.render import resolution, terminal
from doctor.render.json_report import encode
from doctor.render.layout import Layout
from doctor.render.shell import command_line
from doctor.resolution import Command, Resolution


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, what was seen, and what to do next."""

    why: str
    seen: str = ""
    advice: str = ""
    command: Command = ()


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """The promise to other programs: changing or removing a field needs a new ``schema``."""

    schema: int = 1
    tool_version: str
    folder: str
    # planned: --dry-run. unchanged: all was in place. no-set: no releases go together here.
    state: str  # "planned", "made", "unchanged", "no-set", "refused", "failed"
    python: str = ""  # the environment's interpreter
    set: Resolution | None = None
    commands: tuple[Command, ...] = ()
    problem: Problem | None = None
    proof: Report | None = None  # of the check that ran in it


def render(
    found: Installation,
    *,
    width: int | None = None,
    color: bool = False,
    unicode: bool = False,
    windows: bool = False,
    proof_is_told: bool = False,
) -> str:
    """What came of it. ``proof_is_told``: the check was told as it ran."""
    layout = Layout(width, color, unicode)
    if found.problem:
        lines = list(_problem(found.problem, layout, windows))
    elif found.state == "no-set" and found.set:
        return resolution.render(found.set, width=width, color=color, unicode=unicode, windows=windows)
    elif found.commands:
        lines = [layout.clean(command_line(command, windows=windows)) for command in found.commands]
    else:
        told = found.proof and not proof_is_told
        before = (
            terminal.render(found.proof, width=width, color=color, unicode=unicode)
            if told and found.proof
            else ""
        )
        return before + "\n".join(_end(found, layout, windows)) + "\n"
    return "\n".join(lines) + "\n"


def _problem(problem: Problem, layout: Layout, windows: bool) -> Iterator[str]:
    yield from layout.wrap(f"lora-doctor: {problem.why}", 0)
    for label, text in (("seen", problem.seen), ("next", problem.advice)):
        if text:
            yield from layout.labelled(label, text, 8)
    if problem.command:
        yield " " * 8 + layout.paint(layout.clean(command_line(problem.command, windows=windows)), "command")


def _end(found: Installation, layout: Layout, windows: bool) -> Iterator[str]:
    """Whether the environment is proven, and how to enter it."""
    if found.proof is None:
        return
    good, is_read = is_proven(found.proof), found.proof.facts.reading is not None
    words: Command = ("source", f"{found.folder}/bin/activate")
    if windows:
        words = (os.path.join(found.folder, "Scripts", "activate"),)
    text = "complete and proven" if good else "complete, and not proven"
    if is_read:
        text = "complete, and was read rather than run; prove it where it is to train:"
        words = ("lora-doctor", "check", "--python", found.folder)
    yield ""
    yield from layout.wrap(f"{found.folder} is {text}", 0, "ok" if good else "warn")
    yield "  " + layout.paint(layout.clean(command_line(words, windows=windows)), "command")


def is_proven(report: Report) -> bool:
    """Did every stage of the trial pass, and is nothing known to break the environment?"""
    runs = report.facts.trial.runs if report.facts.trial else ()
    return (
        bool(runs) and all(run.outcome == "ok" for run in runs) and report.verdict in ("healthy", "impaired")
    )


def json(found: Installation) -> str:
    """Indented JSON."""
    return msgspec.json.format(encode(found), indent=2).decode("utf-8") + "\n"
