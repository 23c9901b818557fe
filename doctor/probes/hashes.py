"""The same files with the SHA-256 of every shared object."""

from __future__ import annotations

from doctor.facts import FileCheck, Gap
from doctor.probes import Looks, files


def probe(looks: Looks) -> FileCheck | Gap:
    """Hashes take seconds, so a quick check leaves them out."""
    if looks.quick:
        return Gap(
            about="hashes",
            kind="not-asked",
            reason=f"hashes of shared objects are left out by {looks.left_out_by}",
        )
    return files.read(looks.hashes.result(), "hashes")
