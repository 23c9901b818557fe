"""Defaults of a script's own options, and the lengths to which it cuts texts."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.script.options import options_of, truncations_of


def options(text: str) -> dict[str, Any]:
    return dict(options_of(ast.parse(text)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p.add_argument('--lora-r', type=int, default=8)", {"lora_r": 8}),
        ("p.add_argument('-r', '--rank', '--lora_r', default=4)", {"rank": 4}),
        ("p.add_argument('--rank', dest='r', default=4)", {"r": 4}),
        ("p.add_argument('--bf16', action='store_true')", {"bf16": False}),
        ("p.add_argument('--no-bf16', dest='bf16', action='store_false')", {"bf16": True}),
        ("p.add_argument('--model', required=True)", {}),
        ("p.add_argument('model')", {}),
        ("p.add_argument('--rank', default=DEFAULT)", {}),
        (
            "class A:\n    size: int = 4\n    name: str = field(default='gpt2', metadata={})\n",
            {"size": 4, "name": "gpt2"},
        ),
        ("class A:\n    size: int\n    parts: list = field(default_factory=list)\n", {}),
        ("def train(model, size: int = 2, *, rank=8, alpha): ...", {"size": 2, "rank": 8}),
        ("def a(size=1): ...\ndef b(size=1): ...", {"size": 1}),
        ("def a(size=1): ...\ndef b(size=2): ...", {}),
        ("def a(size=1): ...\nclass B:\n    size: int = f()\n", {}),
    ],
)
def test_a_default_is_known_by_the_name_under_which_it_is_used(text: str, found: dict[str, Any]) -> None:
    assert options(text) == found


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("t(x, truncation=True, max_length=512)", (512,)),
        ("t(x, truncation='longest_first', max_length=a.size)", (64,)),
        ("N = 128\nt(x, truncation=True, max_length=N)\nt(y, truncation=True, max_length=N)", (128,)),
        ("t(x, max_length=512)", ()),
        ("t(x, truncation=True)", ()),
        ("t(x, truncation=True, max_length=-1)", ()),
        ("t(x, truncation=True, max_length=True)", ()),
    ],
)
def test_the_lengths_of_truncation(text: str, lengths: tuple[int, ...]) -> None:
    assert truncations_of(ast.parse(text), {"size": 64}) == lengths


WORDS = st.sampled_from(["a", "b", "size", "1", "None", "'x'", "f(1)", "[1]", "1 < 2", "lambda: 0"])
LINES = st.sampled_from(
    [
        "p.add_argument({0}, default={1})",
        "p.add_argument('--size', default={1}, dest={0})",
        "p.add_argument('--size', action={0})",
        "class A:\n    size: int = {1}",
        "class A:\n    size: int = field({0}, default={1})",
        "def g(size={0}, *, b={1}): pass",
        "t({0}, truncation={0}, max_length={1})",
        "size = {1}",
    ]
)


@given(st.lists(st.tuples(LINES, WORDS, WORDS), max_size=6))
def test_only_plain_values_come_out(lines: list[tuple[str, str, str]]) -> None:
    tree = ast.parse("\n".join(line.format(one, other) for line, one, other in lines))
    found = options_of(tree)
    assert all(value is None or isinstance(value, bool | int | float | str) for value in found.values())
    assert all(length > 0 for length in truncations_of(tree, found))
