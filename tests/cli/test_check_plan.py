"""``check --plan``: a plan held against the machine, in both directions, and what cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from healthy import FACTS, but
from stubs import compiler_is_there
from stubs.running import PATIENCE_S, case, empty_python, environment

from doctor.cli.planned import Planned
from doctor.estimating import Estimators
from doctor.facts import Facts, Gap, Workload
from doctor.host import LocalHost
from doctor.memory.estimate import Device, Estimate, Moment, Part
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.target import Target

GIB = 1 << 30
PLAN = 'model = "llama-2-7b"\nmethod = "lora"\nbatch_size = 8\nsequence_length = 4096\n'


def estimate_of(plan: Plan, tier: Any = "formula") -> Estimate:
    """Ten GiB for each sequence of the batch: nobody takes it for a real figure."""
    return Estimate(
        plan=plan,
        tier=tier,
        parts={"logits": Part(amount_bytes=plan.batch_size * 10 * GIB, source="assumed")},
        peak_allocated_bytes=plan.batch_size * 10 * GIB,
        peak_reserved_bytes=plan.batch_size * 10 * GIB,
        context_bytes=0,
        error=0.1,
        moment=Moment(phase="backward", module="lm_head"),
        trainable_parameters=1,
        total_parameters=1,
    )


@pytest.fixture
def tiers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which tier was asked, in order; neither computes anything."""
    asked: list[str] = []

    def tier(name: str) -> Any:
        def estimates(
            self: Estimators, shape: ModelShape, plans: Sequence[Plan], device: Device
        ) -> Iterator[Estimate | Gap]:
            asked.append(name)
            return (estimate_of(plan, name) for plan in plans)

        return estimates

    monkeypatch.setattr(Estimators, "formula", tier("formula"))
    monkeypatch.setattr(Estimators, "trace", tier("trace"))
    return asked


def planned(folder: Path, text: str = PLAN, name: str = "plan.toml", model: str | None = None) -> Planned:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return Planned(LocalHost(), str(file), model)


def on(free_gib: float, facts: Facts = FACTS) -> Facts:
    assert facts.gpus
    return but(facts, gpus=(but(facts.gpus[0], memory_free_bytes=int(free_gib * GIB)),))


def workload(found: Planned, facts: Facts, *, traces: bool = False) -> Workload:
    told = found.workload(facts, Target(sys.executable, "this one"), traces=traces)
    assert isinstance(told, Workload)
    return told


def test_the_plan_is_held_against_what_is_free(tmp_path: Path, tiers: list[str]) -> None:
    told = workload(planned(tmp_path), on(16))
    assert (told.needed_bytes, told.free_bytes, told.tier) == (80 * GIB, 16 * GIB, "formula")
    assert told.moment == "in the backward pass, in lm_head"
    assert "8 x 4096 tokens" in told.plan and told.model == "llama-2-7b"
    [batch] = [one for one in told.reliefs if one.title == "batch of 1 with accumulation"]
    assert (batch.saves_bytes, batch.fits) == (70 * GIB, True)


def test_a_plan_that_fits_needs_no_relief(tmp_path: Path, tiers: list[str]) -> None:
    told = workload(planned(tmp_path), on(100))
    assert told.reliefs == () and tiers == ["formula"]


def test_a_whole_check_traces_and_a_quick_one_does_not(tmp_path: Path, tiers: list[str]) -> None:
    found = planned(tmp_path)
    assert workload(found, on(100), traces=True).tier == "trace"
    assert workload(found, on(100), traces=False).tier == "formula"


def test_a_target_without_torch_is_not_traced_and_that_is_said(tmp_path: Path, tiers: list[str]) -> None:
    assert FACTS.packages
    installed = {name: one for name, one in FACTS.packages.installed.items() if name != "peft"}
    bare = but(on(100), packages=msgspec.structs.replace(FACTS.packages, installed=installed))
    told = workload(planned(tmp_path), bare, traces=True)
    assert told.tier == "formula" and "Not traced: peft is not installed." in told.assumed


def test_without_a_gpu_nothing_is_free_or_full(tmp_path: Path, tiers: list[str]) -> None:
    assert workload(planned(tmp_path), but(FACTS, gpus=())).free_bytes is None


