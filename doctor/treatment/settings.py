"""Where an environment variable belongs, so that it is there, or gone, in the next run as well. Pure."""

from __future__ import annotations

import json
import ntpath
import posixpath
import re

import msgspec

from doctor.facts import Facts, Interpreter
from doctor.treatment import shells
from doctor.treatment.languages import dockerfile
from doctor.treatment.plan import Command

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
AT_ACTIVATION = "from the next activation on"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One place that can hold a variable, or keep it away."""

    where: str  # a file, or what is started with the variable: "/env/bin/activate"
    lines: tuple[str, ...] = ()  # what to append there
    commands: tuple[Command, ...] = ()  # what writes it there
    note: str = ""  # from when on it holds


def where_to_set(variable: str, value: str | None, facts: Facts) -> tuple[Place, ...]:
    """The places for a variable, that of this target first; a value of None unsets it.

    Nothing for what is no name of a variable. A line break can be told to a shell alone.
    """
    if not NAME.fullmatch(variable):
        return ()
    if value is not None and not value.isprintable():
        return (in_shell(variable, value, facts),)
    system, interpreter = facts.system, facts.interpreter
    windows = system is not None and system.os == "win32"
    container = (system.container if system else None) or ""
    environment = in_environment(variable, value, interpreter, windows) if interpreter else ()
    return (
        *in_container(variable, value, container),
        *environment,
        in_windows(variable, value) if windows else in_shell(variable, value, facts),
        *(() if windows or container else (in_unit(variable, value),)),
        in_notebook(variable, value),
    )


def this_shell(variable: str, value: str | None, facts: Facts) -> Command:
    """The command that sets or unsets it in the shell that runs now: POSIX, or cmd of Windows."""
    if facts.system and facts.system.os == "win32":
        return ("set", f"{variable}={value or ''}")
    return ("unset", variable) if value is None else ("export", f"{variable}={value}")


def in_container(variable: str, value: str | None, container: str) -> tuple[Place, ...]:
    """What a container is made from or started with; nothing outside of one."""
    if container == "kubernetes":
        return (Place(where="the pod's manifest", lines=shells.pod(variable, value), note="in new pods"),)
    if container in ("apptainer", "singularity"):
        # https://apptainer.org/docs/user/latest/environment_and_metadata.html
        line = shells.posix(f"{container.upper()}ENV_{variable}", value)
        return (Place(where="the host's shell", lines=(line,), note=f"before {container} starts"),)
    if container not in ("docker", "podman"):
        return ()
    image = Place(
        where=dockerfile.PLACE, lines=dockerfile.environment(variable, value), note="in a new image"
    )
    if value is None:
        return (image,)
    option = f"-e {shells.posix_word(f'{variable}={value}')}"
    return (image, Place(where=f"{container} run", lines=(option,), note="in new containers"))


def in_environment(
    variable: str, value: str | None, interpreter: Interpreter, windows: bool
) -> tuple[Place, ...]:
    """The environment itself, which sets it for whoever activates it; nothing of the system's Python."""
    if interpreter.kind == "conda":
        return in_conda(variable, value, interpreter.prefix, windows)
    if interpreter.kind != "venv":
        return ()
    if windows:
        folder = ntpath.join(interpreter.prefix, "Scripts")
        return (
            at_activation(ntpath.join(folder, "activate.bat"), shells.batch(variable, value)),
            at_activation(ntpath.join(folder, "Activate.ps1"), shells.powershell(variable, value)),
        )
    activate = posixpath.join(interpreter.prefix, "bin", "activate")
    return (
        at_activation(activate, shells.posix(variable, value)),
        at_activation(f"{activate}.fish", shells.fish(variable, value)),
    )


def in_conda(variable: str, value: str | None, prefix: str, windows: bool) -> tuple[Place, ...]:
    """conda's own list of variables, and the folder of scripts, which mamba reads as well.

    That list can drop what it holds itself, and cannot unset what comes from elsewhere; a script can.
    https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
    """
    verb, words = ("unset", variable) if value is None else ("set", f"{variable}={value}")
    command = ("conda", "env", "config", "vars", verb, "-p", prefix, words)
    listed = Place(where="the conda environment", commands=(command,), note=AT_ACTIVATION)
    script = activation_script(variable, value, prefix, windows)
    return (script, listed) if value is None else (listed, script)


def activation_script(variable: str, value: str | None, prefix: str, windows: bool) -> Place:
    """A script of a conda environment that its activation runs."""
    parts = (prefix, "etc", "conda", "activate.d")
    if windows:
        return at_activation(ntpath.join(*parts, f"{variable}.bat"), shells.batch(variable, value))
    return at_activation(posixpath.join(*parts, f"{variable}.sh"), shells.posix(variable, value))


def at_activation(file: str, line: str) -> Place:
    """A file that the activation of an environment reads."""
    return Place(where=file, lines=(line,), note=AT_ACTIVATION)


def in_shell(variable: str, value: str | None, facts: Facts) -> Place:
    """The file that a login shell reads: of zsh on macOS, of sh and bash elsewhere."""
    file = "~/.zprofile" if facts.system and facts.system.os == "darwin" else "~/.profile"
    return Place(where=file, lines=(shells.posix(variable, value),), note="from the next login on")


def in_windows(variable: str, value: str | None) -> Place:
    """The user's variables in Windows; setx would cut a value at 1024 characters."""
    told = "$null" if value is None else "'" + value.replace("'", "''") + "'"
    line = f"[Environment]::SetEnvironmentVariable('{variable}', {told}, 'User')"
    return Place(where="PowerShell", lines=(line,), note="in programs that are started after that")


def in_unit(variable: str, value: str | None) -> Place:
    """A service's own variables."""
    lines = ("[Service]", shells.unit(variable, value))
    note = "after systemctl restart of that unit"
    return Place(where="the systemd unit that trains (systemctl edit UNIT)", lines=lines, note=note)


def in_notebook(variable: str, value: str | None) -> Place:
    """The description of a Jupyter kernel, or where it is to be gone, the first cell."""
    if value is None:
        line = f'import os; os.environ.pop("{variable}", None)'
        return Place(where="the notebook's first cell", lines=(line,), note="before torch is imported")
    line = f'"env": {json.dumps({variable: value}, ensure_ascii=False)}'
    where = "kernel.json of the Jupyter kernel (jupyter kernelspec list)"
    return Place(where=where, lines=(line,), note="after the kernel is restarted")
