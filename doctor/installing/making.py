"""The course of a making: look, make the environment, install, look again; safe to break off anywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from doctor import __version__
from doctor.checkup import gather
from doctor.child import Patience
from doctor.facts import Facts
from doctor.host import Host
from doctor.installing import marker as markers
from doctor.installing.marker import Marker
from doctor.installing.outcome import Made, NotMade, Stopped
from doctor.installing.room import NO_MORE, need_of, room_for
from doctor.installing.tools import inside, tools_for
from doctor.installing.trouble import told_by
from doctor.probes import Looks
from doctor.resolution import Command, Resolution
from doctor.target import Target, python_in

OnProgress = Callable[[str], None]  # takes what happens now, on one line
# Between two lines of an installer: the largest wheel, of half a gigabyte, over a slow line.
PATIENCE = Patience(limit_s=3600.0)
# Variables that send packages or modules elsewhere than into the environment, and how pip tells of its work.
ASTRAY = (
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_REQUIRE_VIRTUALENV",
)
PLAINLY = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}
LOOK = ("interpreter", "packages", "files")  # of Facts: is every package there, with its files?


def quiet(what: str) -> None:
    """Tell nobody."""


def commands_for(
    host: Host, folder: str, resolution: Resolution, *, python: str, index_url: str = ""
) -> tuple[Command, ...]:
    """All that :func:`made` would run. Raises :class:`Stopped` where nothing can make an environment."""
    tools = tools_for(host, python)
    return (tools.environment_command(folder), *tools.install_commands(folder, resolution, index_url))


def options_for(host: Host, folder: str, resolution: Resolution) -> Command:
    """What the room on the disk asks of pip. Raises :class:`Stopped` where there is too little."""
    # What an earlier run began was given its room then, and has taken a part of it.
    need = NO_MORE if markers.read(host, folder) else need_of(resolution.torch_variant)
    return room_for(host, folder, need, with_uv=host.find_program("uv") is not None)


def made(
    host: Host,
    folder: str,
    resolution: Resolution,
    *,
    python: str,
    pins: Sequence[str] = (),
    index_url: str = "",
    on_progress: OnProgress = quiet,
    on_line: OnProgress = quiet,
) -> Made | NotMade:
    """Install a set into an environment of its own; one that an earlier run began is finished.

    ``python`` is the base interpreter, ``pins`` what was asked for, ``index_url`` stands in for torch's own
    index. ``on_progress`` is told each step, ``on_line`` each line of the installer. A folder that is neither
    new nor made here is left alone, and so is a finished environment.
    """
    folder = os.path.abspath(folder)
    note = Marker(
        tool_version=__version__, state="unfinished", pins=tuple(pins), requirements=resolution.constraints
    )
    try:
        standing = standing_as(host, folder, [Requirement(one) for one in resolution.constraints])
        if standing:
            return standing
        environment, *installs = commands_for(host, folder, resolution, python=python, index_url=index_url)
        options = options_for(host, folder, resolution)
        commands = (environment, *((*command, *options) for command in installs))
        with markers.held(folder) as is_ours:
            if is_ours:
                return carried_out(host, folder, note, commands, on_progress, on_line)
            return NotMade(
                why=f"another run is at work in {folder}", advice="wait for its end", is_refusal=True
            )
    except Stopped as stopped:
        return stopped.outcome
    except OSError as error:
        why = f"{error.filename or folder} cannot be written: {error.strerror}"
        return NotMade(why=why, advice="name a folder of your own")


def standing_as(host: Host, folder: str, wanted: Sequence[Requirement]) -> Made | NotMade | None:
    """A folder that is foreign, or finished and held against what is wanted; None where work is left."""
    folder = os.path.abspath(folder)
    state = markers.state_of(host, folder)
    if state == "foreign":
        return foreign(host, folder)
    if state != "finished":
        return None
    facts = look(host, inside(folder))
    others = unmet(facts, wanted) if facts else ()
    if facts and not others:
        return Made(folder=folder, python=inside(folder), changed=False)
    return NotMade(
        why=f"{folder} was finished, and is not what is asked for; it may be in use and is left alone",
        seen="; ".join(others[:3]) or "its interpreter does not answer",
        advice="install into another folder",
        command=("lora-doctor", "install", f"{folder}-2", *map(str, wanted[:3])),
        is_refusal=True,
    )


def foreign(host: Host, folder: str) -> NotMade:
    """A folder that holds what was not put there by :func:`made`."""
    is_file, is_environment = host.is_file(folder), python_in(host, folder)
    what = "a file" if is_file else "an environment" if is_environment else "a folder with something in it"
    return NotMade(
        why=f"{folder} is {what} that lora-doctor install did not make, and it is left alone",
        advice="install into a new folder",
        command=("lora-doctor", "install", f"{folder}-lora"),
        is_refusal=True,
    )


def carried_out(
    host: Host,
    folder: str,
    note: Marker,
    commands: Sequence[Command],
    on_progress: OnProgress,
    on_line: OnProgress,
) -> Made | NotMade:
    """Run the commands, from where an earlier run broke off. Raises :class:`Stopped` and OSError."""
    begun = markers.read(host, folder)
    is_sound = begun is not None and begun.has_environment and is_whole(look(host, inside(folder)))
    markers.write(folder, msgspec.structs.replace(note, has_environment=is_sound))
    if begun and not is_sound:
        on_progress("clearing what the last run left half done")
        markers.emptied(folder)
    environment, *installs = commands
    if not is_sound:
        on_progress(f"making the environment: {environment[0]}")
        run(host, folder, environment, on_line)
        markers.write(folder, msgspec.structs.replace(note, has_environment=True))
    for command in installs:
        on_progress(f"installing {in_words([word for word in command if '==' in word])}")
        run(host, folder, command, on_line)
    return finished(host, folder, note)


def in_words(requirements: Sequence[str]) -> str:
    """One by its release, more by their number."""
    names = [one.partition("==")[0] for one in requirements]
    more = ", ..." if len(names) > 4 else ""
    return requirements[0] if len(names) == 1 else f"{len(names)} packages: {', '.join(names[:4])}{more}"


def finished(host: Host, folder: str, note: Marker) -> Made:
    """Say that the environment is complete, where it is. Raises :class:`Stopped` and OSError."""
    python = inside(folder)
    facts = look(host, python)
    missing = lacking(facts, note.requirements)
    if missing:
        why = f"the installer ended well, and {folder} is not complete"
        raise Stopped(NotMade(why=why, seen=", ".join(missing), advice="run the same again"))
    markers.write(folder, msgspec.structs.replace(note, state="finished", has_environment=True))
    return Made(folder=folder, python=python, changed=True)


def run(host: Host, folder: str, command: Command, on_line: OnProgress) -> None:
    """Run one command, its lines told as they come. Raises :class:`Stopped` where it fails."""

    def tell(line: str) -> bool:
        on_line(line.strip())
        return True

    env = {name: value for name, value in host.env.items() if name not in ASTRAY} | PLAINLY
    done = host.run(command, patience=PATIENCE, env=env, merge=True, on_line=tell)
    if done.code == 0:
        return
    if done.code is None or done.timed_out:
        seen = done.error or "no word for an hour"
        raise Stopped(NotMade(why=f"{command[0]} did not end", seen=seen, command=command))
    index_url = command[command.index("--index-url") + 1] if "--index-url" in command else ""
    raise Stopped(told_by(done.stdout, host.env, folder, index_url))


def look(host: Host, python: str) -> Facts | None:
    """What is installed, None where no interpreter answers there."""
    if not host.is_file(python):
        return None
    looks = Looks(host, Target(python, "install"))
    looks.quick = True
    facts = gather(looks, fields=LOOK)
    return facts if facts.interpreter else None


def is_whole(facts: Facts | None) -> bool:
    """Does the interpreter answer, and is every package in it as its installer recorded?"""
    return facts is not None and half_made(facts) == ()


def half_made(facts: Facts) -> tuple[str, ...]:
    """Packages that an installer left half done."""
    packages, files = facts.packages, facts.files
    if packages is None or files is None or facts.interpreter is None or not facts.interpreter.has_pip:
        return ("pip",)
    named = [one.name for one in packages.installed.values() if one.fault]
    twice = [one.package for one in packages.duplicates]
    altered = [one.package for one in files.faults]
    return (*named, *twice, *altered, *files.without_record, *packages.unregistered, *packages.leftovers)


def unmet(facts: Facts, wanted: Sequence[Requirement]) -> tuple[str, ...]:
    """Where the installed releases are not what is wanted, in words."""
    found = [(one, facts.version_of(canonicalize_name(one.name))) for one in wanted]
    return tuple(
        f"{one.name} {version or 'is missing'}, wanted {one}"
        for one, version in found
        if version is None or not one.specifier.contains(version, prereleases=True)
    )


def lacking(facts: Facts | None, requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements of a set that are not there, or not whole."""
    if facts is None:
        return tuple(requirements)
    return (*unmet(facts, [Requirement(one) for one in requirements]), *half_made(facts))
