"""What probes make of the trial."""

from __future__ import annotations

import threading
from typing import Any

import healthy
import pytest
from fakes import HUNG, NOT_STARTED, emits, ended
from healthy import DETAILS, STAGES, finished, passed, started, survey

from doctor.facts import BitsandbytesRuntime, Gap, TorchRuntime, Trial
from doctor.probes import Looks, bitsandbytes_runtime, torch_runtime, trial

PROBES = {
    "torch_runtime": torch_runtime.probe,
    "bitsandbytes_runtime": bitsandbytes_runtime.probe,
    "trial": trial.probe,
}


def looks(**scripted: Any) -> Looks:
    return Looks(healthy.host(**scripted), healthy.TARGET)


def without(*names: str) -> Looks:
    """The machine with some packages not installed."""
    found = [one for one in healthy.SURVEY["packages"]["found"] if one["name"] not in names]
    return looks(survey=emits(*survey(packages={"found": found})))


def failing(stage: str, *earlier: str) -> Looks:
    """A trial in which one stage raises; a second child takes up the rest."""
    failure = {"chain": [["ImportError", "no"]], "modules": [], "frames": []}
    rest = [name for name in STAGES if name not in (*earlier, stage)]
    first = emits(*passed(*earlier), started(stage), finished(stage, "raised", failure=failure, details={}))
    return looks(trial=[first, emits(*passed(*rest))])


@pytest.mark.parametrize("name", PROBES)
def test_a_quick_look_asks_nothing(name: str) -> None:
    at = looks()
    at.quick = True
    found = PROBES[name](at)
    assert isinstance(found, Gap) and (found.about, found.kind) == (name, "not-asked")
    assert "--quick" in found.reason


@pytest.mark.parametrize("reply", [NOT_STARTED, HUNG, ended(code=3)])
@pytest.mark.parametrize("name", PROBES)
def test_an_interpreter_that_does_not_run_has_no_trial(name: str, reply: Any) -> None:
    at = looks(survey=reply)
    found = PROBES[name](at)
    assert isinstance(found, Gap) and (found.about, found.kind) == (name, "failed")
    assert found.reason == at.survey.result().trouble


def test_what_imports_show() -> None:
    at = looks()
    assert torch_runtime.probe(at) == healthy.FACTS.torch_runtime
    assert bitsandbytes_runtime.probe(at) == healthy.FACTS.bitsandbytes_runtime
    assert trial.probe(at) == healthy.FACTS.trial


def test_torch_is_known_though_the_look_for_gpus_kills_the_child() -> None:
    begun = emits(*passed("import-torch"), started("see-gpu"), code=-11)
    rest = emits(*passed(*STAGES[2:]))
    found = torch_runtime.probe(looks(trial=[begun, rest]))
    assert isinstance(found, TorchRuntime)
    assert (found.version, found.cuda_available, found.bf16) == (healthy.VERSIONS["torch"], None, None)


@pytest.mark.parametrize(
    ("name", "stage", "earlier"),
    [
        ("torch_runtime", "import-torch", ()),
        ("bitsandbytes_runtime", "import-bitsandbytes", ("import-torch", "see-gpu")),
    ],
)
def test_an_import_that_fails_leaves_a_gap(name: str, stage: str, earlier: tuple[str, ...]) -> None:
    found = PROBES[name](failing(stage, *earlier))
    assert found == Gap(about=name, kind="failed", reason=f"{stage} failed")


def test_an_import_that_another_failure_blocks() -> None:
    found = bitsandbytes_runtime.probe(failing("import-torch"))
    assert isinstance(found, Gap)
    assert (found.kind, found.reason) == ("failed", "import-torch")


@pytest.mark.parametrize(
    ("name", "package"), [("torch_runtime", "torch"), ("bitsandbytes_runtime", "bitsandbytes")]
)
def test_what_is_not_installed_does_not_apply(name: str, package: str) -> None:
    found = PROBES[name](without(package))
    assert found == Gap(about=name, kind="not-applicable", reason=f"{package} is not installed")


def test_an_answer_in_another_form_is_a_gap() -> None:
    strange = finished("import-torch", details={**DETAILS["import-torch"], "arch_list": 7})
    events = [started("import-torch"), strange, *passed(*STAGES[1:])]
    found = torch_runtime.probe(looks(trial=emits(*events)))
    assert isinstance(found, Gap) and found.kind == "failed"
    assert "arch_list" in found.reason


def test_an_answer_that_lacks_what_is_needed_is_a_gap() -> None:
    events = [started("import-torch"), finished("import-torch", details={}), *passed(*STAGES[1:])]
    found = torch_runtime.probe(looks(trial=emits(*events)))
    assert isinstance(found, Gap) and "version" in found.reason


def test_bitsandbytes_without_a_library() -> None:
    details = {
        **DETAILS["import-bitsandbytes"],
        "library": None,
        "handle": "ErrorHandlerMockBNBNativeLibrary",
    }
    events = [
        *passed("import-torch", "see-gpu"),
        started("import-bitsandbytes"),
        finished("import-bitsandbytes", details=details),
        *passed(*STAGES[3:]),
    ]
    found = bitsandbytes_runtime.probe(looks(trial=emits(*events)))
    assert isinstance(found, BitsandbytesRuntime)
    assert (found.library, found.handle) == (None, "ErrorHandlerMockBNBNativeLibrary")


def test_nothing_of_the_stack_has_no_trial() -> None:
    found = trial.probe(without(*healthy.VERSIONS))
    assert found == Gap(about="trial", kind="not-applicable", reason="no library of the stack is installed")


def test_a_stack_without_torch_is_not_called_absent() -> None:
    found = trial.probe(without("torch"))
    assert isinstance(found, Trial) or "no library of the stack is installed" not in found.reason


def device_told(details: dict[str, dict[str, Any]]) -> str | None:
    """The device of a trial whose stages passed with these details."""
    events = [
        {**event, "details": details.get(event["stage"], {})} if event["event"] == "end" else event
        for event in passed(*STAGES)
    ]
    found = trial.probe(looks(trial=emits(*events)))
    assert isinstance(found, Trial)
    return found.device


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_the_device_on_which_the_steps_ran(device: str) -> None:
    assert device_told({"load-4bit": {"device": device}, "sft-step": {"device": "other"}}) == device
    assert device_told({}) is None


@pytest.mark.parametrize("stage", ["lora-step", "sft-step"])
def test_the_device_is_that_of_the_first_step_that_names_one(stage: str) -> None:
    assert device_told({stage: {"device": "cuda:0"}}) == "cuda:0"


def test_a_trial_that_never_begins_ends_all_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    at = looks()
    monkeypatch.setattr(at, "_try", lambda: 1 // 0)
    outcomes: list[Any] = []
    asking = threading.Thread(target=lambda: outcomes.append(at.stage("import-torch")), daemon=True)
    asking.start()
    asking.join(1.0)
    assert outcomes == [None]