def test_an_estimate_that_fails_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(Estimators, "formula", fails)
    told = planned(tmp_path).workload(on(16), Target(sys.executable, "this one"), traces=False)
    assert told == Gap(
        about="workload", kind="failed", reason="the estimate failed: ZeroDivisionError: of ours"
    )


def test_what_was_assumed_is_told(tmp_path: Path, tiers: list[str]) -> None:
    text = PLAN + "attention = 'sdpa'\nloop = 'sft'\n"
    told = workload(planned(tmp_path, text), on(100))
    assert any("SFTTrainer of TRL" in sentence for sentence in told.assumed)


@pytest.mark.parametrize(
    ("text", "name", "model", "complaint"),
    [
        ("rank = 0\n", "plan.toml", "llama-2-7b", "line 1: 0 is no whole number"),
        ("rank = 8\n", "plan.toml", None, "does not say which model"),
        ('model = "no-such-model"\n', "plan.toml", None, "no-such-model"),
        ("print(1)\n", "train.py", None, "no model is trained"),
        ("def (\n", "train.py", None, ""),
        ("x", "plan.txt", None, "is no plan by its name"),
    ],
)
def test_what_states_no_plan_ends_with_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    name: str,
    model: str | None,
    complaint: str,
) -> None:
    import typer

    with pytest.raises(typer.Exit) as left:
        planned(tmp_path, text, name, model)
    said = capsys.readouterr().err
    assert left.value.exit_code == 2 and complaint in said and "Traceback" not in said


def check(tmp_path: Path, text: str, *options: str, name: str = "plan.toml") -> tuple[int, dict[str, Any]]:
    """A whole command on a machine with one T4 that has about 15 GiB free."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    words = [
        "check",
        "--quick",
        "--python",
        empty_python(),
        "--plan",
        str(file),
        "--format",
        "json",
        *options,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "doctor", *words],
        capture_output=True,
        text=True,
        env=environment(case("t4")),
        timeout=PATIENCE_S,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {"error": done.stderr}


def ids(report: dict[str, Any]) -> dict[str, str]:
    return {one["id"]: one["severity"] for one in report["findings"]}


needs_stubs = pytest.mark.skipif(not compiler_is_there(), reason="the stubs need Linux and cc")


@needs_stubs
def test_a_7b_model_in_full_does_not_fit_a_t4(tmp_path: Path) -> None:
    """7 billion weights in bfloat16 are 12.6 GiB, gradients as much again, AdamW twice that."""
    code, report = check(tmp_path, 'model = "llama-2-7b"\nmethod = "full"\nbatch_size = 1\n')
    assert code == 1 and ids(report)["workload/does-not-fit"] == "error"
    load = report["facts"]["workload"]
    assert load["needed_bytes"] > 50 * GIB and load["device"] == "Tesla T4"
    [finding] = [one for one in report["findings"] if one["id"] == "workload/does-not-fit"]
    assert finding["fixes"][0]["commands"][0][:3] == ["lora-doctor", "fit", "--plan"]


@needs_stubs
def test_a_qlora_of_a_short_length_fits_a_t4(tmp_path: Path) -> None:
    text = 'model = "llama-2-7b"\nmethod = "qlora"\nrank = 8\nbatch_size = 1\nsequence_length = 512\n'
    _, report = check(tmp_path, text)
    assert "workload/does-not-fit" not in ids(report)
    load = report["facts"]["workload"]
    assert 3 * GIB < load["needed_bytes"] < 10 * GIB and load["reliefs"] == []


@needs_stubs
def test_a_training_script_is_a_plan(tmp_path: Path) -> None:
    text = (
        "from trl import SFTConfig, SFTTrainer\n"
        "SFTTrainer('meta-llama/Llama-2-7b-hf', args=SFTConfig('out', max_length=4096)).train()\n"
    )
    code, report = check(tmp_path, text, "--model", "llama-2-7b", name="train.py")
    assert code == 1 and ids(report)["workload/does-not-fit"] == "error"
    assert "The batch size is 8, the default of TrainingArguments." in report["facts"]["workload"]["assumed"]
    assert report["verdict"] != "undetermined"


@needs_stubs
def test_an_empty_plan_ends_with_2_and_one_line(tmp_path: Path) -> None:
    code, report = check(tmp_path, "", "--model", "llama-2-7b")
    assert code == 2 and "names nothing" in report["error"]
