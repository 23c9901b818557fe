"""Pages in another language; commands, symptoms and references are those of the English page."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from doctor.matrix.rows import FOLDER, read_toml
from doctor.page import Brief, Language, Page


class Translation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one page."""

    id: str
    title: str
    why: str
    see: str
    fix: str
    verify: str
    in_vain: str


# Intervals of releases, as the English page has them, in Chinese.
RELEASES = (
    (re.compile(r"(\S+) to below ([^\s,]+)"), r"\1 至 \2（不含）"),
    (re.compile(r"(\S+) and above"), r"\1 及以上"),
    (re.compile(r"below ([^\s,]+)"), r"低于 \1"),
    (re.compile(r"(\S+) to ([^\s,]+)"), r"\1 至 \2"),
    (re.compile(r"is not installed"), "未安装"),
    (re.compile(r" is "), " 为 "),
)


@cache
def translations(language: Language) -> dict[str, Translation]:
    """The pages that a language has, by id."""
    if language == "en":
        return {}
    rows = read_toml(FOLDER / "pages" / f"{language}.toml")["page"]
    return {row.id: row for row in msgspec.convert(rows, tuple[Translation, ...])}


def in_language(page: Page, language: Language) -> Page:
    """A page in a language, as it is where it has no translation."""
    told = translations(language).get(page.id)
    if told is None:
        return page
    words = {name: on_one_line(value) for name, value in msgspec.structs.asdict(told).items()}
    cases = tuple(msgspec.structs.replace(one, releases=releases(one.releases)) for one in page.cases)
    return msgspec.structs.replace(
        page, language=language, releases=releases(page.releases), cases=cases, **words
    )


def on_one_line(text: str) -> str:
    """A paragraph without its line breaks; between Chinese characters no space stands for one."""
    return " ".join(re.sub(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n", "", text).split())


def brief_in(brief: Brief, language: Language) -> Brief:
    """A line of the list in a language, as it is where it has no translation."""
    told = translations(language).get(brief.id)
    return brief if told is None else msgspec.structs.replace(brief, title=told.title)


def releases(text: str) -> str:
    """Intervals in Chinese."""
    for pattern, words in RELEASES:
        text = pattern.sub(words, text)
    return text
