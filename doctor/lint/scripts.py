"""Scripts of a run: the versions that they are held against, and what the rules say of each."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Gap, Package, Packages
from doctor.findings import Report, Subject
from doctor.host import LocalHost
from doctor.lint.inputs import open_source
from doctor.lint.judging import facts_of, with_gaps
from doctor.lint.stated_versions import wanted_by
from doctor.matrix.rows import reviewed
from doctor.readers import Source, Unreadable
from doctor.readers.recognition import is_recipe, read
from doctor.rules import code_rules
from doctor.script import Script
from doctor.stack import STACK
from doctor.stated import stated_python

# Beside a script, the first of these that names a library of the stack says which versions it is for.
BESIDE = (
    *("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", "requirements.lock.txt"),
    *("requirements.txt", "requirements-train.txt", "pyproject.toml", "environment.yml", "environment.yaml"),
)
UPWARDS = 3  # folders above the script's own


class Unjudged(Exception):
    """What scripts are to be held against cannot be read; the message says why."""


class Unexamined(Unjudged):
    """The interpreter that they are to be held against does not answer."""


class Versions(NamedTuple):
    """The environment that a script is meant for, and in words where that is known from."""

    facts: Facts
    origin: str


class Scripts:
    """The scripts of one run."""

    def __init__(
        self,
        host: LocalHost,
        machine: Facts,
        torch_cuda: str,
        ignore: Sequence[str],
        *,
        against: str | None,
        python: str | None,
    ) -> None:
        self.host, self.machine, self.torch_cuda, self.ignore = host, machine, torch_cuda, ignore
        self.against, self.python = against, python
        self._of_folders: dict[str, Versions | None] = {}

    def report_on(self, source: Source) -> Report:
        """The report of one script. Raises :class:`Unreadable` and :class:`Unjudged`."""
        script = read_any(source)
        versions = self.asked or self.own(source) or self.beside(source.name) or self.newest
        known = tuple(gap for gap in versions.facts.gaps if gap.about != "script")
        held = Gap(about="versions", kind="not-asked", reason=f"held against {versions.origin}")
        skipped = tuple(Gap(about="script", kind="not-asked", reason=reason) for reason in script.skipped)
        facts = msgspec.structs.replace(versions.facts, script=script, gaps=(*known, held, *skipped))
        rules = tuple(one for one in code_rules() if "script" in one.needs)
        return diagnose(facts, Subject("script", source.name), self.ignore, rules)

    def patch(self, source: Source, report: Report) -> str:
        """What is certain of its cure, as a unified diff; "" where nothing is."""
        from doctor.patch import patch_of

        return patch_of(source.text, source.name, report.facts)

    @cached_property
    def asked(self) -> Versions | None:
        """What the options name, None where they name nothing. Raises :class:`Unjudged`."""
        if self.against:
            try:
                return self.of_file(self.against)
            except Unreadable as error:
                raise Unjudged(f"--against {self.against}: {error}") from error
        return self.of_interpreter(self.python) if self.python else None

    def of_file(self, path: str) -> Versions:
        """The versions of a lock or requirements file. Raises :class:`Unreadable`."""
        wanted = read(open_source(self.host, path))
        return Versions(facts_of(wanted, self.machine, self.torch_cuda), path)

    def of_interpreter(self, python: str) -> Versions:
        """The versions that an interpreter has, nothing imported. Raises :class:`Unexamined`."""
        from doctor.checkup import gather
        from doctor.probes import Looks
        from doctor.target import TargetNotFound, find_target

        try:
            looks = Looks(self.host, find_target(self.host, python))
        except TargetNotFound as error:
            raise Unexamined(str(error)) from error
        looks.quick = True
        seen = gather(looks)
        if seen.packages is None:
            reason = next((gap.reason for gap in seen.gaps if gap.about == "packages"), "it does not answer")
            raise Unexamined(f"--python {python}: {reason}")
        stated = {name: value for name in ("driver", "gpus") if (value := getattr(self.machine, name))}
        return Versions(msgspec.structs.replace(seen, **stated), f"what {python} has installed")

    def own(self, source: Source) -> Versions | None:
        """The versions that a script asks for itself, None where it names nothing of the stack."""
        wanted = wanted_by(source)
        if wanted is None or not {one.name for one in wanted.requirements} & set(STACK[2:]):
            return None
        origin = "what it asks for itself, as an installer would take it today"
        return Versions(facts_of(wanted, self.machine, self.torch_cuda), origin)

    def beside(self, script: str) -> Versions | None:
        """The versions of a file in the script's folder, or in one above it."""
        folder = posixpath.dirname(script)
        if folder not in self._of_folders:
            self._of_folders[folder] = next(self._files_above(folder), None)
        return self._of_folders[folder]

    def _files_above(self, folder: str) -> Iterator[Versions]:
        for _ in range(UPWARDS + 1):
            for name in BESIDE:
                path = posixpath.join(folder, name)
                if self.host.is_file(path):
                    try:
                        versions = self.of_file(path)
                    except Unreadable:
                        continue
                    if any(versions.facts.version_of(package) for package in STACK[2:]):
                        yield versions
            if folder in ("", "/"):
                return
            folder = posixpath.dirname(folder)

    @cached_property
    def newest(self) -> Versions:
        """The newest releases that the matrix was reviewed for: what someone would install today."""
        packages = Packages(
            installed={
                name: Package(name=name, version=version, location="", installer="")
                for name, version in reviewed()["packages"].items()
            }
        )
        interpreter = self.machine.interpreter or stated_python("3.11")
        facts = msgspec.structs.replace(self.machine, packages=packages, interpreter=interpreter)
        origin = "the newest reviewed releases, since no file beside it and no option says which"
        return Versions(with_gaps(facts), origin)


def read_any(source: Source) -> Script:
    """A script, a notebook or a recipe. Raises :class:`Unreadable`."""
    from doctor.readers.script import ScriptUnreadable, read_script

    try:
        if is_recipe(source.name):
            from doctor.readers.recipe import read_recipe

            return read_recipe(source.text, source.name)
        return read_script(source.text, source.name)
    except ScriptUnreadable as error:
        raise Unreadable(str(error)) from error
