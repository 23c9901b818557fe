from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given

from doctor.plain import ascii_only, one_line, plain
from tests.render.hostile import TEXTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("peft 0.21.2", "peft 0.21.2"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x9b31mred", "red"),
        ("\x1bPq#0\x1b\\shown", "shown"),
        ("10 %\r100 %\r\n", "10 %\n100 %\n"),
        ("a\tb\x00\x08\x7f\x85", "a\tb"),
        ("safe\u202etxt.exe\u200b", "safetxt.exe"),
        ("caf\xe9 日本", "caf\xe9 日本"),
        ("\x1b]0;unfinished", "0;unfinished"),
        ("\udcff", "\ufffd"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    assert plain(text) == expected


@given(TEXTS)
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    told = plain(text)
    assert all(letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs") for letter in told)
    assert plain(told) == told
    told.encode("utf-8")


@given(TEXTS)
def test_one_line_has_no_break(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_ascii_only_keeps_what_can_be_read() -> None:
    assert ascii_only("~/modèle") == "~/mod\\xe8le"
