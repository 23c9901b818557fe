"""``lora-doctor check`` against real environments: what it finds first, and that it holds out in each."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from .broken_files import ALTERED, CORRUPT
from .conftest import Check
from .environment import ENVIRONMENTS, built, repacks_weights
from .lab import Lab
from .running import MODULE, SCRIPT, Outcome, run_doctor
from .surroundings import BANNER
from .table import row_of

pytestmark = pytest.mark.environments
OF_OTHERS = ("reading", "workload", "script", "paste")  # facts that check does not ask for


@pytest.fixture
def outcome(name: str, check: Check) -> Outcome:
    """The run that a row of the table describes."""
    return check(name, *ENVIRONMENTS[name].expected.options)


def asked_of(check: Check, name: str) -> Outcome:
    """The same run, for the tests that ask one environment for more."""
    return check(name, *ENVIRONMENTS[name].expected.options)


each_environment = pytest.mark.parametrize("name", ENVIRONMENTS)


@each_environment
def test_the_root_cause_stands_first(
    name: str, outcome: Outcome, record_property: Callable[[str, object], None]
) -> None:
    record_property("zoo", row_of(name, outcome))
    expected, report = ENVIRONMENTS[name].expected, outcome.report
    assert report["primary"] == expected.primary
    first = [finding["id"] for finding in report["findings"] if finding["severity"] != "note"][:1]
    assert first == ([expected.primary] if expected.primary else [])
    assert set(outcome.ids("error")) <= {expected.primary, *expected.also}
    assert (report["verdict"], outcome.code) == (expected.verdict, expected.code)


@each_environment
def test_the_doctor_holds_out(name: str, outcome: Outcome) -> None:
    """Only the report is printed, no process outlives it, and no fact is absent without a word."""
    assert outcome.stderr == ""
    assert outcome.left_running == ()
    assert unexplained(outcome.facts) == []
    assert outcome.facts["system"]["cpu_count"] == os.cpu_count()


def unexplained(facts: dict[str, Any]) -> list[str]:
    """Facts that are absent without exactly one gap, or gaps about facts that are there.

    What other commands ask for (a reading of sources, a script, a paste) is absent without a word.
    """
    about = [gap["about"] for gap in facts["gaps"]]
    wanted = {name: value is None and name not in OF_OTHERS for name, value in facts.items()}
    strangers = [name for name in OF_OTHERS if facts[name] is not None]
    return strangers + [name for name, absent in wanted.items() if about.count(name) != absent]


@each_environment
def test_installing_fixes_name_the_target(name: str, outcome: Outcome) -> None:
    folder = str(outcome.target.python.parents[1])
    commands = [
        command
        for finding in outcome.report["findings"]
        for fix in finding["fixes"]
        for command in fix["commands"]
        if fix["scope"] == "environment" and {"install", "uninstall"} & set(command)
    ]
    strangers = [command for command in commands if not any(folder in os.path.expanduser(a) for a in command)]
    assert strangers == []


def test_healthy_means_that_the_proofs_hold(check: Check) -> None:
    outcome = asked_of(check, "healthy")
    runs = {run["stage"]: run for run in outcome.facts["trial"]["runs"]}
    assert {name for name, run in runs.items() if run["outcome"] == "failed"} == set()
    assert runs["qlora-step"]["outcome"] == "ok"
    proofs = {proof["name"]: proof["holds"] for run in runs.values() for proof in run["proofs"]}
    assert len(proofs) > 5
    broken = {name for name, holds in proofs.items() if not holds}
    assert broken == ({"gradient-survives-evaluation", "merge-is-identity"} if repacks_weights() else set())
    assert outcome.facts["bitsandbytes_runtime"]["library"] == "libbitsandbytes_cpu.so"


def test_what_needs_a_gpu_is_not_judged_without_one(check: Check) -> None:
    report = asked_of(check, "healthy").report
    assert {"id": "torch/cpu-only-build", "missing": ["gpus"]} in report["not_judged"]
    assert [gap["kind"] for gap in report["gaps"] if gap["about"] == "gpus"] == ["not-applicable"]


def test_every_failed_import_is_a_symptom_of_the_missing_file(check: Check) -> None:
    outcome = asked_of(check, "numpy_without_extension")
    symptoms = {finding["id"] for finding in outcome.finding(ALTERED)["symptoms"]}
    failed = {f"{run['stage'][7:]}/import-failed" for run in failed_imports(outcome)}
    assert "torch/import-failed" in failed
    assert failed <= symptoms


def failed_imports(outcome: Outcome) -> list[dict[str, Any]]:
    runs = outcome.facts["trial"]["runs"]
    return [run for run in runs if run["outcome"] == "failed" and run["stage"].startswith("import-")]


def test_a_truncated_library_kills_by_sigbus_and_the_file_is_blamed(check: Check) -> None:
    outcome = asked_of(check, "bitsandbytes_cpu_library_cut")
    signals = {run["failure"]["signal"] for run in failed_imports(outcome)}
    assert signals == {"SIGBUS"}
    assert "libbitsandbytes_cpu.so" in outcome.finding(CORRUPT)["title"]


def test_a_crash_names_its_signal_and_blocks_the_rest(check: Check) -> None:
    outcome = asked_of(check, "torch_segfaults")
    first, *later = (run for run in outcome.facts["trial"]["runs"] if run["stage"] != "trainer-step")
    assert (first["stage"], first["failure"]["kind"], first["failure"]["signal"]) == (
        "import-torch",
        "died",
        "SIGSEGV",
    )
    assert {run["outcome"] for run in later} == {"blocked"}


@pytest.mark.parametrize("name", ["torch_sleeps", "torch_spins"])
def test_a_hang_is_ended_and_said_to_be_one(name: str, outcome: Outcome) -> None:
    (run,) = failed_imports(outcome)
    assert run["failure"]["kind"] == "hung"
    assert any("torch/__init__.py" in frame for frame in run["failure"]["frames"])


def test_what_the_interpreter_prints_is_kept_as_noise(check: Check) -> None:
    outcome = asked_of(check, "sitecustomize_prints")
    assert BANNER in outcome.facts["interpreter"]["noise"]
    # A quick check has tried nothing that could speak against the note on newer adapter methods.
    assert sorted(outcome.ids("note")) == ["peft/too-old", "python/prints-at-startup"]


def test_rubbish_of_a_library_stays_in_its_stage(check: Check) -> None:
    outcome = asked_of(check, "torch_prints_rubbish")
    noise = {run["stage"]: run["noise"] for run in outcome.facts["trial"]["runs"]}
    assert 'red{"schema": 1, "findings": []' in noise["import-torch"]


def test_no_escape_sequence_of_a_library_reaches_the_terminal(lab: Lab) -> None:
    with built(lab, "torch_prints_rubbish_and_raises") as target:
        outcome = run_doctor(target, lab.folder(), "--no-color")
    assert outcome.code == 1
    assert "torch" in outcome.stdout
    assert [mark for mark in ("\x1b", "\x00", "\x07", "]0;") if mark in outcome.stdout] == []


def test_packages_without_record_are_named(check: Check) -> None:
    assert asked_of(check, "peft_record_missing").facts["files"]["without_record"] == ["peft"]


def test_leftovers_are_named(check: Check) -> None:
    assert "~eft" in " ".join(asked_of(check, "peft_leftover").facts["packages"]["leftovers"])


def test_unreadable_metadata_hides_no_other_package(check: Check) -> None:
    installed = asked_of(check, "peft_metadata_random").facts["packages"]["installed"]
    assert installed["peft"]["fault"] != ""
    assert installed["transformers"]["version"] == "5.24.0"


@pytest.mark.parametrize("name", ["python38_empty", "python38_with_old_peft"])
def test_targets_may_be_old(name: str, outcome: Outcome) -> None:
    assert outcome.facts["interpreter"]["version"].startswith("3.8.")
    versions = {name: one["version"] for name, one in outcome.facts["packages"]["installed"].items()}
    assert versions.get("peft") == ("0.13.2" if name == "python38_with_old_peft" else None)


@pytest.mark.parametrize("doctor", [MODULE, SCRIPT], ids=["module", "script"])
def test_names_of_the_standard_library_here_do_not_disturb_the_doctor(
    lab: Lab, doctor: tuple[str, ...]
) -> None:
    with built(lab, "standard_library_names_here") as target:
        assert target.working_folder
        outcome = run_doctor(target, target.working_folder, "--quick", "--format", "json", doctor=doctor)
    assert (outcome.stderr, outcome.code) == ("", 0)
    assert unexplained(outcome.facts) == []
    assert {shadow["module"] for shadow in outcome.facts["packages"]["shadows"]} == {
        "inspect",
        "json",
        "random",
        "tempfile",
    }


def test_names_of_the_standard_library_here_explain_a_failed_import(lab: Lab) -> None:
    with built(lab, "standard_library_names_here") as target:
        assert target.working_folder
        outcome = run_doctor(target, target.working_folder, "--format", "json", doctor=SCRIPT)
    assert (outcome.report["primary"], outcome.code) == ("python/module-shadowed", 1)
    assert set(outcome.ids("error")) == {"python/module-shadowed"}


def test_an_old_driver_still_tells_its_gpu(check: Check) -> None:
    """Driver 470 refuses a query that asks for compute_cap, and answers all else."""
    outcome = asked_of(check, "gpu_and_cpu_torch")
    (gpu,) = outcome.facts["gpus"]
    assert (gpu["name"], gpu["memory_total_bytes"]) == ("Tesla T4", 15109 * 2**20)
    assert outcome.facts["driver"]["version"] == "470.256.02"
    commands = outcome.finding("torch/cpu-only-build")["fixes"][0]["commands"]
    assert any(part.endswith("/cu118") for command in commands for part in command)


def test_a_driver_that_does_not_answer_is_a_gap(check: Check) -> None:
    for name in ("nvidia_smi_hangs", "nvidia_smi_fails", "nvidia_smi_prints_rubbish"):
        gaps = {gap["about"]: gap["kind"] for gap in asked_of(check, name).report["gaps"]}
        assert (gaps["driver"], gaps["gpus"]) == ("failed", "failed")


def test_sources_tell_what_an_import_would(check: Check) -> None:
    """The same fault, read: the row is named, its stages are, and nothing was imported."""
    outcome = check("peft_too_old_for_transformers", "--static")
    runs = {run["stage"]: run for run in outcome.facts["reading"]["runs"]}
    failed = {stage for stage, run in runs.items() if run["outcome"] == "failed"}
    assert {"import-transformers", "import-peft", "lora-step", "trainer-step"} <= failed
    assert runs["import-accelerate"]["outcome"] == "ok"
    assert outcome.report["primary"] == "peft/too-old-for-transformers"
    assert outcome.facts["trial"] is None
