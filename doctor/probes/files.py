"""Installed code held against RECORD by existence and size."""

from __future__ import annotations

import msgspec

from doctor.collectors import Collected
from doctor.facts import FileCheck, FileFault, Gap
from doctor.probes import Looks


def probe(looks: Looks) -> FileCheck | Gap:
    """The stack and all that it requires, without hashes."""
    return read(looks.survey.result(), "files")


def read(answer: Collected, about: str) -> FileCheck | Gap:
    """The file check of a survey."""
    section = answer.section("files")
    if section is None:
        return Gap(about=about, kind="failed", reason=answer.trouble)
    return FileCheck(
        checked=section["checked"],
        hashed=section["hashed"],
        faults=tuple(msgspec.convert(fault, FileFault) for fault in section["faults"]),
        without_record=tuple(section["without_record"]),
    )
