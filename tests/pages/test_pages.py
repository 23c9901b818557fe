"""The pages of all faults: laws that hold for each, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import write_pages

from doctor.page import Page
from doctor.pages import briefs, page_of, sources_by_id
from doctor.pages.finding import found
from doctor.pages.languages import in_language, translations
from doctor.pages.symptoms import words_of
from doctor.render import page as rendering
from doctor.render import page_text

IDS = tuple(sources_by_id())
TRANSLATED = tuple(translations("zh"))
CHINESE = re.compile(r"[\u4e00-\u9fff]")
MOST_COMMON = {
    "torch/cpu-only-build",
    "torch/gpu-arch-missing",
    "driver/too-old-for-cuda-runtime",
    "bitsandbytes/native-library-missing",
    "flash-attn/torch-abi-mismatch",
    "gpu/bf16-unsupported",
    "workload/does-not-fit",
    "peft/too-old-for-transformers",
    "script/inputs-do-not-require-grad",
}


def page(id: str) -> Page:
    told = page_of(id)
    assert told is not None
    return told


@pytest.mark.parametrize("id", IDS)
def test_a_page_tells_all_that_somebody_under_stress_needs(id: str) -> None:
    told = page(id)
    assert told.title
    assert told.why or all(case.why for case in told.cases)
    assert told.see or told.symptoms
    assert told.verify
    assert told.fix or told.fixes or told.cases


@pytest.mark.parametrize("id", IDS)
def test_no_command_is_a_bare_pip(id: str) -> None:
    told = page(id)
    fixes = [*told.fixes, *(fix for case in told.cases for fix in case.fixes)]
    commands = [*told.looks, *told.proofs, *(command for fix in fixes for command in fix.commands)]
    assert [command for command in commands if command[:1] == ("pip",)] == []


@pytest.mark.parametrize("id", IDS)
def test_a_page_has_its_headings_in_their_order(id: str) -> None:
    text = rendering.markdown(page(id))
    assert text.startswith(f"# `{id}`\n")
    headings = re.findall(r"^## (.+)$", text, re.M)
    order = ["What it means", "Is it your case", "Fix", "See that it is cured", "Tried in vain", "References"]
    assert headings == [heading for heading in order if heading in headings]
    assert {"Is it your case", "Fix", "See that it is cured"} <= set(headings)


def test_the_twenty_most_common_faults_have_chinese_pages() -> None:
    assert len(TRANSLATED) >= 20
    assert set(TRANSLATED) >= MOST_COMMON
    assert set(TRANSLATED) <= set(IDS)


@pytest.mark.parametrize("id", TRANSLATED)
def test_a_chinese_page_is_chinese_and_has_the_same_commands(id: str) -> None:
    english, chinese = page(id), in_language(page(id), "zh")
    for text in (chinese.title, chinese.why, chinese.see, chinese.verify):
        assert CHINESE.search(text)
    assert CHINESE.search(chinese.fix) or any(CHINESE.search(fix.title) for fix in chinese.fixes)
    commands = {command for fix in english.fixes for command in fix.commands}
    assert commands <= {command for fix in chinese.fixes for command in fix.commands} or not english.fixes
    assert chinese.proofs == english.proofs


def test_a_page_that_is_not_translated_stays_english_and_says_so() -> None:
    id = next(id for id in IDS if id not in TRANSLATED)
    text = page_text.markdown([in_language(page(id), "zh")], [], "zh")
    assert rendering.markdown(page(id)) in text
    assert CHINESE.search(text)


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("torch/cpu-only-build", "torch/cpu-only-build"),
        ("CPU-only-build", "torch/cpu-only-build"),
        ("ImportError: cannot import name 'AdamW' from 'transformers'", "transformers/removed-symbol"),
        ("RuntimeError: operator torchvision::nms does not exist", "torch/torchvision-mismatch"),
        ("Driver/library version mismatch", "driver/library-version-mismatch"),
        ("out of memory", "workload/does-not-fit"),
        ("显存不足", "workload/does-not-fit"),
    ],
)
def test_an_id_an_error_or_words_find_the_page(text: str, id: str) -> None:
    result = found(text)
    assert id in [one.id for one in result.pages]


def test_a_subject_lists_its_faults() -> None:
    result = found("torch/")
    assert {brief.id for brief in result.others} == {id for id in IDS if id.startswith("torch/")}


@pytest.mark.parametrize("text", ["zzqx frobnicate", "\x1b[31m\u202e", "." * 100_000])
def test_nothing_is_found_for_nothing(text: str) -> None:
    result = found(text)
    assert (result.pages, result.others) == ((), ())


def test_every_fault_is_listed_once() -> None:
    assert [brief.id for brief in briefs()] == sorted(set(IDS))


@pytest.mark.parametrize("id", IDS)
def test_symptoms_read_as_words(id: str) -> None:
    for symptom in page(id).symptoms:
        assert not re.search(r"\(\?|\[\^|\\[wdsSb]|\{\d", symptom), symptom


def test_a_pattern_is_told_by_its_words() -> None:
    told = words_of(r"re:found version (?P<driver_cuda_number>\d{4,6})\)")
    assert told.startswith("found version ") and told.endswith(")") and "?P" not in told


def test_the_pages_in_docs_are_those_of_the_rules() -> None:
    assert write_pages.differences(dict(write_pages.pages())) == []


def test_every_page_of_the_index_is_there() -> None:
    index = (write_pages.FOLDER / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([\w./-]+\.md)\)", index)
    assert len(linked) > len(IDS)
    assert [name for name in linked if not Path(write_pages.FOLDER, name).is_file()] == []
