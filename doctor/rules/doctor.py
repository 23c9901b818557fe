"""What the doctor must say of its own knowledge."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.matrix.rows import reviewed
from doctor.rules import Hit, rule
from doctor.versions import comparable


@rule("doctor/matrix-outdated", "note", needs=("packages",))
def matrix_outdated(facts: Facts) -> Iterator[Hit]:
    """An installed release is newer than the matrix was reviewed for

    Why: the matrix knows incompatibilities of releases that were looked at. Of newer ones it knows none,
    which proves nothing.

    Fix: upgrade lora-doctor.
    """
    newer = [
        (name, version, known)
        for name, known in reviewed()["packages"].items()
        if (version := facts.version_of(name)) and is_newer(version, known)
    ]
    if newer:
        names = ", ".join(f"{name} {version}" for name, version, _ in newer)
        yield Hit(
            title=f"Newer than this matrix was reviewed for: {names}",
            evidence=tuple(
                Evidence(name, version, f"reviewed up to {known}") for name, version, known in newer
            ),
        )


def is_newer(version: str, known: str) -> bool:
    """Is one release above another? Not where either is no version."""
    left, right = comparable(version), comparable(known)
    return bool(left and right and left > right)
