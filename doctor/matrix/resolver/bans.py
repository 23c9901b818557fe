"""Rows of the matrix as bans: items of two packages, or more, that must not be in one set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from doctor.matrix.bitsandbytes_builds import goes_with
from doctor.matrix.machine import Machine
from doctor.matrix.resolver.shelf import Item, Shelf
from doctor.matrix.rows import PLATFORM_SUBJECTS, Row, Term
from doctor.matrix.torch_builds import cuda_of

ShelfOf = Callable[[str], Shelf]


class Ban(NamedTuple):
    """What must not be together: for each package the bits of its items."""

    title: str  # "peft {peft} imports HybridCache, which transformers {transformers} no longer has"
    masks: Mapping[str, int]
    words: Mapping[str, str]  # the items of each package in words: "0.16.0 to below 0.18.0"

    def sentence(self, versions: Mapping[str, str]) -> str:
        """The title with the versions that are known, and the releases in question for the rest."""
        values = {**self.words, **{package: version for package, version in versions.items() if version}}
        return " ".join(re.sub(r"\{([^}]*)\}", lambda name: values.get(name[1], ""), self.title).split())


def ban_of(row: Row, machine: Machine, shelf_of: ShelfOf) -> Ban | None:
    """The row as a ban; None where this machine, or what is on the shelves, cannot be hit by it.

    A term whose subject is not known holds for nothing, as in judging.
    """
    masks: dict[str, int] = {}
    words: dict[str, str] = {}
    for subject, term in row.when.items():
        value = machine.value_of(subject) or ""
        if subject == "torch.cuda":
            masks["torch"] = masks.get("torch", -1) & shelf_of("torch").where_cuda(term)
        elif subject not in PLATFORM_SUBJECTS:
            masks[subject] = masks.get(subject, -1) & shelf_of(subject).where(term)
        elif not holds(term, value):
            return None
        words[subject] = value or str(term.interval)
    return Ban(row.title, masks, words) if masks and all(masks.values()) else None


def holds(term: Term, value: str) -> bool:
    """Does a term hold for a value of the machine, "" where that is not known?"""
    return bool(value) and (value in term.one_of if term.one_of else term.interval.contains(value))


def without_library(machine: Machine, shelf_of: ShelfOf) -> Iterator[Ban]:
    """For each build of torch the releases of bitsandbytes that ship no library to go with it."""
    torch, ours = shelf_of("torch"), shelf_of("bitsandbytes")
    for variant in dict.fromkeys(item.variant for item in torch.items):
        silent = ours.where_item(partial(lacks_library, variant, machine))
        builds = torch.where_item(partial(is_variant, variant))
        if silent:
            every = silent == ours.present
            yield Ban(title_of(variant, machine, every), {"torch": builds, "bitsandbytes": silent}, {})


def lacks_library(variant: str, machine: Machine, item: Item) -> bool:
    """Has a release of bitsandbytes no library for a build of torch?"""
    return not goes_with(item.release.version, variant, machine)


def is_variant(variant: str, item: Item) -> bool:
    """Is an item of torch of this build?"""
    return item.variant == variant


def title_of(variant: str, machine: Machine, every: bool) -> str:
    """What is missing, in a sentence; ``every``: in all releases that the machine can take."""
    whose = "no wheel of bitsandbytes" if every else "bitsandbytes {bitsandbytes}"
    verb = "has a library" if every else "has no library"
    if variant == "cpu":
        return f"{whose} {verb} for {machine.os} on {machine.arch}"
    code = (
        f" with code for compute capability {', '.join(machine.capabilities)}" if machine.capabilities else ""
    )
    return f"{whose} {verb} for torch's CUDA {cuda_of(variant)}{code}"
