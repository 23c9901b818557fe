"""requirements*.txt, constraints and ``pip freeze``, with what they include; the form is pip's own.

Reference: https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import msgspec

from doctor.readers import Lines, Source, Unreadable
from doctor.readers.requirement import NoRequirement, parse
from doctor.wanted import Wanted

DEEPEST = 10  # files that include one another in a row
MOST_JOINED = 200  # lines continued by a backslash
COMMENT = re.compile(r"(?:^|\s)#.*$")
OPTION_OF_ONE = re.compile(r"\s--(?:hash|config-settings?|global-option|install-option)[ =].*$")
INCLUDE = re.compile(r"(-r|--requirement|-c|--constraint)(?:\s*=\s*|\s*)(\S.*)$")
EDITABLE = re.compile(r"(?:-e|--editable)(?:\s*=\s*|\s+)(\S.*)$")
INDEX = re.compile(r"(?:-i|--index-url|--extra-index-url|-f|--find-links)(?:\s*=\s*|\s+)(\S+)$")
DIFF = re.compile(r"^(?:diff --git |@@ |\+\+\+ |--- [ab]/)", re.M)
FENCE = ("```", "~~~")
OF_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>")


def read(source: Source) -> Wanted:
    """The requirements of a file and of all that it includes. Raises :class:`Unreadable`."""
    found = Lines(source.name)
    gather(source, found, (source.name,))
    return Wanted(
        file=source.name,
        form="open",
        requirements=tuple(found.requirements),
        index_urls=tuple(dict.fromkeys(found.index_urls)),
        notes=tuple(found.notes),
    )


def gather(source: Source, found: Lines, trail: tuple[str, ...], *, is_constraint: bool = False) -> None:
    """Take up the lines of one file; ``trail`` are the files that led to it, itself last."""
    found.file = source.name
    for number, line in logical_lines(without_diff(source.text)):
        include = INCLUDE.match(line)
        if include:
            limits = is_constraint or include[1] in ("-c", "--constraint")
            follow(include[2].strip("\"' "), source, found, trail, limits, number)
            found.file = source.name
        else:
            take(line, number, found, is_constraint)


def without_diff(text: str) -> str:
    """The new side of a patch that was saved as a file; any other text as it is. Lines keep their numbers."""
    if not DIFF.search(text):
        return text
    return "\n".join(
        line[1:] if line[:1] in ("+", " ") and not line.startswith("+++ ") else ""
        for line in text.split("\n")
    )


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their number: continued ones joined, comments and blank ones left out."""
    parts: list[str] = []
    first = 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first if parts else number
        comment_alone = line.lstrip().startswith("#")
        if line.rstrip().endswith("\\") and not comment_alone and len(parts) < MOST_JOINED:
            parts.append(line.rstrip()[:-1])
            continue
        whole = COMMENT.sub("", " ".join([*parts, line])) if "#" in line or parts else line
        parts = []
        if whole.strip():
            yield first, whole.strip()
    if parts:
        yield first, " ".join(parts).strip()


def follow(
    path: str, source: Source, found: Lines, trail: tuple[str, ...], limits: bool, number: int
) -> None:
    """Read what a file includes. Raises :class:`Unreadable` for a circle; what is missing is a note."""
    if "://" in path:
        found.note(number, f"{path} is included from the network, which is not read")
        return
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(source.name), path))
    if joined in trail:
        raise Unreadable(f"it includes itself: {' -> '.join((*trail, joined))}")
    if len(trail) >= DEEPEST:
        raise Unreadable(f"more than {DEEPEST} files include one another: {' -> '.join(trail)}")
    try:
        text = source.include(joined)
    except Unreadable as error:
        raise Unreadable(f"line {number} includes {joined}: {error}") from error
    gather(Source(joined, text, source.include), found, (*trail, joined), is_constraint=limits)


def without_quotes(text: str) -> str:
    """A requirement that was copied out of a list, without the quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" else text


def take(line: str, number: int, found: Lines, is_constraint: bool) -> None:
    """One logical line: an option, a requirement, or a note of what it is instead."""
    line = line.strip()
    if line.startswith(FENCE):
        return
    if index := INDEX.match(line):
        found.index_urls.append(index[1])
        return
    editable = EDITABLE.match(line)
    if line.startswith("-") and not editable and not line.startswith("- "):
        return  # an option that says nothing of releases
    text = editable[1] if editable else OPTION_OF_ONE.sub("", line)
    if editable and text.partition("[")[0].strip("\"' /") in (".", ".."):
        return  # the project itself
    text = without_quotes(text.removeprefix("- ").strip().rstrip(","))
    try:
        requirement = parse(text)
    except NoRequirement as error:
        reason = "the mark of an unfinished merge" if line.startswith(OF_CONFLICT) else error
        found.note(number, f"{line[:120]!r} is no requirement: {reason}")
        return
    place = {"file": found.file, "line": number, "is_constraint": is_constraint}
    found.requirements.append(msgspec.structs.replace(requirement, **place))
