"""What is installed in the target, read from metadata and never imported."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.facts import Duplicate, Gap, Package, Packages, Shadow
from doctor.probes import Looks


def probe(looks: Looks) -> Packages | Gap:
    """Every distribution, in import order, with duplicates, shadows and leftovers."""
    answer = looks.survey.result()
    section = answer.section("packages")
    if section is None:
        return Gap(about="packages", kind="failed", reason=answer.trouble)
    modules = (answer.section("files") or {}).get("modules", {})
    hidden = answer.section("shadows") or {}
    found: Sequence[Mapping[str, Any]] = section["found"]
    twice = duplicates(found)
    unsure = {one.package for one in twice if len(set(one.versions)) > 1}
    # Of two folders the first on sys.path is what an import meets; of two in one folder nobody knows.
    known = [{**one, "version": ""} if one["name"] in unsure else one for one in reversed(found)]
    return Packages(
        installed={one["name"]: package(one, modules) for one in known},
        duplicates=twice,
        shadows=tuple(Shadow(**shadow) for shadow in hidden.get("shadows", ())),
        unregistered=tuple(hidden.get("unregistered", ())),
        leftovers=tuple(section["leftovers"]),
    )


def package(one: Mapping[str, Any], modules: Mapping[str, Sequence[str]]) -> Package:
    """One distribution of the survey as a fact."""
    plain = ("name", "version", "location", "installer", "requires_python", "editable", "origin", "fault")
    return Package(
        **{key: one[key] for key in plain},
        requires=tuple(one["requires"]),
        modules=tuple(modules.get(one["name"], ())),
    )


def duplicates(found: Sequence[Mapping[str, Any]]) -> tuple[Duplicate, ...]:
    """Distributions registered twice within one folder: one of the two is stale."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in found:
        groups.setdefault((one["name"], one["location"]), []).append(one)
    return tuple(
        Duplicate(
            package=name,
            versions=tuple(one["version"] for one in group),
            locations=tuple(os.path.basename(one["dist_info"]) for one in group),
        )
        for (name, _), group in sorted(groups.items())
        if len(group) > 1
    )
