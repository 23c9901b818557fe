"""Files in a fake folder, linted for a machine that is stated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakes import FakeHost

from doctor.findings import Finding, Report
from doctor.lint.run import Lint
from doctor.stated import Stated

LINUX = {"python": "3.11", "os": "linux", "arch": "x86_64"}


def run(files: Mapping[str, str], **machine: str) -> Lint:
    """A run over these files."""
    stated = Stated(**{**LINUX, **machine})
    return Lint(FakeHost(files=files), stated.facts(), stated.torch_cuda)  # type: ignore[arg-type]


def lint(text: str, name: str = "requirements.txt", **machine: str) -> Report:
    """The report of one file."""
    return run({name: text}, **machine).report(name)


def errors(report: Report) -> dict[str, Finding]:
    """The errors by their ids."""
    return {one.id: one for one in report.findings if one.severity == "error"}


def versions(report: Report) -> dict[str, str]:
    """What would be installed."""
    packages: Any = report.facts.packages
    return {name: package.version for name, package in packages.installed.items()}
