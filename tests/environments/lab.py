"""Builds the real virtual environments of the end-to-end tests.

A base is installed once, from exact pins, into a cache folder that serves every worker and every later
run. A test then works on a copy of hard links, made in a second, in which it breaks one thing. Variables:
LORA_DOCTOR_LAB (the cache folder), LORA_DOCTOR_LAB_KEEP (leave the copies for a look),
TORCH_INDEX_URL (the package index that holds torch's CPU builds).
"""

from __future__ import annotations

import base64
import contextlib
import csv
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
CONSTRAINTS = HERE.parents[1] / "scripts" / "constraints.txt"
# The Pythons that may carry the bases, best first: ours, and the oldest that the pins admit.
BASE_PYTHONS = tuple(dict.fromkeys((f"3.{max(sys.version_info[1], 11)}", "3.11")))
KEEP = "LORA_DOCTOR_LAB_KEEP" in os.environ


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
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return next((self.folder / "lib").glob("python3*/site-packages"))

    def find(self, pattern: str) -> list[Path]:
        """Files and folders of site-packages; a pattern that matches nothing is a fault of the test."""
        found = sorted(self.site.glob(pattern))
        assert found, f"{pattern} matches nothing in {self.site}"
        return found

    def dist_info(self, package: str) -> Path:
        """The metadata folder of one package."""
        return self.find(f"{package}-*.dist-info")[0]

    def remove(self, *patterns: str) -> None:
        """Delete files and folders of site-packages."""
        for path in [path for pattern in patterns for path in self.find(pattern)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def write(self, name: str, content: str | bytes) -> Path:
        """Put a file into site-packages. An old one is unlinked first: the base shares its blocks."""
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def truncate(self, name: str, size_bytes: int) -> None:
        """Cut a file short, as a full disk or a broken download does."""
        (path,) = self.find(name)
        with path.open("rb") as file:
            start = file.read(size_bytes)
        self.write(name, start)

    def release(self, package: str, name: str, content: str) -> None:
        """Replace a file as a release that was built so would have it: RECORD agrees."""
        digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=")
        record = self.dist_info(package) / "RECORD"
        rows = [row for row in csv.reader(record.read_text().splitlines()) if row[0] != name]
        rows.append([name, f"sha256={digest.decode()}", str(len(content.encode()))])
        self.write(name, content)
        self.write(str(record.relative_to(self.site)), "".join(",".join(row) + "\n" for row in rows))

    def copy_to(self, folder: Path) -> Venv:
        """Its tree again, in hard links."""
        link_tree(self.folder, folder)
        return Venv(folder)


class Lab:
    """The cache folder: bases, which last, and work in progress, which does not."""

    def __init__(self) -> None:
        self.root = cache_folder()
        self.work = self.root / f"run-{os.getpid()}"

    def folder(self) -> Path:
        """A new empty folder, gone at the next ``clear``."""
        self.work.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self.work))

    def base(self, pins: str = "newest") -> Venv:
        """The environment that a pins file describes, with the CPU build of torch; cached."""
        text = (HERE / f"{pins}.txt").read_text()
        venv = Venv(self.root / f"{pins}-{self._key(text)}")
        done = venv.folder / "complete"
        with locked(venv.folder):
            if not done.exists():
                discard(venv.folder)
                self._install_base(venv, HERE / f"{pins}.txt")
                done.touch()
        return venv

    def copy(self, pins: str = "newest") -> Venv:
        """A copy of a base that a test may break."""
        return self.base(pins).copy_to(self.folder() / "venv")

    def empty(self, minor: str = "", *, seed: bool = False) -> Venv:
        """An environment with nothing in it (with pip: ``seed``), of this Python or another minor."""
        venv = Venv(self.folder() / "venv")
        make_venv(venv, find_python(minor) if minor else Path(sys.executable), seed=seed)
        return venv

    def clear(self) -> None:
        """Remove the work in progress, unless someone wants to look at it."""
        if not KEEP:
            discard(self.work)

    def close(self) -> None:
        """Remove this run's work, and what killed runs left."""
        for folder in () if KEEP else self.root.glob("run-*"):
            if folder == self.work or not psutil.pid_exists(int(folder.name[4:])):
                discard(folder)

    def _install_base(self, venv: Venv, pins: Path) -> None:
        python, wheel = self._torch_wheel()
        make_venv(venv, python)
        torch = f"torch=={wheel.name.split('-')[1]}"
        # No direct URL, so that torch's metadata is that of an ordinary install.
        install(venv, "--compile-bytecode", "--find-links", str(wheel.parent), "-r", str(pins), torch)

    def _torch_wheel(self) -> tuple[Path, Path]:
        """A Python for the bases and its torch wheel: the first that the index has both for."""
        refusals = []
        for minor in BASE_PYTHONS:
            folder = self.root / f"torch-{minor}-{self._key(minor)}"
            try:
                with locked(folder):
                    if not (folder / "complete").exists():
                        discard(folder)
                        self._download_torch(find_python(minor), folder)
                        (folder / "complete").touch()
                return find_python(minor), next(folder.glob("torch-*.whl"))
            except CannotBuild as refusal:
                refusals.append(f"{minor}: {refusal}")
        raise CannotBuild("no CPU build of torch: " + "; ".join(refusals))

    def _download_torch(self, python: Path, folder: Path) -> None:
        """By pip, which knows the folders and indexes that its configuration names; uv does not."""
        venv = Venv(self.folder())
        make_venv(venv, python, seed=True)
        index = os.environ.get("TORCH_INDEX_URL")
        source = ["--index-url", index] if index else []
        options = [*source, "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
        run(venv.python, "-m", "pip", "download", *options, torch_requirement())

    def _key(self, text: str) -> str:
        """What a cached folder depends on: another text is another folder."""
        parts = (text, torch_requirement(), *BASE_PYTHONS, os.environ.get("TORCH_INDEX_URL", ""))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def torch_requirement() -> str:
    """The project's torch, on Linux in its CPU build: the default one there brings gigabytes of CUDA."""
    pin = re.search(r"^torch==\S+", CONSTRAINTS.read_text(), re.MULTILINE)
    assert pin, f"{CONSTRAINTS} pins no torch"
    return pin.group() + ("+cpu" if sys.platform == "linux" else "")


def cache_folder() -> Path:
    """Where the bases lie."""
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


def make_venv(venv: Venv, python: Path, *, seed: bool = False) -> None:
    """A fresh environment, with pip where ``seed`` asks for it."""
    options = ["--quiet", "--no-python-downloads", *(["--seed"] if seed else [])]
    run(uv(), "venv", *options, "--python", python, venv.folder)


def install(venv: Venv, *requirements: str) -> None:
    """Install exactly these, whether or not they go together."""
    run(uv(), "pip", "install", "--quiet", "--no-deps", "--python", venv.python, *requirements)


def run(*command: str | Path) -> None:
    """Run a build step; its own words are in the error, should it fail."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CannotBuild(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")


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


def rename_torch(venv: Venv, variant: str, cuda: str) -> None:
    """Give the CPU build the name of a CUDA build, wherever a file states which build it is."""
    old = venv.dist_info("torch")
    new = old.rename(old.with_name(old.name.replace("+cpu", f"+{variant}")))
    record = (new / "RECORD").read_text(encoding="utf-8").replace(old.name, new.name)
    venv.write(f"{new.name}/RECORD", record)
    for name in (f"{new.name}/METADATA", "torch/version.py"):
        text = (venv.site / name).read_text(encoding="utf-8").replace("+cpu", f"+{variant}")
        venv.release("torch", name, text.replace("] = None", f"] = '{cuda}'", 1))
