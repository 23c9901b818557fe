"""Every interpreter near here: environments of this folder, of conda, pyenv and Jupyter, and on PATH."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from doctor.host import Host
from doctor.target import Target, python_in

HERE = (".venv", "venv", "env", ".env")
CONDA_HOMES = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda")


def find_environments(host: Host, here: str) -> list[Target]:
    """Targets near a folder, each interpreter once, the active environment first."""
    found: dict[tuple[str, str], Target] = {}
    for target in _candidates(host, here):
        # A venv's python is a link to its base, and python3 beside it another: folder and end tell.
        path = os.path.abspath(target.executable)
        found.setdefault((os.path.dirname(path), host.real_path(path)), target)
    return list(found.values())


def _candidates(host: Host, here: str) -> Iterator[Target]:
    home = host.env.get("HOME") or host.env.get("USERPROFILE") or ""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        yield from _in_folders(host, [host.env.get(variable, "")], variable)
    yield from _in_folders(host, [os.path.join(here, name) for name in HERE], "here")
    yield from _in_folders(host, _environments_below(host, here), "here")
    yield from _in_folders(host, _conda_folders(host, home), "conda")
    yield from _below(
        host, os.path.join(host.env.get("PYENV_ROOT") or os.path.join(home, ".pyenv"), "versions"), "pyenv"
    )
    yield from _below(host, os.path.join(home, ".virtualenvs"), "virtualenvs")
    yield from _kernels(host, home)
    for name in ("python", "python3"):
        path = host.find_program(name)
        if path:
            yield Target(path, "PATH")


def _in_folders(host: Host, folders: list[str], origin: str) -> Iterator[Target]:
    for folder in folders:
        python = python_in(host, folder) if folder else None
        if python:
            yield Target(python, origin)


def _below(host: Host, folder: str, origin: str) -> Iterator[Target]:
    names = [os.path.join(folder, name) for name in host.list_folder(folder)]
    yield from _in_folders(host, names, origin)


def _environments_below(host: Host, here: str) -> list[str]:
    """Folders of this one that are virtual environments, whatever their names."""
    folders = [os.path.join(here, name) for name in host.list_folder(here)]
    return [folder for folder in folders if host.is_file(os.path.join(folder, "pyvenv.cfg"))]


def _conda_folders(host: Host, home: str) -> list[str]:
    """What conda itself lists, and the usual places."""
    listed = (host.read_text(os.path.join(home, ".conda", "environments.txt")) or "").split("\n")
    roots = [os.path.join(home, name) for name in CONDA_HOMES]
    below = [
        os.path.join(root, "envs", name)
        for root in roots
        for name in host.list_folder(os.path.join(root, "envs"))
    ]
    return [line.strip() for line in listed] + roots + below


def _kernels(host: Host, home: str) -> Iterator[Target]:
    """The interpreters that Jupyter's kernels start."""
    data = (
        os.path.join(home, ".local", "share", "jupyter"),
        "/usr/local/share/jupyter",
        "/usr/share/jupyter",
    )
    for folder in (os.path.join(place, "kernels") for place in data):
        for name in host.list_folder(folder):
            python = _of_kernel(host.read_text(os.path.join(folder, name, "kernel.json")) or "")
            path = python if os.path.isabs(python) else host.find_program(python) if python else None
            if path and host.is_file(path):
                yield Target(path, f"kernel {name}")


def _of_kernel(text: str) -> str:
    """The program of a kernel's specification, "" where it starts no Python."""
    try:
        first = json.loads(text)["argv"][0]
    except (ValueError, KeyError, IndexError, TypeError):
        return ""
    return first if isinstance(first, str) and "python" in os.path.basename(first) else ""
