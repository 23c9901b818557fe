"""What each release has, merged into lines of words; their form is in `doctor/matrix/api_table.py`."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher


def lines(found: list[dict[str, list[str]]], ordered: bool = True) -> dict[str, str]:
    """The words of each release, merged into one line a key; their order is kept where it means something."""
    keys = sorted({key for each in found for key in each})
    merge = line if ordered else listing
    return {key: merge([each.get(key) for each in found]) for key in keys}


def listing(history: list[list[str] | None]) -> str:
    """One line: when the thing exists, then its words by name."""
    places: dict[str, list[int]] = {}
    for place, words in enumerate(history):
        for word in words or ():
            places.setdefault(word, []).append(place)
    whole = runs([place for place, words in enumerate(history) if words is not None], len(history))
    named = (word_with(word, runs(places[word], len(history)), whole) for word in sorted(places))
    return " ".join([whole, *named])


def line(history: list[list[str] | None]) -> str:
    """One line: when the thing exists, then its words in an order that is that of every release."""
    order: list[tuple[str, list[int]]] = []  # each word, and the releases that have it at this place
    lived = [place for place, words in enumerate(history) if words is not None]
    seen: list[str] | None = None
    present: list[int] = []  # places in `order` of the words of the release
    for place in lived:
        words = history[place] or []
        if words != seen:
            order, present = merged(order, words)
            seen = words
        for index in present:
            order[index][1].append(place)
    whole = runs(lived, len(history))
    return " ".join([whole, *(word_with(text, runs(places, len(history)), whole) for text, places in order)])


def merged(
    order: list[tuple[str, list[int]]], words: list[str]
) -> tuple[list[tuple[str, list[int]]], list[int]]:
    """The order with new words put in their places, and where the words of this release are in it."""
    result = list(order)
    blocks = SequenceMatcher(None, [text for text, _ in order], words, autojunk=False).get_opcodes()
    shift, places = 0, list[int]()
    for tag, low, high, start, stop in blocks:
        if tag == "equal":
            places += range(low + shift, high + shift)
        elif tag in ("insert", "replace"):
            at = high + shift
            result[at:at] = [(text, []) for text in words[start:stop]]
            places += range(at, at + stop - start)
            shift += stop - start
    return result, places


def word_with(text: str, own: str, whole: str) -> str:
    """A word, with its runs where they are not those of the line."""
    return text if own == whole else f"{text}@{own}"


def runs(places: Iterable[int], count: int) -> str:
    """Ascending places as slices: "3:7,9:"."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1][1] = place + 1
        else:
            found.append([place, place + 1])
    return ",".join(f"{first or ''}:{last if last < count else ''}" for first, last in found)
