from __future__ import annotations

import msgspec

from doctor.facts import Facts, Gap
from doctor.findings import NotJudged, Report, Subject
from doctor.render.lines import LINES, lines_of
from doctor.render.verdict import by_gravity, is_worth_a_line, unasked_rules, verdict

from .machines import CPU_FACTS, MACHINES, NO_GPU, broken_pair, gpu_workstation, healthy_cpu, report

replace = msgspec.structs.replace


def test_healthy_names_what_was_not_judged() -> None:
    assert verdict(healthy_cpu()) == "Healthy. Not judged: the GPU, since none is seen here."


def test_healthy_with_everything_seen_is_one_word() -> None:
    assert verdict(replace(gpu_workstation(), verdict="healthy", findings=(), primary=None)) == "Healthy."


def test_broken_counts_and_names_the_first() -> None:
    assert verdict(broken_pair()) == "Broken: 1 error, 1 warning. First: peft/too-old-for-transformers."


def test_quick_says_that_it_was_not_asked() -> None:
    left_out = ("torch_runtime", "bitsandbytes_runtime", "trial")
    gaps = (
        *NO_GPU,
        *(Gap(about=field, kind="not-asked", reason="left out by --quick") for field in left_out),
    )
    facts = replace(CPU_FACTS, **dict.fromkeys(left_out), gaps=gaps)
    assert verdict(report(facts, "healthy")) == (
        "No fault found in what is installed, and nothing was imported. "
        "Not judged: the GPU, since none is seen here; "
        "torch, bitsandbytes, the training libraries and the smoke test, not asked for."
    )


def test_a_missing_driver_is_named_where_a_gpu_is_there() -> None:
    failed = Gap(about="driver", kind="failed", reason="nvidia-smi: Failed to initialize NVML")
    machine = gpu_workstation()
    facts = replace(machine.facts, driver=None, gaps=(failed,))
    assert verdict(replace(machine, facts=facts)).endswith("Not judged: the driver.")


def test_rules_that_could_not_be_asked_are_one_line() -> None:
    assert unasked_rules(healthy_cpu()) == "3 rules could not be asked, for want of driver and gpus."
    assert unasked_rules(gpu_workstation()) == ""


def test_what_rules_lack_is_told_in_words() -> None:
    machine = replace(healthy_cpu(), not_judged=(NotJudged("a/b", ("torch_runtime", "cuda_driver", "gpus")),))
    assert unasked_rules(machine) == (
        "1 rule could not be asked, for want of gpus, libcuda's answer and torch's import."
    )


def test_the_root_cause_comes_first_then_errors_warnings_notes() -> None:
    machine = broken_pair()
    shuffled = replace(machine, findings=machine.findings[::-1], primary="python/path-pollution")
    assert [one.id for one in by_gravity(shuffled)] == [
        "python/path-pollution",
        "peft/too-old-for-transformers",
        "doctor/matrix-outdated",
        "driver/cuda-number-misread",
    ]


def test_a_requirements_file_is_told_without_the_subjects_that_it_cannot_show() -> None:
    facts = Facts(packages=CPU_FACTS.packages, torch=CPU_FACTS.torch)
    told = Report(
        tool_version="0.1.0",
        matrix_reviewed="2026-11-29",
        subject=Subject("requirements", "requirements.txt"),
        verdict="healthy",
        primary=None,
        facts=facts,
    )
    assert [line.title for line in lines_of(facts) if is_worth_a_line(line, told)] == [
        "packages",
        "torch",
        "training libraries",
    ]
    assert all(is_worth_a_line(line, machine()) for line in LINES for machine in MACHINES.values())
