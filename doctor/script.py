"""What a training script says: its imports, calls and classes, as far as they can be followed unexecuted.

Lines count from 1 and columns in UTF-8 bytes from 0, as ``ast`` counts them. In a notebook, lines are those
of its code cells joined; :meth:`Script.where` turns them into a cell and a line in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Literal

import msgspec

LOCAL = "__main__."  # before the names of what the script itself defines

Constant = str | int | float | bool | None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all that is read from a script: immutable, compared by value."""


class Place(Said, frozen=True, kw_only=True):
    """From where to where something stands."""

    line: int
    column: int
    end_line: int
    end_column: int


class Made(Said, frozen=True, kw_only=True):
    """An object: its class by full name, and the call that made it (its number in ``Script.calls``)."""

    type: str  # "trl.SFTTrainer"; "" where the class is not known
    call: int


class Value(Said, frozen=True, kw_only=True):
    """What an expression may be: every possibility that could be followed."""

    constants: tuple[Constant, ...] = ()
    names: tuple[str, ...] = ()  # of classes, functions, modules: "torch.bfloat16"
    made: tuple[Made, ...] = ()
    entries: tuple[Argument, ...] = ()  # of a dictionary
    items: tuple[Value, ...] = ()  # of a list or tuple
    given: tuple[Argument, ...] = ()  # what functools.partial has put in already
    complete: bool = False  # it can be nothing else
    bound: bool = True  # False for a name that the script never binds
    tested: bool = False  # it comes of a version or a signature


class Argument(Said, frozen=True, kw_only=True):
    """One argument of a call, by keyword, by position, or out of a dictionary behind ``**``."""

    name: str  # "" for one by position
    position: int = -1  # from 0; -1 for a keyword
    value: Value
    text: str  # the source of its value, cut
    place: Place  # of ``name=value``, or of the dictionary's entry
    way: Literal["keyword", "positional", "dictionary"] = "keyword"
    conditional: bool = False  # given on some paths only
    guarded: bool = False  # given only where a test of the version or the signature allows it


class Call(Said, frozen=True, kw_only=True):
    """One call of a covered library, in the order of the source."""

    number: int  # what Made.call speaks of
    callable: (
        str  # "trl.SFTTrainer", "transformers.AutoModelForCausalLM.from_pretrained", "trl.SFTTrainer.train"
    )
    made_by: tuple[Made, ...] = ()  # the object that a method is called on
    arguments: tuple[Argument, ...] = ()
    unfollowed: bool = False  # a ``*`` or ``**`` holds more than could be read
    place: Place
    callee: Place | None = None  # of the expression before the parenthesis
    function: str = ""  # the function or method around it
    guarded: bool = False  # by a test of versions or signatures, or by a caught TypeError

    def argument(self, name: str, position: int = -1) -> Argument | None:
        """The argument of a name, or at a position; None where it is not given or not seen."""
        for one in self.arguments:
            if one.name == name or (position >= 0 and one.position == position):
                return one
        return None


class Import(Said, frozen=True, kw_only=True):
    """One name that is imported from a covered library, or taken from a module by attribute."""

    module: str  # "trl.trainer"
    name: str  # "SFTTrainer"; "" where the module itself is imported
    alias: str = ""  # what the script calls it
    place: Place
    form: Literal["import", "attribute"] = "import"
    conditional: bool = False  # imported on some paths only
    guarded: bool = False  # by try, by a test of versions, or for type checkers alone


class Class(Said, frozen=True, kw_only=True):
    """A class of the script's own that inherits from a covered one."""

    name: str
    bases: tuple[str, ...]  # by full name
    fields: tuple[str, ...] = ()  # declared anew in its body
    parameters: tuple[str, ...] | None = None  # of its own __init__, those it pops included; None without one
    forwards: bool = False  # its __init__ hands **kwargs on to its base
    methods: tuple[Method, ...] = ()
    place: Place


class Method(Said, frozen=True, kw_only=True):
    """The signature of a method that a class of the script's own overrides."""

    name: str
    parameters: tuple[str, ...]
    takes_any: bool  # it has **kwargs
    place: Place


class Script(Said, frozen=True, kw_only=True):
    """A training script or notebook, parsed and never executed."""

    name: str
    imports: tuple[Import, ...] = ()
    calls: tuple[Call, ...] = ()
    classes: tuple[Class, ...] = ()
    cells: tuple[int, ...] = ()  # of a notebook: the first line of each cell in the joined text
    cell_numbers: tuple[int, ...] = ()  # of a notebook: which cell that is, all kinds counted, from 1
    skipped: tuple[str, ...] = ()  # parts that could not be parsed, and why
    # Defaults of the script's own options, dataclass fields and parameters: {"batch_size": 4}
    options: Mapping[str, Constant] = {}
    truncations: tuple[int, ...] = ()  # to how many tokens its tokenizers cut

    def where(self, line: int) -> str:
        """A line in words: "12", "cell 3, line 4"."""
        if not self.cells:
            return str(line)
        index = max(bisect_right(self.cells, line) - 1, 0)
        return f"cell {self.cell_numbers[index]}, line {line - self.cells[index] + 1}"
