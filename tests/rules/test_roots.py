"""One fault, one finding: whatever the witnesses of a driver say, and however few of them there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import healthy
import msgspec
import pytest
from healthy import DRIVER, but
from hypothesis import given
from hypothesis import strategies as st

from doctor.diagnosis import diagnose, judge
from doctor.facts import CudaDriver, DriverSigns, Facts, Gap
from doctor.findings import Finding, Subject
from doctor.hardware import LostGpu, MigInstance
from doctor.rules import code_rules
from doctor.rules.roots import ROOTS, root_of
from doctor.rules.witnesses import Witnesses, version_of

from . import test_driver, test_gpu, test_gpu_state, test_libcuda, test_rocm
from .judging import facts
from .machines import COMPAT, LIBCUDA, SIGNS, UNUSABLE, device, failing, gpus, nodes, silent, system

TABLES = (test_driver, test_gpu, test_gpu_state, test_libcuda, test_rocm)
HITS = {f"{table.__name__}: {name}": hit for table in TABLES for name, hit in table.HITS.items()}
OURS = [rule for rule in code_rules() if rule.id.startswith(("driver/", "gpu/", "rocm/", "torch/"))]
FIELDS = ("system", "environment", "driver_signs", "driver", "gpus", "cuda_driver", "accelerators", "torch")
SILENT = {
    "nvml_error": "",
    "nvml_code": None,
    **dict.fromkeys(("smi_error", "kernel_version", "kernel_flavor", "fabric_manager"), ""),
    **{"bus_gpus": 0, "bus": (), "modules": {}, "nodes": (), "libraries": {}, "off_path": ()},
}


def of_the_driver(found: Sequence[Finding]) -> list[str]:
    """The ids of errors that speak of the driver or of the GPUs."""
    return [one.id for one in found if one.severity == "error" and one.id.startswith(("driver/", "gpu/"))]


def without(given: Facts, fields: Sequence[str]) -> Facts:
    gaps = tuple(Gap(about=name, kind="failed", reason="not seen") for name in fields)
    return msgspec.structs.replace(given, gaps=gaps, **dict.fromkeys(fields))


@given(st.sets(st.sampled_from(FIELDS)), st.sets(st.sampled_from(sorted(SILENT))))
def test_where_gpus_answer_and_cuda_works_absent_witnesses_are_no_fault(
    absent: set[str], mute: set[str]
) -> None:
    seen = but(SIGNS, **{name: SILENT[name] for name in mute})
    found = judge(without(facts(driver_signs=seen), sorted(absent)), OURS)[0]
    assert of_the_driver(found) == []
    assert [one.id for one in found if one.id == "doctor/rule-crashed"] == []


ODD_SIGNS = st.fixed_dictionaries(
    {},
    optional={
        "nvml_code": st.sampled_from([None, 4, 8, 9, 12, 13, 15, 18, 999]),
        "nvml_error": st.sampled_from(
            ["", "Unknown Error", "Driver/library version mismatch", "killed by SIGBUS"]
        ),
        "smi_error": st.sampled_from(["", "No devices were found", "it gave no answer within 10 s", "\n"]),
        "kernel_version": st.sampled_from(["", DRIVER, "595.10"]),
        "kernel_flavor": st.sampled_from(["", "open", "proprietary"]),
        "bus_gpus": st.integers(0, 2),
        "bus": st.sampled_from([(), (device(),), (device("vfio-pci"),), (device("", "?"),)]),
        "modules": st.sampled_from([{}, {"nvidia": DRIVER}, {"nouveau": ""}]),
        "nodes": st.sampled_from([(), nodes(True, "nvidia0", "nvidiactl"), nodes(False, "nvidia0")]),
        "libraries": st.sampled_from([{}, {"libcuda.so.1": LIBCUDA}, {"libcuda.so.1": COMPAT}]),
        "off_path": st.sampled_from([(), ("/usr/lib/wsl/lib/libcuda.so.1",)]),
        "lost": st.sampled_from([(), (LostGpu(index=1, error="GPU is lost", code=15),)]),
        "fabric_manager": st.sampled_from(["", "stopped", "absent"]),
        "slurm": st.booleans(),
    },
)
ODD_MACHINE: dict[str, st.SearchStrategy[Any]] = {
    "system": st.sampled_from([system(), system(container="docker"), system(wsl=True), system(name="")]),
    "environment": st.sampled_from(
        [{}, {"CUDA_VISIBLE_DEVICES": ""}, {"CUDA_VISIBLE_DEVICES": "1,x"}, {"LD_LIBRARY_PATH": ":/a/compat"}]
    ),
    "driver": st.sampled_from([None, healthy.FACTS.driver]),
    "gpus": st.sampled_from(
        [None, (), gpus({}), gpus({}, {"mig_mode": True}), gpus({"mig_instances": (MigInstance(name="1g"),)})]
    ),
    "cuda_driver": st.sampled_from(
        [None, healthy.FACTS.cuda_driver, CudaDriver(library="", failure="killed by SIGSEGV")]
        + [CudaDriver(library=LIBCUDA, init_code=code) for code in (0, 3, 34, 100, 802, 803, 804, 999)]
    ),
    "torch_runtime": st.sampled_from(
        [None, healthy.FACTS.torch_runtime, but(UNUSABLE, cuda_error="Error 802: \n"), UNUSABLE]
    ),
}


@given(ODD_SIGNS, st.fixed_dictionaries(ODD_MACHINE))
def test_no_rule_falls_over_what_witnesses_say_and_one_root_is_named(
    signs: dict[str, Any], machine: dict[str, Any]
) -> None:
    odd = but(healthy.FACTS, **machine, driver_signs=DriverSigns(**signs))
    found = judge(odd, OURS)[0]
    assert [one.evidence for one in found if one.id == "doctor/rule-crashed"] == []
    named = {one.id for one in found} & {id for id, _ in ROOTS}
    others = {"gpu/hardware-fault", "gpu/mig-visibility", "gpu/exclusive-compute-mode"}
    assert len(named - others) <= 1


@pytest.mark.parametrize("name", HITS)
def test_a_hit_is_the_root_or_there_is_none(name: str) -> None:
    id, severity, given, *_ = HITS[name]
    roots = {one for one, _ in ROOTS}
    if severity == "error" and id in roots:
        assert root_of(given) in (id, "")  # "" where one of several GPUs has a fault
    elif id not in roots:
        assert root_of(given) == ""


def test_every_root_has_a_rule() -> None:
    assert {id for id, _ in ROOTS} <= {rule.id for rule in code_rules()}
    assert len({id for id, _ in ROOTS}) == len(ROOTS)


def roots_that_no_hit_needs() -> Iterator[str]:
    """Roots whose absence from the table would change no finding of the tables above."""
    for id, _ in ROOTS:
        if not any(root_of(hit[2]) == id for hit in HITS.values()):
            yield id


def test_every_root_is_reached_by_a_hit() -> None:
    assert list(roots_that_no_hit_needs()) == []


def test_what_torch_sees_outweighs_what_libcuda_says_by_itself() -> None:
    works = facts(cuda_driver=CudaDriver(library=LIBCUDA, init_code=999))
    assert Witnesses(works).cuda_code is None and Witnesses(works).cuda_works
    assert Witnesses(failing(999)).cuda_code == 999


def test_the_libcuda_that_was_mapped_comes_before_the_one_that_would_be() -> None:
    known = Witnesses(facts(cuda_driver=CudaDriver(library=COMPAT, init_code=804))).libcuda
    assert known and (known.path, known.version, known.is_compat) == (COMPAT, "570.86.15", True)
    runtime = but(healthy.FACTS.torch_runtime, objects=("/a/libtorch.so", LIBCUDA))
    asked = Witnesses(facts(cuda_driver="not asked", torch_runtime=runtime, driver_signs=DriverSigns()))
    assert asked.libcuda and asked.libcuda.path == LIBCUDA


@pytest.mark.parametrize(
    ("path", "version"),
    [
        (LIBCUDA, DRIVER),
        ("/usr/lib/libcuda.so.470.42", "470.42"),
        ("/usr/lib/wsl/lib/libcuda.so.1.1", ""),
        ("/usr/lib/libcuda.so.1", ""),
        ("", ""),
    ],
)
def test_the_driver_that_a_library_belongs_to(path: str, version: str) -> None:
    assert version_of(path) == version


@pytest.mark.parametrize(
    ("id", "run"),
    [("driver/crashes", healthy.died("see-gpu")), ("driver/hangs", healthy.hung("see-gpu"))],
)
def test_a_stage_that_dies_or_hangs_of_the_driver_stands_beneath_it(id: str, run: Any) -> None:
    failure = (
        "killed by SIGSEGV" if id == "driver/crashes" else "it gave no answer within 30 s and was killed"
    )
    given = facts(
        cuda_driver=CudaDriver(library=LIBCUDA, failure=failure),
        torch_runtime="its look for GPUs did not end",
        trial=healthy.trial(run),
    )
    report = diagnose(given, Subject("live", healthy.PYTHON))
    assert [one.id for one in report.findings if one.severity == "error"] == [id]
    [root] = [one for one in report.findings if one.id == id]
    assert [symptom.id for symptom in root.symptoms] == ["smoke/stage-failed"]


def test_a_silent_machine_is_not_called_healthy_by_its_other_faults() -> None:
    given = silent(signs={"nvml_code": 9, "nvml_error": "Driver Not Loaded"})
    encoded = msgspec.json.encode(diagnose(given, Subject("live", healthy.PYTHON)))
    assert b'"primary":"driver/module-not-loaded"' in encoded and b'"verdict":"broken"' in encoded
