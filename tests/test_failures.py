"""What a failed stage says."""

from __future__ import annotations

import pytest
from healthy import died, facts, hung, packages, raised, stage_run, trial

from doctor.facts import Failure, Package, StageRun
from doctor.failures import (
    all_failure_text,
    failed_runs,
    failure_text,
    first_cause,
    in_words,
    mentioned_modules,
    points_at,
    shows,
)

CHAIN = (
    ("ImportError", "cannot import name 'HybridCache' from 'transformers'"),
    ("RuntimeError", "Failed to import"),
)


def failure_of(run: StageRun) -> Failure:
    assert run.failure is not None
    return run.failure


def test_the_failed_stages_in_their_order() -> None:
    found = facts(trial=trial(raised("import-peft", "no"), died("import-torch"), stage_run("sft-step")))
    assert [run.stage for run in failed_runs(found)] == ["import-torch", "import-peft"]
    assert list(failed_runs(facts())) == []
    assert list(failed_runs(facts(trial="broken off"))) == []


def test_all_that_a_stage_said() -> None:
    run = raised("import-peft", "", chain=CHAIN)
    said = failure_text(StageRun(stage=run.stage, outcome="failed", failure=run.failure, noise="printed"))
    assert said.splitlines() == [
        "ImportError: cannot import name 'HybridCache' from 'transformers'",
        "RuntimeError: Failed to import",
        "printed",
    ]
    assert all_failure_text(
        facts(trial=trial(raised("import-peft", "one"), raised("import-trl", "two")))
    ) == ("ImportError: one\n\nImportError: two\n")
    assert all_failure_text(facts()) == ""


@pytest.mark.parametrize(
    ("run", "cause"),
    [
        (
            raised("import-peft", "", chain=CHAIN),
            "ImportError: cannot import name 'HybridCache' from 'transformers'",
        ),
        (died("import-torch", "SIGBUS", modules=("peft", "bitsandbytes")), "died SIGBUS in bitsandbytes"),
        (died("import-torch", "", chain=(("", "exit code 3"),)), "died  in exit code 3"),
        (hung("import-torch", modules=("torch",)), "hung  in torch"),
        (raised("import-torch", "", chain=()), ": "),
    ],
)
def test_the_first_cause_is_equal_for_equal_causes(run: StageRun, cause: str) -> None:
    assert first_cause(failure_of(run)) == cause


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (
            raised("import-peft", "", chain=CHAIN),
            "ImportError: cannot import name 'HybridCache' from 'transformers'",
        ),
        (raised("import-peft", "one\ntwo"), "ImportError: one"),
        (died("import-torch", "SIGBUS", modules=("bitsandbytes",)), "killed by SIGBUS in bitsandbytes"),
        (died("import-torch", "SIGKILL"), "killed by SIGKILL"),
        (died("import-torch", "", chain=(("", "exit code 3"),)), "the process ended: exit code 3"),
        (died("import-torch", ""), "the process ended: no reason given"),
        (hung("import-torch", modules=("torch",)), "it neither computes nor reads after 20 s in torch"),
        (hung("import-torch", chain=()), "it does not end"),
    ],
)
def test_a_failure_in_one_line(run: StageRun, words: str) -> None:
    assert in_words(failure_of(run)) == words


@pytest.mark.parametrize(
    ("message", "modules"),
    [
        ("cannot import name 'X' from 'peft' (/env/peft/__init__.py)", {"X", "peft"}),
        ("No module named 'transformers.modeling_layers'", {"transformers"}),
        ('The package "numpy" is broken', {"numpy"}),
        ("`torch.cuda` is not there", {"torch"}),
        ("undefined symbol: _ZN3c10", set()),
        ("file 'a b' and '/x/y.py'", set()),
    ],
)
def test_modules_that_a_message_names(message: str, modules: set[str]) -> None:
    assert mentioned_modules(raised("import-torch", message)) == modules


def test_the_innermost_module_of_the_stack_is_mentioned() -> None:
    assert mentioned_modules(died("import-torch", modules=("trl", "peft", "bitsandbytes"))) == {
        "bitsandbytes"
    }
    assert mentioned_modules(stage_run("import-torch")) == set()


@pytest.mark.parametrize(
    ("symptom", "text", "seen"),
    [
        ("file too short", "libx.so: file too short", True),
        ("a.c", "abc", False),
        ("re:a.c", "abc", True),
        ("re:^b", "abc", False),
        ("", "", True),
    ],
)
def test_a_text_shows_a_symptom(symptom: str, text: str, seen: bool) -> None:
    assert shows(symptom, text) is seen


def test_only_the_first_cause_is_read_for_names() -> None:
    chain = (("ImportError", "in 'numpy'"), ("RuntimeError", "in 'transformers'"))
    assert mentioned_modules(raised("import-peft", "", chain=chain)) == {"numpy"}


def test_a_failure_points_at_a_package_by_its_modules() -> None:
    run = raised("import-torch", "No module named 'yaml'")
    pyyaml = Package(name="pyyaml", version="6", location="/", installer="pip", modules=("yaml", "_yaml"))
    assert points_at(run, pyyaml, "pyyaml")
    assert not points_at(run, packages().installed["torch"], "torch")
    assert points_at(raised("import-torch", "in 'huggingface_hub.errors'"), None, "huggingface-hub")
