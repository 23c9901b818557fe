"""What is installed in the target, read from metadata and never imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doctor.facts import Duplicate, Gap, Overlap, Package, Packages, Shadow
from doctor.probes import Looks


def probe(looks: Looks) -> Packages | Gap:
    """Every distribution, in import order, with duplicates, shadows and leftovers."""
    answer = looks.survey.result()
    section, files, hidden = (answer.section(name) for name in ("packages", "files", "shadows"))
    if section is None or files is None or hidden is None:
        return Gap(about="packages", kind="failed", reason=answer.trouble)
    modules = files["modules"]
    found: Sequence[Mapping[str, Any]] = section["found"]
    twice = duplicates(found)
    unsure = {place for place, versions in registrations(found).items() if len(set(versions)) > 1}
    # Of two folders the first on sys.path is what an import meets; of two in one folder nobody knows.
    known = [
        {**one, "version": ""} if (one["name"], one["location"]) in unsure else one for one in reversed(found)
    ]
    return Packages(
        installed={one["name"]: package(one, modules) for one in known},
        duplicates=twice,
        shadows=tuple(Shadow(**shadow) for shadow in hidden["shadows"]),
        overlaps=tuple(Overlap(**overlap) for overlap in hidden["overlaps"]),
        unregistered=tuple(hidden["unregistered"]),
        leftovers=tuple(section["leftovers"]),
    )


def package(one: Mapping[str, Any], modules: Mapping[str, Sequence[str]]) -> Package:
    """One distribution of the survey as a fact."""
    plain = ("name", "version", "location", "installer", "requires_python")
    of_origin = ("editable", "origin", "source_gone", "fault")
    return Package(
        **{key: one[key] for key in plain + of_origin},
        requires=tuple(one["requires"]),
        modules=tuple(modules.get(one["name"], ())),
    )


def registrations(found: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """The versions under which each package is registered in each folder, by (name, folder)."""
    versions: dict[tuple[str, str], list[str]] = {}
    for one in found:
        versions.setdefault((one["name"], one["location"]), []).append(one["version"])
    return versions


def duplicates(found: Sequence[Mapping[str, Any]]) -> tuple[Duplicate, ...]:
    """Distributions registered twice within one folder: one of the two is stale."""
    return tuple(
        Duplicate(
            package=name,
            versions=tuple(versions),
            locations=tuple(
                one["dist_info"] for one in found if (one["name"], one["location"]) == (name, folder)
            ),
        )
        for (name, folder), versions in sorted(registrations(found).items())
        if len(versions) > 1
    )
