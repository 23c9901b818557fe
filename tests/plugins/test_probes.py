"""Probes of other packages: each in a child, whose end is a gap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doctor.plugins.probes as plugin_probes
from doctor import plugins
from doctor.child import Patience
from doctor.facts import Facts
from doctor.host import LocalHost
from doctor.plugins.probes import Extras
from doctor.probes import Looks
from doctor.redact import Identity, redact_fact
from doctor.target import Target

from .folder import SiteFolder, rule_text

FOUND = (
    "def probe(host, target):\n    return {'os': host.os, 'target': target.executable, 'list': [1, 'two']}\n"
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteFolder]:
    """A folder of plugins on the search path of the doctor and of its children."""
    monkeypatch.setattr(plugin_probes, "PATIENCE", Patience(limit_s=3.0))
    site = SiteFolder(tmp_path)
    monkeypatch.syspath_prepend(str(site.path))
    monkeypatch.setenv("PYTHONPATH", str(site.path))
    plugins.installed.cache_clear()
    yield site
    plugins.installed.cache_clear()


def gathered(quick: bool = False) -> Facts:
    host = LocalHost()
    looks = Looks(host, Target(sys.executable, "--python"))
    looks.quick = quick
    try:
        return Extras(looks).added_to(Facts())
    finally:
        host.close()


def test_what_it_saw_is_a_fact_under_its_name(site: SiteFolder) -> None:
    site.add("acme", FOUND, "probes", "probe")
    facts = gathered()
    assert facts.extra == {"probe": {"os": sys.platform, "target": sys.executable, "list": [1, "two"]}}
    assert facts.gaps == () and facts.has("extra.probe") and not facts.has("extra.other")


def test_without_plugins_nothing_is_asked_and_nothing_is_told(site: SiteFolder) -> None:
    assert gathered() == Facts()


def test_a_quick_look_leaves_them_out(site: SiteFolder) -> None:
    site.add("acme", FOUND, "probes", "probe")
    (gap,) = gathered(quick=True).gaps
    assert (gap.about, gap.kind) == ("extra.probe", "not-asked") and "--quick" in gap.reason


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("return None", "not-applicable", "there is nothing for it here"),
        ("raise ValueError('odd')", "failed", "ValueError: odd"),
        ("raise SystemExit", "failed", "SystemExit"),
        ("import os; os._exit(5)", "failed", "ended with exit code 5"),
        ("import os; os.abort()", "failed", "was killed by SIGABRT"),
        ("import threading; threading.Event().wait()", "failed", "gave no answer within 3 s"),
        ("return object()", "failed", "TypeError"),
        ("return 'x' * 70_000", "failed", "more than the 65536"),
        ("return {'a': {1: b'\\xff'}}, print('banner')", "", ""),
    ],
)
def test_however_it_ends_that_is_told(site: SiteFolder, body: str, kind: str, said: str) -> None:
    site.add("acme", f"def probe(host, target):\n    {body}\n", "probes", "probe")
    facts = gathered()
    assert [gap.kind for gap in facts.gaps] == [kind] * bool(kind)
    assert all(said in gap.reason for gap in facts.gaps)
    assert set(facts.extra) == (set() if kind else {"probe"})


def test_of_two_of_one_name_the_second_is_left_out_and_told_of(site: SiteFolder) -> None:
    site.add("acme", FOUND, "probes", "probe")
    site.add("acme_again", "def probe(host, target):\n    return 7\n", "probes", "probe")
    facts = gathered()
    assert facts.extra["probe"]["os"] == sys.platform
    assert [gap.kind for gap in facts.gaps] == ["failed"] and "acme_again-1.0" in facts.gaps[0].reason


def test_one_that_cannot_be_imported_is_a_gap(site: SiteFolder) -> None:
    site.add("acme", "import no_such_module", "probes", "probe")
    (gap,) = gathered().gaps
    assert "No module named 'no_such_module'" in gap.reason


def test_names_in_it_are_masked() -> None:
    facts = Facts(
        extra={"probe": {"paths": ["/home/ada/x", {"token": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}]}}
    )
    told = str(redact_fact(facts, Identity(home="/home/ada", user="ada")).extra)
    assert "ada" not in told and "hf_abc" not in told


def check(site: SiteFolder, *words: str) -> tuple[int, dict[str, Any]]:
    """What the command line says with these plugins."""
    done = subprocess.run(
        [sys.executable, "-m", "doctor", *words, "--format", "json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(site.path)},
        timeout=120,
    )
    return done.returncode, json.loads(done.stdout)


def test_the_commands_ask_them(site: SiteFolder) -> None:
    site.add("acme", "print('a banner')\n" + rule_text(body="yield Hit(title='so', evidence=())"))
    site.add("acme_broken", "import no_such_module\n")
    code, report = check(site, "check", "--quick", "--python", sys.executable)
    ids = {finding["id"] for finding in report["findings"]}
    assert code == 1 and {"acme/fault", "doctor/plugin-failed"} <= ids
    code, page = check(site, "explain", "acme/fault")
    assert code == 0 and page["pages"][0]["title"] == "A fault of this place"
