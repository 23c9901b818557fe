"""What holds of every rule that is code."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import healthy
import pytest

from doctor.diagnosis import judge
from doctor.facts import Facts, Stage
from doctor.findings import SEVERITIES, Evidence
from doctor.rules import Hit, Rule, code_rules, why_of

from . import test_torch

# Scripts are judged apart from machines, so a fault of either kind may bear one id.
RULES = {f"{rule.id}{' of a script' * ('script' in rule.needs)}": rule for rule in code_rules()}
# The modules beside this one that hold a table of hits.
BESIDE = [
    import_module(f"{__package__}.{file.stem}")
    for file in sorted(Path(__file__).parent.glob("test_*.py"))
    if file.stem != Path(__file__).stem
]
HITS: dict[str, tuple[Any, ...]] = {
    f"{table.__name__}: {name}": hit for table in BESIDE for name, hit in getattr(table, "HITS", {}).items()
}
HEADINGS = ("Why", "See", "Fix", "Verify", "Tried in vain", "References")
# Of the doctor's own knowledge; it has a test of its own.
ELSEWHERE = {"doctor/matrix-outdated"}


def rule_behind(name: str) -> Rule:
    """The rule that a hit is of."""
    id, _, given, *_ = HITS[name]
    of_a_script = f"{id} of a script"
    return RULES[of_a_script if given.script and of_a_script in RULES else id]


def test_ids_are_given_once() -> None:
    assert len(RULES) == len(code_rules()) > 40


def test_every_rule_has_a_hit() -> None:
    told = {rule_behind(name) for name in HITS}
    assert [id for id, rule in RULES.items() if rule not in told and id not in ELSEWHERE] == []


def test_the_healthy_machine_has_none_of_the_faults_and_every_rule_was_asked() -> None:
    found, not_judged = judge(
        healthy.FACTS, [one for one in code_rules() if not {"script", "reading", "workload"} & {*one.needs}]
    )
    assert [finding for finding in found if finding.id not in ELSEWHERE] == []
    assert not_judged == []


@pytest.mark.parametrize("id", RULES)
def test_a_rule_has_an_identity_and_a_page(id: str) -> None:
    rule = RULES[id]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    assert rule.severity in SEVERITIES
    assert set(rule.needs) <= set(Facts.__struct_fields__) - {"gaps"}
    assert set(rule.breaks) <= set(get_args(Stage))
    page = inspect.cleandoc(rule.page).split("\n\n")
    assert page[0] and "\n" not in page[0] and not page[0].endswith(".")
    headings = [part.split(":")[0] for part in page[1:]]
    assert headings == [one for one in HEADINGS if one in headings]
    assert {"Why", "Fix"} <= {*headings}
    assert len(why_of(rule.page)) > 20 and "\n" not in why_of(rule.page)


@pytest.mark.parametrize("id", RULES)
def test_symptoms_are_long_enough_to_mean_one_thing(id: str) -> None:
    assert all(len(symptom) >= 14 and symptom == symptom.strip() for symptom in RULES[id].symptoms)


@pytest.mark.parametrize("name", HITS)
def test_a_finding_bears_the_stamp_of_its_rule(name: str) -> None:
    rule, given = rule_behind(name), HITS[name][2]
    for finding in judge(given, [rule])[0]:
        assert finding.id == rule.id
        assert finding.why in {why_of(rule.page), *(hit.why for hit in rule.judge(given))}
        assert set(finding.breaks) <= set(get_args(Stage))


@pytest.mark.parametrize("name", HITS)
def test_without_what_it_needs_a_rule_is_not_judged(name: str) -> None:
    rule, given = rule_behind(name), HITS[name][2]
    for need in rule.needs:
        found, not_judged = judge(healthy.but(given, **{need: None}), [rule])
        assert found == []
        assert [(one.id, one.missing) for one in not_judged] == [(rule.id, (need,))]


@pytest.mark.parametrize("id", RULES)
def test_a_rule_holds_out_where_nothing_else_is_known(id: str) -> None:
    """What it does not declare it may not count on."""
    rule = RULES[id]
    for given in (healthy.FACTS, *(HITS[name][2] for name in HITS if rule_behind(name) is rule)):
        bare = Facts(**{need: getattr(given, need) for need in rule.needs})
        found, not_judged = judge(bare, [rule])
        assert [finding.id for finding in found if finding.id == "doctor/rule-crashed"] == []
        assert [
            one for one in not_judged if not any(getattr(given, need) is None for need in rule.needs)
        ] == []


def test_a_rule_that_crashes_is_told_and_the_others_go_on() -> None:
    def crash(facts: Facts) -> Any:
        raise ZeroDivisionError("of our own making")

    broken = Rule("test/broken", "error", (), (), (), str, crash)
    given = test_torch.HITS["a CPU build beside a GPU"][2]
    found, _ = judge(given, [broken, RULES["torch/cpu-only-build"]])
    assert [finding.id for finding in found] == ["doctor/rule-crashed", "torch/cpu-only-build"]
    assert (found[0].severity, found[0].confidence) == ("warning", "confirmed")
    assert "test/broken" in found[0].title
    assert found[0].evidence[0].seen == "ZeroDivisionError: of our own making"


def test_the_hits_before_a_crash_are_not_half_told() -> None:
    def crash(facts: Facts) -> Any:
        yield Hit(title="One", evidence=(Evidence("a", "b"),))
        raise KeyError("later")

    found, _ = judge(healthy.FACTS, [Rule("test/broken", "error", (), (), (), str, crash)])
    assert [finding.id for finding in found] == ["doctor/rule-crashed"]


def test_a_page_without_a_reason_has_none() -> None:
    assert why_of("A title\n\nFix: do it.") == ""
    assert why_of("") == ""


@pytest.mark.parametrize(("installed", "known", "newer"), [("6.0", "5.0", True), ("5.0", "5.0", False)])
def test_a_matrix_that_is_older_than_what_is_installed(
    installed: str, known: str, newer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "doctor.rules.doctor.reviewed", lambda: {"packages": {"transformers": known, "gone": "1"}}
    )
    given = healthy.facts(packages=healthy.packages(transformers=installed))
    found, _ = judge(given, [RULES["doctor/matrix-outdated"]])
    assert [(one.severity, one.evidence[0].wanted) for one in found] == [
        ("note", "reviewed up to 5.0")
    ] * newer
