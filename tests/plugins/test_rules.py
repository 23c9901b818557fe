"""Rules of other packages: asked as the doctor's own, and never its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from healthy import facts

import doctor.plugins.rules as plugin_rules
from doctor import plugins
from doctor.diagnosis import all_rules, diagnose, machine_rules
from doctor.findings import Report, Subject

from .folder import FOUND, SiteFolder, rule_text

HANG = "import threading\nthreading.Event().wait()\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteFolder]:
    """A folder of plugins on the doctor's own search path."""
    monkeypatch.setattr(plugin_rules, "IMPORT_LIMIT_S", 0.5)
    monkeypatch.setattr(plugin_rules, "JUDGE_LIMIT_S", 0.2)
    before = set(sys.modules)
    site = SiteFolder(tmp_path)
    monkeypatch.syspath_prepend(str(site.path))
    plugins.installed.cache_clear()
    yield site
    plugins.installed.cache_clear()
    plugin_rules.brought_by.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]


def judged(**changes: object) -> Report:
    return diagnose(msgspec.structs.replace(facts(), **changes), Subject("live", "python"))


def failures(report: Report) -> list[str]:
    """What was said of each plugin that cannot be used."""
    return [one.evidence[0].seen for one in report.findings if one.id == plugin_rules.FAILED]


def test_a_rule_is_asked_like_any_other(site: SiteFolder) -> None:
    site.add("acme", rule_text())
    report = judged()
    assert report.primary == "acme/fault" and report.verdict == "broken"
    assert "acme/fault" in {rule.id for rule in machine_rules()} & {rule.id for rule in all_rules()}


def test_without_plugins_there_are_only_our_own(site: SiteFolder) -> None:
    assert not [rule for rule in machine_rules() if rule.id.startswith(("acme", plugin_rules.FAILED))]


def test_a_rule_waits_for_the_fact_of_its_probe(site: SiteFolder) -> None:
    site.add("acme", rule_text(needs=("extra.scratch",)))
    assert [one.missing for one in judged().not_judged if one.id == "acme/fault"] == [("extra.scratch",)]
    assert judged(extra={"scratch": None}).primary == "acme/fault"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module_of_acme\n", "ModuleNotFoundError: No module named 'no_such_module_of_acme'"),
        ("raise SystemExit(7)\n", "SystemExit: 7"),
        ("def\n", "SyntaxError"),
        (HANG, "it did not end within 0.5 s"),
        ("", "its module registers no rule"),
        (rule_text("torch/cpu-only-build"), "the id torch/cpu-only-build is taken"),
        (rule_text("no id"), "'no id' is no id"),
        (rule_text(needs=("phase_of_the_moon",)), "acme/fault: unknown fact 'phase_of_the_moon'"),
        (rule_text(breaks=("lunch",)), "acme/fault: unknown stage 'lunch'"),
        (rule_text().replace('"error"', '"fatal"'), "'fatal' is no severity"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_a_finding(site: SiteFolder, text: str, said: str) -> None:
    module = "acme_hang" if text == HANG else "acme"  # whose import lock is held from then on
    site.add(module, text)
    report = judged()
    (seen,) = failures(report)
    assert said in seen
    assert report.verdict == "impaired"
    assert f"{module} of {module}-1.0" in report.findings[0].title


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('scratch')", "KeyError: 'scratch'"),
        ("raise SystemExit", "SystemExit"),
        ("import threading; threading.Event().wait()", "it did not end within 0.2 s"),
        ("return 7", "TypeError"),
        ("yield 7", "Expected `object`, got `int`"),
        ("yield Hit(title=7, evidence=())", "Expected `str`, got `int`"),
    ],
)
def test_a_rule_that_fails_is_told_and_the_others_are_asked(site: SiteFolder, body: str, said: str) -> None:
    site.add("acme", rule_text(body=body))
    site.add("acme_other", rule_text("acme/other"))
    report = judged()
    assert report.primary == "acme/other"
    (crashed,) = [one for one in report.findings if one.id == "doctor/rule-crashed"]
    assert "acme/fault" in crashed.title and said in crashed.evidence[0].seen


def test_a_rule_that_hung_is_not_waited_for_again(site: SiteFolder) -> None:
    body = "sys.acme_asked = getattr(sys, 'acme_asked', 0) + 1; threading.Event().wait()"
    site.add("acme", "import sys, threading\n" + rule_text(body=body))
    assert judged().findings and judged().findings
    assert vars(sys).pop("acme_asked") == 1


def test_what_a_plugin_prints_is_lost(site: SiteFolder, capsys: pytest.CaptureFixture[str]) -> None:
    site.add("acme", "print('banner')\n" + rule_text(body=f"print('noise'); {FOUND}"))
    assert judged().primary == "acme/fault"
    assert capsys.readouterr().out == ""


def test_of_two_plugins_with_one_id_the_second_is_refused(site: SiteFolder) -> None:
    site.add("acme", rule_text())
    site.add("acme_again", rule_text())
    report = judged()
    assert [one.id for one in report.findings].count("acme/fault") == 1
    assert failures(report) == ["the id acme/fault is taken"]


def test_a_plugin_that_imports_our_rules_does_not_bring_them(site: SiteFolder) -> None:
    site.add("acme", "import doctor.rules.torch\n" + rule_text())
    assert failures(judged()) == [] and judged().primary == "acme/fault"


def test_the_working_folder_is_no_place_for_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SiteFolder(tmp_path).path.rename(tmp_path / "project")
    (tmp_path / "project" / "acme-1.0.dist-info").mkdir()
    (tmp_path / "project" / "acme-1.0.dist-info" / "entry_points.txt").write_text(
        "[lora_doctor.rules]\na = acme\n"
    )
    assert plugins.installed((str(tmp_path / "project"), "", ".")) == ()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[lora_doctor.rules]\na = b\n", ["b"]),
        ("[lora_doctor.rules]\r\n a=b.c [extra]\r\n", ["b.c"]),
        ("[console_scripts]\nlora_doctor.rules = x:y\n", []),
        ("[lora_doctor.rules]\n# a = b\n; c = d\nno value\n[other]\ne = f\n", []),
        ("\x00\ufffd[lora_doctor.rules", []),
    ],
)
def test_files_of_entry_points(text: str, values: list[str]) -> None:
    assert [one.value for one in plugins.read(text, "acme-1.0")] == values
