"""Dry runs by the target's own installer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.child import Patience
from doctor.host import Host
from doctor.resolution import Command

PATIENCE = Patience(limit_s=300.0)
# In the words of pip and of uv.
UNREACHABLE = re.compile(
    r"Failed to fetch|error sending request|Connection|name resolution|Could not fetch URL"
)
PIP_READS_METADATA = (23, 3)  # an older pip pulls every wheel for a dry run


class Question(NamedTuple):
    """A command that changes nothing, and what its answer must hold beyond success."""

    command: Command
    answer: str = ""


def dry_run(host: Host, planned: tuple[Command, ...], torch: str = "") -> tuple[bool | None, str]:
    """Does the installer agree? With what it says where it does not; None where it cannot tell, and why.

    ``torch`` is the one that an earlier step brings, where these commands bring none.
    """
    if any("install" not in command for command in planned):
        return None, "the environment to install into is not there yet"
    python = planned[0][0]
    if planned[0][1:3] == ("-m", "pip") and not reads_metadata(host, python):
        return None, "this pip would pull every wheel to answer; pip 23.3 or newer does not"
    for question in questions(planned, torch):
        done = host.run(question.command, patience=PATIENCE)
        if done.code is None or done.timed_out:
            return None, done.error or "the installer did not answer in time"
        if done.code != 0 and UNREACHABLE.search(done.stderr):
            return None, f"an index cannot be reached: {last_words(done.stderr)}"
        if done.code != 0 or question.answer not in done.stdout:
            return False, last_words(done.stderr) or f"its index does not list torch {question.answer}"
    return True, ""


def questions(planned: tuple[Command, ...], torch: str = "") -> Iterator[Question]:
    """The planned commands as dry runs; for the rest of the set any build of the same torch will do."""
    words = [word for command in planned for word in command]
    torch = next((word for word in words if word.startswith("torch==")), torch)
    for command in planned:
        at = command.index("install")
        if "--index-url" in command and command[1:3] == ("-m", "pip"):
            # torch's index has no metadata beside its wheels, which pip would pull: its list must do.
            listing = (*command[:at], "index", "versions", "torch", *command[-2:])
            yield Question(listing, torch.removeprefix("torch=="))
        else:
            public = () if not torch or torch in command else (torch.partition("+")[0],)
            yield Question((*command[: at + 1], "--dry-run", *command[at + 1 :], *public))


def reads_metadata(host: Host, python: str) -> bool:
    """Does the target's pip ask for metadata before it pulls a wheel?"""
    answer = host.run((python, "-m", "pip", "--version"), patience=PATIENCE)
    found = re.match(r"pip (\d+)\.(\d+)", answer.stdout)
    return bool(found and (int(found[1]), int(found[2])) >= PIP_READS_METADATA)


def last_words(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
