"""Option values taken as they are, without pydantic.

Recent releases of typer hand every value to pydantic, whose import takes longer than a whole quick check.
Our options are words, numbers and choices, so this is all the conversion there is. Where typer keeps
its conversion elsewhere, nothing is replaced and only the time is lost.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class Words:
    """Stands in for typer's own conversion of one parameter."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of an option or argument as the command wants it. Raises ``typer.BadParameter``."""
        if value is None:
            return () if param.multiple else None
        if param.multiple:
            return list(value)
        choices = param.type_descriptor.choices
        if choices and value not in choices:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(choices)}.", ctx, param)
        if param.type_descriptor.annotation is int:
            return whole(value, param, ctx)
        return number(value, param, ctx) if param.type_descriptor.annotation is float else value


def whole(value: Any, param: Any, ctx: Any) -> int:
    """A whole number as people write it in digits. Raises ``typer.BadParameter``."""
    text = str(value)
    if not (text.isascii() and text.lstrip("-").isdigit() and len(text) <= 18):
        raise typer.BadParameter(f"{value!r} is not a whole number.", ctx, param)
    return int(text)


def number(value: Any, param: Any, ctx: Any) -> float:
    """A positive, finite number. Raises ``typer.BadParameter``."""
    try:
        parsed = float(value)
    except ValueError:
        parsed = -1.0
    if not 0 < parsed < float("inf"):
        raise typer.BadParameter(f"{value!r} is not a positive number.", ctx, param)
    return parsed


def as_they_are(params: list[Any]) -> list[Any]:
    """The same parameters, converted by :class:`Words` where typer would ask pydantic."""
    for param in params:
        if hasattr(param, "_runtime_param"):
            param._runtime_param = Words()
    return params


class Command(TyperCommand):
    """A command whose options are taken as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, ``--help`` among them."""
        return as_they_are(super().get_params(ctx))


class Group(TyperGroup):
    """The commands together, whose own options are taken as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, ``--help`` among them."""
        return as_they_are(super().get_params(ctx))
