"""The trial's order of children and stages, on children whose words are written down beforehand."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes import HUNG, NOT_STARTED, FakeHost, Reply, emits, ended
from healthy import PYTHON, SITE, TARGET, VERSIONS, finished, passed, started

from doctor.facts import StageRun
from doctor.host import LocalHost
from doctor.smoke.trial import LAUNCHER, OFFLINE, STAGES, Trial
from doctor.target import Target

FLASH = "import-flash-attn"
ORDINARY = tuple(stage for stage in STAGES if stage != FLASH)
EVERY = tuple(stage for stage in ORDINARY if stage != "trainer-step")
IMPORTS = tuple(stage for stage in EVERY if stage.startswith("import-"))


def raising(stage: str, **failure: Any) -> list[dict[str, Any]]:
    told = {
        "chain": [["ImportError", "no such name"]],
        "modules": ["torch"],
        "frames": ["f:1 in x"],
        **failure,
    }
    return [started(stage), finished(stage, "raised", failure=told)]


def tried(
    *replies: Reply, installed: Sequence[str] = tuple(VERSIONS), env: dict[str, str] | None = None
) -> tuple[Trial, FakeHost]:
    """A trial over children that answer in turn."""
    host = FakeHost(env=env).on(PYTHON, replies=list(replies))
    trial = Trial(host, TARGET)
    running = threading.Thread(target=trial.run, args=(set(installed), [SITE]), daemon=True)
    running.start()
    running.join(10)
    assert not running.is_alive(), "the trial never ends"
    assert host.folders_open == 0
    return trial, host


def outcomes(trial: Trial) -> dict[str, str]:
    return {stage: run["outcome"] for stage, run in trial.runs.items()}


def run_of(trial: Trial, stage: str) -> StageRun:
    """A stage's run as the fact that it becomes."""
    return msgspec.convert(trial.runs[stage], StageRun)


def asked(host: FakeHost) -> list[list[str]]:
    """The stages that each child was told to try."""
    return [call.config["stages"] for call in host.calls]


def test_a_healthy_target_pays_for_one_child() -> None:
    trial, host = tried(emits(*passed(*EVERY)))
    assert outcomes(trial) == dict.fromkeys(EVERY, "ok")
    assert asked(host) == [list(EVERY)]
    assert run_of(trial, "import-torch") == StageRun(
        stage="import-torch", outcome="ok", seconds=1.0, peak_bytes=500 << 20
    )


def test_the_step_of_transformers_is_tried_where_trl_is_not() -> None:
    without_trl = [name for name in VERSIONS if name != "trl"]
    stages = [stage for stage in ORDINARY if stage not in ("import-trl", "sft-step")]
    trial, host = tried(emits(*passed(*stages)), installed=without_trl)
    assert asked(host) == [stages]
    assert trial.runs["import-trl"] == {
        "stage": "import-trl",
        "outcome": "blocked",
        "blocked_by": "trl is not installed",
    }
    assert trial.runs["sft-step"]["blocked_by"] == "import-trl"
    assert trial.runs["trainer-step"]["outcome"] == "ok"


def test_nothing_installed_starts_no_child() -> None:
    trial, host = tried(installed=())
    assert host.calls == []
    assert set(outcomes(trial).values()) == {"blocked"}
    assert set(trial.runs) == set(ORDINARY)


def test_flash_attention_is_tried_last_and_only_where_it_is() -> None:
    stages = (*EVERY, FLASH)
    trial, host = tried(emits(*passed(*EVERY), started(FLASH), code=-11), installed=(*VERSIONS, "flash-attn"))
    assert asked(host) == [list(stages)]
    assert outcomes(trial) == {**dict.fromkeys(EVERY, "ok"), FLASH: "failed"}


def test_a_failed_import_ends_its_child_and_another_takes_up_the_rest() -> None:
    first = emits(*passed("import-torch", "see-gpu", "import-bitsandbytes"), *raising("import-transformers"))
    rest = ["import-accelerate", "import-peft", "import-trl", "sft-step"]
    trial, host = tried(first, emits(*passed(*rest)))
    assert asked(host)[1] == rest
    blocked = {stage: run["blocked_by"] for stage, run in trial.runs.items() if run["outcome"] == "blocked"}
    assert blocked == {
        "load-4bit": "import-transformers",
        "lora-step": "import-transformers",
        "qlora-step": "load-4bit",
        "save-load": "qlora-step",
    }
    failure = run_of(trial, "import-transformers").failure
    assert failure is not None and failure.kind == "raised"
    assert failure.chain == (("ImportError", "no such name"),)
    assert (failure.modules, failure.frames) == (("torch",), ("f:1 in x",))


