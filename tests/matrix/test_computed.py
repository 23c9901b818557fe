"""Computed rows: each is an ordinary row, and one fault is told once, in words that were written for it."""

from __future__ import annotations

import datetime
import re
from typing import Any

import msgspec
import pytest
from compute.telling import speak_alike, tells, with_tellers

from doctor.facts import Failure, Packages, StageRun, Trial
from doctor.matrix.computed import Clash, Sweep, computed_rows, row_of, sweeps
from doctor.matrix.rows import FOLDER, Remedy, Row, Term, complaints, load_rows, refuse_duplicates
from doctor.matrix.rules import judge, matrix_rules, rule_of

from .test_rows import facts_of

ROWS = tuple(
    row_of(clash, number, sweep.evaluated)
    for sweep in sweeps()
    for number, clash in enumerate(sweep.clashes, 1)
)
WRITTEN = [row for row in load_rows() if not row.withdrawn]
each_row = pytest.mark.parametrize("row", ROWS, ids=[row.row for row in ROWS])
DAY = datetime.date(2026, 11, 29)
CLASH = Clash(
    consumer="peft",
    consumers=("0.16.0", "0.18.0"),
    provider="transformers",
    providers=("5.0.0", None),
    kind="name",
    symbol="HybridCache",
    module="transformers",
    message="cannot import name 'HybridCache' from 'transformers'",
    breaks=("import-peft", "lora-step"),
    bad=("0.17.1", "5.24.0"),
    good=("0.18.0", "5.24.0"),
    fix=(Remedy(upgrade="peft"), Remedy(downgrade="transformers")),
    chain=("transformers.trainer", "peft", "peft.peft_model"),
    file="peft/peft_model.py",
)


def clash(**fields: Any) -> Clash:
    return msgspec.structs.replace(CLASH, **fields)


def test_there_are_rows() -> None:
    assert len(ROWS) > 40


def test_all_of_it_is_small() -> None:
    assert sum(file.stat().st_size for file in (FOLDER / "computed").glob("*.json")) < 250_000


def test_no_two_rows_say_the_same() -> None:
    names = [row.row for row in ROWS]
    assert len(names) == len(set(names))
    refuse_duplicates(tuple(row for row in load_rows() if not row.withdrawn))


@each_row
def test_a_row_draws_no_complaint(row: Row) -> None:
    assert list(complaints(row)) == []


@each_row
def test_the_example_bites_and_its_neighbour_does_not(row: Row) -> None:
    assert len(list(judge(row, facts_of(row.example)))) == 1
    assert row.healthy is not None
    assert list(judge(row, facts_of(row.healthy))) == []


@each_row
def test_its_texts_are_sentences(row: Row) -> None:
    [hit] = judge(row, facts_of(row.example))
    assert "{" not in hit.title and len(hit.title) < 220
    assert all(version in hit.title for version in row.example.values())
    assert row.why.endswith(".") and "None" not in row.why and "  " not in row.why
    assert row.breaks and row.symptoms and all(len(symptom) >= 14 for symptom in row.symptoms)


@each_row
def test_the_first_way_out_leads_out_of_all_that_was_computed_for_the_pair(row: Row) -> None:
    assert row.fix
    [package] = filter(None, (row.fix[0].upgrade, row.fix[0].downgrade, named(row.fix[0].install)))
    version = {
        "upgrade": row.when[package].fixed,
        "install": re.sub(r"^[\w-]+[=>]=", "", row.fix[0].install or ""),
    }["upgrade" if row.fix[0].upgrade else "install"]
    if row.fix[0].downgrade or version is None:
        return  # below its interval; which release that is, the installer says
    after = facts_of({**row.example, package: version})
    others = [other for other in ROWS if set(other.when) == set(row.when)]
    assert [other.row for other in others if list(judge(other, after))] == []


def named(requirement: str | None) -> str | None:
    return re.split("[=>]=", requirement)[0] if requirement else None


def test_what_was_written_and_what_was_computed_of_one_fault_have_one_id() -> None:
    for row in ROWS:
        facts = facts_of(row.example)
        twins = [
            other
            for other in WRITTEN
            if set(other.when) == set(row.when) and speak_alike(other, row) and list(judge(other, facts))
        ]
        assert {twin.id for twin in twins} <= {row.id}


def test_a_clash_becomes_a_row_in_plain_words() -> None:
    row = row_of(CLASH, 7, DAY)
    assert (row.row, row.id, row.basis) == ("computed-peft-7", "peft/too-old-for-transformers", "computed")
    assert row.title == "peft {peft} imports HybridCache, which transformers {transformers} no longer has"
    assert row.why == (
        "transformers.trainer loads peft, which loads peft.peft_model, which asks transformers for "
        "HybridCache. So it is in peft 0.16.0 to below 0.18.0, beside transformers 5.0.0 and above. "
        "transformers 5.0.0 removed it."
    )
    assert row.references == ("https://github.com/huggingface/peft/blob/v0.17.1/src/peft/peft_model.py",)
    assert row.symptoms == (CLASH.message,)


