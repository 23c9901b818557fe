"""What a reader says of a text, short enough to compare."""

from __future__ import annotations

from types import ModuleType

from doctor.readers.paste import Block


def blocks(reader: ModuleType, text: str) -> list[Block]:
    """Every block; each within the text, its statements within it and of its form."""
    lines = text.split("\n")
    found: list[Block] = list(reader.read(lines))
    for block in found:
        assert 1 <= block.first <= block.last <= len(lines)
        assert all(block.first <= one.line <= block.last for one in block.statements)
        assert all(one.form == block.form for one in block.statements)
    return found


def told(reader: ModuleType, text: str) -> list[tuple[str, str, str]]:
    """(topic, name, value) of all that is said."""
    return [(one.topic, one.name, one.value) for block in blocks(reader, text) for one in block.statements]


def values(reader: ModuleType, text: str, topic: str) -> list[str]:
    """The values of one topic, in order."""
    return [value for about, _, value in told(reader, text) if about == topic]
