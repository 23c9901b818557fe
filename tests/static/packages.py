"""Small packages made of texts, and what becomes of a program that imports them."""

from __future__ import annotations

from textwrap import dedent

from doctor.static.outcomes import Event, Failed, Outcome
from doctor.static.run import run_program
from doctor.static.world import Distribution, TextTree, World


def package(name: str, version: str = "1.0", /, **files: str) -> Distribution:
    """A distribution; ``__`` in a keyword stands for a folder, ``root`` for the package itself."""
    module = name.replace("-", "_")
    texts = {
        f"{module}/{'__init__' if path == 'root' else path.replace('__', '/')}.py": dedent(text)
        for path, text in files.items()
    }
    texts.setdefault(f"{module}/__init__.py", "")
    return Distribution(name, version, TextTree(texts), (module,))


def bare(name: str, version: str = "1.0") -> Distribution:
    """A distribution that is installed and no more is known of it."""
    return Distribution(name, version, None, (name.replace("-", "_"),))


def outcome(program: str, *packages: Distribution, deep: bool = False, python: str = "3.11") -> Outcome:
    """What becomes of a program."""
    return run_program(World(packages, python), dedent(program), deep=deep)


def event(program: str, *packages: Distribution, deep: bool = False, python: str = "3.11") -> Event:
    """The event of a program that fails."""
    found = outcome(program, *packages, deep=deep, python=python)
    assert isinstance(found, Failed), found
    return found.event
