"""The page of a fault: all that is told of it to a person under stress."""

from __future__ import annotations

from typing import Literal

import msgspec

from doctor.findings import Fix

Language = Literal["en", "zh"]
Command = tuple[str, ...]


class Case(msgspec.Struct, frozen=True):
    """Releases that have the fault for a reason of their own: peft with torchao, peft with transformers."""

    releases: (
        str  # "trl 0.29.0 to below 1.16.0, transformers below 4.54.0"; "" where it is not about releases
    )
    why: str
    symptoms: tuple[str, ...] = ()  # as their source has them
    fixes: tuple[Fix, ...] = ()  # the first is the one to take


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What it means, how to see whether it is yours, the way out, and how to see that it worked."""

    id: str
    language: Language = "en"
    title: str
    why: str
    see: str
    looks: tuple[Command, ...] = ()  # commands that show whether it is the reader's case
    symptoms: tuple[str, ...] = ()  # what people see, in plain words
    releases: str = ""  # that it is about, where they are the only ones
    fix: str = ""
    fixes: tuple[Fix, ...] = ()
    cases: tuple[Case, ...] = ()  # where the way out depends on the releases
    verify: str
    proofs: tuple[Command, ...] = ()  # commands that show that it is cured
    in_vain: str = ""
    references: tuple[str, ...] = ()


class Brief(msgspec.Struct, frozen=True):
    """A fault in a list."""

    id: str
    title: str
    symptoms: tuple[str, ...] = ()
