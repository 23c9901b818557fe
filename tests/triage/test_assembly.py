"""Statements become facts: each where somebody states it, all else a gap."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.diagnosis import diagnose, machine_rules
from doctor.facts import Driver, Facts
from doctor.findings import Report, Subject
from doctor.matrix.build_rules import build_rules
from doctor.paste import Form, Paste, Statement, Topic
from doctor.stated import Stated, stated_python
from doctor.triage.assembly import facts_of

from .test_told import said

RULES = (*machine_rules(), *build_rules())


def facts(*statements: Statement, machine: Facts | None = None) -> Facts:
    return facts_of(Paste(forms=(), statements=statements), machine or Facts())


def report(found: Facts) -> Report:
    return diagnose(found, Subject("report", "paste"), (), RULES)


def test_a_field_is_absent_exactly_where_a_gap_says_why() -> None:
    found = facts(said("package", "2.3.0", "torch"), said("os", "linux"))
    gaps = {gap.about for gap in found.gaps}
    absent = {name for name in Facts.__struct_fields__ if getattr(found, name) is None}
    assert gaps == absent - {"reading", "workload", "script", "paste"}
    assert {"torch", "gpus", "driver", "environment"} <= gaps


def test_nothing_is_known_of_an_empty_paste() -> None:
    found = facts()
    assert found.packages is None and found.system is None and found.interpreter is None
    assert report(found).findings == ()


@pytest.mark.parametrize(
    ("statements", "variant", "cuda", "hip"),
    [
        ([said("package", "2.3.0+cu121", "torch")], "cu121", "12.1", None),
        ([said("package", "2.3.0+cpu", "torch")], "cpu", None, None),
        ([said("package", "2.4.0+rocm6.1", "torch")], "rocm6.1", None, "6.1"),
        ([said("package", "2.3.0", "torch"), said("torch cuda", "11.8")], "cu118", "11.8", None),
        ([said("package", "2.3.0", "torch"), said("torch cuda", "none")], "cpu", None, None),
        ([said("torch cuda", "12.1")], "cu121", "12.1", None),
        (
            [said("package", "2.4.0", "torch"), said("torch hip", "6.1.40091")],
            "rocm6.1.40091",
            None,
            "6.1.40091",
        ),
        (
            [said("package", "2.3.0", "torch"), said("package", "12.1.105", "nvidia-cuda-runtime-cu12")],
            "cu121",
            "12.1",
            None,
        ),
        ([said("package", "2.3.0", "torch"), said("os", "darwin")], "cpu", None, None),
    ],
)
def test_the_build_of_torch(
    statements: list[Statement], variant: str, cuda: str | None, hip: str | None
) -> None:
    build = facts(*statements).torch
    assert build is not None
    assert (build.variant, build.cuda_version, build.hip_version) == (variant, cuda, hip)


@pytest.mark.parametrize(
    "statements",
    [
        [said("package", "2.3.0", "torch")],
        [said("package", "2.3.0", "torch"), said("cuda", "12.1"), said("toolkit", "12.1")],
        [said("package", "2.6.0a0+ecf3bae40a.nv25.01", "torch")],
        [said("package", "2.3.0", "torch"), said("torch cuda", "12.8")],  # there is none: the machine's CUDA
        [said("package", "2.3.0", "torch"), said("os", "linux"), said("driver cuda", "12.4")],
    ],
)
def test_a_build_that_nobody_tells_is_not_guessed(statements: list[Statement]) -> None:
    assert facts(*statements).torch is None


def test_a_pin_of_a_command_counts_where_nothing_else_tells() -> None:
    pin = said("requirement", "==2.3.0", "torch", "commands")
    assert facts(pin).version_of("torch") == "2.3.0"
    assert facts(pin, said("package", "2.4.0", "torch")).version_of("torch") == "2.4.0"
    assert facts(pin, said("requirement", "==2.4.0", "torch", "commands", 2)).packages is None
    assert facts(said("requirement", ">=2.3.0", "torch", "commands")).packages is None
    assert facts(said("requirement", "==2.*", "torch", "commands")).packages is None


def test_a_package_is_missing_only_where_that_is_said() -> None:
    partial = report(facts(said("package", "2.3.0", "torch")))
    assert not any(one.id.endswith("missing") for one in partial.findings)
    stated = report(facts(said("package", "2.3.0", "torch"), said("absent", "", "peft")))
    assert "peft/missing" in {one.id for one in stated.findings}


def test_a_requirement_is_unmet_where_its_package_is_said_to_be_absent() -> None:
    environment = (said("package", "0.14.0", "peft"), said("python", "3.10"), said("os", "linux"))
    unmet = "python/requirement-unsatisfied"
    assert unmet not in {one.id for one in report(facts(*environment)).findings}
    assert unmet in {one.id for one in report(facts(*environment, said("absent", "", "psutil"))).findings}


def test_what_a_release_declares_is_known_of_it() -> None:
    found = facts(said("package", "0.14.0", "peft"))
    assert found.packages is not None and found.packages.is_partial
    assert any(text.startswith("torch") for text in found.packages.installed["peft"].requires)


def test_a_driver_that_is_known_by_its_cuda_alone_is_judged() -> None:
    found = facts(said("driver cuda", "11.0"), said("package", "2.1.0+cu121", "torch"), said("gpu", "A100"))
    assert found.driver == Driver(version="", cuda_version="11.0", source="stated")
    (finding,) = report(found).findings
    assert finding.id == "driver/too-old-for-cuda-runtime"
    assert "for CUDA 11.0 is too old" in finding.title
    assert "cu118" in str(finding.fixes[0].commands)


def test_what_options_say_wins() -> None:
    machine = Facts(
        interpreter=stated_python("3.12"),
        driver=Driver(version="550.54.15", cuda_version=None, source="stated"),
        gpus=Stated(gpu="RTX 3060").facts().gpus,
    )
    found = facts(
        said("python", "3.10"), said("driver", "470.42.01"), said("gpu", "Tesla T4"), machine=machine
    )
    assert found.interpreter == machine.interpreter
    assert found.driver == machine.driver
    assert found.gpus == machine.gpus


@pytest.mark.parametrize(
    ("statements", "os", "arch"),
    [
        ([said("os", "win32")], "win32", "x86_64"),
        ([said("os", "win32"), said("wsl", "yes")], "linux", "x86_64"),
        ([said("os", "darwin"), said("arch", "arm64")], "darwin", "aarch64"),
        ([said("libc", "glibc 2.35")], "linux", "x86_64"),
        ([said("container", "docker")], "linux", "x86_64"),
        ([said("os", "linux"), said("gpu", "NVIDIA GB10")], "linux", "aarch64"),
        (
            [said("os", "linux", form="traceback"), said("os", "win32", form="traceback", line=2)],
            "win32",
            "x86_64",
        ),
        ([said("os", "win32", form="traceback"), said("os", "linux", form="issue form")], "linux", "x86_64"),
    ],
)
def test_the_system(statements: list[Statement], os: str, arch: str) -> None:
    system = facts(*statements).system
    assert system is not None
    assert (system.os, system.arch) == (os, arch)


def test_torch_as_it_answered() -> None:
    found = facts(
        said("torch sees gpu", "no"),
        said("torch architectures", "sm_80 sm_90"),
        said("package", "2.3.0+cu121", "torch"),
    ).torch_runtime
    assert found is not None
    assert (found.cuda_available, found.arch_list, found.cuda_version) == (False, ("sm_80", "sm_90"), "12.1")


def test_what_transformers_env_sees_may_be_of_another_machine() -> None:
    blind = said("torch sees gpu", "no", form="transformers env")
    assert facts(blind).torch_runtime is None
    seen = facts(blind, said("torch sees gpu", "no", form="commands")).torch_runtime
    assert seen is not None and seen.cuda_available is False
    seen = facts(said("torch sees gpu", "yes", form="transformers env")).torch_runtime
    assert seen is not None and seen.cuda_available is True


def test_a_gpu_that_is_hidden_is_sure_only_where_all_are_listed() -> None:
    variable = said("variable", "1", "CUDA_VISIBLE_DEVICES")
    in_prose = report(facts(variable, said("gpu", "RTX 3060"))).findings
    assert [one.confidence for one in in_prose if one.id == "gpu/hidden-by-environment"] == ["confirmed"]
    told = Paste(forms=(), statements=(variable, said("gpu", "RTX 3060")))
    found = report(msgspec.structs.replace(facts_of(told, Facts()), paste=told)).findings
    assert [one.confidence for one in found if one.id == "gpu/hidden-by-environment"] == ["possible"]


VALUES = [
    *(
        "",
        "2.3.0+cu121",
        "2.3.0",
        "12.1",
        "none",
        "yes",
        "no",
        "3.10",
        "535.104.05",
        "linux",
        "win32",
        "x86_64",
    ),
    *(
        "RTX 3060",
        "Tesla T4",
        "NVIDIA GeForce ...",
        "AMD Radeon RX 7900 XTX",
        "Apple M2",
        "8.6",
        "8589934592",
    ),
    *(
        "79 GPU has fallen off the bus",
        "python 1024",
        "sm_80 sm_90",
        "gfx1100",
        "glibc 2.35",
        "²",
        "٣",
        "enabled",
    ),
]
STATEMENTS = st.lists(
    st.builds(
        Statement,
        topic=st.sampled_from(get_args(Topic)),
        value=st.sampled_from(VALUES),
        name=st.sampled_from(["", "torch", "peft", "bitsandbytes", "CUDA_VISIBLE_DEVICES", "0", "1"]),
        form=st.sampled_from(get_args(Form)),
        line=st.integers(1, 30),
    ),
    max_size=25,
)


@settings(deadline=None)
@given(STATEMENTS)
def test_no_statements_crash_assembly_or_a_rule(statements: list[Statement]) -> None:
    found = report(facts(*statements))
    assert not any(one.id == "doctor/rule-crashed" for one in found.findings), found.findings


@settings(deadline=None)
@given(STATEMENTS, st.randoms())
def test_the_order_of_statements_changes_no_fact(statements: list[Statement], random: object) -> None:
    mixed = list(statements)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert facts(*mixed) == facts(*statements)
