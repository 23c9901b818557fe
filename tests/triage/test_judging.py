"""From a paste to its report: what stands first, how sure it is, and what is asked."""

from __future__ import annotations

from doctor.diagnosis import ASKED_FOR
from doctor.facts import Facts
from doctor.findings import Finding, Report
from doctor.triage.judging import judge
from doctor.triage.reading import read

CLASH = "peft==0.17.1\ntransformers==5.24.0\n"
HYBRID = "ImportError: cannot import name 'HybridCache' from 'transformers' (/v/transformers/__init__.py)\n"
NO_GPU = "RuntimeError: No CUDA GPUs are available\n"


def report_of(text: str, machine: Facts | None = None) -> Report:
    return judge(read(text, machine or Facts()), "paste")


def finding(report: Report, id: str) -> Finding:
    return next(one for one in report.findings if one.id == id)


def test_what_words_and_versions_both_say_is_confirmed() -> None:
    report = report_of(HYBRID + CLASH)
    first = report.findings[0]
    assert (first.id, first.confidence) == ("peft/too-old-for-transformers", "confirmed")
    assert {one.subject for one in first.evidence} == {"error text", "peft", "transformers"}
    assert (report.verdict, report.questions) == ("broken", ())


def test_without_versions_both_directions_are_possible_and_one_question_decides() -> None:
    report = report_of('  File "/v/site-packages/peft/peft_model.py", line 37, in <module>\n' + HYBRID)
    errors = [one for one in report.findings if one.severity == "error"]
    assert {one.id for one in errors} == {"peft/too-old-for-transformers", "peft/needs-newer-transformers"}
    assert {one.confidence for one in errors} == {"possible"}
    assert report.verdict == "undetermined"
    assert report.questions[0].commands


def test_versions_alone_are_told_and_are_not_confirmed_by_words() -> None:
    report = report_of(CLASH)
    assert report.primary == "peft/too-old-for-transformers"
    assert finding(report, "peft/too-old-for-transformers").confidence != "confirmed"


def test_a_clash_of_versions_steps_behind_an_error_that_has_another_cause() -> None:
    report = report_of("Failed to initialize NVML: Driver/library version mismatch\n" + CLASH)
    assert report.primary == "driver/library-version-mismatch"
    behind = finding(report, "peft/too-old-for-transformers")
    assert behind.confidence == "possible"
    assert behind.against[0].seen == "the error that is pasted has another cause"


def test_the_first_real_error_counts_and_not_the_wrapper_below_it() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/v/site-packages/transformers/utils/import_utils.py", line 9, in _get_module\n'
        f"{HYBRID}\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 2, in <module>\n'
        "RuntimeError: Failed to import transformers.trainer because of the following error "
        "(look up to see its traceback):\n"
        "cannot import name 'HybridCache' from 'transformers'\n"
        "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.\n"
    )
    assert report_of(text + CLASH).primary == "peft/too-old-for-transformers"


def test_a_wrapper_alone_is_asked_for_what_it_wraps() -> None:
    report = report_of(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\ntrain.py FAILED\n"
    )
    assert (report.primary, report.verdict) == (None, "undetermined")
    assert report.questions[0].text.startswith("The first error is missing")


def test_a_variable_decides_between_the_causes_of_one_message() -> None:
    hidden = report_of(f"{NO_GPU}\nCUDA_VISIBLE_DEVICES=-1\n")
    assert (hidden.primary, hidden.verdict) == ("gpu/hidden-by-environment", "broken")
    cpu = report_of(f"{NO_GPU}\nGPU: RTX 3060\ntorch==2.6.0+cpu\n")
    assert cpu.primary == "torch/cpu-only-build"


def test_what_nothing_decides_stays_possible() -> None:
    report = report_of(NO_GPU)
    assert len([one for one in report.findings if one.confidence == "possible"]) > 1
    assert report.verdict == "undetermined" and report.questions


def test_a_message_about_a_version_that_is_not_installed_is_another_environment() -> None:
    text = (
        "ImportError: huggingface-hub>=0.34.0,<1.0 is required for a normal functioning of this module, "
        "but found huggingface-hub==1.2.3.\n"
    )
    listed = (
        "Package          Version\n---------------- -------\nhuggingface-hub  0.36.0\ntransformers 4.57.1\n"
    )
    report = report_of(text + listed)
    assert report.primary == "python/stale-or-other-environment"


def test_a_script_at_fault_leaves_the_environment_healthy() -> None:
    report = report_of("ValueError: Target modules {'q', 'v'} not found in the base model.\n")
    assert (report.primary, report.verdict) == ("script/target-modules-not-found", "healthy")


def test_harmless_lines_are_told_once_and_judge_nothing() -> None:
    noise = "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.\n"
    report = report_of(noise * 3)
    assert [one.id for one in report.findings] == ["report/harmless-lines"]
    assert report.verdict == "healthy"


def test_an_unknown_error_beside_harmless_lines_is_not_clean() -> None:
    noise = "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.\n"
    report = report_of(f"{noise}Traceback (most recent call last):\nFrobnicationError: no frobs\n")
    assert (report.primary, report.verdict) == (None, "undetermined")


def test_every_absent_fact_has_a_gap() -> None:
    facts = report_of(NO_GPU).facts
    told = {gap.about for gap in facts.gaps}
    absent = [name for name in Facts.__struct_fields__ if getattr(facts, name) is None]
    assert [name for name in absent if name not in told and name not in (*ASKED_FOR, "script", "paste")] == []
