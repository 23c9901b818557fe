"""Single lines that name releases: pip freeze, requirements, trees of uv and pipdeptree, messages of pip."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packaging.utils import canonicalize_name

from doctor.paste import Statement
from doctor.readers.paste import LONGEST
from doctor.readers.paste.package_tables import LONGEST_LINE, release_of, stated

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}"
VERSION = r"\d[A-Za-z0-9.!]{0,60}(?:\+[A-Za-z0-9._-]{1,60})?(?<![._-])"
EXTRAS = r"(?:\[[\w,. -]{1,80}\])?"
REST = r"\s{0,20}(?:\\|;.{0,300}|#.{0,300}|--hash=.{1,300})?"
# A dash or a number before it, as in lists of people; quotes around it.
BULLET = re.compile(r"(?:[-*+•]\s{1,4}|\d{1,3}[.)]\s{1,4})?[`\"']?")
PINNED = re.compile(rf"({NAME}){EXTRAS}\s{{0,4}}===?\s{{0,4}}({VERSION})[`\"',]{{0,2}}{REST}")
# conda list --export, or a specification of conda's with its build.
EXPORTED = re.compile(rf"({NAME})=({VERSION})=([\w.]{{1,80}})")
DIRECT = re.compile(rf"({NAME}){EXTRAS}\s{{1,4}}@\s{{1,4}}(\S{{1,2000}}){REST}")
WHEEL = re.compile(r"([A-Za-z0-9_.]{1,80})-(\d[\w.!+%]{0,80})-[\w.]{1,80}-[\w.]{1,80}-[\w.-]{1,120}\.whl")
EGG = re.compile(r"-e\s{1,4}[^\s#&]{1,500}[#&](?:[\w=]{1,40}&)?egg=([\w.-]{1,80})")
EDITABLE = re.compile(rf"# Editable [\w ]{{1,40}} \({EXTRAS}({NAME})==({VERSION})\)")
BOUND = r"(?:[<>!~]=|[<>])\s{0,2}[\w.*+]{1,40}"
BOUNDED = re.compile(
    rf"({NAME}){EXTRAS}\s{{0,4}}({BOUND}(?:\s{{0,2}},\s{{0,2}}(?:{BOUND}|==\s{{0,2}}[\w.*+]{{1,40}})){{0,5}}){REST}"
)
UV_TREE = re.compile(rf"[│├└─`| +-]{{0,80}}({NAME}){EXTRAS} v({VERSION})(?: \(.{{1,80}}\))?")
PIP_TREE = re.compile(rf"[│├└─`| +-]{{0,80}}({NAME}) \[required: [^\[\]]{{1,80}}, installed: ({VERSION})\]")
UV_CHANGE = re.compile(rf"[+~] ({NAME})==({VERSION})(?: \(.{{1,200}}\))?")

UV_PLACE = re.compile(
    r"Using (?:C?Python) (3\.\d{1,2}\.\d{1,2}[\w+]{0,12})(?: environment at:? (\S{1,250}))?"
)
INSTALLED = re.compile(r"Successfully installed (.{1,2900})")
SATISFIED = re.compile(
    rf"Requirement already satisfied: ({NAME})\S{{0,200}} in (\S{{1,250}})"
    rf" (?:\(from .{{0,300}}\) )?\(({VERSION})\)"
)
NOT_FOUND = re.compile(r"WARNING: Package\(s\) not found: (.{1,300})")
NOT_INSTALLED = re.compile(rf"({NAME}) ({VERSION}) requires ({NAME})[^,]{{0,120}}, which is not installed\.")
OUT_OF_STEP = re.compile(
    rf"({NAME}) ({VERSION}) (?:has requirement|requires) ({NAME}).{{0,160}},"
    rf" but you(?:'ll)? have (?:{NAME}) ({VERSION})"
)
FIELD = re.compile(r"(Name|Version|Location|Requires|Summary|Home-page|Author|License): {0,4}(.{0,2000})")


def frozen(line: str, number: int) -> list[Statement]:
    """What a line of a list says by itself, nothing where it is none."""
    text = line[:LONGEST_LINE].strip()
    trees = (UV_TREE, PIP_TREE, EDITABLE, UV_CHANGE)
    if found := next((match for tree in trees if (match := tree.fullmatch(text))), None):
        return [release_of(found[1], found[2], number)]
    if found := EGG.match(text):
        return [release_of(found[1], "", number)]
    bullet = BULLET.match(text)
    text = text[bullet.end() if bullet else 0 :].rstrip("`\"',")
    if found := PINNED.fullmatch(text) or EXPORTED.fullmatch(text):
        return [release_of(found[1], found[2], number)]
    if found := DIRECT.fullmatch(text):
        return [release_of(found[1], version_of_wheel(found[2]), number)]
    if found := BOUNDED.fullmatch(text):
        return [stated("requirement", found[2].replace(" ", ""), number, canonicalize_name(found[1]))]
    return []


def version_of_wheel(url: str) -> str:
    """The version in the name of a wheel, "" where the address ends otherwise."""
    wheel = WHEEL.match(url.rpartition("/")[2][:500])
    return wheel[2].replace("%2B", "+").replace("%2b", "+").replace("%21", "!") if wheel else ""


def shown(lines: Sequence[str], index: int) -> tuple[int, list[Statement]]:
    """The index behind what ``pip show`` prints, and what it says."""
    fields: dict[str, str] = {}
    end = index
    while end < len(lines) and (field := FIELD.match(lines[end][:LONGEST_LINE].strip("` \t"))):
        if field[1] in fields:
            break
        fields[field[1]] = field[2].strip()
        end += 1
    name, version = fields.get("Name", ""), fields.get("Version", "")
    if not re.fullmatch(NAME, name) or not re.fullmatch(VERSION, version[:100]):
        return index, []
    return end, [release_of(name, version, index + 1)]


def told_by_pip(line: str, number: int) -> Iterator[Statement]:
    """What messages of pip and uv say of what is installed."""
    text = line[:LONGEST_LINE].strip()
    if found := INSTALLED.match(text):
        for one in found[1].split():
            name, _, version = one.rpartition("-")
            if re.fullmatch(NAME, name[:100]) and re.fullmatch(VERSION, version[:100]):
                yield release_of(name, version, number)
    elif found := SATISFIED.match(text):
        yield release_of(found[1], found[3], number)
    elif found := NOT_FOUND.match(text):
        yield from (absent(name, number) for name in found[1].split(", ") if re.fullmatch(NAME, name[:100]))
    elif found := UV_PLACE.match(text):
        yield stated("python", found[1], number)
        if found[2]:
            yield stated("executable", found[2], number)
    else:
        yield from out_of_step(text, number)


def out_of_step(text: str, number: int) -> Iterator[Statement]:
    """What ``pip check`` finds: a requirement that is absent, or is there in another release."""
    if found := NOT_INSTALLED.search(text[:LONGEST]):
        yield release_of(found[1], found[2], number)
        yield absent(found[3], number)
    elif found := OUT_OF_STEP.search(text[:LONGEST]):
        yield release_of(found[1], found[2], number)
        yield release_of(found[3], found[4], number)


def absent(name: str, line: int) -> Statement:
    """A package that is said not to be installed."""
    return stated("absent", "", line, canonicalize_name(name))
