"""Packages whose registration is damaged: their files are there, and no installer can take them away."""

from __future__ import annotations

from doctor.facts import Facts


def unregistered(facts: Facts) -> tuple[str, ...]:
    """Packages of which pip and uv cannot tell which files are theirs.

    Without RECORD pip refuses to replace them, and uv leaves the old registration beside the new one. Over
    METADATA that is no text pip stumbles whatever it installs. (Seen with pip 23.2 and uv 0.13.)
    """
    installed = facts.packages.installed if facts.packages else {}
    without = facts.files.without_record if facts.files else ()
    return tuple(
        name
        for name, package in installed.items()
        if package.version and package.installer != "conda" and (package.fault or name in without)
    )
