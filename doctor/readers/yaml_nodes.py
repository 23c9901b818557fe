"""YAML as nodes that know their line: no objects are made, aliases are refused, depth and size limited."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from doctor.readers import Unreadable

LIMIT_BYTES = 256 << 10  # the parser takes seconds for more


class PlainLoader(yaml.SafeLoader):
    """A loader without aliases: ten lines of them can stand for a billion nodes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node, unless it is an alias. Raises :class:`Unreadable`."""
        if self.check_event(yaml.AliasEvent):
            raise Unreadable(f"line {self.line + 1} holds a YAML alias, which is not followed")
        return super().compose_node(parent, index)


def compose(text: str) -> yaml.Node | None:
    """The first document of a text, None where it is empty. Raises :class:`Unreadable`."""
    if len(text) > LIMIT_BYTES:
        raise Unreadable(f"as YAML it is larger than {LIMIT_BYTES >> 10} KiB")
    try:
        loader = PlainLoader(text)
        return loader.get_node() if loader.check_node() else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise Unreadable(f"it is no YAML: {where}{getattr(error, 'problem', None) or error}") from error
    except (RecursionError, ValueError) as error:
        raise Unreadable("its YAML is nested too deeply") from error


def entries(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    """The keys and values of a mapping; nothing of another node."""
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            yield str(key.value), value


def items(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a sequence; nothing of another node."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def line_of(node: yaml.Node) -> int:
    """The line on which a node begins, counted from 1."""
    return int(node.start_mark.line) + 1
