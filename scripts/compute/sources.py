"""The Python files of releases, as ``scripts/harvest.py`` keeps them: ``<name>-<version>.zip``."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from packaging.version import Version

from doctor.matrix.releases import releases_of
from doctor.static.world import Distribution

# Import names that differ from the distribution's.
MODULES = {
    **{
        "pyyaml": ("yaml",),
        "python-dateutil": ("dateutil",),
        "pillow": ("PIL",),
        "typing-extensions": ("typing_extensions",),
    },
    **{"setuptools": ("setuptools", "pkg_resources", "_distutils_hack"), "attrs": ("attr", "attrs")},
}


class Release:
    """The files of one release. It is a tree of ``doctor.static.world``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def archive(self) -> zipfile.ZipFile:
        """The zip, kept open: its directory is long."""
        return zipfile.ZipFile(self.path)

    @cached_property
    def files(self) -> frozenset[str]:
        """Paths of the Python files."""
        return frozenset(path for path in self.archive.namelist() if path.endswith(".py"))

    @cached_property
    def record(self) -> list[str]:
        """Every file that the wheel installs."""
        name = next(one for one in self.archive.namelist() if one.endswith(".dist-info/RECORD"))
        text = self.archive.read(name).decode()
        return [line.split(",")[0].strip('"') for line in text.splitlines() if line]

    @cached_property
    def folders(self) -> dict[str, set[str]]:
        """Names of files and folders in each folder; compiled modules are among them."""
        found: dict[str, set[str]] = {}
        for path in self.record:
            while path and ".dist-info" not in path:
                folder, _, name = path.rpartition("/")
                found.setdefault(folder, set()).add(name)
                path = folder
        return found

    def read(self, path: str) -> str | None:
        """The text of a file."""
        if path not in self.files:
            return None
        return self.archive.read(path).decode("utf-8", "replace")

    def names(self, folder: str) -> Sequence[str]:
        """What stands in a folder."""
        return sorted(self.folders.get(folder, ()))

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """Top-level import names."""
        tops = {path.split("/")[0].split(".")[0] for path in self.files}
        return tuple(sorted(top for top in tops if top.isidentifier()))


class Sources:
    """A folder of releases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @lru_cache  # noqa: B019 - one object a process
    def versions(self, package: str) -> tuple[str, ...]:
        """The releases of a package that are there, ascending; pre-releases aside."""
        stems = (path.stem.removeprefix(f"{package}-") for path in self.folder.glob(f"{package}-[0-9]*.zip"))
        return tuple(sorted((one for one in stems if not Version(one).is_prerelease), key=Version))

    @lru_cache  # noqa: B019
    def published(self, package: str) -> tuple[str, ...]:
        """The releases of a package whose code is there, if only that of the last patch of their minor."""
        known = (one.version for one in releases_of(package) if not one.yanked)
        final = [one for one in known if not Version(one).is_prerelease]
        return tuple(one for one in final if self.release(package, one))

    @lru_cache(maxsize=200)  # noqa: B019
    def release(self, package: str, version: str) -> Release | None:
        """One release, or the last patch of its minor where only that is kept."""
        known = self.versions(package)
        minor = Version(version).release[:2]
        near = [one for one in known if Version(one).release[:2] == minor]
        if version in known:
            return Release(self.folder / f"{package}-{version}.zip")
        return Release(self.folder / f"{package}-{near[-1]}.zip") if near else None

    def files(self, package: str, version: str) -> frozenset[str]:
        """Paths of the Python files of one release."""
        release = self.release(package, version)
        return release.files if release else frozenset()

    @lru_cache(maxsize=3000)  # noqa: B019
    def text(self, package: str, version: str, path: str) -> str:
        """The text of one file, "" where there is none."""
        release = self.release(package, version)
        return (release.read(path) or "") if release else ""

    def distribution(self, package: str, version: str) -> Distribution:
        """One release as the interpreter takes it; only installed where its code is not kept."""
        release = self.release(package, version)
        if release is None:
            return Distribution(package, version, None, MODULES.get(package, (package.replace("-", "_"),)))
        return Distribution(package, version, release, release.modules)
