"""The pastes of a run: files, standard input, logs of any size, and dumps of issues."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from doctor.host import Host
from doctor.readers import Unreadable
from doctor.readers.paste.stream import interesting

STANDARD_INPUT = "-"
CHUNK_BYTES = 1 << 20
DUMP_BYTES = 256 << 20  # of a dump of issues, which must be read as a whole


class Source(NamedTuple):
    """One paste."""

    name: str  # a file, or "#123" of an issue
    text: str
    lines: tuple[int, ...] = ()  # where each line of the text stands, if lines were left out


def sources(host: Host, path: str) -> Iterator[Source]:
    """The pastes of one file: one, or those of the issues that a dump holds. Raises :class:`Unreadable`."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise Unreadable("it is closed")
        yield from of_stream(sys.stdin.buffer, "standard input")
        return
    try:
        with host.open_binary(path) as file:
            yield from of_stream(file, path)
    except (OSError, ValueError) as error:
        raise Unreadable(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def of_stream(file: IO[bytes], name: str) -> Iterator[Source]:
    """What stands in an open file."""
    start = file.read(CHUNK_BYTES)
    if start.lstrip()[:1] in (b"[", b"{") and b'"body"' in start:
        issues = list(issues_of(start + file.read(DUMP_BYTES)))
        if issues:
            yield from issues
            return
    text, lines = interesting(chunks(start, file))
    yield Source(name, text, lines)


def chunks(start: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """What was read already, then the rest."""
    yield start
    while more := file.read(CHUNK_BYTES):
        yield more


def issues_of(data: bytes) -> Iterator[Source]:
    """The issues of a dump: a list, ``{"items": [...]}``, one object, an event, or one object a line.

    As `gh issue list --json number,title,body` and GitHub's API write them. Pull requests are left out.
    """
    for entry in entries(data.decode("utf-8", "replace")):
        issue = entry.get("issue", entry)
        if isinstance(issue, dict) and "pull_request" not in issue:
            title, body = (
                text if isinstance(text := issue.get(key), str) else "" for key in ("title", "body")
            )
            if title or body:
                yield Source(f"#{issue.get('number', '?')}", f"{title}\n\n{body}")


def entries(text: str) -> Iterable[dict[str, Any]]:
    """The objects of a JSON document, or of a document a line."""
    try:
        document = json.loads(text)
    except RecursionError:
        return []
    except ValueError:
        return [one for line in text.splitlines() for one in entry(line)]
    found = document.get("items", [document]) if isinstance(document, dict) else document
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def entry(line: str) -> list[dict[str, Any]]:
    """The object of one line, if it has one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [found] if isinstance(found, dict) else []
