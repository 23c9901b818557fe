"""Builds virtual environments with uv: the one place where the scripts and the tests install anything.

torch is the CPU build that ``scripts/constraints.txt`` pins, fetched by pip, which knows the folders and
indexes that its configuration names. An environment starts as hard links to a base that holds torch, in a
second. Variables: LORA_DOCTOR_LAB (the cache folder), TORCH_INDEX_URL (the package index that holds torch's
CPU builds).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# As it was at the start: a test runner changes os.environ at each test, under threads that start a process.
ENVIRONMENT = dict(os.environ)
CONSTRAINTS = Path(__file__).with_name("constraints.txt")
# Fetching torch, or many wheels, over a slow line; nothing here waits longer.
PATIENCE_S = 1800


class CannotBuild(Exception):
    """An environment that this machine cannot have, and why."""


class NoSuchPython(CannotBuild):
    """This machine has no interpreter of the version."""


@dataclass(frozen=True)
class Venv:
    """A virtual environment on disk."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def installed(self) -> dict[str, str]:
        """Every distribution in it with its version, by name."""
        frozen = answer(uv(), "pip", "freeze", "--python", self.python)
        pairs = (line.partition("==") for line in frozen.splitlines())
        return {name: version for name, equals, version in pairs if equals}

    def conflicts(self) -> int:
        """How many declared requirements are not met in it, by ``uv pip check``."""
        done = subprocess.run(
            [uv(), "pip", "check", "--python", self.python],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        found = re.search(r"Found (\d+) incompatib", done.stderr)
        return int(found[1]) if found else 0


def torch_requirement() -> str:
    """The project's torch, on Linux in its CPU build: the default one there brings gigabytes of CUDA."""
    pin = re.search(r"^torch==\S+", CONSTRAINTS.read_text(), re.MULTILINE)
    assert pin, f"{CONSTRAINTS} pins no torch"
    return pin.group() + ("+cpu" if sys.platform == "linux" else "")


def cache_folder() -> Path:
    """Where what is built once lies."""
    if named := os.environ.get("LORA_DOCTOR_LAB"):
        return Path(named).resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache if os.path.isabs(cache) else tempfile.gettempdir()) / "lora-doctor-lab"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a cached folder; a killed holder lets go of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def built_once(folder: Path) -> Iterator[bool]:
    """Yield whether a cached folder is still to be built; it counts as built once the block has ended."""
    done = folder / "complete"
    with locked(folder):
        missing = not done.exists()
        if missing:
            discard(folder)
        yield missing
        if missing:
            done.touch()


def find_python(minor: str) -> Path:
    """An interpreter of this machine: pyenv's, uv's or the system's. Each is asked, since shims may fail."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [Path(sys.executable), *sorted(pyenv.glob(f"{minor}.*/bin/python{minor}"))]
    found = (answer(uv(), "python", "find", "--no-python-downloads", minor), shutil.which(f"python{minor}"))
    candidates += [Path(name) for name in found if name]
    for candidate in candidates:
        if answer(candidate, "--version").startswith(f"Python {minor}."):
            return candidate
    raise NoSuchPython(f"this machine has no Python {minor}")


def answer(*command: str | Path) -> str:
    """What a program prints, "" where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode else done.stdout.strip()


def uv() -> str:
    """The uv of the test requirements."""
    from uv import find_uv_bin

    return str(find_uv_bin())


def make_venv(folder: Path, python: Path, *, seed: bool = False) -> Venv:
    """A fresh environment, with pip where ``seed`` asks for it."""
    options = ["--quiet", "--no-python-downloads", *(["--seed"] if seed else [])]
    run(uv(), "venv", *options, "--python", python, folder)
    return Venv(folder)


def install(venv: Venv, *requirements: str) -> None:
    """Install exactly these, whether or not they go together."""
    run(uv(), "pip", "install", "--quiet", "--no-deps", "--python", venv.python, *requirements)


