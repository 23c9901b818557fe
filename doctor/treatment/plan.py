"""The plan that ``fix`` prints and carries out: steps in their order, each with what it cures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from doctor.findings import Scope

Command = tuple[str, ...]
# delete: files of a registration. remove, install, anew: of packages. All these stay within the target.
# set: an environment variable. hand: for a person alone.
Kind = Literal["delete", "remove", "install", "anew", "set", "hand"]
# Languages whose commands stay within the target; the others write files of a project as well.
OF_THE_TARGET = ("pip", "uv", "conda", "mamba")
Language = Literal["pip", "uv", "conda", "mamba", "pixi", "poetry", "pdm", "dockerfile", "requirements"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step. What it changes stands apart from ``commands``, which say it in one language."""

    title: str  # "Install peft 0.18.0 in place of 0.17.1"
    kind: Kind
    scope: Scope
    cures: tuple[str, ...]  # ids of findings
    packages: tuple[str, ...] = ()  # requirements that are installed ("peft==0.18.0"), or names that go
    paths: tuple[str, ...] = ()  # what is deleted: folders in the target's own site folders
    index_url: str = ""  # where these packages stand; "" for the installer's own index
    replaces: Mapping[str, str] = {}  # package -> the version that gives way, "" where none is installed
    variable: str = ""
    value: str | None = None  # of the variable; None unsets it
    commands: tuple[Command, ...] = ()
    lines: tuple[str, ...] = ()  # what to write where no command does it
    place: str = ""  # where the lines or the variable belong: "Dockerfile", "~/train/.venv/bin/activate"
    verified: bool | None = None  # True only after the target's own installer agreed; None: does not apply
    said: str = ""  # that installer's words, where it did not agree or could not be asked

    @property
    def is_applied(self) -> bool:
        """Does ``--apply`` carry it out? Only what stays within the target's packages."""
        return self.kind in ("delete", "remove", "install", "anew")


class Uncured(msgspec.Struct, frozen=True):
    """A finding for which the plan has no step, and why."""

    id: str
    title: str
    why: str


class Refusal(msgspec.Struct, frozen=True):
    """Why this target must not be changed, and the way out."""

    why: str
    commands: tuple[Command, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The promise to other programs: changing or removing a field needs a new ``schema``."""

    schema: int = 1
    tool_version: str
    target: str  # the interpreter
    language: Language  # in which the commands speak
    titles: Mapping[str, str] = {}  # of the findings that the steps cure, by id
    steps: tuple[Step, ...] = ()
    because: tuple[str, ...] = ()  # why these releases
    uncured: tuple[Uncured, ...] = ()
    refusal: Refusal | None = None
