"""Imports that fail, die or hang, libraries that are absent, and what the trial shows."""

from __future__ import annotations

from typing import Any

import healthy
import msgspec
import pytest
from healthy import PYTHON, SITE, VERSIONS, but, died, hung, packages, raised, stage_run, trial

from doctor.facts import Facts, Proof, StageRun
from doctor.findings import Severity
from doctor.stack import STACK

from .gpu_machines import machine
from .judging import case, check, facts, findings, ids, of

LOOKED_PAST = (
    "Using `bitsandbytes` 8-bit quantization requires Accelerate: and the latest version of bitsandbytes"
)
SEES_NONE = but(
    healthy.FACTS.torch_runtime, cuda_available=False, device_count=0, devices=(), capabilities=(), bf16=None
)
FRAMES = (f"{SITE}/peft/__init__.py:3 in <module>", f"{SITE}/peft/model.py:9 in f")


def without(*names: str, **changes: Any) -> Facts:
    return facts(packages=packages(**dict.fromkeys(names)), **changes)


def proof(name: str, holds: bool = False) -> Proof:
    return Proof(name=name, holds=holds, seen="0.31", wanted="0.05 to 0.09")


SEVERITIES: dict[str, Severity] = {
    "torch": "error",
    "bitsandbytes": "warning",
    "transformers": "error",
    "accelerate": "error",
    "peft": "error",
    "trl": "note",
}
HITS = {
    **{
        f"{library} raises": case(
            f"{library}/import-failed",
            "error",
            facts(trial=trial(raised(f"import-{library}", "no such name", frames=FRAMES))),
            f"{library} {VERSIONS[library]} is installed and cannot be imported: ImportError: no such name",
            seen=(f"{library}: ImportError: no such name", f"at: {FRAMES[-1]}"),
            command=f"{PYTHON} -m pip install --force-reinstall",
        )
        for library in STACK
    },
    **{
        f"{library} dies": case(
            f"{library}/import-crashed",
            "error",
            facts(trial=trial(died(f"import-{library}", "SIGSEGV", modules=("trl", "numpy")))),
            f"Importing {library} {VERSIONS[library]} kills the interpreter: killed by SIGSEGV in numpy",
            command="numpy==2.4.1",
        )
        for library in STACK
    },
    **{
        f"{library} hangs": case(
            f"{library}/import-hung",
            "error",
            facts(trial=trial(hung(f"import-{library}"))),
            f"Importing {library} {VERSIONS[library]} hangs: it neither computes nor reads after 20 s",
        )
        for library in STACK
    },
    **{
        f"{library} is absent": case(
            f"{library}/missing",
            severity,
            without(library),
            f"{library} is not installed in the target",
            seen=(f"{library}: not installed -> installed",),
            command=f"{PYTHON} -m pip install {library}",
        )
        for library, severity in SEVERITIES.items()
    },
    **{
        f"flash-attn {verb}": case(
            f"flash-attn/import-{fault}",
            "error",
            facts(packages=packages(**{"flash-attn": "2.8.3"}), trial=trial(run)),
            "flash-attn 2.8.3",
            command=f"{PYTHON} -m pip uninstall -y flash-attn",
        )
        for verb, fault, run in (
            ("raises", "failed", raised("import-flash-attn", "no such name")),
            ("dies", "crashed", died("import-flash-attn", "SIGSEGV", modules=("flash_attn",))),
            ("hangs", "hung", hung("import-flash-attn")),
        )
    },
    "several are absent": case(
        "python/stack-missing",
        "error",
        without("transformers", "peft", "trl"),
        "transformers and peft are not installed in the target",
        command=f"{PYTHON} -m pip install transformers peft",
    ),
    "all are absent": case(
        "python/stack-missing",
        "error",
        facts(packages=msgspec.structs.replace(packages(), installed={})),
        "torch, transformers, accelerate and peft are not installed",
        command="lora-doctor check --all-environments",
    ),
    "a step fails": case(
        "smoke/stage-failed",
        "error",
        facts(
            trial=trial(
                raised("qlora-step", "element 0 does not require grad", "RuntimeError", frames=FRAMES)
            )
        ),
        "The stage qlora-step of the trial run fails: RuntimeError: element 0 does not require grad",
        seen=(f"at: {FRAMES[-1]}",),
    ),
    "a step dies": case(
        "smoke/stage-failed",
        "error",
        facts(trial=trial(died("see-gpu"))),
        "see-gpu of the trial run fails: killed by",
    ),
    "a step ends with wrong numbers": case(
        "smoke/wrong-result",
        "error",
        facts(trial=trial(stage_run("load-4bit", proofs=(proof("nf4-error-band"), proof("frozen", True))))),
        "The stage load-4bit of the trial run ends with wrong numbers: nf4-error-band",
        seen=("nf4-error-band: 0.31 -> 0.05 to 0.09",),
    ),
    "4 bits want a GPU": case(
        "bitsandbytes/quantises-on-gpu-only",
        "note",
        facts(
            gpus=(),
            torch_runtime=SEES_NONE,
            trial=trial(raised("load-4bit", "No GPU found. A GPU is needed for quantization.")),
        ),
        "bitsandbytes 0.50.2 quantises on a GPU only",
        beside=("gpu/not-started",),
    ),
    "transformers looks past bitsandbytes where torch sees no GPU": case(
        "bitsandbytes/quantises-on-gpu-only",
        "note",
        facts(gpus=(), torch_runtime=SEES_NONE, trial=trial(raised("load-4bit", LOOKED_PAST, "ImportError"))),
        f"transformers {VERSIONS['transformers']} with bitsandbytes 0.50.2 quantises on a GPU only",
        beside=("gpu/not-started",),
    ),
    "transformers misses bitsandbytes beside a GPU": case(
        "smoke/stage-failed",
        "error",
        facts(trial=trial(raised("load-4bit", LOOKED_PAST, "ImportError"))),
        "The stage load-4bit of the trial run fails",
    ),
}

