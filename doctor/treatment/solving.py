"""One solve for all that the fixes want: what to install, with the fewest changes to what is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier
from packaging.utils import canonicalize_name

from doctor.facts import Facts
from doctor.installation import PUBLIC_LABELS, labelled
from doctor.matrix.releases import release, releases_of
from doctor.matrix.resolver import Conflict, Machine, Solution, Wish, because, closest, is_known
from doctor.proposal import installed_versions
from doctor.stack import STACK
from doctor.treatment.changes import Change

SETUPTOOLS = "setuptools"
REPOSITORIES = ("git+", "hg+", "svn+", "bzr+")  # as PEP 610 has their origin; conda has a file for each


class Solved(msgspec.Struct, frozen=True):
    """What to install. ``holds``: no two wishes exclude one another, as far as is known."""

    requirements: tuple[str, ...] = ()  # "peft==0.18.0", only what is not there already
    torch_variant: str = ""
    because: tuple[str, ...] = ()
    holds: bool = True
    pins: Mapping[str, str] = {}  # the whole set, what is there and what only comes along among it
    gone: frozenset[str] = frozenset()  # packages that are taken away


def solved(
    facts: Facts, changes: Sequence[Change], freed: Collection[Change] = (), *, is_narrow: bool = False
) -> Solved:
    """The releases that satisfy every wish of these changes, staying close to what is installed.

    Of the changes that are ``freed`` only that a package is there is wished for: which one gives way, and to
    which release, is for the solve to find. ``is_narrow``: what is wished for and what that needs is all that
    is looked at, and the rest is left as it is, with whatever faults it has.
    """
    wishes = [*wishes_of([one for one in changes if one not in freed]), *presences(facts, changes, freed)]
    gone = frozenset(taken_away(changes))
    if not any(change.kind == "install" for change in changes):
        return Solved(gone=gone)
    kept = staying(facts, gone)
    rest = () if is_narrow else tabled(kept)
    known = tuple(dict.fromkeys((*filter(releases_of, wanted_names(wishes)), *rest)))
    own_pins = pins_of(kept, {*sources_of_their_own(facts)} - {*wanted_names(wishes)})
    reasons: tuple[str, ...] = ()
    for machine in machines(facts):
        for own in dict.fromkeys((own_pins, ())):  # they give way only where there is no set with them
            outcome = closest([*wishes, *own], machine, extra_packages=known, installed=kept)
            if isinstance(outcome, Solution):
                wish = Wish((*wishes, *own), known, kept)
                return told(facts, machine, wish, outcome, gone, bool(torch_variant_of(changes)))
            reasons = outcome.reasons if isinstance(outcome, Conflict) else reasons
    return Solved(because=reasons, holds=False, gone=gone)


def told(
    facts: Facts, machine: Machine, wish: Wish, outcome: Solution, gone: frozenset[str], is_new_build: bool
) -> Solved:
    """A solution as what to install, with the reasons of what is named, and what it could not avoid."""
    there = {name: version for name, version in installed_versions(facts).items() if name not in gone}
    picks = requirements(machine, wish, outcome, there, is_new_build)
    names = {pick.partition("==")[0] for pick in picks}
    reasons = [one for one in because(machine, wish, outcome) if one.partition(" ")[0] in names]
    variant = outcome.torch_variant
    return Solved(picks, variant, (*reasons, *outcome.warnings), pins=outcome.pins, gone=gone)


def machines(facts: Facts) -> Iterator[Machine]:
    """The machine of the facts; where it has no GPU, first as one for the CUDA that torch is built for.

    An image may be made on a machine without the GPU that it is for.
    """
    machine = Machine.of(facts)
    if facts.torch and facts.torch.cuda_version and not machine.wants_cuda:
        yield msgspec.structs.replace(machine, torch_cuda=facts.torch.cuda_version)
    yield machine


def tabled(kept: Mapping[str, str]) -> Iterator[str]:
    """Installed packages of a release that the tables have; a vendor's own build is left as it is."""
    for name, version in kept.items():
        public = version.partition("+")[0]
        if any(release.version == public for release in releases_of(name)):
            yield name


def sources_of_their_own(facts: Facts) -> tuple[str, ...]:
    """What a person works on, took from a repository or got with an image: no index has the like of it."""
    installed = facts.packages.installed if facts.packages else {}
    own = tuple(
        name
        for name, package in installed.items()
        if package.editable or package.origin.startswith(REPOSITORIES)
    )
    return (*own, "torch") if is_a_makers_torch(facts) else own


