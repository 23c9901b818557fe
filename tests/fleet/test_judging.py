"""What is said of a fleet: who is odd and why, and who must not be blamed."""

from __future__ import annotations

import pytest
from fleet_reports import (
    HEALTHY,
    alike,
    compared,
    enveloped,
    finding,
    gpus,
    odd,
    report,
    roll_of,
    with_driver,
    with_versions,
)
from healthy import but, packages, stage_run, trial

from doctor.findings import Report
from doctor.fleet.comparison import Comparison
from doctor.fleet.judging import compare
from doctor.hardware import DriverSigns, LostGpu
from doctor.native import Dependency, Linkage, NativeLibrary
from doctor.render.json_report import encode


def about(told: Comparison, topic: str) -> list[tuple[str | None, list[tuple[str, int]]]]:
    return [
        (one.norm, [(shared.value, shared.count) for shared in one.values])
        for one in told.differences
        if one.about == topic
    ]


def test_nodes_that_are_alike() -> None:
    told = compared(alike(4))
    assert (told.verdict, told.severity, told.compared) == ("alike", None, 4)
    assert (told.odd, told.differences, told.troubles, len(told.classes)) == ((), (), (), 1)


def test_three_of_many_have_an_old_driver() -> None:
    told = compared({**alike(125), **alike(3, with_driver("535.104.05"), start=200)})
    assert odd(told) == {name: ["driver"] for name in ("node200", "node201", "node202")}
    (difference,) = told.differences
    assert (difference.about, difference.severity, difference.norm) == ("driver", "error", "580.95.05")
    assert [(one.value, one.count, one.nodes[:1]) for one in difference.values] == [
        ("580.95.05", 125, ()),
        ("535.104.05", 3, ("node200",)),
    ]
    assert [(one.count, one.differs_in) for one in told.classes] == [(125, ()), (3, ("driver",))]


@pytest.mark.parametrize(
    ("other", "topic", "severity"),
    [
        (with_driver("580.95.06"), "driver", "warning"),
        (with_driver("580.65.06"), "driver", "warning"),
        (with_driver("535.104.05"), "driver", "error"),
        (with_versions(peft="0.21.9"), "package.peft", "warning"),
        (with_versions(peft="0.17.1"), "package.peft", "error"),
        (with_versions(peft=None), "package.peft", "error"),
        (with_versions(datasets="9.9"), "package.datasets", "warning"),
        (with_versions(nvidia_nccl_cu13="2.1"), "package.nvidia-nccl-cu13", "error"),
        (report(torch=but(HEALTHY.torch, version="2.12.0+cu130")), "torch", "error"),
        (report(gpus=gpus(1, name="NVIDIA A100", compute_capability="8.0")), "gpu.model", "error"),
        (report(gpus=gpus(3)), "gpu.count", "error"),
        (report(gpus=gpus(1, ecc_uncorrected=3)), "gpu.memory_errors", "warning"),
        (
            report(driver_signs=DriverSigns(lost=(LostGpu(index=3, error="GPU is lost"),))),
            "gpu.lost",
            "error",
        ),
        (report(environment={"NCCL_DEBUG": "INFO"}), "env.NCCL_DEBUG", "warning"),
        (report(environment={"TOKENIZERS_PARALLELISM": "0"}), "env.TOKENIZERS_PARALLELISM", "note"),
        (report(interpreter=but(HEALTHY.interpreter, version="3.10.9")), "python", "error"),
        (report(system=but(HEALTHY.system, libc="glibc 2.17")), "machine.libc", "warning"),
        (report(system=but(HEALTHY.system, kernel="Linux 5.4")), "machine.kernel", "note"),
    ],
)
def test_how_grave_a_difference_is(other: Report, topic: str, severity: str) -> None:
    told = compared({**alike(4), "other": other})
    found = {one.about: one for one in told.differences}
    assert found[topic].severity == severity
    assert ("other" in odd(told)) == (severity != "note")
    assert told.verdict == ("alike" if severity == "note" else "differing")


@pytest.mark.parametrize("name", ["SLURM_JOB_ID", "TMPDIR", "HF_HUB_CACHE", "CUDA_CACHE_PATH"])
def test_what_differs_by_its_nature_is_no_difference(name: str) -> None:
    nodes = {f"n{number}": report(environment={name: str(number)}) for number in range(4)}
    assert compared(nodes).verdict == "alike" and not compared(nodes).differences


def test_what_a_driver_does_not_tell_is_no_difference() -> None:
    told = compared({**alike(4), "silent": report(gpus=gpus(1, pcie_width=None, memory_total_bytes=None))})
    assert told.verdict == "alike" and told.differences == ()


