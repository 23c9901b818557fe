"""What expressions may be, and how two possibilities are joined."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from doctor.script import Argument, Constant, Made, Value

MOST = 12  # possibilities of one value; beyond them it is simply not known

MOST_ENTRIES = 400  # of a dictionary that holds arguments; larger ones hold data

UNKNOWN = Value()
UNBOUND = Value(bound=False)


def constant(value: object) -> Value:
    """A literal; unknown where JSON has no such value."""
    if value is None or isinstance(value, (str, bool)):
        return Value(constants=(value,), complete=True)
    if isinstance(value, int) and abs(value) < 1 << 53:
        return Value(constants=(value,), complete=True)
    if isinstance(value, float) and math.isfinite(value):
        return Value(constants=(value,), complete=True)
    return UNKNOWN


def named(name: str) -> Value:
    """A class, function or module."""
    return Value(names=(name,), complete=True)


def made(type: str, call: int) -> Value:
    """An object."""
    return Value(made=(Made(type=type, call=call),), complete=True)


def joined(first: Value, second: Value) -> Value:
    """What is one or the other."""
    if first == second:
        return first
    constants = unique((*first.constants, *second.constants))
    names, objects = unique((*first.names, *second.names)), unique((*first.made, *second.made))
    if len(constants) + len(names) + len(objects) > MOST:
        return Value(tested=first.tested or second.tested)
    return Value(
        constants=constants,
        names=names,
        made=objects,
        entries=joined_entries(first, second),
        items=joined_items(first.items, second.items),
        given=first.given or second.given,
        complete=first.complete and second.complete,
        bound=first.bound and second.bound,
        tested=first.tested or second.tested,
    )


def unique(values: Iterable[object]) -> tuple:  # type: ignore[type-arg]
    """Without repetition, True and 1 apart."""
    return tuple({(type(value), value): value for value in values}.values())


def joined_entries(first: Value, second: Value) -> tuple[Argument, ...]:
    """The entries of two dictionaries; one that stands in one of them only is conditional."""
    left = {one.name: one for one in first.entries}
    right = {one.name: one for one in second.entries}
    both = []
    for name in {**left, **right}:
        one, other = left.get(name), right.get(name)
        if one and other:
            value = joined(one.value, other.value)
            conditional, guarded = one.conditional or other.conditional, one.guarded or other.guarded
            both.append(replace(one, value=value, conditional=conditional, guarded=guarded))
        elif alone := one or other:
            both.append(replace(alone, conditional=True))
    return tuple(both)


def joined_items(first: tuple[Value, ...], second: tuple[Value, ...]) -> tuple[Value, ...]:
    """Two sequences of one length, item by item; others are not followed."""
    if len(first) != len(second):
        return ()
    return tuple(joined(one, other) for one, other in zip(first, second, strict=True))


def merged(first: Mapping[str, Value], second: Mapping[str, Value]) -> dict[str, Value]:
    """Two states of a scope after paths that meet."""
    names = dict(first)
    for name, value in second.items():
        names[name] = joined(names[name], value) if name in names else value
    return names


def with_entry(dictionary: Value, entry: Argument) -> Value:
    """A dictionary after ``d[key] = value``."""
    if len(dictionary.entries) >= MOST_ENTRIES:
        return UNKNOWN
    others = tuple(one for one in dictionary.entries if one.name != entry.name)
    return replace(dictionary, entries=(*others, entry))


def without_entry(dictionary: Value, key: Constant) -> Value:
    """A dictionary after ``del d[key]``."""
    return replace(dictionary, entries=tuple(one for one in dictionary.entries if one.name != key))


def filtered(dictionary: Value) -> Value:
    """A dictionary after keys were taken away that are not known: any entry may be gone."""
    return replace(dictionary, entries=tuple(replace(one, guarded=True) for one in dictionary.entries))


def updated(dictionary: Value, other: Value) -> Value:
    """A dictionary after ``d.update(other)``, or ``{**d, **other}``."""
    for entry in other.entries:
        dictionary = with_entry(dictionary, entry)
    return replace(dictionary, complete=dictionary.complete and other.complete)
