"""Plans of findings, for facts of a machine that is known."""

from __future__ import annotations

from typing import Any

import healthy
import msgspec
import pytest
from packaging.version import Version

from doctor.diagnosis import diagnose
from doctor.facts import Facts, TorchBuild
from doctor.findings import Evidence, Finding, Fix, Report, Subject
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
    report = report_of(facts, finding("a/b", install("peft>=0.18.0")), finding("c/d", anew("numpy==2.4.1")))
    plan = planned(report, "pip")
    beside = ("lora-doctor", "fix", "--python", healthy.PYTHON, "--new-venv", ".venv")
    assert plan.refusal is not None and plan.refusal.commands == (beside,)
    (step,) = plan.steps  # pip would refuse each command, and must not be told to break what is the system's
    assert (step.kind, step.cures, step.commands) == ("hand", ("a/b", "c/d"), (beside,))
    lines = planned(report, "requirements")
    assert lines.refusal is not None and told(lines)[0] == ("install", ("peft==0.18.0",), ("a/b",))


def test_where_no_interpreter_was_examined_the_steps_are_told() -> None:
    facts = msgspec.structs.replace(with_packages(peft="0.17.1"), interpreter=None)
    plan = planned(report_of(facts, finding("a/b", install("peft>=0.18.0"))), "pip")
    assert plan.refusal is not None and told(plan)[0] == ("install", ("peft==0.18.0",), ("a/b",))


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


def test_fixes_that_no_set_satisfies_are_not_planned() -> None:
    """Two that exclude one another, of faults that releases do not show, and with nothing to take instead."""
    facts = with_packages(peft="0.17.1")
    plan = planned(
        report_of(
            facts,
            finding("a/b", install("transformers<5.0.0")),
            finding("c/d", install("transformers>=5.0.0")),
            finding("e/f", install("accelerate>=1.0.0", "wandb>=0.16")),
        ),
        "pip",
    )
    assert [one.id for one in plan.uncured] == ["c/d"] and "its cure goes with no other" in plan.uncured[
        0
    ].why
    (step,) = plan.steps
    assert step.cures == ("a/b", "e/f")
    pins = [one for one in step.packages if one.startswith("transformers")]
    assert len(pins) == 1 and pins[0].startswith("transformers==4.")


def test_the_package_that_is_out_of_step_gives_way_and_not_all_that_ask_for_another() -> None:
    """transformers is years behind the rest: that it moves is less than that the rest goes back."""
    facts = healthy.facts(packages=healthy.packages(transformers="4.31.0"), trial="nobody asked")
    plan = planned(diagnose(facts, Subject("live", healthy.PYTHON)), "pip")
    (step,) = plan.steps
    assert set(step.replaces) == {"transformers"}


def test_what_a_release_imports_and_does_not_declare_comes_with_it() -> None:
    """bitsandbytes up to 0.41 imports scipy, and pip does not know."""
    facts = with_packages(torch="2.2.0+cpu", bitsandbytes=None, scipy=None, numpy="1.26.4")
    facts = msgspec.structs.replace(facts, torch=None, driver=None, gpus=None, cuda_driver=None)
    plan = planned(report_of(facts, finding("a/b", install("bitsandbytes==0.41.0"))), "pip")
    packages = [one for step in plan.steps for one in step.packages]
    assert "bitsandbytes==0.41.0" in packages and any(one.startswith("scipy==") for one in packages)


def test_what_an_old_release_needed_is_not_installed_for_the_new_one() -> None:
    unmet = msgspec.structs.replace(
        finding("python/requirement-unsatisfied", install("tyro>=0.5.11"), severity="warning"),
        evidence=(Evidence("trl", "1.16.0", "tyro"), Evidence("tyro", "not installed", "tyro>=0.5.11")),
    )
    facts = healthy.FACTS
    moves = planned(report_of(facts, finding("a/b", install("trl==1.15.0")), unmet), "pip")
    assert [step.packages[0].split("==")[0] for step in moves.steps] == ["trl"]
    assert "tyro>=0.5.11" not in moves.steps[0].packages
    stays = planned(report_of(facts, unmet), "pip")
    assert stays.steps[0].packages == ("tyro>=0.5.11",)


def test_what_a_person_works_on_gives_way_only_where_nothing_else_does() -> None:
    own = msgspec.structs.replace(healthy.packages(peft="0.17.1").installed["peft"], editable=True)
    facts = healthy.facts(packages=healthy.packages(peft=own), trial="nobody asked")
    ill = diagnose(facts, Subject("live", healthy.PYTHON))
    plan = planned(ill, "pip")
    assert ill.findings[0].fixes[0].title.startswith("Upgrade peft")
    assert plan.steps and "peft" not in {name for step in plan.steps for name in step.replaces}
    must = planned(report_of(facts, finding("a/b", install("peft==0.18.0", "transformers==5.24.0"))), "pip")
    assert must.steps[0].title == "Install peft 0.18.0 in place of 0.17.1 of your own sources"


def bare() -> dict[str, Any]:
    """Nothing of the healthy packages."""
    return {name.replace("-", "_"): None for name in healthy.VERSIONS}


