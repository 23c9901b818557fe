"""A step as lines of a Dockerfile.

Form of the instructions: https://docs.docker.com/reference/dockerfile/
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from doctor.plain import one_line
from doctor.treatment.plan import Command

PLACE = "Dockerfile"
APT = (("apt-get", "install"), ("apt", "install"))


def run(commands: Sequence[Command]) -> tuple[str, ...]:
    """Commands as one RUN; as one each, in the form that no shell reads, where a word has a line break."""
    lean = [without_cache(command) for command in commands]
    if any(word != one_line(word) for command in lean for word in command):
        return tuple(f"RUN {json.dumps(command)}" for command in lean)
    told = [shlex.join(command) for command in lean]
    return ("RUN " + " && ".join([*told, *cleared(lean)]),)


def without_cache(command: Command) -> Command:
    """An installation that leaves no downloads in the image."""
    if command[:3] == ("uv", "pip", "install"):
        return (*command[:3], "--no-cache", *command[3:])
    if command[1:4] == ("-m", "pip", "install"):
        return (*command[:4], "--no-cache-dir", *command[4:])
    return command


def cleared(commands: Sequence[Command]) -> list[str]:
    """What takes conda's downloads out of the image again."""
    programs = [command[0] for command in commands if command[0] in ("conda", "mamba", "micromamba")]
    return [f"{programs[0]} clean -afy"] if programs else []


def environment(name: str, value: str | None) -> tuple[str, ...]:
    """The line that sets a variable. None can be unset by a line: the one that sets it must go."""
    if value is None:
        return (f"# delete the line that sets {name}",)
    if "\n" in value or "\r" in value:
        return (f"# {name} must be given when the container is started: its value has a line break",)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return (f'ENV {name}="{escaped}"',)


def of_the_system(commands: Sequence[Command]) -> tuple[str, ...]:
    """The RUN of commands that install Debian's packages; nothing for others, and none for a driver's.

    The driver belongs to the host; what is of it in an image hides the host's own.
    """
    packages = [word for command in commands for word in asked_of_apt(command)]
    if not packages or any(not asked_of_apt(command) for command in commands):
        return ()
    if any("nvidia" in word or word.startswith("linux-headers") for word in packages):
        return ()
    install = f"apt-get install -y --no-install-recommends {shlex.join(packages)}"
    return (f"RUN apt-get update && {install} && rm -rf /var/lib/apt/lists/*",)


def asked_of_apt(command: Command) -> Command:
    """The packages of an ``apt install``; none of another command."""
    words = command[1:] if command[:1] == ("sudo",) else command
    return tuple(word for word in words[2:] if word[:1] != "-") if words[:2] in APT else ()
