"""A step as lines of a requirements file, each with what it replaces.

Form: https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import name_of
from doctor.edits import line_of
from doctor.facts import Facts
from doctor.plain import one_line
from doctor.treatment.plan import Step
from doctor.wanted import Wanted

PLACE = "requirements.txt"


def lines(step: Step, facts: Facts) -> Iterator[str]:
    """The lines to have in the file. Of files laid anew it says nothing: their release is the same."""
    wanted = facts.packages.wanted if facts.packages else None
    if step.kind == "remove":
        yield from (f"# delete {line_in(wanted, name) or f'what asks for {name}'}" for name in step.packages)
    if step.kind != "install":
        return
    if step.index_url:
        # Beside the usual index, which has the rest: pip takes "2.6.0+cu126" for newer than "2.6.0".
        yield f"--extra-index-url {step.index_url}"
    for requirement in step.packages:
        name = name_of(requirement)
        old = line_in(wanted, name) or step.replaces.get(name, "")
        yield requirement + (f"  # in place of {one_line(old)}" if old else "")


def line_in(wanted: Wanted | None, name: str) -> str:
    """The line of the file that names a package, in words; "" where there is none."""
    line = line_of(wanted, name) if wanted else None
    return one_line(f"{line.text} (line {line.line})") if line else ""


def place(facts: Facts) -> str:
    """The file that the lines belong in."""
    wanted = facts.packages.wanted if facts.packages else None
    return wanted.file if wanted else PLACE
