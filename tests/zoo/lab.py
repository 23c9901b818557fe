"""Builds the real virtual environments of the end-to-end tests.

A base is installed once, from exact pins, into a cache folder that serves every worker and every later
run. A test then works on a copy of hard links, made in a second, in which it breaks one thing. Variables:
LORA_DOCTOR_LAB (the cache folder), LORA_DOCTOR_LAB_KEEP (leave the copies for a look),
TORCH_INDEX_URL (the package index that holds torch's CPU builds).
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil
import sandboxes
from sandboxes import (
    CannotBuild,
    built_once,
    cache_folder,
    discard,
    find_python,
    install,
    key_of,
    link_tree,
    locked,
    make_venv,
    run,
    torch_wheel,
)

HERE = Path(__file__).resolve().parent
# The Pythons that may carry the bases, best first: ours, and the oldest that the pins admit.
BASE_PYTHONS = tuple(dict.fromkeys((f"3.{max(sys.version_info[1], 11)}", "3.11")))
# The CUDA libraries in the wheels of bitsandbytes, as PyPI's files list them.
SHIPPED = {
    "0.45.5": ("117", "118", "120", "121", "122", "123", "124", "125", "126", "128"),
    "0.50.2": ("118", "121", "124", "126", "128", "130", "132"),
}
KEEP = "LORA_DOCTOR_LAB_KEEP" in os.environ


class SiteFolder:
    """A folder of packages that a test may break."""

    site: Path

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

    def release(self, package: str, name: str, content: str | bytes) -> None:
        """Replace a file as a release that was built so would have it: RECORD agrees."""
        whole = content.encode() if isinstance(content, str) else content
        digest = base64.urlsafe_b64encode(hashlib.sha256(whole).digest()).rstrip(b"=")
        record = self.dist_info(package) / "RECORD"
        rows = [row for row in csv.reader(record.read_text().splitlines()) if row[0] != name]
        rows.append([name, f"sha256={digest.decode()}", str(len(whole))])
        self.write(name, content)
        self.write(str(record.relative_to(self.site)), "".join(",".join(row) + "\n" for row in rows))

    def register(self, distribution: str, version: str, *requires: str) -> None:
        """Put a distribution without files into site-packages; ``release`` gives it some."""
        folder = f"{distribution}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{needs}"
        self.write(f"{folder}/METADATA", metadata)
        self.write(f"{folder}/RECORD", f"{folder}/METADATA,,\n{folder}/RECORD,,\n")


@dataclass
class UserSite(SiteFolder):
    """A folder of packages outside any environment."""

    site: Path


class Venv(sandboxes.Venv, SiteFolder):
    """A virtual environment on disk that a test may break."""

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return next((self.folder / "lib").glob("python3*/site-packages"))

    def copy_to(self, folder: Path) -> Venv:
        """Its tree again, in hard links."""
        link_tree(self.folder, folder)
        (folder / "complete").unlink(missing_ok=True)  # the cache's own mark, and no part of an environment
        return Venv(folder)


class Lab:
    """The cache folder: bases, which last, and work in progress, which does not."""

    def __init__(self, work: Path | None = None) -> None:
        self.root = cache_folder()
        self.work = work or self.root / f"run-{os.getpid()}"
        self._locked: list[Path] = []

    def apart(self) -> Lab:
        """The same cache with work of its own, which may be cleared while other work goes on."""
        return Lab(self.folder())

    def folder(self) -> Path:
        """A new empty folder, gone at the next ``clear``."""
        self.work.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self.work))

    def base(self, pins: str = "newest") -> Venv:
        """The environment that a pins file describes, with the CPU build of torch; cached."""
        text = (HERE / f"{pins}.txt").read_text()
        folder = self.root / f"{pins}-{key_of(text, *BASE_PYTHONS)}"
        with built_once(folder) as missing:
            if missing:
                self._install_base(folder, HERE / f"{pins}.txt")
        return Venv(folder)

    def copy(self, pins: str = "newest") -> Venv:
        """A copy of a base that a test may break."""
        return self.base(pins).copy_to(self.folder() / "venv")

    def skeleton(self, torch: str, cuda: str, releases: Mapping[str, str]) -> Venv:
        """The stack as a quick check sees it, without the gigabytes: metadata, versions, native libraries.

        ``torch``: the release and build, "2.13.0+cu130"; ``cuda``: torch's CUDA, "" for none. Nothing in it
        does anything.
        """
        venv = self.empty()
        for package, version in releases.items():
            venv.register(package, version)
            venv.release(package, f"{package}/__init__.py", "")
        venv.register("torch", torch)
        version = f"__version__ = {torch!r}\ncuda = {cuda or None!r}\nhip = None\n"
        venv.release("torch", "torch/version.py", version)
        venv.release("torch", "torch/__init__.py", "")
        for library in ("cpu", *(f"cuda{digits}" for digits in SHIPPED[releases["bitsandbytes"]])):
            (venv.site / f"bitsandbytes/libbitsandbytes_{library}.so").hardlink_to(empty_library(self.root))
        return venv

    def empty(self, minor: str = "", *, seed: bool = False) -> Venv:
        """An environment with nothing in it (with pip: ``seed``), of this Python or another minor."""
        folder = self.folder() / "venv"
        make_venv(folder, find_python(minor) if minor else Path(sys.executable), seed=seed)
        return Venv(folder)

    def lock(self, folder: Path) -> None:
        """Forbid to write into a folder, until the next ``clear``."""
        folder.chmod(0o555)
        self._locked.append(folder)

    def clear(self) -> None:
        """Remove the work in progress, unless someone wants to look at it."""
        for folder in self._locked:
            folder.chmod(0o755)
        self._locked.clear()
        if not KEEP:
            discard(self.work)

    def close(self) -> None:
        """Remove this run's work, and what killed runs left."""
        for folder in () if KEEP else self.root.glob("run-*"):
            if folder == self.work or not psutil.pid_exists(int(folder.name[4:])):
                discard(folder)

    def _install_base(self, folder: Path, pins: Path) -> None:
        python, wheel = self.torch_wheel()
        venv = make_venv(folder, python)
        torch = f"torch=={wheel.name.split('-')[1]}"
        # No direct URL, so that torch's metadata is that of an ordinary install.
        install(venv, "--compile-bytecode", "--find-links", str(wheel.parent), "-r", str(pins), torch)

    def torch_wheel(self) -> tuple[Path, Path]:
        """A Python for the bases and its torch wheel: the first that the index has both for."""
        refusals = []
        for minor in BASE_PYTHONS:
            try:
                python = find_python(minor)
                return python, torch_wheel(python, minor)
            except CannotBuild as refusal:
                refusals.append(f"{minor}: {refusal}")
        raise CannotBuild("no CPU build of torch: " + "; ".join(refusals))


@cache
def empty_library(folder: Path) -> Path:
    """A shared object that holds nothing and needs nothing, in a cache folder."""
    path = folder / "empty.so"
    with locked(path):
        if not path.exists():
            made = path.with_suffix(".new")
            run("cc", "-shared", "-nostdlib", "-x", "c", os.devnull, "-o", made)
            made.rename(path)
    return path


def rename_torch(venv: Venv, variant: str, cuda: str) -> None:
    """Give the CPU build the name of a CUDA build, wherever a file states which build it is."""
    old = venv.dist_info("torch")
    new = old.rename(old.with_name(old.name.replace("+cpu", f"+{variant}")))
    record = (new / "RECORD").read_text(encoding="utf-8").replace(old.name, new.name)
    venv.write(f"{new.name}/RECORD", record)
    for name in (f"{new.name}/METADATA", "torch/version.py"):
        text = (venv.site / name).read_text(encoding="utf-8").replace("+cpu", f"+{variant}")
        venv.release("torch", name, text.replace("] = None", f"] = '{cuda}'", 1))
