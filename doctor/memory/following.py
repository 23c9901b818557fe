"""The values that a script hands to the calls that decide its memory, as far as they could be followed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from doctor.script import LOCAL, Argument, Call, Constant, Script, Value


class Absence(Enum):
    """Why there is no value: the script leaves it to the library, or it could not be followed."""

    UNSAID = 1
    UNFOLLOWED = 2


OPTION = re.compile(r"(?:\w{1,60}\.){0,2}(\w{1,60})")  # "args.batch_size", "batch_size"
UNSAID, UNFOLLOWED = Absence.UNSAID, Absence.UNFOLLOWED


class Following:
    """The calls of a script, from the trainer back to what made its arguments."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._calls = {call.number: call for call in script.calls}
        self._bases = {LOCAL + one.name: one.bases for one in script.classes}
        self.options: dict[str, Constant] = {}  # those of the script's own whose default was taken

    def name_of(self, call: Call) -> str:
        """The full name of what is called; of the script's own class, that of the library beneath."""
        name = call.callable
        for _ in range(len(self._bases)):
            name = next(iter(self._bases.get(name, ())), name)
        return name

    def named(self, *endings: str) -> Iterator[Call]:
        """All calls whose name has one of these as its last part, or last parts."""
        for call in self.script.calls:
            name = "." + self.name_of(call)
            if any(name.endswith("." + ending) for ending in endings):
                yield call

    def maker(self, argument: Argument | None) -> Call | None:
        """The call that made an argument's object; None where it is not one call alone."""
        made = argument.value.made if argument else ()
        return self._calls.get(made[0].call) if len({one.call for one in made}) == 1 else None

    def said(self, call: Call | None, *names: str, position: int = -1) -> Any:
        """The value of an argument: a constant, an object's name, a list of them; else why there is none.

        Of an option of the script's own it is the default.
        """
        if call is None:
            return UNSAID
        argument = argument_of(call, *names, position=position)
        if argument is None:
            return UNFOLLOWED if call.unfollowed else UNSAID
        value = plain(argument.value) if not argument.conditional else UNFOLLOWED
        return self._default_of(argument) if value is UNFOLLOWED else value

    def _default_of(self, argument: Argument) -> Any:
        found = OPTION.fullmatch(argument.text)
        name = found[1] if found else ""
        value = self.script.options.get(name)
        if value is None or argument.value.constants or argument.value.made:
            return UNFOLLOWED
        self.options[name] = value
        return value

    def where(self, call: Call) -> str:
        """The place of a call in words: "line 12"."""
        place = self.script.where(call.place.line)
        return place if place.startswith("cell") else f"line {place}"


def argument_of(call: Call, *names: str, position: int = -1) -> Argument | None:
    """The first of several names that a call is given, or what stands at a position."""
    for name in names:
        if found := call.argument(name):
            return found
    return next((one for one in call.arguments if one.position == position >= 0), None)


def plain(value: Value) -> Any:
    """What a value is where it can be one thing alone: constants, lists of them, names; else UNFOLLOWED."""
    if not value.complete:
        return UNFOLLOWED
    if value.items and not value.constants:
        items = [plain(item) for item in value.items]
        return UNFOLLOWED if UNFOLLOWED in items else items
    possible = (*value.constants, *value.names)
    return possible[0] if len(possible) == 1 and not value.made else UNFOLLOWED


def entries(call: Call | None, name: str) -> Mapping[str, Any]:
    """A dictionary that is given as an argument, as far as it is known."""
    argument = call.argument(name) if call else None
    return {one.name: plain(one.value) for one in argument.value.entries} if argument else {}