def test_an_environment_may_lie_anywhere() -> None:
    def at(prefix: str, version: str) -> Report:
        path = f"{prefix}/lib/python{version}/site-packages/nvidia/nccl/lib/libnccl.so.2"
        needed = Dependency(name="libnccl.so.2", path=path, by="runpath", asked_by="libtorch_cuda.so")
        library = NativeLibrary(package="torch", path="torch/_C.so", dependencies=(needed,))
        return report(
            linkage=Linkage(libraries=(library,)),
            interpreter=but(HEALTHY.interpreter, prefix=prefix, executable=f"{prefix}/bin/python"),
        )

    told = compared({**alike(2, at("/a", "3.11")), "b": at("/data/b", "3.12")})
    assert [one.about for one in told.differences] == ["python.executable"]
    stray = but(
        at("/a", "3.11"),
        facts=but(at("/elsewhere", "3.11").facts, interpreter=at("/a", "3.11").facts.interpreter),
    )
    assert odd(compared({**alike(3, at("/a", "3.11")), "c": stray})) == {"c": ["library.libnccl.so.2"]}


def test_of_two_nodes_none_is_blamed() -> None:
    told = compared({"a": report(), "b": with_driver("535.104.05")})
    assert odd(told) == {} and told.verdict == "differing" and told.severity == "error"
    assert about(told, "driver") == [(None, [("535.104.05", 1), ("580.95.05", 1)])]


def test_of_two_halves_none_is_blamed() -> None:
    told = compared({**alike(5), **alike(5, with_versions(peft="0.17.1"), start=50)})
    assert odd(told) == {} and told.severity == "error"
    assert about(told, "package.peft")[0][0] is None
    assert {one.count for one in told.classes} == {5}


def test_partitions_are_compared_within_themselves() -> None:
    a100 = report(
        gpus=gpus(1, name="NVIDIA A100", compute_capability="8.0"),
        driver=but(HEALTHY.driver, version="550.1"),
    )
    ill = report(
        gpus=gpus(1, name="NVIDIA A100", compute_capability="8.0"),
        driver=but(HEALTHY.driver, version="535.1"),
    )
    told = compared({**alike(20), **alike(9, a100, start=50), "ill": ill})
    assert [(kind.name, kind.count) for kind in told.kinds] == [
        ("x86_64 with NVIDIA GeForce RTX 4090", 20),
        ("x86_64 with NVIDIA A100", 10),
    ]
    assert odd(told) == {"ill": ["driver"]}
    assert [(one.about, list(one.values.values())) for one in told.between_kinds] == [
        ("driver", ["580.95.05", "550.1"])
    ]


def test_a_few_other_gpus_are_no_partition() -> None:
    told = compared({**alike(40), **alike(3, report(gpus=gpus(1, name="NVIDIA T4")), start=50)})
    assert told.kinds == () and list(odd(told)) == ["node050", "node051", "node052"]


def test_gpus_that_do_not_answer_are_no_partition() -> None:
    dark = report(gpus=(), driver_signs=DriverSigns(bus_gpus=8))
    told = compared({**alike(10), **alike(5, dark, start=50)})
    assert told.kinds == () and len(told.odd) == 5
    cpu = report(gpus=(), driver_signs=DriverSigns())
    assert [kind.count for kind in compared({**alike(10), **alike(5, cpu, start=50)}).kinds] == [10, 5]


def test_what_one_node_could_not_see() -> None:
    told = compared({**alike(4), "blind": report(gpus="NVML hung")})
    (one,) = told.odd
    assert (one.node, one.severity) == ("blind", "error")
    assert [(reason.about, reason.seen) for reason in one.reasons] == [("gpus", "NVML hung")]
    all_blind = compared(alike(4, report(gpus="NVML hung")))
    assert (all_blind.odd, all_blind.verdict) == ((), "alike")


def test_what_a_quick_check_leaves_out_is_no_difference() -> None:
    quick = report(trial=None, torch_runtime=None)
    told = compared({**alike(3), **alike(2, quick, start=50)})
    assert told.verdict == "alike" and not told.differences


def test_findings_of_all_are_said_once_and_those_of_few_name_them() -> None:
    shared, own = finding("driver/old", "warning"), finding("torch/cpu-only-build")
    told = compared({**alike(5, report(shared)), "ill": report(own, shared)})
    assert [(one.id, one.count, one.on_all, one.nodes[:1]) for one in told.findings] == [
        ("torch/cpu-only-build", 1, False, ("ill",)),
        ("driver/old", 6, True, ("ill",)),
    ]
    assert odd(told) == {"ill": ["torch/cpu-only-build"]}
    common = compared(alike(5, report(own)))
    assert odd(common) == {} and common.severity == "error" and common.verdict == "alike"


def test_an_error_of_one_of_two_is_evidence_and_a_warning_is_none() -> None:
    assert odd(compared({"a": report(), "b": report(finding("torch/cpu-only-build"))})) == {
        "b": ["torch/cpu-only-build"]
    }
    assert odd(compared({"a": report(), "b": report(finding("driver/old", "warning"))})) == {}


