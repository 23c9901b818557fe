"""The settings of a file, one level deep, each with its line: TOML tables and YAML mappings alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from doctor.readers import Unreadable
from doctor.readers.toml_document import Places, load
from doctor.readers.yaml_nodes import compose, entries, line_of

MOST_SETTINGS = 2000  # axolotl's longest example has some hundred


class Setting(NamedTuple):
    """One value and where it stands; line 0 where that is not known."""

    value: Any
    line: int

    def refuse(self, complaint: str) -> Unreadable:
        """The error that says so, with the line."""
        return Unreadable(f"line {self.line}: {complaint}" if self.line else complaint)


class Settings(dict[str, Setting]):
    """All settings of a file by name; of one that is given twice the last."""

    @classmethod
    def of_toml(cls, text: str) -> Settings:
        """Keys at the top and in tables of one level: [plan], [lora]. Raises :class:`Unreadable`."""
        places, document = Places(text), load(text)
        return cls._bounded((key, Setting(value, places.line_of(key))) for key, value in _flat(document))

    @classmethod
    def of_yaml(cls, text: str) -> Settings:
        """Keys of the mapping at the top. Raises :class:`Unreadable`."""
        node = compose(text)
        if node is not None and not isinstance(node, yaml.MappingNode):
            raise Unreadable("its YAML is no mapping of names to values")
        return cls._bounded((key, Setting(_value(value), line_of(value))) for key, value in entries(node))

    @classmethod
    def _bounded(cls, found: Iterator[tuple[str, Setting]]) -> Settings:
        settings = cls()
        for key, setting in found:
            settings[key] = setting
            if len(settings) > MOST_SETTINGS:
                raise Unreadable(f"it has more than {MOST_SETTINGS} settings")
        return settings

    def value(self, name: str) -> Any:
        """What a name is set to, None where it is not."""
        return self[name].value if name in self else None


def _flat(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict) and key != "adapter":
            yield from value.items()
        else:
            yield key, value


def _value(node: yaml.Node) -> Any:
    """A node as plain data; aliases, which could make it endless, were refused before."""
    try:
        return yaml.constructor.SafeConstructor().construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise Unreadable(f"line {line_of(node)}: the value cannot be read") from error