def test_every_import_may_fail_and_each_has_its_own_child() -> None:
    others = [stage for stage in IMPORTS if stage != "import-torch"]
    first = emits(*passed("import-torch", "see-gpu"), *raising(others[0]))
    trial, host = tried(first, *(emits(*raising(stage)) for stage in others[1:]))
    assert len(host.calls) == len(others)
    assert {
        stage: outcome for stage, outcome in outcomes(trial).items() if outcome == "failed"
    } == dict.fromkeys(others, "failed")
    assert set(trial.runs) == set(EVERY)


def test_without_torch_nothing_else_is_tried() -> None:
    trial, host = tried(emits(*raising("import-torch")))
    assert len(host.calls) == 1
    assert outcomes(trial) == {**dict.fromkeys(EVERY, "blocked"), "import-torch": "failed"}


def test_a_step_that_fails_does_not_end_its_child() -> None:
    events = [*passed(*EVERY[:8]), *raising("lora-step"), *passed(*EVERY[9:])]
    trial, host = tried(emits(*events))
    assert len(host.calls) == 1
    assert [stage for stage, outcome in outcomes(trial).items() if outcome == "failed"] == ["lora-step"]


def test_a_stage_that_the_child_itself_blocks() -> None:
    blocked = [started("qlora-step"), finished("qlora-step", "blocked", blocked_by="load-4bit")]
    events = [event for event in passed(*EVERY) if event["stage"] != "qlora-step"]
    trial, _ = tried(emits(*events[:18], *blocked, *events[18:]))
    run = run_of(trial, "qlora-step")
    assert (run.outcome, run.blocked_by, run.failure) == ("blocked", "load-4bit", None)


STACK_OF_DEATH = f"""\
Fatal Python error: Bus error

Current thread 0x00007f0000000000 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 376 in __init__
  File "{SITE}/bitsandbytes/cextension.py", line 331 in get_native_library
  File "{SITE}/bitsandbytes/__init__.py", line 13 in <module>
  File "{SITE}/peft/import_utils.py", line 30 in is_bnb_available
  File "<stdin>", line 90 in import_bitsandbytes

Extension modules: numpy.core._multiarray_umath, torch._C (total: 20)
"""


def test_a_death_names_its_stage_its_signal_and_its_place() -> None:
    first = emits(*passed("import-torch", "see-gpu"), started("import-bitsandbytes"), STACK_OF_DEATH, code=-7)
    rest = [stage for stage in EVERY[3:] if stage not in ("load-4bit", "qlora-step", "save-load")]
    trial, host = tried(first, emits(*passed(*rest)))
    assert asked(host)[1] == rest
    run = run_of(trial, "import-bitsandbytes")
    assert run.outcome == "failed" and run.failure is not None
    assert (run.failure.kind, run.failure.signal) == ("died", "SIGBUS")
    assert run.failure.modules == ("peft", "bitsandbytes")
    assert run.failure.frames[-1] == "/usr/lib/python3.11/ctypes/__init__.py:376 in __init__"
    assert len(run.failure.frames) == 5
    assert run.failure.chain == (("", "Fatal Python error: Bus error"),)
    assert "Fatal Python error: Bus error" in run.noise
    assert trial.runs["load-4bit"]["blocked_by"] == "import-bitsandbytes"


def test_of_several_threads_the_one_that_died_is_named() -> None:
    other = f"""\
Fatal Python error: Segmentation fault

Thread 0x00007f1111111111 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait
  File "{SITE}/tqdm/_monitor.py", line 60 in run
  File "/usr/lib/python3.11/threading.py", line 995 in _bootstrap

Current thread 0x00007f0000000000 (most recent call first):
  File "{SITE}/torch/__init__.py", line 290 in _load_global_deps
"""
    trial, _ = tried(emits(started("import-torch"), other, code=-11))
    failure = run_of(trial, "import-torch").failure
    assert failure is not None
    assert failure.frames == (f"{SITE}/torch/__init__.py:290 in _load_global_deps",)
    assert failure.modules == ("torch",)


def test_a_child_is_told_whether_quantising_has_killed_another() -> None:
    first = emits(*passed(*EVERY[:7]), started("load-4bit"), code=-11)
    _, host = tried(first, emits(*passed("lora-step", "sft-step")))
    assert [call.config["quantised"] for call in host.calls] == [True, False]
    _, host = tried(emits(*passed(*EVERY[:8]), started("lora-step"), code=-11), emits(*passed(*EVERY[9:])))
    assert [call.config["quantised"] for call in host.calls] == [True, True]


