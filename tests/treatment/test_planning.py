"""Plans of findings, for facts of a machine that is known."""

from __future__ import annotations

from typing import Any

import healthy
import msgspec

from doctor.diagnosis import diagnose
from doctor.facts import Facts, TorchBuild
from doctor.findings import Finding, Fix, Report, Subject
from doctor.treatment.plan import Plan
from doctor.treatment.planning import planned

PIP = (healthy.PYTHON, "-m", "pip")
CPU = TorchBuild(version="2.13.0+cpu", cuda_version=None, hip_version=None, variant="cpu")


def report_of(facts: Facts, *findings: Finding) -> Report:
    """A report with these findings alone."""
    whole = diagnose(facts, Subject("live", healthy.PYTHON))
    return msgspec.structs.replace(whole, findings=findings)


def finding(id: str, *fixes: Fix, severity: Any = "error") -> Finding:
    return Finding(id=id, severity=severity, confidence="confirmed", title=f"{id} is so", fixes=fixes)


def install(*requirements: str) -> Fix:
    return Fix("Install", ((*PIP, "install", *requirements),))


def anew(*requirements: str) -> Fix:
    return Fix("Reinstall", ((*PIP, "install", "--force-reinstall", "--no-deps", *requirements),))


def told(plan: Plan) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(step.kind, step.packages, step.cures) for step in plan.steps]


def with_packages(**changes: Any) -> Facts:
    return msgspec.structs.replace(healthy.FACTS, packages=healthy.packages(**changes))


def test_a_healthy_machine_needs_nothing() -> None:
    plan = planned(diagnose(healthy.FACTS, Subject("live", healthy.PYTHON)), "pip")
    assert (plan.steps, plan.uncured, plan.refusal) == ((), (), None)
    assert plan.target == healthy.PYTHON


def test_one_release_gives_way_and_nothing_else_changes() -> None:
    facts = healthy.facts(packages=healthy.packages(peft="0.17.1"), trial="nobody asked")
    plan = planned(diagnose(facts, Subject("live", healthy.PYTHON)), "pip")
    (step,) = plan.steps
    assert step.kind == "install" and step.replaces == {"peft": "0.17.1"}
    (requirement,) = step.packages
    assert requirement.startswith("peft==0.")
    assert tuple(map(int, requirement.removeprefix("peft==").split(".")))[:2] >= (0, 18)
    assert "peft/too-old-for-transformers" in step.cures


def test_wishes_of_two_findings_are_one_step() -> None:
    facts = with_packages(peft="0.17.1", accelerate="1.0.0")
    plan = planned(
        report_of(
            facts, finding("a/b", install("peft>=0.18.0")), finding("c/d", install("accelerate>=1.4.0"))
        ),
        "pip",
    )
    assert [step.kind for step in plan.steps] == ["install"]
    assert set(plan.steps[0].replaces) == {"peft", "accelerate"}
    assert plan.steps[0].cures == ("a/b", "c/d")


def test_where_two_first_fixes_exclude_one_another_the_second_is_taken() -> None:
    facts = with_packages(peft="0.17.1")
    contradiction = report_of(
        facts,
        finding("a/b", install("transformers<5.0.0"), install("peft>=0.18.0")),
        finding("c/d", install("transformers>=5.0.0")),
    )
    plan = planned(contradiction, "pip")
    (step,) = plan.steps
    assert set(step.replaces) == {"peft"} and step.cures == ("a/b", "c/d")


def test_a_release_that_changes_anyway_is_not_laid_down_anew() -> None:
    facts = with_packages(peft="0.17.1")
    plan = planned(
        report_of(facts, finding("a/b", install("peft>=0.18.0")), finding("c/d", anew("peft==0.17.1"))), "pip"
    )
    assert [step.kind for step in plan.steps] == ["install"]


def test_the_order_is_removal_then_torch_then_the_rest_then_anew_then_variables_then_people() -> None:
    facts = msgspec.structs.replace(with_packages(torch="2.13.0+cpu", peft="0.17.1"), torch=CPU)
    index = ("--index-url", "https://download.pytorch.org/whl/cu130")
    plan = planned(
        report_of(
            facts,
            finding("a/hand", Fix("Reboot", scope="system")),
            finding("b/set", Fix("Unset it", (("unset", "BNB_CUDA_VERSION"),), "setting")),
            finding("c/anew", anew("numpy==2.4.1")),
            finding("d/peft", install("peft>=0.18.0")),
            finding("e/torch", Fix("CUDA", ((*PIP, "install", "torch==2.13.0", *index),))),
            finding("f/gone", Fix("Remove", ((*PIP, "uninstall", "-y", "triton"),))),
        ),
        "pip",
    )
    kinds = [step.kind for step in plan.steps]
    assert kinds == ["remove", "install", "install", "anew", "set", "hand"]
    assert plan.steps[1].packages == ("torch==2.13.0+cu130",)
    assert plan.steps[1].index_url == "https://download.pytorch.org/whl/cu130"
    assert plan.steps[4].variable == "BNB_CUDA_VERSION" and plan.steps[4].value is None


