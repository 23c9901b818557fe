"""A comparison of nodes as JSON."""

from __future__ import annotations

import msgspec

from doctor.fleet.comparison import Comparison
from doctor.render.json_report import encode


def render(told: Comparison) -> str:
    """Indented."""
    return msgspec.json.format(encode(told), indent=2).decode("utf-8") + "\n"


def render_line(told: Comparison) -> str:
    """The same on one line."""
    return encode(told).decode("utf-8") + "\n"
