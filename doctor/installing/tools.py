"""With what an environment is made and filled: uv where it is on PATH, else the Python's own venv and pip."""

from __future__ import annotations

import os
import re
import sys
from typing import Literal, NamedTuple

from doctor.child import Patience
from doctor.host import Host
from doctor.installation import install_set
from doctor.installing.outcome import NotMade, Stopped
from doctor.resolution import Command, Resolution

PATIENCE = Patience(limit_s=30.0)
# The version comes first: it is told by an interpreter without these modules too.
ASKS = "import sys; print(sys.version.split()[0], sys.version_info.releaselevel); import venv, ensurepip"
GET_UV = "curl -LsSf https://astral.sh/uv/install.sh | sh"
# Marks in /etc/os-release -> how the distribution installs what venv needs.
PACKAGES: tuple[tuple[str, Command], ...] = (
    ("debian|ubuntu", ("apt-get", "install", "-y", "python{minor}-venv")),
    ("suse", ("zypper", "install", "-y", "python{digits}-base")),
    ("fedora|rhel|centos|amzn", ("dnf", "install", "-y", "python{minor}")),
)


class Tools(NamedTuple):
    """The base interpreter, and who installs."""

    python: str  # a path; for uv also a version ("3.12"), which it fetches
    installer: Literal["uv", "pip"]

    def environment_command(self, folder: str) -> Command:
        """Makes the environment, and mends one that was half made. It has pip in either case."""
        if self.installer == "uv":
            return ("uv", "venv", "--seed", "--allow-existing", "--python", self.python, folder)
        return (self.python, "-m", "venv", folder)

    def install_commands(self, folder: str, resolution: Resolution, index_url: str) -> tuple[Command, ...]:
        """Installs the set, torch from its own index or from ``index_url``."""
        python = inside(folder)
        install: Command = (python, "-m", "pip", "install")
        if self.installer == "uv":
            install = ("uv", "pip", "install", "--python", python)
        wanted = index_url if index_url and resolution.constraints else resolution.index_url
        return install_set(resolution.constraints, wanted, install)


def inside(folder: str) -> str:
    """The interpreter of an environment, which need not be there yet."""
    return os.path.join(
        folder, *(("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python"))
    )


def python_on_path(host: Host, version: str) -> str:
    """The interpreter of a version ("3.12"), "" without one that starts: pyenv's shims often lead nowhere."""
    found = host.find_program(f"python{version}")
    starts = found and host.run((found, "-c", ""), patience=PATIENCE).code == 0
    return found if found and starts else ""


def base_of(host: Host, python: str) -> str:
    """The interpreter behind that of a virtual environment, else the same.

    Python 3.10 would build on the environment, and the new one would end with it.
    """
    mark = os.path.join(os.path.dirname(os.path.dirname(python)), "pyvenv.cfg")
    return host.real_path(python) if os.path.isabs(python) and host.is_file(mark) else python


def tools_for(host: Host, python: str) -> Tools:
    """uv where it is on PATH, else pip. Raises :class:`Stopped` where neither can make an environment."""
    with_uv, python = host.find_program("uv") is not None, base_of(host, python)
    if with_uv and not os.path.isabs(python):
        return Tools(python, "uv")
    done = host.run((python, "-I", "-c", ASKS), patience=PATIENCE)
    version, _, level = done.stdout.strip().partition(" ")
    if not version:
        seen = done.error or done.stderr.strip()[-300:] or f"exit code {done.code}"
        raise refused(f"{python} does not answer", "name another with --python", seen)
    if level != "final":
        # Ubuntu 22.04 has 3.11.0rc1, which lacks names of the sys module that torch's own import uses.
        why = f"{python} is Python {version}, a pre-release, which no library is made for"
        raise refused(why, "name a released one with --python")
    if not with_uv and done.code != 0:
        raise Stopped(without_venv(host, python, ".".join(version.split(".")[:2])))
    return Tools(python, "uv" if with_uv else "pip")


def refused(why: str, advice: str, seen: str = "") -> Stopped:
    """Nothing was begun."""
    return Stopped(NotMade(why=why, seen=seen, advice=advice, is_refusal=True))


def without_venv(host: Host, python: str, minor: str) -> NotMade:
    """An interpreter that lacks venv or ensurepip, as Debian's own does at first."""
    why = f"{python} cannot make a virtual environment: it lacks venv or ensurepip, and uv is not on PATH"
    release = (host.read_text("/etc/os-release") or "").lower()
    for marks, command in PACKAGES:
        if re.search(rf"^id(?:_like)?=.*(?:{marks})", release, re.MULTILINE):
            words = tuple(word.format(minor=minor, digits=minor.replace(".", "")) for word in command)
            advice = f"install it as root, or get uv, which needs none: {GET_UV}"
            return NotMade(why=why, advice=advice, command=words, is_refusal=True)
    return NotMade(
        why=why, advice="get uv, which needs neither", command=("sh", "-c", GET_UV), is_refusal=True
    )
