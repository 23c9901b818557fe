"""Which faults some words are about: by the rare words that a query and a page share.

Standard: the weight of a word is its inverse document frequency (Spärck Jones, 1972).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from math import log
from typing import NamedTuple

from doctor.matrix.rows import FOLDER, read_toml
from doctor.page import Page
from doctor.pages import page_of, sources_by_id
from doctor.pages.languages import in_language

LONGEST = 2_000  # characters of a query that are looked at
COVERED = 0.6  # share of the query's weight that a page must hold
NEAR, CLEAR = (
    0.6,
    0.8,
)  # of the best score: what is shown beside it, and what leaves no doubt that it is the best
IN_TEXT = 0.7  # of the weight of a word that stands in a page's text alone, where it may be said by the way
UNKNOWN = 0.5  # of the weight of the rarest word: one that no page has
PAIR = 0.25  # of the weight of a word: a pair of Chinese characters, which need not be a word
PHRASE = 1.6  # times the worth of a page that has the very words one after the other
SHOWN = 8
WORD = re.compile(r"[a-z0-9]+(?:[._+-][a-z0-9]+)*|[\u3400-\u9fff]+")


class Vocabulary:
    """The words of all pages: how much each weighs, and where it stands on each page."""

    def __init__(self) -> None:
        self.pages = {id: words_of_page(id) for id in sources_by_id()}
        self.texts = {id: text_of_page(id) for id in sources_by_id()}
        self.count = Counter(word for words in self.pages.values() for word in words)
        self.rarest = log(len(self.pages))

    def weight(self, word: str) -> float:
        """How much a word tells: nothing where every page has it, little where none has."""
        if not self.count[word]:
            return UNKNOWN * self.rarest if word.isascii() else 0.0
        return (1.0 if word.isascii() else PAIR) * log(len(self.pages) / self.count[word])

    def scores(self, text: str) -> Iterator[tuple[float, str]]:
        """The pages that hold enough of what is asked for, with what they are worth."""
        query, phrase = query_of(text), " ".join(WORD.findall(text.lower()))
        total = sum(self.meant(one) for one in query)
        for id, words in self.pages.items():
            if total and sum(self.covered(one, words) for one in query) >= COVERED * total:
                is_said = len(query) > 1 and f" {phrase} " in self.texts[id]
                yield (PHRASE if is_said else 1.0) * sum(self.worth(one, words) for one in query), id

    def covered(self, meaning: frozenset[str], words: Mapping[str, int]) -> float:
        """How much of the weight of one thing that is asked for a page holds."""
        held = [IN_TEXT if words[word] == 1 else 1.0 for word in meaning if word in words]
        return max(held, default=0.0) * self.meant(meaning)

    def meant(self, meaning: frozenset[str]) -> float:
        """The weight of one thing that is asked for, by those of its words that pages have."""
        known = [word for word in meaning if self.count[word]]
        return max(self.weight(word) for word in known or meaning)

    def worth(self, meaning: frozenset[str], words: Mapping[str, int]) -> float:
        """The same on one page, more where it stands in the title."""
        return max((self.weight(word) * words[word] for word in meaning if word in words), default=0.0)


@cache
def vocabulary() -> Vocabulary:
    """That of the pages that are there."""
    return Vocabulary()


class Ranked(NamedTuple):
    """The faults that words are about, the best first; empty where too few of the words are known."""

    ids: tuple[str, ...]
    is_clear: bool  # is the first far better than the second?


def by_words(text: str) -> Ranked:
    """The faults that words are about."""
    scored = sorted(vocabulary().scores(text[:LONGEST]), key=lambda one: (-one[0], one[1]))
    near = [(score, id) for score, id in scored if score >= NEAR * scored[0][0]][:SHOWN]
    is_clear = bool(near) and (len(near) == 1 or near[1][0] < CLEAR * near[0][0])
    return Ranked(tuple(id for _, id in near), is_clear)


def query_of(text: str) -> tuple[frozenset[str], ...]:
    """What is asked for, each thing with the words that it may go by."""
    rest, meanings = text.lower(), []
    for said, others in glossary().items():
        if found := as_words(said).search(rest):
            rest = f"{rest[: found.start()]} {rest[found.end() :]}"
            meanings.append(frozenset((*words_in(said), *others)))
    meanings += [frozenset([word]) for word in words_in(rest)]
    return tuple(dict.fromkeys(meanings))


@cache
def as_words(said: str) -> re.Pattern[str]:
    """A pattern for words that are no part of longer ones; Chinese has no gaps between words."""
    before, after = (
        r"(?<![a-z0-9])" if said[0].isascii() else "",
        r"(?![a-z0-9])" if said[-1].isascii() else "",
    )
    return re.compile(before + re.escape(said) + after)


def words_in(text: str) -> Iterator[str]:
    """The words of a text in their simplest form; of Chinese each pair of characters."""
    for word in WORD.findall(text.lower()):
        if not word.isascii():
            pairs = (word[at : at + 2] for at in range(max(1, len(word) - 1)))
            yield from (pair for pair in pairs if pair not in ignored())
            continue
        for part in dict.fromkeys((word, *re.split(r"[._+-]", word))):
            if part and part not in ignored():
                yield part[:-1] if len(part) > 3 and part.endswith("s") and not part.endswith("ss") else part


def words_of_page(id: str) -> dict[str, int]:
    """The words of a page in every language, with the weight of the best place each stands in."""
    page = page_of(id)
    assert page is not None
    words: dict[str, int] = {}
    for one in (page, in_language(page, "zh")):
        for weight, text in places(one):
            for word in words_in(text):
                words[word] = max(weight, words.get(word, 0))
    return words


def text_of_page(id: str) -> str:
    """The words of a page as they follow each other."""
    page = page_of(id)
    assert page is not None
    texts = (text for one in (page, in_language(page, "zh")) for _, text in places(one))
    return f" {' '.join(WORD.findall(' '.join(texts).lower()))} "


def places(page: Page) -> tuple[tuple[int, str], ...]:
    """The texts of a page, with what a word in each is worth."""
    return (
        (4, page.id.replace("/", " ")),
        (3, page.title),
        (2, " ".join(page.symptoms)),
        (1, " ".join((page.why, page.see, page.fix, *(fix.title for fix in page.fixes)))),
    )


@cache
def glossary() -> dict[str, tuple[str, ...]]:
    """What people say, in other words that pages have; the longest first."""
    words = read_toml(FOLDER / "pages" / "words.toml")["means"]
    pairs = sorted(words.items(), key=lambda pair: -len(pair[0]))
    return {said: tuple(words_in(others)) for said, others in pairs}


@cache
def ignored() -> frozenset[str]:
    """Words that ask and tell nothing."""
    return frozenset(read_toml(FOLDER / "pages" / "words.toml")["ignored"])
