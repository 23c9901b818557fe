"""How a page comes about: from rules, from rows, and from what is said where they say nothing."""

from __future__ import annotations

import re

import pytest

from doctor.matrix.rows import Row
from doctor.page import Page
from doctor.pages import briefs, page_of, sources_by_id
from doctor.pages.telling import general, of_family, parts_of, sentence
from doctor.rules import Rule

IDS = tuple(sources_by_id())


def page(id: str) -> Page:
    found = page_of(id)
    assert found is not None
    return found


@pytest.mark.parametrize("id", IDS)
def test_a_page_has_no_gaps_of_a_pattern_or_of_a_filled_title(id: str) -> None:
    told = page(id)
    texts = (told.title, told.why, told.see, told.fix, told.verify, told.in_vain)
    assert [text for text in texts if re.search(r"  | [,;]|\(\?|\\[sdwb]\b", text)] == []
    assert "{" not in told.title
    assert [one for one in told.symptoms if re.search(r"\(\?[:P!=<]|\\[sdwbS]\b|…\s*…", one)] == []


@pytest.mark.parametrize("fault", ["missing", "import-failed", "import-crashed", "import-hung"])
def test_a_page_of_a_family_names_its_library(fault: str) -> None:
    family = [id for id in IDS if id.partition("/")[2] == fault]
    assert len(family) > 3
    assert [id for id in family if id.partition("/")[0] not in page(id).title] == []


@pytest.mark.parametrize("id", IDS)
def test_a_page_speaks_in_whole_sentences(id: str) -> None:
    told = page(id)
    texts = filter(None, (told.why, told.see, told.fix, told.verify, told.in_vain))
    assert [text for text in texts if text[-1] not in ".?!:"] == []


def test_a_fault_that_rows_alone_tell_has_a_title_and_a_reason_for_all_of_them() -> None:
    several = [id for id, sources in sources_by_id().items() if len(sources) > 1]
    without_rule = [id for id in several if not any(isinstance(one, Rule) for one in sources_by_id()[id])]
    assert [id for id in without_rule if id not in general() or not general()[id].why] == []
    assert set(general()) <= set(several)


@pytest.mark.parametrize("id", [id for id in IDS if len(page(id).cases) > 1])
def test_every_row_is_a_case_in_the_order_of_the_releases_that_cure(id: str) -> None:
    rows = [one for one in sources_by_id()[id] if isinstance(one, Row)]
    cases = page(id).cases
    assert len(cases) == len(rows)
    assert all(case.releases and case.why for case in cases)


def test_cases_come_in_the_order_of_the_releases_that_cure_them() -> None:
    wanted = [case.fixes[0].commands[0][-1] for case in page("huggingface-hub/too-old").cases]
    releases = [tuple(map(int, one.partition(">=")[2].split("."))) for one in wanted]
    assert len(releases) > 10 and releases == sorted(releases)


def test_what_a_rule_leaves_unsaid_is_said_by_its_kind() -> None:
    assert page("peft/import-failed").proofs[0] == ("python", "-c", "import peft")
    assert page("peft/import-failed").looks == (("lora-doctor", "check"),)
    assert page("script/removed-argument").looks == (("lora-doctor", "lint", "train.py"),)
    assert page("torch/cpu-only-build").proofs[0][:2] == ("python", "-c")
    assert page("script/hub-unreachable").proofs == ()


def test_a_row_alone_names_its_releases_and_packages() -> None:
    told = page("peft/too-old-for-transformers")
    assert "transformers 5.0.0 and above" in told.releases
    assert ("python", "-m", "pip", "show", "peft", "transformers") in told.looks
    assert [fix.commands[0][-1] for fix in told.fixes] == ["peft>=0.18.0", "transformers<5.0.0"]


def test_an_unknown_id_has_no_page() -> None:
    assert page_of("torch/of-gold") is None
    assert page_of("") is None


def test_the_list_has_every_fault_once() -> None:
    assert [brief.id for brief in briefs()] == sorted(IDS)


def test_paragraphs_are_found_by_their_headings() -> None:
    text = "Title\n\nWhy: one\ntwo\n\nthree\n\nTried in vain: four , five ..."
    assert parts_of(text) == {"": "Title", "Why": "one two three", "Tried in vain": "four, five ..."}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("install it", "Install it."),
        ("peft imports it", "peft imports it."),
        ("nvidia-smi prints it.", "nvidia-smi prints it."),
        ("torch.cuda is there", "torch.cuda is there."),
        ("Is it there?", "Is it there?"),
    ],
)
def test_a_sentence_begins_and_ends_as_one(text: str, told: str) -> None:
    assert sentence(text) == told


def test_the_title_of_a_family_names_the_library_unless_it_is_named() -> None:
    assert of_family("trl/missing", "A library of the stack is not installed") == "trl is not installed"
    assert of_family("trl/too-old", "trl is older than a library") == "trl is older than a library"
