"""The steps carried out: installers that must stay within the target, and what they say when they fail."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from doctor.applying import files
from doctor.applying.recovery import MARK
from doctor.applying.workplace import CannotApply, Workplace
from doctor.child import Completed, Patience
from doctor.host import Host
from doctor.plain import plain
from doctor.treatment.plan import Command, Step

PATIENCE = Patience(limit_s=3600.0, idle_s=300.0)
ASKING = Patience(limit_s=60.0)
SITE_FOLDERS = ("site-packages", "dist-packages")
WORDS_KEPT = 12  # lines of what a failed installer said
# Variables that send an installer elsewhere, or let it do nothing.
ASTRAY = re.compile(
    r"PIP_(?:TARGET|PREFIX|ROOT|USER|PYTHON|REQUIRE_VIRTUALENV|DRY_RUN|REPORT|SRC|REQUIREMENT"
    r"|EDITABLE|IGNORE_INSTALLED|BREAK_SYSTEM_PACKAGES|HELP|VERSION)"
    r"|UV_(?:TARGET|PREFIX|PYTHON|SYSTEM_PYTHON|BREAK_SYSTEM_PACKAGES|PROJECT|PROJECT_ENVIRONMENT|WORKING_DIR"
    r"|WORKING_DIRECTORY|DRY_RUN|MANAGED_PYTHON|NO_SYNC)"
    r"|PYTHON(?:PATH|HOME|USERBASE|STARTUP|PLATLIBDIR|PYCACHEPREFIX|INSPECT)|__PYVENV_LAUNCHER__"
    r"|CONDA_(?:PREFIX|DEFAULT_ENV|SHLVL)|VIRTUAL_ENV"
)
# What a pip.conf may say, which a variable overrides; an empty one would not.
SET = {
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONUNBUFFERED": "1",
}
SENT_ELSEWHERE = re.compile(r"^(?:[\w-]+\.)(target|prefix|root|dry-run)\s*=\s*(.*)$", re.M)


class Failure(NamedTuple):
    """The step that failed and the installer's last words."""

    title: str
    said: str


def environment_for(env: Mapping[str, str], name: str, venv: str = "") -> dict[str, str]:
    """The environment of an installer in a run of this name: nothing in it leads away from the place.

    ``venv`` is the folder of the virtual environment, "" where it is none.
    """
    told = {name: value for name, value in env.items() if not ASTRAY.fullmatch(name)}
    return {**told, **SET, MARK: name, **({"VIRTUAL_ENV": venv} if venv else {})}


def refuse_configured_elsewhere(host: Host, python: str, steps: Sequence[Step]) -> None:
    """Raise :class:`CannotApply` where a pip.conf would have pip install somewhere else."""
    if not any(command[1:3] == ("-m", "pip") for step in steps for command in step.commands):
        return
    asked = (python, "-m", "pip", "config", "list")
    answer = host.run(asked, patience=ASKING, env=environment_for(host.env, ""))
    found = SENT_ELSEWHERE.search(answer.stdout)
    if found and found[2].strip("'\" ").lower() not in ("", "0", "false", "no"):
        raise CannotApply(
            f"a pip.conf sets {found[1]} = {plain(found[2])}, so that pip would install elsewhere",
            f"take that out first: python -m pip config unset install.{found[1]} (or global.{found[1]})",
        )


def carried_out(
    host: Host,
    place: Workplace,
    steps: Sequence[Step],
    on_step: Callable[[str], None],
    patience: Patience,
) -> Failure | None:
    """Run the steps in their order up to the first that fails; None where all succeeded."""
    is_venv = host.is_file(os.path.join(place.folder, "pyvenv.cfg"))
    env = environment_for(host.env, place.name, place.folder if is_venv else "")
    for step in steps:
        on_step(step.title)
        if step.kind == "delete":
            failure = deleted(place, step)
            if failure:
                return failure
            continue
        for command in step.commands:
            argv = with_program(host, place, place.command(command))
            done = host.run(argv, patience=patience, env=env, on_line=lambda line: True)
            if done.code != 0 or done.timed_out:
                return Failure(step.title, words_of(done, argv))
    return None


def deleted(place: Workplace, step: Step) -> Failure | None:
    """Delete what a step names, if it lies in a site folder of the place."""
    for path in place.command(step.paths):
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.basename(folder) not in SITE_FOLDERS or not files.is_within(folder, place.folder):
            return Failure(step.title, f"{path} is not in a site folder of {place.folder}")
        try:
            files.discard(path)
        except OSError as error:
            return Failure(step.title, f"{path}: {error.strerror}")
        if files.inode(path) is not None:
            return Failure(step.title, f"{path} cannot be removed")
    return None


def with_program(host: Host, place: Workplace, command: Command) -> Command:
    """The command with its program's full path, also where that stands in the environment alone."""
    program = command[0]
    if os.sep in program:
        return command
    inside = os.path.join(os.path.dirname(place.python), program)
    found = inside if host.is_file(inside) else host.find_program(program)
    return (found or program, *command[1:])


def words_of(done: Completed, argv: Command) -> str:
    """How an installer ended and what it said last, harmless for a terminal."""
    name = os.path.basename(argv[0])
    if done.code is None:
        return f"{name} cannot be started: {plain(done.error)}"
    said = [line for line in plain(done.stderr or done.stdout).splitlines() if line.strip()]
    if done.timed_out:
        how = f"gave no sign of life for {done.seconds:.0f} s and was stopped"
    else:
        how = f"was killed by {done.signal}" if done.signal else f"ended with exit code {done.code}"
    return "\n".join([f"{name} {how}", *said[-WORDS_KEPT:]])
