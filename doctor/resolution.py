"""What ``resolve`` yields: a set of releases, why it is this one and how to install it, or why none."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Command = tuple[str, ...]


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """The promise to other programs: changing or removing a field needs a new ``schema``."""

    schema: int = 1
    pins: Mapping[str, str] = {}  # public versions; {} where there is no set
    torch_variant: str | None = None  # "cu126", "cpu"
    python: str  # "3.11"
    because: tuple[str, ...] = ()  # why each pick that is not the newest was made, or why there is no set
    commands: tuple[Command, ...] = ()  # for the target's own installer
    verified: bool | None = None  # True only after that installer agreed
    installers: Mapping[str, tuple[Command, ...]] = {}  # the same for "pip" and for "uv"
    constraints: tuple[str, ...] = ()  # the pins with the label of torch's build: "torch==2.13.0+cu126"
    index_url: str = ""  # where that build stands; "" for the installer's own index
    changes: Mapping[
        str, str
    ] = {}  # installed versions of the picks that differ, "" for what is not installed
    warnings: tuple[str, ...] = ()  # what is not as it might be: uses that break, packages that are left out
    ways_out: tuple[str, ...] = ()  # which pins to drop where there is no set
    machine: str = ""  # what the set is for, in words