def test_a_death_without_a_word() -> None:
    trial, _ = tried(emits(started("import-torch"), code=-9))
    run = run_of(trial, "import-torch")
    assert run.failure is not None
    assert (run.failure.signal, run.failure.modules, run.failure.frames) == ("SIGKILL", (), ())
    assert run.failure.chain == (("", "exit code -9"),)


def test_an_exit_by_the_library_itself() -> None:
    trial, _ = tried(emits(started("import-torch"), "no licence\n", code=3))
    run = run_of(trial, "import-torch")
    assert run.failure is not None
    assert (run.failure.kind, run.failure.signal) == ("died", "")
    assert run.failure.chain == (("", "exit code 3"),)
    assert run.noise == "no licence"


def test_a_hang_names_its_stage_and_where_it_hangs() -> None:
    stack = STACK_OF_DEATH.replace("Bus error", "Aborted")
    hanging = emits(*passed("import-torch"), started("see-gpu"), stack, code=-6, timed_out=True, seconds=21.0)
    trial, host = tried(hanging, emits(*passed(*EVERY[2:])))
    run = run_of(trial, "see-gpu")
    assert run.failure is not None
    assert (run.failure.kind, run.failure.signal) == ("hung", "")
    assert run.failure.modules[-1] == "bitsandbytes"
    assert asked(host)[1] == list(EVERY[2:])


@pytest.mark.parametrize(
    ("idle", "words"),
    [(True, "neither computes nor reads after "), (False, "is not done, and still computes, after ")],
)
def test_a_hang_says_whether_the_child_still_computes(idle: bool, words: str) -> None:
    hanging = emits(started("import-torch"), code=-9, timed_out=True, idle=idle, seconds=21.0)
    trial, _ = tried(hanging)
    failure = run_of(trial, "import-torch").failure
    assert failure is not None
    assert failure.chain[0][1].startswith(words)


def test_a_child_that_cannot_be_started() -> None:
    trial, _ = tried(*[NOT_STARTED] * 2)
    run = run_of(trial, "import-torch")
    assert run.failure is not None and "No such file" in run.failure.chain[0][1]
    assert outcomes(trial)["see-gpu"] == "blocked"


@pytest.mark.parametrize(
    "reply",
    [
        ended(),
        ended("noise and no event\n"),
        ended(code=1),
        HUNG,
        emits(started("import-torch")),
        emits(*passed("import-torch")),
    ],
    ids=["nothing", "noise", "exit 1", "hang", "start alone", "first only"],
)
def test_a_child_without_progress_never_keeps_the_trial_going(reply: Reply) -> None:
    trial, host = tried(*[reply] * len(EVERY))
    assert set(EVERY) <= set(trial.runs)
    assert len(host.calls) <= len(EVERY)
    assert "ok" not in {outcome for stage, outcome in outcomes(trial).items() if stage != "import-torch"}


def test_a_child_that_repeats_itself_does_not_keep_the_trial_going() -> None:
    first = emits(*passed("import-torch"), *raising("see-gpu"))
    tried(first, *[emits(*raising("see-gpu"))] * 100)


def test_a_child_that_ends_well_between_stages_is_not_believed() -> None:
    trial, _ = tried(emits(*passed("import-torch")), emits(*passed(*EVERY[2:])))
    run = run_of(trial, "see-gpu")
    assert run.outcome == "failed" and run.failure is not None
    assert run.failure.kind == "died"


def test_what_is_printed_belongs_to_the_stage_that_ran() -> None:
    trial, _ = tried(
        emits(
            "before all\n",
            started("import-torch"),
            "of torch\n",
            finished("import-torch"),
            *(event for stage in EVERY[1:] for event in (started(stage), f"of {stage}\n", finished(stage))),
        )
    )
    assert run_of(trial, "import-torch").noise == "of torch"
    assert run_of(trial, "sft-step").noise == "of sft-step"


def test_of_much_noise_the_end_is_kept() -> None:
    noise = "".join(f"line {n}\n" for n in range(1000))
    trial, _ = tried(emits(started("import-torch"), noise, finished("import-torch"), *passed(*EVERY[1:])))
    kept = run_of(trial, "import-torch").noise
    assert kept.endswith("line 999") and len(kept) <= 2000


