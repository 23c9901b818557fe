"""Every recorded machine is judged again, and as it was then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from healthy import SITE, but, facts, stage_run, trial
from machine_record import PREDICTION, SUBJECT, Machine, claims, elsewhere, judged, main, read_machine

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Linkage, Proof
from doctor.findings import Finding
from doctor.redact import Identity, redact
from doctor.render import json_report

FILES = sorted(Path(__file__).parent.glob("*.json"))


def test_machines_are_recorded() -> None:
    assert len(FILES) >= 1


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_machine_is_judged_as_it_was(file: Path) -> None:
    """Where a new rule rightly says more: ``python scripts/machine_record.py rejudge``; read the change."""
    machine = read_machine(file)
    assert judged(machine.facts) == machine.findings


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nobody_can_be_recognised(file: Path) -> None:
    report = diagnose(read_machine(file).facts, SUBJECT)
    assert redact(report, Identity()) == report


def test_the_folders_of_the_environment_are_not_kept() -> None:
    own = but(
        facts().interpreter,
        prefix="/data/ada/venv",
        base_prefix="/usr",
        executable="/data/ada/venv/bin/python",
    )
    moved = elsewhere(facts(interpreter=own)).interpreter
    assert moved is not None
    assert (moved.executable, moved.prefix, moved.base_prefix) == ("/env/bin/python", "/env", "/usr")
    assert elsewhere(facts(interpreter=None)).interpreter is None


def is_within(told: Any, kept: Any) -> bool:
    """Is everything in one document in the other as well?"""
    if isinstance(told, dict):
        return all(key in kept and is_within(value, kept[key]) for key, value in told.items())
    if isinstance(told, list):
        return len(told) == len(kept) and all(map(is_within, told, kept))
    return bool(told == kept)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_file_says_nothing_that_facts_do_not_know(file: Path) -> None:
    """A field that was renamed would be dropped in silence, and the machine judged without it."""
    kept = msgspec.json.decode(msgspec.json.encode(read_machine(file)))
    assert is_within(msgspec.json.decode(file.read_bytes()), kept)


def test_a_report_becomes_a_machine_that_says_the_same(tmp_path: Path) -> None:
    machine = read_machine(FILES[0])
    report, kept = tmp_path / "report.json", tmp_path / "kept.json"
    report.write_text(json_report.render(diagnose(machine.facts, SUBJECT)), encoding="utf-8")
    assert main("keep", str(report), str(kept)) == 0
    assert read_machine(kept) == machine


def test_what_was_written_down_wrongly_is_put_right(tmp_path: Path) -> None:
    machine, file = read_machine(FILES[0]), tmp_path / "machine.json"
    file.write_bytes(msgspec.json.encode(Machine("", ("driver/not-installed",), machine.facts)))
    assert main("rejudge", str(file)) == 0
    assert read_machine(file) == machine


def test_the_first_finding_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    given = diagnose(read_machine(FILES[0]).facts, SUBJECT)
    report.write_text(json_report.render(msgspec.structs.replace(given, primary=None)), encoding="utf-8")
    main("first", str(report))
    report.write_text(
        json_report.render(msgspec.structs.replace(given, primary="gpu/hidden")), encoding="utf-8"
    )
    main("first", str(report))
    assert capsys.readouterr().out.split() == ["none", "gpu/hidden"]


PROOFS = tuple(Proof(name=f"proof-{n}", holds=True, seen="0", wanted="0") for n in range(20))
ON_GPU = facts(trial=trial(stage_run("load-4bit", proofs=PROOFS)))
MAPPED = but(ON_GPU, torch_runtime=but(ON_GPU.torch_runtime, objects=(f"{SITE}/torch/lib/libtorch_cuda.so",)))
LOOKED = but(MAPPED, linkage=MAPPED.linkage or Linkage(libraries=()))


def broken(given: Facts) -> list[str]:
    """The claims that do not hold."""
    report = msgspec.structs.replace(diagnose(given, SUBJECT), findings=())
    return [name for name, holds, _ in claims(report) if not holds]


def test_a_working_gpu_shows_all() -> None:
    assert broken(LOOKED) == []


@pytest.mark.parametrize(
    ("changes", "claim"),
    [
        ({"gpus": ()}, "a GPU answers"),
        ({"torch_runtime": but(LOOKED.torch_runtime, cuda_available=False)}, "torch reaches it"),
        ({"torch_runtime": but(LOOKED.torch_runtime, objects=())}, "what was mapped was predicted"),
        ({"trial": but(LOOKED.trial, device="cpu")}, "the trial ran on it"),
        ({"trial": trial()}, "every proof holds"),
        (
            {"bitsandbytes_runtime": but(LOOKED.bitsandbytes_runtime, library="libbitsandbytes_cpu.so")},
            "bitsandbytes runs on it",
        ),
        ({"linkage": None}, "what was mapped was predicted"),
    ],
)
def test_each_claim_can_fail(changes: dict[str, Any], claim: str) -> None:
    assert broken(but(LOOKED, **changes)) == [claim]


def test_a_prediction_that_differs_is_no_agreement() -> None:
    finding = Finding(id=PREDICTION, severity="note", confidence="confirmed", title="It differs")
    report = msgspec.structs.replace(diagnose(LOOKED, SUBJECT), findings=(finding,))
    assert [name for name, holds, _ in claims(report) if not holds] == ["what was mapped was predicted"]


def test_a_machine_without_a_gpu_shows_nothing_of_one() -> None:
    without = next(file for file in FILES if not read_machine(file).facts.gpus)
    held = {name: holds for name, holds, _ in claims(diagnose(read_machine(without).facts, SUBJECT))}
    assert not held["a GPU answers"] and not held["the trial ran on it"]