NOT_YET: dict[str, Any] = {"providers": ("0", "4.44.0")}
KEYWORD: dict[str, Any] = {
    "consumer": "transformers",
    "provider": "accelerate",
    "kind": "keyword",
    "symbol": "dispatch_batches",
}
BOUND: dict[str, Any] = {
    "consumer": "transformers",
    "provider": "tokenizers",
    "kind": "version",
    "symbol": "tokenizers<0.20",
}


@pytest.mark.parametrize(
    ("fields", "id", "title"),
    [
        (NOT_YET, "peft/needs-newer-transformers", "which transformers {transformers} does not have yet"),
        (KEYWORD, "transformers/too-old-for-accelerate", "which accelerate {accelerate} no longer takes"),
        (
            BOUND,
            "tokenizers/too-new",
            "too new for transformers {transformers}, which asks for tokenizers<0.20",
        ),
    ],
)
def test_the_direction_names_the_fault(fields: dict[str, Any], id: str, title: str) -> None:
    row = row_of(clash(**fields), 1, DAY)
    assert row.id == id
    assert row.title.endswith(title)


def test_one_fault_is_told_once_and_breaks_what_both_say() -> None:
    written = msgspec.structs.replace(row_of(CLASH, 1, DAY), title="In our words", breaks=("import-peft",))
    other = row_of(clash(symbol="Cache", breaks=("sft-step",)), 2, DAY)
    [hit] = rule_of(written, other).judge(facts_of(written.example))
    assert hit.title == "In our words"
    assert hit.breaks == ("import-peft", "sft-step")


WIDER = {"introduced": "0.15.0", "fixed": "0.18.0"}
TOLD = msgspec.structs.replace(row_of(CLASH, 1, DAY), basis="reproduced")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, True),
        ({"when": {**TOLD.when, "peft": Term(**WIDER)}}, True),
        ({"when": {**TOLD.when, "peft": Term("0.16.0", "0.17.0")}}, False),
        ({"when": {**TOLD.when, "transformers": Term("5.0.0", "5.9.0")}}, False),
        ({"when": {**TOLD.when, "transformers": Term("5.0.0", last_affected="5.9.0")}}, False),
        ({"breaks": ("import-peft",)}, False),
        ({"breaks": (*TOLD.breaks, "sft-step")}, True),
        ({"symptoms": ("cannot import name 'Cache'",)}, False),
        ({"symptoms": ("re:cannot import name 'Hybrid[A-Z]",)}, True),
        ({"severity": "warning"}, False),
        ({"withdrawn": "it was wrong"}, False),
    ],
)
def test_a_written_row_tells_a_computed_one_as_a_whole_or_not(changed: dict[str, Any], told: bool) -> None:
    assert tells(msgspec.structs.replace(TOLD, **changed), row_of(CLASH, 1, DAY)) is told


@pytest.mark.parametrize("sweep", sweeps(), ids=[sweep.clashes[0].consumer for sweep in sweeps()])
def test_the_stored_tellers_are_those_of_the_rows_that_are_written_now(sweep: Sweep) -> None:
    """Where this fails, a written row was changed: ``scripts/compute_matrix.py --told`` names them anew."""
    assert [one.told_by for one in sweep.clashes] == [one.told_by for one in with_tellers(sweep).clashes]


def test_what_is_written_is_not_told_again() -> None:
    left = computed_rows()
    assert 0 < len(left) < len(ROWS)
    assert {row.row for row in left} <= {row.row for row in ROWS}


def test_the_words_that_were_seen_are_told() -> None:
    other = row_of(clash(symbol="Cache", message="cannot import name 'Cache' from 'transformers'"), 2, DAY)
    failure = Failure(kind="raised", chain=(("ImportError", other.symptoms[0]),))
    trial = Trial(device="cpu", runs=(StageRun(stage="import-peft", outcome="failed", failure=failure),))
    facts = msgspec.structs.replace(facts_of(CLASH_EXAMPLE), trial=trial)
    [hit] = rule_of(row_of(CLASH, 1, DAY), other).judge(facts)
    assert hit.confidence == "confirmed"
    assert "imports Cache" in hit.title


def test_a_graver_row_is_told_before_one_that_breaks_only_some_uses() -> None:
    mild = msgspec.structs.replace(row_of(CLASH, 1, DAY), severity="warning", breaks=("save-load",))
    [hit] = rule_of(mild, row_of(CLASH, 2, DAY)).judge(facts_of(CLASH_EXAMPLE))
    assert hit.severity == "error"
    assert hit.breaks == CLASH.breaks


CLASH_EXAMPLE = {"peft": "0.17.1", "transformers": "5.24.0"}


def test_the_rules_hold_both_kinds() -> None:
    [rule] = [rule for rule in matrix_rules() if rule.id == "peft/too-old-for-transformers"]
    packages = facts_of(CLASH_EXAMPLE).packages
    assert isinstance(packages, Packages)
    assert len(list(rule.judge(facts_of(CLASH_EXAMPLE)))) == 1
    assert "HybridCache" in rule.page
