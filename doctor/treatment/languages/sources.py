"""An index of wheels under a name, as the tools of a project have it in pyproject.toml."""

from __future__ import annotations

import json
import re


def source_name(index_url: str) -> str:
    """A name for an index: "pytorch-cu126" of https://download.pytorch.org/whl/cu126."""
    server, _, path = index_url.partition("://")[2].partition("/")
    last = re.sub(r"[^a-z0-9]+", "-", path.rstrip("/").rpartition("/")[2].lower()).strip("-")
    owner = "pytorch" if server.endswith("pytorch.org") else "wheels"
    return f"{owner}-{last}" if last else owner


def quoted(text: str) -> str:
    """Text as a basic string of TOML, which escapes as JSON does, DEL besides."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
