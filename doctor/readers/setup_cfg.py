"""setup.cfg of setuptools: install_requires, extras and python_requires."""

from __future__ import annotations

import configparser

import msgspec

from doctor.readers import Lines, Source, Unreadable
from doctor.readers.locks import bounds_of_python
from doctor.readers.requirement import NoRequirement, parse
from doctor.readers.toml_document import Places
from doctor.wanted import Wanted


def read(source: Source) -> Wanted:
    """What a project asks for. Raises :class:`Unreadable`."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(source.text)
    except configparser.Error as error:
        raise Unreadable(f"it is no setup.cfg: {str(error).splitlines()[0]}") from error
    found, places = Lines(source.name), Places(source.text)
    lists = [("", parser.get("options", "install_requires", fallback=""))]
    if parser.has_section("options.extras_require"):
        lists += parser.items("options.extras_require")
    for group, texts in lists:
        for text in filter(None, (line.partition(" #")[0].strip() for line in texts.split("\n"))):
            line = places.line_of(text)
            try:
                place = {"file": source.name, "line": line, "group": group}
                found.requirements.append(msgspec.structs.replace(parse(text), **place))
            except NoRequirement as error:
                found.note(line, f"{text[:120]!r} is no requirement: {error}")
    return Wanted(
        file=source.name,
        form="open",
        requirements=tuple(found.requirements),
        python=bounds_of_python(parser.get("options", "python_requires", fallback="")),
        notes=tuple(found.notes),
    )
