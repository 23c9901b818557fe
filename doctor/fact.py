"""The base of every fact type."""

from __future__ import annotations

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all facts: immutable, compared by value, written to JSON and read back as it is."""
