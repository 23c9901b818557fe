"""A report as JSON, the promise to other programs, and back."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doctor.findings import Report

SCHEMA = 1

_SURROGATE = re.compile(r"[\ud800-\udfff]")


class _Header(msgspec.Struct):
    """What has to be read before anything else can be."""

    schema: int


def render(report: Report) -> str:
    """Indented JSON, one report."""
    return msgspec.json.format(encode(report), indent=2).decode("utf-8") + "\n"


def render_line(report: Report) -> str:
    """The same on one line, for JSON Lines."""
    return encode(report).decode("utf-8") + "\n"


def document(value: msgspec.Struct, *, indented: bool) -> str:
    """JSON of a promise to other programs that is no report."""
    text = encode(value)
    return (msgspec.json.format(text, indent=2) if indented else text).decode("utf-8") + "\n"


def read(text: str) -> Report:
    """The report that was rendered. A ValueError names the first field that is not as promised."""
    try:
        schema = msgspec.json.decode(text, type=_Header).schema
        if schema != SCHEMA:
            raise ValueError(f"this report has schema {schema}; this lora-doctor reads schema {SCHEMA}")
        return msgspec.json.decode(text, type=Report)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(f"not a report of lora-doctor: {error}") from error


def encode(value: Any) -> bytes:
    """JSON of a report or of a part of it, whatever strings it holds."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(value)))


def _encodable(value: Any) -> Any:
    """Without the lone surrogates by which Python stands in for bytes of a file name that are no UTF-8."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, (list, tuple)) else value
