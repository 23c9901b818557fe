"""Signatures, put together from the words of the api tables: parameters, fields, what is passed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Literal, NamedTuple

from doctor.matrix.api_table import exists, package_of, table_of, words_at

UNKNOWN = "?"  # a base class that was not read
SUPER = ">super"  # the rest of **kwargs goes to the same method of the base class
# Adds methods and no constructor, whichever release it is of.
MIXIN = "PushToHubMixin"

Places = Mapping[str, int | None]  # the release of each package, by its place in its table


class Parameter(NamedTuple):
    """One parameter of a callable."""

    name: str
    kind: Literal["positional", "either", "keyword"]  # how it may be given
    required: bool


class Signature(NamedTuple):
    """The arguments that a callable takes in one release, `self` and `cls` left out."""

    parameters: tuple[Parameter, ...]
    by_name: frozenset[str] = frozenset()  # taken out of **kwargs by name
    refused: frozenset[str] = frozenset()  # would go through **kwargs to where they are refused
    rest: bool = False  # takes **kwargs; what becomes of other names is not known
    many: bool = False  # takes *args

    def accepts(self, keyword: str) -> bool | None:
        """Is a keyword taken? None where it goes into `**kwargs` and its fate is not known."""
        if keyword in self.by_name:
            return True
        if any(own.name == keyword and own.kind != "positional" for own in self.parameters):
            return True
        return None if self.rest and keyword not in self.refused else False

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """The parameters that arguments without a name fill, in order."""
        return tuple(own for own in self.parameters if own.kind != "keyword")


def settings(package: str, versions: Mapping[str, str]) -> Iterator[Places]:
    """The releases that versions may stand for: one setting, or several where a version is between two."""
    table = table_of(package)
    if table is None or not table.places(versions.get(package, "")):
        return
    names = (package, *table.leans_on)
    tables = ((name, table_of(name)) for name in names)
    places = [known.places(versions.get(name, "")) if known else () for name, known in tables]
    for choice in product(*(own or (None,) for own in places)):
        yield dict(zip(names, choice, strict=True))


def line_at(kind: Literal["classes", "callables"], key: str, places: Places) -> str | None:
    """The line of a class or callable where it exists in its package's release."""
    package = package_of(key)
    table, place = table_of(package), places.get(package)
    line = getattr(table, kind).get(key) if table else None
    return line if line is not None and place is not None and exists(line, place) else None


def lineage(name: str, places: Places) -> tuple[str, ...]:
    """A class and what it derives from, in the order in which Python looks; `?` is a base not known."""
    line = line_at("classes", name, places)
    if line is None:
        return (name,) if name.endswith(MIXIN) else (name, UNKNOWN)
    words = words_at(line, places[package_of(name)] or 0)
    inherited = [own for base in words for own in ((base,) if base == UNKNOWN else lineage(base, places))]
    # A base that is shared comes after all that derive from it.
    last = {own: index for index, own in enumerate(inherited)}
    return (
        name,
        *(own for index, own in enumerate(inherited) if own == UNKNOWN or last[own] == index),
    )


def signature_at(key: str, places: Places) -> Signature | None:
    """The arguments of a callable by its canonical name, None where it is not known."""
    if line_at("classes", key, places) is not None:
        return first_of(lineage(key, places), "", places) or Signature(())
    owner, _, method = key.rpartition(".")
    if line_at("classes", owner, places) is not None:
        return first_of(lineage(owner, places), f".{method}", places)
    return read(key, places) if line_at("callables", key, places) is not None else None


UNREAD = Signature((), rest=True, many=True)


def first_of(names: tuple[str, ...], suffix: str, places: Places) -> Signature | None:
    """The constructor or method of the first class that has its own, None where none has."""
    for index, name in enumerate(names):
        if name == UNKNOWN:
            return UNREAD
        line = line_at("callables", name + suffix, places)
        if line is None:
            continue
        if is_dataclass(name, places) and not suffix:
            return of_fields(names[index:], places)
        own = read(name + suffix, places)
        if SUPER not in words_of(name + suffix, places):
            return own
        return passed_on(own, first_of(names[index + 1 :], suffix, places) or UNREAD)
    return None


def words_of(key: str, places: Places) -> list[str]:
    """The words of a callable in its release."""
    line = line_at("callables", key, places)
    return list(words_at(line, places[package_of(key)] or 0)) if line is not None else []


def is_dataclass(name: str, places: Places) -> bool:
    """Is a class's constructor made from its fields?"""
    return words_of(name, places)[:1] == ["."]


def of_fields(names: tuple[str, ...], places: Places) -> Signature:
    """The constructor of a dataclass: the fields of its bases, its own after them or in their place."""
    fields: dict[str, Parameter] = {}
    for name in reversed(names):
        words = words_of(name, places)
        if words[:1] != ["."]:
            continue
        kind: Literal["either", "keyword"] = "either"
        for word in words[1:]:
            if word == "*":
                kind = "keyword"
            elif word.startswith("-"):
                fields.pop(word[1:], None)
            else:
                fields[word.rstrip("=")] = Parameter(word.rstrip("="), kind, not word.endswith("="))
    ordered = sorted(fields.values(), key=lambda field: field.kind == "keyword")
    return Signature(tuple(ordered), rest=UNKNOWN in names)


def read(key: str, places: Places) -> Signature:
    """The signature that a callable's own words spell."""
    parameters: list[Parameter] = []
    kind: Literal["either", "keyword"] = "either"
    found = Signature(())
    for word in words_of(key, places):
        if word == "/":
            parameters = [own._replace(kind="positional") for own in parameters]
        elif word.startswith("**"):
            found = found._replace(rest=True)
        elif word.startswith("!"):
            found = found._replace(refused=found.refused | {word[1:]})
        elif word.startswith("*"):
            kind, found = "keyword", found._replace(many=found.many or word != "*")
        elif word.startswith("~"):
            found = found._replace(by_name=found.by_name | {word[1:]})
        elif word.startswith(">"):  # the base class is asked by whoever walks the classes
            target = found if word == SUPER else signature_at(word[1:], places) or UNREAD
            found = passed_on(found, target)
        else:
            parameters.append(Parameter(word.rstrip("="), kind, not word.endswith("=")))
    return found._replace(parameters=tuple(parameters))


def passed_on(found: Signature, target: Signature) -> Signature:
    """A signature whose `**kwargs` go to another callable, which takes some of them by name."""
    if found.many and not found.parameters:  # def f(self, *args, **kwargs)
        return target._replace(by_name=found.by_name | target.by_name)
    names = {own.name for own in target.parameters if own.kind != "positional"}
    return found._replace(
        by_name=found.by_name | target.by_name | names,
        refused=found.refused | target.refused,
        rest=target.rest,
    )
