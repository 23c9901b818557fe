"""Why there is no set, in sentences: what resolvelib ran into, and what the machine cannot take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.matrix.gpu_code import JETSON
from doctor.matrix.machine import Machine
from doctor.matrix.platform import table
from doctor.matrix.releases import releases_of
from doctor.matrix.resolver.catalog import Catalog, Need
from doctor.matrix.resolver.shelf import Shelf, why_not, without_label
from doctor.matrix.torch_builds import builds_of, cuda_of, obstacle

if TYPE_CHECKING:
    from doctor.matrix.resolver.solving import Cause

SENTENCES = 8  # a longer chain is no explanation


def told(known: Catalog, causes: Sequence[Cause]) -> Iterator[str]:
    """What resolvelib ran into, what was asked for first."""
    for cause in causes:
        if cause.parent is None:
            yield from of_root(known, cause.requirement)
    if any(cause.requirement.package == "bitsandbytes" for cause in causes):
        yield from newest_build(known)
    yield from of_parents(known, causes)


def first_of(sentences: Iterable[str]) -> tuple[str, ...]:
    """Each sentence once, and no more than can be read."""
    return tuple(dict.fromkeys(sentences))[:SENTENCES] or ("nothing that is known goes together",)


def of_parents(known: Catalog, causes: Iterable[Cause]) -> Iterator[str]:
    """Needs of picks: one sentence for all releases of a package that say the same."""
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cause in causes:
        need, parent = cause.requirement, cause.parent
        if parent is None or not parent.number:
            continue
        version = known.version(parent)
        for ban in need.bans:
            yield ban.sentence({parent.package: version})
        if need.bounded:
            said[parent.package, need.said].append(version)
    for (package, requirement), versions in said.items():
        shelf = known.shelf(package)
        which = span_of(shelf, [shelf.position(version) for version in versions])
        yield f"{package} {which} {'require' if ' to ' in which else 'requires'} {requirement}"


def span_of(shelf: Shelf, numbers: Sequence[int]) -> str:
    """Items of a shelf by their first and last release."""
    first, last = (shelf.item(number).release.version for number in (min(numbers), max(numbers)))
    return first if first == last else f"{first} to {last}"


def of_root(known: Catalog, need: Need) -> Iterator[str]:
    """What the user asked for, and why the machine takes none of it."""
    for ban in need.bans:
        yield ban.sentence({})
    if need.said:
        yield f"{need.said} is asked for"
    if not need.bans and not need.allowed:
        yield from no_item(known, need)


def no_item(known: Catalog, need: Need) -> Iterator[str]:
    """Why no release that is asked for can be taken."""
    package = need.package.partition("[")[0]
    bounds, label = without_label(need.said.removeprefix(package))
    releases = releases_of(package)
    asked = [one for one in releases if bounds.contains(one.version, prereleases=True)]
    if not asked:
        span = f"{releases[0].version} to {releases[-1].version}"
        yield f"{need.said} was never published: the releases go from {span}"
    elif package == "torch" and known.strict and not known.shelf("torch").items:
        yield from no_build(known.machine)
    elif label:
        yield f"the build {label} of torch {asked[-1].version} does not run here, or is not known"
    else:
        yield (
            why_not(package, asked[-1], known.machine, known.strict)
            or f"{need.said} was withdrawn by its maker"
        )


def newest_build(known: Catalog) -> Iterator[str]:
    """Which build of torch this GPU and driver come to."""
    items = known.shelf("torch").items if known.strict and known.machine.wants_cuda else ()
    if items:
        release, variant = items[-1].release.version, items[-1].variant
        what = machine_words(known.machine)
        yield f"torch {release} ({variant}) is the newest build that runs with {what}"


def machine_words(machine: Machine) -> str:
    """Driver and GPU in words."""
    driver = f"driver {machine.driver}" if machine.driver else ""
    gpus = f"compute capability {', '.join(machine.capabilities)}" if machine.capabilities else ""
    return " and ".join(part for part in (driver, gpus) if part) or f"CUDA {machine.torch_cuda}"


def no_build(machine: Machine) -> Iterator[str]:
    """Why no CUDA build of torch at all runs here: each obstacle, with the builds that meet it."""
    met: dict[str, list[str]] = defaultdict(list)
    for row in table("torch_builds")["minor"]:
        for build in builds_of(row["torch"]):
            why = obstacle(build, machine)
            if build["arch"] == machine.arch and not build.get("expected"):
                met[why].append(cuda_of(build["variant"]))
    if any(capability in JETSON for capability in machine.capabilities):
        yield "NVIDIA publishes wheels of torch for JetPack of its own, which the tables do not have"
    if not met:
        yield f"no CUDA build of torch is known for {machine.arch}"
    for why, cuda in met.items():
        numbers = sorted(set(cuda), key=lambda number: [int(part) for part in number.split(".")])
        if why:
            yield f"torch built for CUDA {', '.join(numbers)} {why}"
        else:
            yield f"torch built for CUDA {', '.join(numbers)} has no wheel for Python {machine.minor}"
