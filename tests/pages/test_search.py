"""Faults by words about them, in English and Chinese."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.pages import sources_by_id
from doctor.pages.search import by_words, glossary, query_of, words_in


@pytest.mark.parametrize(
    ("words", "id"),
    [
        ("out of memory", "workload/does-not-fit"),
        ("oom", "workload/does-not-fit"),
        ("bf16 on T4", "gpu/bf16-unsupported"),
        ("driver too old", "driver/too-old-for-cuda-runtime"),
        ("no module named peft", "peft/missing"),
        ("pad token", "script/pad-token-missing"),
        ("target modules", "script/target-modules-not-found"),
        ("windows bitsandbytes", "bitsandbytes/no-windows-binary"),
        ("glibc", "system/glibc-too-old"),
        ("torchvision", "torch/torchvision-mismatch"),
        ("显存不足", "workload/does-not-fit"),
        ("加载模型时显存溢出怎么办", "workload/does-not-fit"),
        ("驱动版本太旧", "driver/too-old-for-cuda-runtime"),
        ("cpu版torch", "torch/cpu-only-build"),
        ("显卡不支持bf16", "gpu/bf16-unsupported"),
        ("huggingface 连接不上", "script/hub-unreachable"),
    ],
)
def test_words_find_their_fault_first(words: str, id: str) -> None:
    assert by_words(words).ids[0] == id


@pytest.mark.parametrize(
    "words", ["my dog ate the homework", "foo bar", "", "???", "how do i fix this error", "怎么办"]
)
def test_words_that_are_about_nothing_find_nothing(words: str) -> None:
    assert by_words(words).ids == ()


def test_a_fault_is_found_by_the_words_of_its_own_title() -> None:
    from doctor.pages import page_of

    titles = {id: page.title for id in sources_by_id() if (page := page_of(id))}
    lost = [id for id, title in titles.items() if id not in by_words(title).ids]
    assert len(lost) <= len(titles) // 20, lost


def test_words_are_taken_in_their_simplest_form() -> None:
    assert list(words_in("The Adapters")) == ["adapter"]
    assert list(words_in("pad_token cpu-only")) == ["pad_token", "pad", "token", "cpu-only", "cpu", "only"]
    assert list(words_in("显存不")) == ["显存", "存不"]


def test_what_is_said_in_other_words_is_one_thing_that_is_asked_for() -> None:
    first, *others = query_of("CUDA oom")
    assert "memory" in first | others[0] and len(others) == 1
    assert all(glossary().values())


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_text_is_searched_for_without_an_error(text: str) -> None:
    assert set(by_words(text).ids) <= set(sources_by_id())


def test_a_text_of_any_length_is_cut() -> None:
    started = time.monotonic()
    by_words("驱" * 500_000 + "a-" * 500_000)
    assert time.monotonic() - started < 20