def test_a_new_environments_old_setuptools_does_not_hold_torch_back() -> None:
    packages = healthy.packages(**bare(), setuptools="65.5.0")
    facts = healthy.facts(packages=packages, torch="not installed", trial="not asked")
    plan = planned(diagnose(facts, Subject("live", healthy.PYTHON)), "pip")
    torch = next(one for step in plan.steps for one in step.packages if one.startswith("torch=="))
    assert Version(torch.removeprefix("torch==")).release >= (2, 13)
    (rest,) = (step for step in plan.steps if "setuptools" in step.replaces)
    newest = next(one for one in rest.packages if one.startswith("setuptools==")).partition("==")[2]
    new = msgspec.structs.replace(facts, packages=healthy.packages(**{**bare(), "setuptools": newest}))
    again = planned(diagnose(new, Subject("live", healthy.PYTHON)), "pip")
    assert not [step for step in again.steps if "setuptools" in step.replaces]


def test_a_damaged_registration_is_mended_before_its_package_is_replaced() -> None:
    assert healthy.FACTS.files
    files = msgspec.structs.replace(healthy.FACTS.files, without_record=("peft", "triton"))
    facts = msgspec.structs.replace(with_packages(peft="0.17.1"), files=files)
    gone = finding("c/d", Fix("Remove", ((*PIP, "uninstall", "-y", "triton"),)))
    plan = planned(report_of(facts, finding("a/b", install("peft>=0.18.0"))), "pip")
    assert told(plan)[0] == ("anew", ("peft==0.17.1",), ("a/b",))
    assert [step.kind for step in plan.steps] == ["anew", "install"]
    assert [step.kind for step in planned(report_of(facts, gone), "pip").steps] == ["anew", "remove"]


def test_findings_of_one_id_are_told_as_one_and_the_others() -> None:
    report = report_of(healthy.FACTS, *(finding("a/b", anew(name)) for name in ("numpy", "trl", "peft")))
    assert planned(report, "pip").titles == {"a/b": "a/b is so, and 2 more of the kind"}


def test_what_another_cure_makes_good_is_not_left_to_a_person() -> None:
    """A newer torch brings the triton that its GPU needs."""
    by_hand = Fix("Upgrade torch to a release that brings peft 0.18 or newer", scope="environment")
    facts = healthy.facts(packages=healthy.packages(peft="0.17.1"), trial="nobody asked")
    seen = diagnose(facts, Subject("live", healthy.PYTHON)).findings
    known = next(one for one in seen if one.id == "peft/too-old-for-transformers")
    left = msgspec.structs.replace(known, fixes=(by_hand,))
    plan = planned(report_of(facts, left, finding("a/b", install("peft>=0.18.0"))), "pip")
    assert [step.kind for step in plan.steps] == ["install"]
    assert set(plan.steps[0].cures) == {left.id, "a/b"}


def test_what_is_taken_away_is_not_brought_back() -> None:
    """trl needs accelerate, which is seen to be missing once it is gone."""
    gone = finding("a/b", Fix("Remove", ((*PIP, "uninstall", "-y", "accelerate"),)))
    assert told(planned(report_of(healthy.FACTS, gone), "pip")) == [("remove", ("accelerate",), ("a/b",))]


@pytest.mark.parametrize("version", ["2.9.0a0+50eac811a6.nv25.09", "2.10.0a0+git1a2b3c4"])
def test_a_makers_torch_that_does_not_run_here_is_left_to_a_person(version: str) -> None:
    """NVIDIA's containers have no index that their torch could be had back from."""
    assert healthy.FACTS.driver
    old = msgspec.structs.replace(healthy.FACTS.driver, version="535.104.05", cuda_version="12.2")
    torch = TorchBuild(version=version, cuda_version="13.0", hip_version=None, variant="unknown")
    facts = healthy.facts(
        packages=healthy.packages(torch=version, peft="0.17.1"),
        torch=torch,
        driver=old,
        **dict.fromkeys(("trial", "torch_runtime", "cuda_driver", "linkage"), "nobody asked"),
    )
    plan = planned(diagnose(facts, Subject("live", healthy.PYTHON)), "pip")
    kinds = {step.kind: step for step in plan.steps}
    assert kinds["install"].packages == ("peft==0.18.0",)
    assert kinds["hand"].cures == ("driver/too-old-for-cuda-runtime",)


def test_what_a_trial_saw_to_work_is_left_alone() -> None:
    """A row says that these two do not go together, and every stage that it names passed here."""
    facts = with_packages(peft="0.17.1", accelerate="1.14.0")
    assert not [one.id for one in diagnose(facts, Subject("live", "")).findings if one.id.startswith("peft/")]
    plan = planned(report_of(facts, finding("a/b", install("accelerate>=1.15.0"))), "pip")
    assert [step.packages for step in plan.steps] == [("accelerate==1.15.0",)]


def test_what_was_compiled_with_torch_comes_from_the_same_index() -> None:
    def index_for(torch: str) -> str:
        facts = with_packages(torch=torch, torchvision="0.20.1")
        found = finding("torch/torchvision-mismatch", install("torchvision==0.28.*"))
        (step,) = planned(report_of(facts, found), "pip").steps
        assert step.packages[0].startswith("torchvision==0.28")
        return step.index_url

    assert index_for("2.13.0+cpu") == "https://download.pytorch.org/whl/cpu"
    assert index_for("2.13.0+cu130") == "https://download.pytorch.org/whl/cu130"
    assert index_for("2.13.0") == ""  # the plain index has the same build of both
