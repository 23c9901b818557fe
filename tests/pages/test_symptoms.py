"""Patterns as people see what they match."""

from __future__ import annotations

import re

import pytest

from doctor.diagnosis import known_rules
from doctor.pages.symptoms import VARIES, readable, words_of

SYMPTOMS = sorted({one for rule in known_rules() for one in rule.symptoms})


@pytest.mark.parametrize(
    ("symptom", "words"),
    [
        ("plain (as it stands) \\d", "plain (as it stands) \\d"),
        (r"re:found version (?P<driver_cuda_number>\d{4,6})\)", "found version …)"),
        (
            r"re:[Pp]lease upgrade (?:your version of )?accelerate",
            "Please upgrade your version of accelerate",
        ),
        (r"re:lib(?:cudart|cublas)\.so\.\d[\d.]*: cannot", "libcudart.so.…: cannot"),
        (
            r"re:cannot import name .AdamW. from .transformers",
            "cannot import name 'AdamW' from 'transformers'",
        ),
        (r"re:No module named ['\"`]?torch\b(?!\.)", "No module named 'torch'"),
        (r"re:(?i:CUDA error)[^\n]{0,40}lost", "CUDA error…lost"),
        (r"re:nvcc fatal\s{0,4}: no", "nvcc fatal : no"),
        (r"re:index\[\d+\] is (?<!un)known", "index[…] is known"),
    ],
)
def test_a_pattern_becomes_an_example_of_what_it_matches(symptom: str, words: str) -> None:
    assert words_of(symptom) == words


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_no_pattern_shows_through(symptom: str) -> None:
    words = words_of(symptom)
    assert words.strip()
    assert not symptom.startswith("re:") or not re.search(r"\(\?|\\[dwsb]\b|\]\{|[)\]]\?", words)


@pytest.mark.parametrize("symptom", [one for one in SYMPTOMS if one.startswith("re:")])
def test_the_words_of_a_pattern_without_gaps_are_found_by_it(symptom: str) -> None:
    words = words_of(symptom)
    gap_free = VARIES not in words and "'" not in words
    if (
        gap_free
        and "(?!" not in symptom
        and "(?=" not in symptom
        and "(?<" not in symptom
        and "$" not in symptom
    ):
        assert re.search(symptom[3:], words, re.S), words


def test_what_differs_in_releases_alone_or_in_case_alone_is_told_once() -> None:
    wanted = [f"hub>={bound},<1.0 is required, found hub==0.1" for bound in ("0.19.3", "0.23.0")]
    assert readable(wanted) == ("hub>=…,<… is required, found hub==…",)
    assert readable(["Version Mismatch", "version mismatch"]) == ("Version Mismatch",)


def test_what_a_longer_symptom_says_is_left_out_and_few_are_shown() -> None:
    assert readable(["CUDA error", "a CUDA error: out"]) == ("a CUDA error: out",)
    assert readable(["nan"]) == ()
    assert len(readable([f"symptom {'x' * n}y" for n in range(30)])) == 8