def test_a_mirror_takes_the_place_of_torchs_own_index() -> None:
    facts = msgspec.structs.replace(with_packages(torch="2.13.0+cpu"), torch=CPU)
    plan = planned(
        diagnose(facts, Subject("live", healthy.PYTHON)), "pip", torch_index="https://mirror.example/cu130"
    )
    torch = next(step for step in plan.steps if step.packages[:1] and step.packages[0].startswith("torch=="))
    assert torch.index_url == "https://mirror.example/cu130"
    assert torch.packages == ("torch==2.13.0+cu130",)


def test_a_build_for_a_gpu_that_is_not_here_stays_one() -> None:
    """An image is made for a GPU on a machine without one."""
    facts = msgspec.structs.replace(
        with_packages(peft="0.17.1"), driver=None, gpus=None, cuda_driver=None, torch=healthy.FACTS.torch
    )
    plan = planned(report_of(facts, finding("a/b", install("peft>=0.18.0"))), "pip")
    assert [set(step.replaces) for step in plan.steps] == [{"peft"}]


def test_a_vendors_build_of_torch_is_left_as_it_is() -> None:
    facts = with_packages(torch="2.6.0a0+ecf3bae40a.nv25.01", peft="0.17.1")
    plan = planned(report_of(facts, finding("a/b", install("peft>=0.18.0"))), "pip")
    assert [set(step.replaces) for step in plan.steps] == [{"peft"}]


def test_code_and_notes_are_no_faults_of_an_environment() -> None:
    report = report_of(
        healthy.FACTS,
        finding("script/removed-argument", install("trl<1")),
        finding("workload/does-not-fit", Fix("Smaller")),
        finding("a/b", install("peft==0.18.0"), severity="note"),
    )
    plan = planned(report, "pip")
    assert (plan.steps, plan.uncured) == ((), ())


def test_a_finding_without_a_fix_is_named() -> None:
    plan = planned(report_of(healthy.FACTS, finding("a/b")), "pip")
    assert [one.id for one in plan.uncured] == ["a/b"]


def test_an_interpreter_of_the_system_is_refused_with_the_way_out() -> None:
    interpreter = msgspec.structs.replace(healthy.FACTS.interpreter, externally_managed=True)
    facts = msgspec.structs.replace(with_packages(peft="0.17.1"), interpreter=interpreter)
    plan = planned(report_of(facts, finding("a/b", install("peft>=0.18.0"))), "pip")
    assert plan.refusal is not None
    assert plan.refusal.commands == (
        ("lora-doctor", "fix", "--python", healthy.PYTHON, "--new-venv", ".venv"),
    )


def test_a_package_that_no_table_knows_is_asked_for_as_it_is() -> None:
    plan = planned(report_of(healthy.FACTS, finding("a/b", install("wandb>=0.16"))), "pip")
    assert told(plan) == [("install", ("wandb>=0.16",), ("a/b",))]


def test_the_same_reinstall_for_two_findings_is_told_once() -> None:
    report = report_of(
        healthy.FACTS, finding("a/b", anew("numpy==2.4.1")), finding("c/d", anew("numpy==2.4.1"))
    )
    assert told(planned(report, "pip")) == [("anew", ("numpy==2.4.1",), ("a/b", "c/d"))]


def test_a_registration_is_deleted_in_the_targets_own_folders_alone() -> None:
    def plan_for(path: str) -> list[str]:
        commands = (("rm", "-r", path), (*PIP, "install", "--force-reinstall", "--no-deps", "peft==0.21.2"))
        report = report_of(healthy.FACTS, finding("a/b", Fix("Delete", commands)))
        return [step.kind for step in planned(report, "pip").steps]

    assert plan_for(f"{healthy.SITE}/peft-0.10.0.dist-info") == ["delete", "anew"]
    assert plan_for("/elsewhere/peft-0.10.0.dist-info") == ["hand"]
    assert plan_for(f"{healthy.SITE}/../peft-0.10.0.dist-info") == ["hand"]