GPU_HERE = "requires CUDA, but CUDA is not available"
NOISE = f"UserWarning: sonic-moe kernel {GPU_HERE}; No GPU found. A GPU is needed for quantization"


@pytest.mark.parametrize(
    "run",
    [
        raised("lora-step", "boom", "RuntimeError"),
        raised("load-4bit", f"DeepGEMM kernel {GPU_HERE}", "ImportError"),
        raised("load-4bit", "No GPU found. A GPU is needed for quantization.", "RuntimeError"),
    ],
)
def test_beside_a_gpu_that_torch_sees_a_stage_has_failed(run: StageRun) -> None:
    assert ids(facts(trial=trial(but(run, noise=NOISE)))) == ["smoke/stage-failed"]


def test_what_was_printed_beside_another_error_excuses_nothing() -> None:
    run = but(raised("load-4bit", "boom", "RuntimeError"), noise=f"{NOISE} {LOOKED_PAST}")
    seen = ids(facts(gpus=(), torch_runtime=SEES_NONE, trial=trial(run)))
    assert "smoke/stage-failed" in seen and "bitsandbytes/quantises-on-gpu-only" not in seen


MISSES = {
    "every proof holds": facts(trial=trial(stage_run("load-4bit", proofs=(proof("nf4-error-band", True),)))),
    "a stage that another blocks": facts(
        trial=trial(stage_run("qlora-step", outcome="blocked", blocked_by="load-4bit"))
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


def test_a_failed_step_breaks_itself() -> None:
    given = facts(trial=trial(raised("qlora-step", "no"), raised("sft-step", "no")))
    assert [finding.breaks for finding in findings(given)] == [("qlora-step",), ("sft-step",)]


def test_wrong_numbers_break_the_stage_that_made_them() -> None:
    given = facts(trial=trial(stage_run("lora-step", proofs=(proof("adapter-moves"),))))
    assert of("smoke/wrong-result", given).breaks == ("lora-step",)


def test_libraries_of_which_nothing_is_known_are_not_called_absent() -> None:
    assert ids(facts(packages="the survey broke off")) == []


def test_what_can_be_imported_without_metadata_is_not_called_absent() -> None:
    unregistered = msgspec.structs.replace(packages(peft=None), unregistered=("peft",))
    assert ids(facts(packages=unregistered)) == ["python/metadata-unreadable"]


def test_a_library_that_is_absent_beside_others_is_told_with_them() -> None:
    assert ids(without("torch", "bitsandbytes")) == ["torch/missing"]


@pytest.mark.parametrize(
    ("given", "id", "installs"),
    [
        (machine("V100", torch="2.13.0+cu126"), "torch/missing", [("torch==2.13.*", "cu126")]),
        (machine("RTX 3060", driver="535.104.05"), "torch/missing", [("torch==2.13.*", "cu126")]),
        (
            machine("RTX 3060", driver="535.104.05"),
            "python/stack-missing",
            [("torch==2.13.*", "cu126"), ("peft", "peft")],
        ),
        (facts(driver="none", gpus="none"), "torch/missing", [("torch", "torch")]),
    ],
)
def test_an_absent_torch_is_installed_in_the_build_that_this_machine_runs(
    given: Facts, id: str, installs: list[tuple[str, str]]
) -> None:
    """PyPI alone would bring a build for CUDA 13, which neither of them runs."""
    absent = dict.fromkeys(("torch", "peft") if id == "python/stack-missing" else ("torch",))
    given = msgspec.structs.replace(given, packages=packages(**absent), torch=None, torch_runtime=None)
    commands = [command for command in of(id, given).fixes[0].commands if "install" in command]
    assert [
        (next(word for word in command if word.startswith(("torch", "peft"))), command[-1].split("/")[-1])
        for command in commands
    ] == installs


def test_a_long_error_is_cut() -> None:
    given = facts(trial=trial(raised("import-peft", "x" * 5000)))
    assert len(of("peft/import-failed", given).title) < 400


def test_healthy_is_healthy() -> None:
    assert ids(healthy.FACTS) == []