def test_proofs_and_details_are_kept() -> None:
    proof = {"name": "nf4-error-band", "holds": False, "seen": "0.3", "wanted": "0.05 to 0.09"}
    events = passed(*EVERY)
    events[15] = finished("load-4bit", proofs=[proof], details={"device": "cpu"})
    trial, _ = tried(emits(*events))
    [kept] = run_of(trial, "load-4bit").proofs
    assert (kept.name, kept.holds, kept.seen) == ("nf4-error-band", False, "0.3")
    assert trial.details["load-4bit"] == {"device": "cpu"}


def test_each_stage_is_told_as_it_starts() -> None:
    told: list[str] = []
    host = FakeHost().on(PYTHON, replies=emits(*passed(*EVERY)))
    trial = Trial(host, TARGET)
    trial.on_stage = told.append
    trial.run(set(VERSIONS), [SITE])
    assert told == list(EVERY)


def test_a_stage_may_be_awaited_before_it_has_run() -> None:
    gate = threading.Event()

    def reply(call: Any) -> Any:
        assert gate.wait(10)
        return emits(*passed(*EVERY))(call)

    trial = Trial(FakeHost().on(PYTHON, replies=reply), TARGET)
    waiting: list[Any] = []
    asking = threading.Thread(target=lambda: waiting.append(trial.outcome_of("sft-step")), daemon=True)
    asking.start()
    running = threading.Thread(target=trial.run, args=(set(VERSIONS), [SITE]), daemon=True)
    running.start()
    asking.join(0.1)
    assert waiting == []
    gate.set()
    asking.join(10)
    running.join(10)
    assert waiting[0]["outcome"] == "ok"


def test_whoever_waits_is_told_when_the_trial_breaks_off() -> None:
    class Full(FakeHost):
        def temporary_folder(self) -> Any:
            raise OSError(28, "No space left on device")

    trial = Trial(Full(), TARGET)
    with pytest.raises(OSError, match="No space left"):
        trial.run(set(VERSIONS), [SITE])
    assert trial.outcome_of("import-torch") is None


def test_children_are_offline_in_a_folder_of_their_own_and_of_no_launcher() -> None:
    ranks = dict.fromkeys(LAUNCHER, "1")
    _, host = tried(
        emits(*passed(*EVERY)), env={"KEPT": "yes", "HF_HOME": "/home/ann/hf", "HF_HUB_OFFLINE": "0", **ranks}
    )
    [call] = host.calls
    assert call.env is not None and call.merge
    assert call.env["KEPT"] == "yes"
    assert {name: call.env[name] for name in OFFLINE} == OFFLINE
    assert call.env["HF_HOME"] == call.env["TMPDIR"] == call.config["folder"]
    assert not set(ranks) & set(call.env)
    assert call.patience.ask_stack and call.patience.idle_s == 20.0


def test_a_short_limit_shortens_the_patience_with_silence_too() -> None:
    host = FakeHost().on(PYTHON, replies=emits(*passed(*EVERY)))
    trial = Trial(host, TARGET)
    trial.stage_limit_s = 5.0
    trial.run(set(VERSIONS), [SITE])
    assert host.calls[0].patience.limit_s == 5.0
    assert host.calls[0].patience.idle_s == 5.0


LIBRARY = {
    "raises": "raise ImportError('of our own making')",
    "dies": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "exits": "import os; print('leaving', flush=True); os._exit(5)",
    "hangs": "import time; time.sleep(60)",
    "leaves": "raise SystemExit(2)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
@pytest.mark.parametrize(
    ("how", "kind", "signal"),
    [
        ("raises", "raised", ""),
        ("dies", "died", "SIGSEGV"),
        ("exits", "died", ""),
        ("hangs", "hung", ""),
        ("leaves", "raised", ""),
    ],
)
def test_a_real_child_that_fails_in_a_library_of_ours(
    how: str, kind: str, signal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(f"def load():\n    {LIBRARY[how]}\nload()\n")
    monkeypatch.chdir(tmp_path)
    trial = Trial(LocalHost(), Target(sys.executable, "--python"))
    trial.stage_limit_s = 1.0 if how == "hangs" else 60.0
    trial.run({"torch"}, [str(tmp_path)])
    failure = run_of(trial, "import-torch").failure
    assert failure is not None
    assert (failure.kind, failure.signal) == (kind, signal)
    assert set(outcomes(trial).values()) == {"failed", "blocked"}
    if how != "exits":
        assert failure.modules[-1] == "torch"
        assert any("__init__.py:2 in load" in frame for frame in failure.frames)
