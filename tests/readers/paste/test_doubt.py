"""Which environment a sentence speaks of."""

from __future__ import annotations

import pytest

from doctor.readers.paste.doubt import is_doubted, stands_under_another, tells_of_another


@pytest.mark.parametrize(
    ("line", "doubted"),
    [
        ("I have X now", False),
        ("You need X", True),
        ("You need Y 1.2, X", True),  # one list of what is needed
        ("You need help, X", False),
        ("It was Y. X", False),
        ("Needed. X is here", False),
        ("X works", True),
        ("X, which works", False),
        ("it does not work with X", False),
        ("fails on X", False),
        ("fails on X, works on Z", False),
        ("works on Z 1.2, X", True),
        ("已升级到X", True),
        ("现在是X", False),
    ],
)
def test_the_sentence_decides(line: str, doubted: bool) -> None:
    place = line.index("X")
    assert is_doubted(line, place, place + 1) is doubted


@pytest.mark.parametrize(
    ("heading", "is_other"),
    [
        ("Works with:", True),
        ("### Expected behaviour", True),
        ("**Fix**", True),
        ("after", True),
        ("Not working:", False),
        ("### Environment", False),
        ("It works with the versions that I had there before I came to this one", False),
        ("fix==1.0", False),
        ("解决方法:", True),
    ],
)
def test_a_heading_tells_which_environment_follows(heading: str, is_other: bool) -> None:
    assert tells_of_another(heading) is is_other


def test_only_the_nearest_line_is_a_heading() -> None:
    assert stands_under_another(["Works with:", "", "x"], 2)
    assert not stands_under_another(["Works with:", "y==1", "x"], 2)
    assert not stands_under_another(["Works with:", "", "", "", "x"], 4)
    assert not stands_under_another(["x"], 0)