def is_a_makers_torch(facts: Facts) -> bool:
    """Did NVIDIA build torch into an image, or somebody from sources?"""
    label = (facts.version_of("torch") or "").partition("+")[2]
    return bool(label) and not label.startswith(PUBLIC_LABELS)


def pins_of(kept: Mapping[str, str], names: Collection[str]) -> tuple[Requirement, ...]:
    """That these stay as they are, as far as the tables have their releases."""
    return tuple(
        Requirement(f"{name}=={version.partition('+')[0]}")
        for name, version in kept.items()
        if name in names and name in tabled({name: version})
    )


def wishes_of(changes: Sequence[Change]) -> list[Requirement]:
    """The requirements of all installs, one a package; the label of a build is the resolver's to choose."""
    together: dict[tuple[str, str], Requirement] = {}
    for change in changes:
        for text in change.packages if change.kind == "install" else ():
            try:
                wish = Requirement(text.partition("+")[0])
                key = canonicalize_name(wish.name), str(wish.marker or "")
                known = together.setdefault(key, wish)
                known.specifier &= wish.specifier
                known.extras |= wish.extras
            except (InvalidRequirement, InvalidSpecifier):
                continue
    return list(together.values())


def presences(facts: Facts, changes: Sequence[Change], freed: Collection[Change]) -> Iterator[Requirement]:
    """Of the freed wishes: that what is absent be there, and all that no table can speak of."""
    there = staying(facts, frozenset(taken_away(changes)))
    for wish in wishes_of([one for one in changes if one in freed]):
        if not is_known(wish) and not releases_of(wish.name):
            yield wish
        elif canonicalize_name(wish.name) not in there:
            yield Requirement(wish.name)


def wanted_names(wishes: Sequence[Requirement]) -> tuple[str, ...]:
    """The packages that are wished for."""
    return tuple(canonicalize_name(wish.name) for wish in wishes)


def taken_away(changes: Sequence[Change]) -> Iterator[str]:
    """The packages that are taken away."""
    for change in changes:
        yield from (canonicalize_name(name) for name in change.packages if change.kind == "remove")


def staying(facts: Facts, gone: Collection[str]) -> Mapping[str, str]:
    """What is installed and is not taken away."""
    versions = installed_versions(facts)
    # What every new environment has must not hold back a stack that is made from nothing.
    free = {*gone, *(() if versions.get("torch") else (SETUPTOOLS,))}
    return {name: version for name, version in versions.items() if version and name not in free}


def torch_variant_of(changes: Sequence[Change]) -> str:
    """The build of torch that a fix asks for by its index: "cu126"."""
    urls = [change.index_url for change in changes if change.kind == "install" and change.index_url]
    return urls[0].rstrip("/").rpartition("/")[2] if urls else ""


def requirements(
    machine: Machine, wish: Wish, outcome: Solution, there: Mapping[str, str], is_new_build: bool
) -> tuple[str, ...]:
    """The picks that are not there as they are, and the wishes that no table speaks of."""
    kept = wish.preferred
    picks = labelled(outcome.pins, outcome.torch_variant, machine.os, machine.arch)
    asked = wanted_names(wish.wanted)
    from_scratch = any(name in STACK and name not in kept for name in asked)
    known = {*asked, *tabled(kept), *undeclared(outcome.pins)}
    # What only comes along is left to the installer, but for a stack that is made from nothing.
    named = [one for one in picks if from_scratch or one.partition("==")[0] in known]
    changed = tuple(one for one in named if not is_there(one, there, is_new_build))
    return (*changed, *(str(one) for one in wish.wanted if not is_known(one)))


def undeclared(pins: Mapping[str, str]) -> Iterator[str]:
    """Picks that no other declares: one imports them all the same, and no installer brings them by itself."""
    lines = [line for name, version in pins.items() for line in requires_of(name, version)]
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    return (name for name in pins if name not in declared)


def requires_of(name: str, version: str) -> tuple[str, ...]:
    """What a release declares, those of extras left out, as far as the tables have it."""
    known = release(name, version)
    return tuple(line for line in known.requires if "extra ==" not in line) if known else ()


def is_there(pick: str, kept: Mapping[str, str], is_new_build: bool) -> bool:
    """Is this release installed? In another build it is not, where a fix asks for a build of torch."""
    name, _, version = pick.partition("==")
    installed = kept.get(canonicalize_name(name), "")
    if name == "torch" and is_new_build:
        return version == installed
    return version.partition("+")[0] == installed.partition("+")[0]
