"""Why each pick of a set is what it is, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import msgspec
from packaging.utils import canonicalize_name

from doctor.matrix.drivers import driver_floor
from doctor.matrix.machine import Machine
from doctor.matrix.releases import Release, releases_of
from doctor.matrix.resolver.catalog import Catalog, Need, Pick, Rules, catalog
from doctor.matrix.resolver.shelf import Shelf, why_not
from doctor.matrix.resolver.solving import Solution, Wish, rank
from doctor.matrix.torch_builds import cuda_of

# What is put in place of a property of the machine to see whether it holds torch back.
FREE: Mapping[str, str | tuple[str, ...]] = {
    "driver": "9999",
    "capabilities": (),
    "python": "3.12",
    "arch": "x86_64",
}


def because(machine: Machine, wish: Wish, solution: Solution) -> Iterator[str]:
    """One sentence for torch's build, and one for each pick that is not the newest release."""
    rules: Rules = "errors" if solution.warnings else "warnings"
    return Telling(catalog(machine, rules), wish, solution).because()


class Telling:
    """One set, and what speaks against newer releases in it."""

    def __init__(self, known: Catalog, wish: Wish, solution: Solution) -> None:
        self.known, self.wish, self.pins = known, wish, solution.pins
        self.machine, self.variant = known.machine, solution.torch_variant
        self.asked = {str(canonicalize_name(one.name)): one for one in wish.wanted if one.specifier}
        self.picks = {name: self._pick(name) for name in self.pins}

    def _pick(self, name: str) -> Pick:
        shelf = self.known.shelf(name)
        numbers = shelf.numbers(self.pins[name])
        built = [number for number in numbers if shelf.item(number).variant == self.variant]
        return Pick(name, (built or numbers)[-1])

    def because(self) -> Iterator[str]:
        """One sentence for torch's build, and one for each pick that is not the newest release."""
        if "torch" in self.pins and self.variant:
            yield self.of_torch()
        for name, version in self.pins.items():
            newest = newest_of(name)
            if newest and newest.version != version and (name != "torch" or not self.variant):
                yield f"{name} {version}, not {newest.version}: {self.why_not(name)}"

    def why_not(self, name: str) -> str:
        """What speaks against a newer release in this set: the next one, or else the newest."""
        asked, newest = self.asked.get(name), newest_of(name)
        if asked and newest and not asked.specifier.contains(newest.version, prereleases=True):
            return f"{name}{asked.specifier} is asked for"
        newer = [one for one in (next_after(name, self.pins[name]), newest) if one]
        reason = next((reason for release in newer if (reason := self.obstacle(name, release))), "")
        if reason:
            return reason
        installed = self.wish.preferred.get(name, "")
        if installed:
            is_kept = installed.partition("+")[0] == self.pins[name]
            return "this is installed" if is_kept else f"this is the nearest to {installed} that fits"
        return "this is the newest that the rest of the set goes with"

    def obstacle(self, name: str, newer: Release) -> str:
        """What speaks against one release; "" where nothing is known to."""
        shelf, obstacle = self.known.shelf(name), why_not(name, newer, self.machine, True)
        if obstacle:
            return obstacle
        against = [
            reason for number in shelf.numbers(newer.version) for reason in self.against(Pick(name, number))
        ]
        return min(against)[1] if against else ""

    def against(self, pick: Pick) -> Iterator[tuple[tuple[bool, int, str], str]]:
        """What the other picks have against one, and it against them, what was asked for before the rest."""
        mine = {pick.package: self.known.version(pick)}
        for need in self.known.lone_bans():
            if need.package == pick.package and not need.allowed >> pick.number & 1:
                yield self.weight(pick.package), need.bans[0].sentence(mine)
        for need in self.known.needs(pick):
            other = self.picks.get(need.package, Pick(need.package, 0))
            if not need.allowed >> other.number & 1:
                yield self.weight(need.package), self.clash(need, pick, other)
        for other in self.picks.values():
            for need in self.known.needs(other):
                if need.package == pick.package and not need.allowed >> pick.number & 1:
                    yield self.weight(other.package), self.clash(need, other, pick)

    def weight(self, package: str) -> tuple[bool, int, str]:
        """How soon a package is blamed."""
        return (package not in self.asked, *rank(package))

    def clash(self, need: Need, parent: Pick, other: Pick) -> str:
        """A need that the other pick does not meet."""
        versions = {pick.package: self.known.version(pick) for pick in (parent, other)}
        hit = (ban for ban in need.bans if ban.masks[other.package] >> other.number & 1)
        ban = next(hit, None)
        return (
            ban.sentence(versions)
            if ban
            else f"{parent.package} {versions[parent.package]} requires {need.said}"
        )

    def of_torch(self) -> str:
        """torch's release and build, with whatever of the machine or the set holds it there."""
        version, newest = self.pins["torch"], newest_of("torch")
        causes = [self.words(field) for field in self.held_by()]
        if newest and newest.version != version and not causes:
            causes.append(f"not {newest.version}, for {self.why_not('torch')}")
        if not self.machine.wants_cuda:
            causes.insert(
                0, "macOS has no CUDA" if self.machine.os == "darwin" else "no NVIDIA driver or GPU is known"
            )
        elif not self.machine.driver:
            floor = driver_floor(cuda_of(self.variant), self.machine.side)
            causes.append(f"CUDA {self.major} needs NVIDIA driver {floor} or newer")
        return f"torch {version} ({self.variant}): " + ("; ".join(causes) or "the newest release")

    @property
    def major(self) -> str:
        """The CUDA major of the build."""
        return cuda_of(self.variant).partition(".")[0]

    def words(self, field: str) -> str:
        """How a property of the machine holds torch back."""
        machine = self.machine
        newer = "newer builds" if not machine.driver else "newer builds that this driver runs"
        return {
            "driver": f"driver {machine.driver} runs no CUDA newer than {self.major}",
            "capabilities": f"{newer} have no code for compute capability {', '.join(machine.capabilities)}",
            "python": f"newer releases have no wheel for Python {machine.minor}",
            "arch": f"newer builds are not known for {machine.arch}",
        }[field]

    def held_by(self) -> list[str]:
        """The properties of the machine that hold torch back: each by itself, or beside the others."""
        if "torch" in self.asked or "torch" in self.wish.preferred:
            return []
        bound = [field for field in FREE if field != "arch" and getattr(self.machine, field)]
        ours, best = best_torch(self.machine), best_torch(freed(self.machine, bound))
        if ours == best:
            return ["arch"] if best_torch(freed(self.machine, ["arch"])) > ours else []
        return [
            field
            for field in bound
            if best_torch(freed(self.machine, [field])) > ours
            or best_torch(freed(self.machine, [other for other in bound if other != field])) < best
        ]


def freed(machine: Machine, fields: list[str]) -> Machine:
    """A machine with some properties as favourable as can be; it has a GPU if the machine has one."""
    driver = machine.driver if machine.driver and "driver" not in fields else str(FREE["driver"])
    changed = {field: FREE[field] for field in fields} | {"driver": driver if machine.wants_cuda else ""}
    return msgspec.structs.replace(machine, **changed)


def best_torch(machine: Machine) -> tuple[int, ...]:
    """The newest torch that a machine can take, as what can be compared."""
    items = Shelf("torch", machine, True).items
    return items[-1].version.release if items else ()


def next_after(package: str, version: str) -> Release | None:
    """The release that came after one, withdrawn ones aside."""
    kept = [release for release in releases_of(package) if not release.yanked or release.version == version]
    return next((after for before, after in pairwise(kept) if before.version == version), None)


def newest_of(package: str) -> Release | None:
    """The newest release that was not withdrawn."""
    return next((release for release in reversed(releases_of(package)) if not release.yanked), None)
