"""Puts the JSON of every TOML file of the matrix into the wheel, since JSON is read a hundred times as fast.

hatchling runs it where it builds a wheel; the working tree keeps the TOML alone. ``read_toml`` in
``doctor/matrix/rows.py`` takes the JSON where it stands beside the TOML.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class MatrixAsJson(BuildHookInterface):  # type: ignore[type-arg]
    """The hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files; an editable install reads the TOML, which may change under it."""
        if version == "editable":
            return
        self.folder = TemporaryDirectory()
        for number, source in enumerate(sorted(Path(self.root, "compat_matrix").rglob("*.toml"))):
            made = Path(self.folder.name, str(number))
            made.write_text(as_json(source.read_text(encoding="utf-8")), encoding="utf-8")
            inside = source.relative_to(self.root).with_suffix(".json")
            build_data["force_include"][str(made)] = inside.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if version != "editable":
            self.folder.cleanup()


def as_json(text: str) -> str:
    """A TOML document as JSON; days become "2026-11-29"."""
    return json.dumps(tomllib.loads(text), default=str, ensure_ascii=False, separators=(",", ":"))
