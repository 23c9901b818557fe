"""Sizes back to their terms: of a model whose sizes share no factor every storage tells its own.

A storage of 13 * 272 * 191 * 2 bytes can only be two bytes for each token and intermediate channel. So one
trace gives each coefficient exactly, and a size that no term makes is an error, never a residual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

Form = dict[
    str, float
]  # bytes of each term; a term is the product of its letters: "th" is tokens times hidden

ELEMENT_BYTES = (1, 2, 4, 8)
# Where half of the channels rotate, half of those in 16 bits are half a byte for each of all; adapters of
# stacked gates and ups have twice the rank and twice the width.
RARE = ((("tq",), 0.5), (("tk",), 0.5), (("sd",), 0.5), (("rew",), 16))
PER_TOKEN = ("", "h", "q", "k", "n", "j", "d", "i", "v", "r", "e", "x", "xh", "xr", "re")
FURTHER = ("ts", "tsn", "s", "b", "ss", "sd", "ehw", "reh", "rew")
WIDTHS = ("h", "q", "k", "i", "v", "n", "e")
VECTORS = ("h", "q", "k", "i", "v", "d", "n", "r", "e")
# Two matrices in one: gate and up, query and key and value; labels with one more token each.
STACKED = (("hi", "hi"), ("hq", "hk", "hk"))
SUMS = (*STACKED, ("ti", "ti"), ("tq", "tk", "tk"), ("rq", "rk", "rk"), ("t", "b"))
SCALED = 64  # weights that share a scale in NF4
# Storages of a few bytes whatever the sizes: a loss, a count, a norm.
CONSTANT_BYTES = 64


class UnknownSize(Exception):
    """A storage whose size is no term."""


class Symbols:
    """What each size stands for, of one model and one batch. Letters that the model lacks have no terms."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._forms: dict[int, Form] = {}
        for terms in (*((term,) for term in all_terms()), *SUMS):
            self._add(terms)
        for terms, size in RARE:
            self._add(terms, (size,))
        for terms in (*((one + other,) for one, other in pairs()), *STACKED):
            self._add_scales(terms)

    def _add_scales(self, terms: tuple[str, ...]) -> None:
        """The scales of a matrix in NF4, in float32; the last block may be short."""
        blocks = -(-sum(map(self._value, terms)) // SCALED)
        self._forms.setdefault(4 * blocks, {term: terms.count(term) * 4 / SCALED for term in terms})

    def _value(self, term: str) -> int:
        return prod(self._sizes.get(letter, 0) for letter in term)

    def _add(self, terms: tuple[str, ...], sizes: Sequence[float] = ELEMENT_BYTES) -> None:
        if not all(map(self._value, terms)):
            return
        for size in sizes:
            form = {term: float(size * terms.count(term)) for term in terms}
            size_bytes = int(size * sum(map(self._value, terms)))
            if self._forms.setdefault(size_bytes, form) != form:
                raise ValueError(f"{size_bytes} bytes are {form} and {self._forms[size_bytes]}")

    def form(self, size_bytes: int) -> Form:
        """The terms of a storage; raises UnknownSize where it has none."""
        if size_bytes in self._forms:
            return self._forms[size_bytes]
        if size_bytes <= CONSTANT_BYTES:
            return {"": float(size_bytes)}
        raise UnknownSize(size_bytes)


def all_terms() -> Iterator[str]:
    """Every single term: of activations, of matrices, of vectors."""
    yield from (f"t{width}" for width in PER_TOKEN)
    yield from FURTHER
    yield from (one + other for one, other in pairs())
    yield from (f"r{width}" for width in WIDTHS)
    yield from VECTORS


def pairs() -> Iterator[tuple[str, str]]:
    """The sides of all matrices."""
    return (
        (one, other) for one, other in product(WIDTHS, WIDTHS) if WIDTHS.index(one) <= WIDTHS.index(other)
    )
