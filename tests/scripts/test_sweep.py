"""The sweep over two packages of a few lines each, with the interpreter itself."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from compute.check import disagreement
from compute.clashes import Grid, clashes_of
from compute.evaluation import Evaluation, Evaluator, Failure
from compute.fingerprints import Reader
from compute.sources import Sources
from compute.sweep import Pair, Verdict, alike, asked_releases, follow, gaps, next_of, telling, verdict

from doctor.static.stages import ALL, StaticStage

# Real numbers, so that the release tables know them; the code is made up.
ASKS = {
    "0.17.1": "from transformers import HybridCache",
    "0.18.1": "try:\n    from transformers import HybridCache\nexcept ImportError:\n    HybridCache = None",
}
HAS = {"4.56.2": "", "4.57.6": "class HybridCache: ...", "5.0.0": "", "5.2.0": ""}
NAMES = "class LoraConfig: ...\nclass PeftModel: ...\ndef get_peft_model(): ...\n"
NAMES += "def prepare_model_for_kbit_training(): ...\n"
IMPORT: tuple[StaticStage, ...] = ("import-peft",)


@pytest.fixture
def evaluator(tmp_path: Path) -> Evaluator:
    for package, releases in (("peft", ASKS), ("transformers", HAS)):
        for version, text in releases.items():
            with zipfile.ZipFile(tmp_path / f"{package}-{version}.zip", "w") as archive:
                body = text + "\n" + (NAMES if package == "peft" else "")
                archive.writestr(f"{package}/__init__.py", body)
                archive.writestr(f"{package}-{version}.dist-info/RECORD", f"{package}/__init__.py,,\n")
    return Evaluator(Sources(tmp_path), tmp_path / "cache")


def line(evaluator: Evaluator, release: str, asked: list[tuple[str, str]]) -> dict[str, bool]:
    """For each release of transformers: is peft imported? ``asked`` takes down what was evaluated."""

    def evaluate(versions: Mapping[str, str], stages: Sequence[StaticStage]) -> Evaluation:
        asked.append((versions["peft"], versions["transformers"]))
        return evaluator.evaluate(versions, IMPORT)

    first = evaluate({"peft": release, "transformers": "4.57.6"}, ALL)
    reader = Reader(evaluator.sources, "transformers")
    pair = Pair("peft", release, "transformers", "4.57.6")
    done = follow(pair, first, reader, asked_releases(evaluator.sources, "transformers"), evaluate, set())
    return {version: told["import-peft"] is None for version, told in done.verdicts.items() if version in HAS}


def test_every_release_is_told_and_only_one_of_each_class_evaluated(evaluator: Evaluator) -> None:
    asked: list[tuple[str, str]] = []
    told = line(evaluator, "0.17.1", asked)
    assert told == {"4.56.2": False, "4.57.6": True, "5.0.0": False, "5.2.0": False}
    assert len(asked) == 2


def test_a_guarded_name_is_missed_by_nobody(evaluator: Evaluator) -> None:
    assert all(line(evaluator, "0.18.1", []).values())


def test_what_differs_between_releases_is_told_apart(evaluator: Evaluator) -> None:
    done = evaluator.evaluate({"peft": "0.17.1", "transformers": "5.0.0"}, IMPORT)
    reader = Reader(evaluator.sources, "transformers")
    differing = telling(done.questions("peft", "transformers"), reader, HAS)
    assert [question.name for question in differing] == ["HybridCache"]


def test_an_evaluation_is_kept(evaluator: Evaluator) -> None:
    versions = {"peft": "0.17.1", "transformers": "5.0.0"}
    assert evaluator.known(versions, IMPORT) is None
    done = evaluator.evaluate(versions, IMPORT)
    assert evaluator.known(versions, IMPORT) == done
    assert evaluator.known(versions) is None


def test_the_failure_belongs_to_the_pair_that_it_is_about(evaluator: Evaluator) -> None:
    done = evaluator.evaluate({"peft": "0.17.1", "transformers": "5.0.0"}, IMPORT)
    failure = verdict(done, Pair("peft", "0.17.1", "transformers", "5.0.0"))["import-peft"]
    assert failure is not None
    assert failure.message == "cannot import name 'HybridCache' from 'transformers'"
    assert verdict(done, Pair("trl", "1.0.0", "transformers", "5.0.0")) == {}


def test_what_is_stored_is_held_against_an_evaluation(evaluator: Evaluator) -> None:
    pair = Pair("peft", "0.17.1", "transformers", "5.0.0")
    done = evaluator.evaluate({"peft": "0.17.1", "transformers": "5.0.0"}, IMPORT)

    def evaluate(versions: Mapping[str, str], stages: Sequence[StaticStage]) -> Evaluation:
        return done

    [clash] = clashes_of(Grid("peft", "transformers", ["0.17.1"], ["5.0.0"], {(0, 0): verdict(done, pair)}))
    assert disagreement(pair, [clash], evaluate) == ""
    assert "not said" in disagreement(pair, [], evaluate)


def told(message: str = "") -> dict[str, Verdict]:
    failure = Failure(
        "peft", "transformers", "missing-name", "transformers", "Cache", message, "peft/a.py:1", ()
    )
    return {"5.0.0": {"import-peft": failure if message else None}}


def test_the_middle_of_a_gap_is_asked_for_where_its_ends_differ() -> None:
    releases = [f"0.{minor}" for minor in range(9)]
    assert list(gaps(releases, {"0.0": told("no"), "0.8": told("no")})) == []
    assert list(gaps(releases, {"0.0": told("no"), "0.8": told()})) == ["0.4"]
    assert list(gaps(releases, {"0.0": told("no"), "0.4": told(), "0.8": told("other")})) == ["0.2", "0.6"]
    assert list(gaps(releases, {"0.0": told("no"), "0.1": told()})) == []


def test_a_stage_that_is_hidden_makes_no_difference() -> None:
    assert alike({"import-peft": None}, {})
    assert not alike(told("no")["5.0.0"], {"import-peft": None})


def test_where_another_fault_hides_a_release_another_one_of_its_class_is_asked() -> None:
    assert next_of({"5.0", "5.1"}, set(), set(), "4.9") == "5.0"
    assert next_of({"4.1", "4.2", "5.0"}, set(), set(), "4.9") == "4.2"
    assert next_of({"4.1", "4.2", "5.0"}, set(), {"5.0"}, "4.9") == "5.0"
    assert next_of({"4.1", "4.2", "4.3"}, {"4.1", "4.2"}, set(), "4.9") == "4.2"
    assert next_of({"4.1", "4.2", "4.3"}, {"4.1", "4.2", "4.3"}, set(), "4.9") == "4.1"
    assert next_of(set(), set(), set(), "4.9") == ""
