"""Reports whose every foreign string has been replaced: what broken files and ill will can put there."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any, Literal, TypeVar, get_origin

import msgspec
from hypothesis import strategies as st

from doctor.findings import Report

from .machines import MACHINES

_T = TypeVar("_T")

FRAGMENTS = st.sampled_from(
    [
        "\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\x1b", "\r", "\r\n", "\n", "\t", "\x00", "\x08", "\x7f",
        "\x85", "\u202e", "\u200b", "\u2028", "\ud800", "[bold]", "[/]", ":smile:", "`", "```", "~~~", "|",
        "<script>", "</details>", "<!--", "-->", "![x](y)", "[x](javascript:y)", "@user", "#12", "&lt;",
        "# ", "- ", "1. ", "> ", "===", "---", "    ", "$x$", "**", "__", "\\", "'", '"', "$(id)", "é",
        "日本", "a" * 90, "peft", "5.24.0", " ",
    ]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS, max_size=8).map("".join) | st.text(max_size=40)


def reports() -> st.SearchStrategy[Report]:
    """Any of the machines with strings of ill will."""
    return st.builds(
        lambda name, texts: replaced(MACHINES[name](), texts),
        st.sampled_from(sorted(MACHINES)),
        st.lists(TEXTS, min_size=1, max_size=7),
    )


def replaced(report: Report, texts: list[str]) -> Report:
    """The report with its foreign strings taken from the texts in turn."""
    source = cycle(texts)

    def walk(value: _T) -> _T:
        changed: Any = value
        if isinstance(value, str):
            changed = next(source)
        elif isinstance(value, tuple):
            changed = tuple(map(walk, value))
        elif isinstance(value, Mapping):
            changed = {f"{key}{next(source)}": walk(item) for key, item in value.items()} | dict(value)
        elif isinstance(value, msgspec.Struct):
            fields = [f for f in msgspec.structs.fields(type(value)) if get_origin(f.type) is not Literal]
            changed = msgspec.structs.replace(value, **{f.name: walk(getattr(value, f.name)) for f in fields})
        return changed  # type: ignore[no-any-return]

    return walk(report)
