"""One release that is out of step with its neighbours is one fault, with a release that suits them all."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import facts, packages, raised, trial
from packaging.version import Version

from doctor.diagnosis import all_rules, diagnose
from doctor.facts import Facts
from doctor.findings import Report, Subject
from doctor.misfit import MISFIT, common_to, listed
from doctor.wanted import Wanted

SUBJECT = Subject("live", healthy.PYTHON)


def report(**changes: Any) -> Report:
    """Of a quick check, where nothing was tried."""
    return diagnose(facts(**{"trial": "--quick", **changes}), SUBJECT)


def errors(given: Report) -> list[str]:
    return [finding.id for finding in given.findings if finding.severity == "error"]


OLD = {"transformers": "4.40.0"}


def test_a_release_that_suits_nobody_is_one_error() -> None:
    given = report(packages=packages(**OLD, tokenizers="0.23.3"))
    assert errors(given) == [MISFIT.id]
    found = given.findings[0]
    assert found.title.startswith("transformers 4.40.0 is too old for ")
    assert {"tokenizers/too-new", "peft/needs-newer-transformers"} <= {one.id for one in found.symptoms}
    assert found.confidence == "likely"
    assert "lora-step" in found.breaks


def test_its_cure_is_a_release_that_suits_all() -> None:
    found = report(packages=packages(**OLD, tokenizers="0.23.3")).findings[0]
    [fix] = found.fixes
    [command] = fix.commands
    release = command[-1].removeprefix("transformers==")
    assert Version(release) > Version("5")
    assert found.evidence[0].wanted == release
    assert errors(report(packages=packages(transformers=release, tokenizers="0.23.3"))) == []


def test_the_misfit_keeps_the_id_that_speaks_of_it() -> None:
    given = report(packages=packages(accelerate="0.20.3", setuptools="84.2.1"))
    assert errors(given) == ["accelerate/too-old"]
    assert "python/pkg-resources-removed" in {one.id for one in given.findings[0].symptoms}


def test_of_its_own_ids_the_one_about_its_age_is_kept() -> None:
    """An old bitsandbytes that lacks scipy needs none once it is new."""
    given = report(packages=packages(bitsandbytes="0.41.0"))
    assert errors(given)[0] == "bitsandbytes/too-old"
    assert "bitsandbytes/scipy-missing" in {one.id for one in given.findings[0].symptoms}


def test_what_was_seen_to_bite_stands_beneath_it() -> None:
    said = raised("import-peft", "cannot import name 'EncoderDecoderCache' from 'transformers'")
    given = report(packages=packages(**OLD, tokenizers="0.23.3"), trial=trial(said))
    assert errors(given) == [MISFIT.id]
    assert given.findings[0].confidence == "confirmed"
    assert given.findings[0].symptoms[-1].symptoms == ()
    assert "peft/import-failed" in {one.id for one in given.findings[0].symptoms}


def test_one_clash_is_told_as_what_it_is() -> None:
    assert errors(report(packages=packages(peft="0.17.1"))) == ["peft/too-old-for-transformers"]


def test_two_clashes_of_one_pair_do_not_tell_which_is_the_misfit() -> None:
    clashes = report(packages=packages(peft="0.17.1")).findings
    pair = [finding for finding in clashes if finding.severity == "error"] * 2
    assert common_to(pair, facts(packages=packages(peft="0.17.1"))) is None


def test_of_a_file_each_line_is_told() -> None:
    given = facts(packages=packages(**OLD, tokenizers="0.23.3"), trial="a file")
    assert given.packages
    stated = healthy.but(given.packages, wanted=Wanted(file="uv.lock", form="locked", requirements=()))
    assert len(errors(diagnose(healthy.but(given, packages=stated), SUBJECT))) > 1


def test_its_page_is_explained() -> None:
    assert [rule.page for rule in all_rules() if rule.id == MISFIT.id] == [MISFIT.page]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e"], "a, b, c, d and another"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d and 2 others"),
    ],
)
def test_neighbours_are_listed(names: list[str], text: str) -> None:
    assert listed(names) == text


def test_nothing_is_gathered_without_packages() -> None:
    assert diagnose(Facts(), SUBJECT).primary is None
