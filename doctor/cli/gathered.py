"""A command whose options are the fields of a struct, where there are too many for a function to list."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

Options = TypeVar("Options", bound=msgspec.Struct)


def taking(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Make a function of one struct a command that has an option for each of its fields.

    All fields have defaults, and annotations that are values.
    """

    def wrapped(command: Callable[[Options], None]) -> Callable[..., None]:
        def called(**words: Any) -> None:
            command(kind(**words))

        hints, defaults = kind.__annotations__, kind.__struct_defaults__
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__annotations__ = hints
        called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name]
                )
                for name, default in zip(kind.__struct_fields__, defaults, strict=True)
            ]
        )
        return called

    return wrapped
