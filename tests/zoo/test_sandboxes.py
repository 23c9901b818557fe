"""Whole environments for the scripts, and the stages in them."""

from __future__ import annotations

import pytest
from sandboxes import Workshop
from version_sets import VersionSet, run_stages, try_out

pytestmark = pytest.mark.environments


def test_pins_that_nothing_forbids_fail_as_they_do_for_users() -> None:
    workshop = Workshop("3.11")
    with workshop.environment(workshop.resolve({"peft": "0.17.1", "transformers": "5.24.0"})) as venv:
        versions = venv.installed()
        outcome = run_stages(venv, "import-accelerate", "import-peft")
    assert (versions["peft"], versions["transformers"]) == ("0.17.1", "5.24.0")
    assert "trl" not in versions
    assert outcome.pop("import-peft").startswith("ImportError: cannot import name 'HybridCache'")
    assert outcome == {"import-accelerate": "ok"}
    assert not venv.folder.exists()


def test_pins_against_the_metadata_are_forced_and_counted() -> None:
    workshop = Workshop("3.11")
    with workshop.environment(workshop.resolve({"transformers": "4.39.3", "tokenizers": "0.19.1"})) as venv:
        assert venv.installed()["tokenizers"] == "0.19.1"
        assert venv.conflicts() == 1


def test_a_release_that_does_not_exist_is_refused_in_uv_s_words() -> None:
    line = try_out(VersionSet("a", {"peft": "0.0.0.1"}), Workshop("3.11"))
    assert "peft==0.0.0.1" in str(line["refused"])
    assert "outcome" not in line
