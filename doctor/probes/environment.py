"""Environment variables that change how a fine-tune runs, from an allow-list: secrets stay unread."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.probes import Looks
from doctor.variables import ALLOWED as ALLOWED


def probe(looks: Looks) -> Mapping[str, str]:
    """The allowed variables that are set."""
    return {name: value for name, value in sorted(looks.host.env.items()) if name in ALLOWED}
