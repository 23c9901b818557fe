"""The pages in Chinese."""

from __future__ import annotations

import re

import msgspec
import pytest

from doctor.page import Page
from doctor.pages import page_of
from doctor.pages.languages import brief_in, in_language, on_one_line, releases, translations

CHINESE = re.compile(r"[\u4e00-\u9fff]")
TRANSLATED = tuple(translations("zh"))


def page(id: str) -> Page:
    found = page_of(id)
    assert found is not None
    return found


def test_there_are_the_twenty_most_common_ones() -> None:
    assert len(TRANSLATED) >= 20
    assert {"torch/cpu-only-build", "workload/does-not-fit", "gpu/bf16-unsupported"} <= set(TRANSLATED)


@pytest.mark.parametrize("id", TRANSLATED)
def test_a_translation_is_of_a_known_fault_whole_and_in_chinese(id: str) -> None:
    told = translations("zh")[id]
    assert page_of(id)
    assert [name for name, value in msgspec.structs.asdict(told).items() if name != "id" and not value] == []
    assert [
        name
        for name, value in msgspec.structs.asdict(told).items()
        if name not in ("id", "fix") and not CHINESE.search(value)
    ] == []


@pytest.mark.parametrize("id", TRANSLATED)
def test_commands_symptoms_and_references_are_those_of_the_english_page(id: str) -> None:
    english, chinese = page(id), in_language(page(id), "zh")
    assert (chinese.language, english.language) == ("zh", "en")
    for name in ("id", "looks", "symptoms", "fixes", "proofs", "references"):
        assert getattr(chinese, name) == getattr(english, name)


@pytest.mark.parametrize("id", TRANSLATED)
def test_no_traditional_character_and_no_half_width_stop_after_chinese(id: str) -> None:
    told = in_language(page(id), "zh")
    text = " ".join((told.title, told.why, told.see, told.fix, told.verify, told.in_vain))
    assert re.findall(r"[\u4e00-\u9fff][,;!?]|[\u4e00-\u9fff]\.(?!\w)", text) == []
    assert re.findall("[驅動顯體檔錯誤裝載這個們]", text) == []


def test_without_a_translation_the_page_and_its_line_stay_as_they_are() -> None:
    told = page("smoke/stage-failed")
    assert in_language(told, "zh") is told
    assert in_language(page("torch/cpu-only-build"), "en").language == "en"


def test_a_line_of_the_list_has_the_title_in_chinese() -> None:
    from doctor.page import Brief

    told = brief_in(Brief("torch/cpu-only-build", "title", ("symptom",)), "zh")
    assert CHINESE.search(told.title) and told.symptoms == ("symptom",)
    assert brief_in(Brief("smoke/stage-failed", "title"), "zh").title == "title"


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "trl 0.9.0 to below 0.12.0, transformers below 4.46.0",
            "trl 0.9.0 至 0.12.0（不含）, transformers 低于 4.46.0",
        ),
        ("peft 0.18.0 and above", "peft 0.18.0 及以上"),
        ("torch 2.3.0 to 2.4.0, os is win32", "torch 2.3.0 至 2.4.0, os 为 win32"),
        ("liger-kernel is not installed", "liger-kernel 未安装"),
    ],
)
def test_intervals_of_releases_are_told_in_chinese(english: str, chinese: str) -> None:
    assert releases(english) == chinese


def test_a_line_break_between_chinese_characters_is_no_space() -> None:
    assert on_one_line("显存，\n不足 a\nb") == "显存，不足 a b"