def test_a_slow_node() -> None:
    late = report(trial=trial(stage_run("import-torch", seconds=90.0)))
    told = compared({**alike(9), "late": late})
    (one,) = told.odd
    assert (one.node, one.reasons[0].about, one.severity) == ("late", "slow", "warning")
    assert "90.0 s of it in import-torch" in one.reasons[0].seen
    assert odd(compared({**alike(3), "late": late})) == {}  # too few to tell


@pytest.mark.parametrize("seconds", [float(10**9), -5.0])
def test_times_that_cannot_be_true_are_not_counted(seconds: float) -> None:
    lying = report(trial=trial(stage_run("import-torch", seconds=seconds)))
    assert odd(compared({**alike(9), "lying": lying})) == {}


def test_nodes_that_are_missing_or_not_on_the_list() -> None:
    nodes = {"a.cluster.example": report(), "b": report(), "stranger": report(), "10.0.0.6": report()}
    told = compared(nodes, expected=("a", "b", "c", "10.0.0.5", "10.0.0.6"))
    assert [(one.node, one.kind) for one in told.troubles] == [
        ("10.0.0.5", "missing"),
        ("c", "missing"),
        ("stranger", "unexpected"),
    ]
    assert (told.expected, told.verdict, told.severity) == (5, "differing", "error")


@pytest.mark.parametrize(("expected", "kinds"), [(2, ["unexpected"]), (3, []), (5, ["missing"])])
def test_a_number_of_nodes_is_expected(expected: int, kinds: list[str]) -> None:
    assert [one.kind for one in compared(alike(3), expect_count=expected).troubles] == kinds


def test_a_node_without_a_report_is_a_row_and_is_not_missed_twice() -> None:
    roll = roll_of(alike(3))
    roll.add(enveloped("node004", None, failure="no answer in 120 s"), "a test", "")
    told = compare(roll, expected=("node001", "node002", "node003", "node004"))
    assert [(one.node, one.kind, one.reason) for one in told.troubles] == [
        ("node004", "failed", "no answer in 120 s")
    ]


def test_a_line_that_names_who_was_asked() -> None:
    roll = roll_of(alike(2))
    roll.add(b'{"schema": 1, "expected": ["node001", "node002", "node003"]}', "a test", "")
    assert [one.node for one in compare(roll).troubles] == ["node003"]


def test_ranks_of_one_node_are_one_node() -> None:
    roll = roll_of({})
    for node in ("a", "b", "c"):
        for rank in ("0", "1"):
            told = report(environment={"CUDA_VISIBLE_DEVICES": rank})
            roll.add(enveloped(node, told), "a test", "")
    told_of = compare(roll)
    assert told_of.compared == 3 and told_of.differences == ()
    assert {(one.kind, one.severity) for one in told_of.troubles} == {("conflict", "warning")}


def test_two_reports_of_one_node_that_agree_say_nothing_new() -> None:
    roll = roll_of(alike(3))
    roll.add(encode(report()), "again", "node001")
    told = compare(roll)
    assert told.compared == 3 and told.verdict == "alike"
    assert [(one.node, one.kind, one.severity) for one in told.troubles] == [("node001", "repeated", "note")]


def test_one_machine_under_two_names() -> None:
    nodes = {name: report(gpus=gpus(2, seed=name[0])) for name in ("a1", "a2", "b1")}
    (row,) = compared(nodes).troubles
    assert (row.kind, row.severity) == ("twin", "warning") and "a[1-2]" in row.reason


def test_what_is_ignored_is_neither_told_nor_held_against_a_node() -> None:
    other = report(finding("torch/cpu-only-build"), driver=but(HEALTHY.driver, version="535.1"))
    nodes = {**alike(4), "other": other}
    told = compared(nodes, ignore=("driver", "torch/", ""))
    assert (told.odd, told.differences, told.findings, told.severity) == ((), (), (), None)


@pytest.mark.parametrize(
    "told",
    [
        report(finding("torch/cpu-only-build"), verdict="healthy"),
        report(verdict="broken"),
        but(report(), primary="torch/cpu-only-build"),
    ],
)
def test_a_report_that_contradicts_itself_is_not_believed(told: Report) -> None:
    found = compared({**alike(3), "liar": told})
    assert [(one.node, one.kind) for one in found.troubles] == [("liar", "contradictory")]
    assert found.compared == 3 and found.odd == ()


def test_a_fault_of_a_script_leaves_a_machine_healthy() -> None:
    told = report(finding("workload/does-not-fit"), verdict="healthy")
    assert compared({"a": told}).troubles == ()


def test_a_package_that_only_one_node_has() -> None:
    told = compared({**alike(4), "more": report(packages=packages(deepspeed="0.15.0"))})
    assert about(told, "package.deepspeed") == [("not installed", [("not installed", 4), ("0.15.0", 1)])]