def run(*command: str | Path, env: Mapping[str, str] | None = None) -> str:
    """Run a build step and give its output; its own words are in the error, should it fail."""
    variables = ENVIRONMENT if env is None else env
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=PATIENCE_S)
    if done.returncode:
        raise CannotBuild(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def link_tree(source: str | Path, target: str | Path) -> None:
    """Copy a tree as hard links to its files; symbolic links stay what they are."""
    os.mkdir(target)
    for entry in os.scandir(source):
        there = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            link_tree(entry.path, there)
        else:
            os.link(entry.path, there, follow_symlinks=False)


def discard(folder: Path) -> None:
    """Remove a tree, where there is one."""
    shutil.rmtree(folder, ignore_errors=True)


def torch_wheel(python: Path, minor: str, requirement: str = "") -> Path:
    """A CPU build of torch as a wheel for one Python, downloaded once: the pinned one, where none is named.

    Raises :class:`CannotBuild`.
    """
    requirement = requirement or torch_requirement()
    folder = cache_folder() / f"torch-{minor}-{key_of(minor, requirement)}"
    with built_once(folder) as missing:
        if missing:
            download_torch(python, requirement, folder)
    return next(folder.glob("torch-*.whl"))


def download_torch(python: Path, requirement: str, folder: Path) -> None:
    """By pip, which knows the folders and indexes that its configuration names; uv does not."""
    index = os.environ.get("TORCH_INDEX_URL")
    source = ["--index-url", index] if index else []
    options = [*source, "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    with tempfile.TemporaryDirectory() as work:
        pip = make_venv(Path(work) / "pip", python, seed=True).python
        run(pip, "-m", "pip", "download", *options, requirement)


def key_of(*parts: str) -> str:
    """What a cached folder depends on: another text is another folder."""
    texts = (*parts, torch_requirement(), os.environ.get("TORCH_INDEX_URL", ""))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


class Workshop:
    """Makes whole environments for one Python, each beside one torch: the pinned one, where none is named.

    Where no CPU build is to be had, ``any_build`` takes that of PyPI with its gigabytes of CUDA libraries.
    Raises :class:`CannotBuild`.
    """

    def __init__(self, minor: str, torch: str = "", *, any_build: bool = False) -> None:
        self.minor, self.python = minor, find_python(minor)
        local = "+cpu" if sys.platform == "linux" else ""
        requirement = f"torch=={torch}{local}" if torch else torch_requirement()
        try:
            wheel = torch_wheel(self.python, minor, requirement)
        except CannotBuild:
            if not any_build:
                raise
            self.torch, self.source = requirement.removesuffix(local), []
        else:
            self.torch, self.source = requirement, ["--find-links", str(wheel.parent)]

    def resolve(self, pins: Mapping[str, str], free: Sequence[str] = (), *, force: bool = True) -> str:
        """The whole set that uv takes today; ``force`` has pins hold even where metadata refuses them.

        Raises :class:`CannotBuild`.
        """
        exact = [f"{name}=={version}" for name, version in pins.items()]
        try:
            return self._compile([*exact, *free], [])
        except CannotBuild:
            if not force:
                raise
            return self._compile([*exact, *free], exact)

    def _compile(self, wanted: Sequence[str], forced: Sequence[str]) -> str:
        with tempfile.TemporaryDirectory() as work:
            requirements, overrides = Path(work) / "wanted.in", Path(work) / "overrides.txt"
            requirements.write_text("\n".join([*wanted, self.torch]))
            # Old releases refuse today's torch in their metadata; no other is to be had here.
            overrides.write_text("\n".join([*forced, self.torch]))
            style = ["--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
            options = [*style, *self.source, "--python", str(self.python), "--override", str(overrides)]
            return run(uv(), "pip", "compile", *options, str(requirements))

    @contextlib.contextmanager
    def environment(self, pins: str) -> Iterator[Venv]:
        """An environment that holds exactly these pins, gone after the block. Raises :class:`CannotBuild`."""
        with tempfile.TemporaryDirectory(dir=self._work(), ignore_cleanup_errors=True) as folder:
            venv, file = Venv(Path(folder) / "venv"), Path(folder) / "pins.txt"
            link_tree(self._base(), venv.folder)
            file.write_text(pins)
            options = ["--quiet", "--only-binary", ":all:", *self.source, "--python", str(venv.python)]
            run(uv(), "pip", "sync", *options, str(file))
            yield venv

    def _base(self) -> Path:
        """torch with its byte code, once: every environment shares its blocks."""
        folder = cache_folder() / f"base-{self.minor}-{key_of(self.minor, self.torch)}"
        with built_once(folder) as missing:
            if missing:
                options = ["--quiet", "--compile-bytecode", *self.source]
                venv = make_venv(folder, self.python)
                run(uv(), "pip", "install", *options, "--python", venv.python, self.torch)
        return folder

    def _work(self) -> Path:
        """On the file system of the base, as hard links ask for."""
        folder = cache_folder() / "work"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
