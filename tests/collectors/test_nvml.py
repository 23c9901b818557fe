"""NVML's collector over our own libnvidia-ml.so.1, and over bindings that are not as they should be."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import stubs
from stubs.profiles import DRIVERS

from doctor.collectors import Collected, collect, program
from doctor.host import LocalHost, Patience

needs_compiler = pytest.mark.skipif(not stubs.compiler_is_there(), reason="the stubs need Linux and cc")
MIB = 1 << 20


def look(env: dict[str, str], first: int = 0, seconds: float = 30.0) -> Collected:
    """The collector's answer with these variables around it."""
    host = LocalHost()
    host.env = {**host.env, **env}
    config = {"first": first}
    text = program(("nvml", "end"))
    return collect(host, sys.executable, text, config, patience=Patience(limit_s=seconds))


def sections(profile: str, *faults: str, name: str = "nvml-gpu", **machine: Any) -> list[dict[str, Any]]:
    events = look(stubs.machine(profile, *faults, **machine)).events
    return [dict(event) for event in events if event["section"] == name]


def gpu(profile: str, *faults: str, **machine: Any) -> dict[str, Any]:
    """What is told of the first GPU."""
    return sections(profile, *faults, **machine)[0]


@cache
def sound_gpu(profile: str) -> dict[str, Any]:
    return gpu(profile)


def head(profile: str, *faults: str, **machine: Any) -> dict[str, Any]:
    [told] = sections(profile, *faults, name="nvml", **machine)
    return told


@needs_compiler
class TestMachines:
    def test_all_that_a_workstation_tells(self) -> None:
        assert gpu("rtx3060") == {
            "section": "nvml-gpu",
            "index": 0,
            "name": "NVIDIA GeForce RTX 3060",
            "compute_capability": "8.6",
            "memory_total_bytes": 12288 * MIB,
            "memory_free_bytes": (12288 - 238 - 512) * MIB,
            "memory_reserved_bytes": 238 * MIB,
            "shares_memory": False,
            "uuid_hash": gpu("rtx3060")["uuid_hash"],
            "pci_address": "0000:01:00.0",
            "processes": [
                {"name": "Xorg", "memory_bytes": 310 * MIB, "kind": "graphics"},
                {"name": "gnome-shell", "memory_bytes": 120 * MIB, "kind": "graphics"},
            ],
            "mig_mode": None,
            "mig_instances": [],
            "ecc_enabled": None,
            "ecc_uncorrected": None,
            "remapped_rows": None,
            "remapping_pending": False,
            "remapping_failed": False,
            "retired_pages": None,
            "retirement_pending": False,
            "throttle": [],
            "persistence": False,
            "compute_mode": "default",
            "pcie_width": 16,
            "pcie_width_max": 16,
            "pcie_generation": 4,
            "pcie_generation_max": 4,
            "nvlinks": None,
            "display": True,
        }

    @pytest.mark.parametrize("branch", DRIVERS)
    def test_a_driver_of_each_branch(self, branch: int) -> None:
        answer = look(stubs.machine("t4", driver=DRIVERS[branch]))
        told, [row] = answer.section("nvml"), [one for one in answer.events if "name" in one]
        assert told is not None and (told["driver"], told["count"]) == (DRIVERS[branch], 1)
        assert row["memory_total_bytes"] == 15360 * MIB
        assert (row["memory_reserved_bytes"] is not None) == (branch >= 510)
        assert row["processes"] == []

    def test_the_number_of_cuda(self) -> None:
        assert head("k80")["cuda"] == "11.4"
        assert head("t4")["cuda"] == "12.2"
        assert head("rtx4090")["cuda"] == "13.0"

    def test_a_library_from_before_most_of_these_functions(self) -> None:
        row = gpu("a100_mig", library="old")
        assert row["name"] == "NVIDIA A100-SXM4-40GB"
        assert row["memory_total_bytes"] == 40960 * MIB
        unknown = ("memory_reserved_bytes", "processes", "mig_mode", "remapped_rows")
        assert [row[field] for field in unknown] == [None] * 4
        assert row["ecc_enabled"] is True

    def test_mig_instances(self) -> None:
        row = gpu("a100_mig")
        assert row["mig_mode"] is True
        assert [one["name"].rpartition(" ")[2] for one in row["mig_instances"]] == ["3g.20gb", "1g.5gb"]
        assert row["mig_instances"][1]["memory_total_bytes"] == 4864 * MIB
        assert len({one["uuid_hash"] for one in (row, *row["mig_instances"])}) == 3

    def test_eight_gpus_and_the_links_between_them(self) -> None:
        assert [row["nvlinks"] for row in sections("h100_x8")] == [18] * 8
        peers = sections("h100_x8", name="nvml-peers")
        assert [row["index"] for row in peers] == list(range(8))
        assert peers[3]["peers"] == {str(other): "nvlink" for other in range(8) if other != 3}

    @pytest.mark.parametrize(
        ("profile", "path"), [("k80", "p2p"), ("rtx4090_x2", "no: chipset not supported")]
    )
    def test_how_two_gpus_reach_each_other(self, profile: str, path: str) -> None:
        assert [one["peers"] for one in sections(profile, name="nvml-peers")] == [{"1": path}, {"0": path}]

    def test_links_that_are_down_are_counted_as_none(self) -> None:
        assert gpu("v100")["nvlinks"] == 0

    def test_a_gpu_without_memory_of_its_own(self) -> None:
        row = gpu("gb10")
        assert row["memory_total_bytes"] is row["memory_free_bytes"] is row["memory_reserved_bytes"] is None
        assert row["shares_memory"] is True

    def test_memory_that_may_not_be_seen_is_not_the_systems(self) -> None:
        row = gpu("a100_mig", "nvmlDeviceGetMemoryInfo*=4")
        assert row["memory_total_bytes"] is None
        assert row["shares_memory"] is False

    def test_windows_tells_no_processes_to_wsl(self) -> None:
        assert gpu("wsl")["processes"] is None

    def test_a_process_is_named_without_folder_and_arguments(self) -> None:
        [process] = gpu("v100")["processes"]
        assert process == {"name": "python3", "memory_bytes": 9000 * MIB, "kind": "compute"}

    def test_uuids_are_not_told(self) -> None:
        assert "GPU-" not in json.dumps(look(stubs.machine("h100_x8")).events)
        assert "MIG-" not in json.dumps(look(stubs.machine("a100_mig")).events)
        assert {len(row["uuid_hash"]) for row in sections("h100_x8")} == {12}
        assert len({row["uuid_hash"] for row in sections("h100_x8")}) == 8

    def test_the_first_gpu_to_tell_of_can_be_chosen(self) -> None:
        events = look(stubs.machine("h100_x8"), first=6).events
        assert [event["index"] for event in events if event["section"] == "nvml-gpu"] == [6, 7]


@needs_compiler
class TestFaults:
    @pytest.mark.parametrize(
        ("code", "words"),
        [
            (4, "Insufficient Permissions"),
            (9, "Driver Not Loaded"),
            (18, "Driver/library version mismatch"),
            (999, "Unknown Error"),
        ],
    )
    def test_a_refusal_has_its_words_and_its_number(self, code: int, words: str) -> None:
        said = look(stubs.machine("t4", f"nvmlInit_v2={code}")).events
        assert said == ({"section": "nvml", "error": words, "code": code},)

    @pytest.mark.parametrize(
        "where", ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetEccMode", "nvmlDevice*"]
    )
    def test_a_lost_gpu_does_not_hide_the_others(self, where: str) -> None:
        first, second = sections("rtx4090_x2", f"{where}@1=15")
        assert first["memory_total_bytes"] == 24564 * MIB
        assert second == {"section": "nvml-gpu", "index": 1, "error": "GPU is lost", "code": 15}

    @pytest.mark.parametrize("code", [3, 999])
    @pytest.mark.parametrize(
        ("function", "lost"),
        {
            "nvmlDeviceGetMemoryInfo": {},  # the second form tells all
            "nvmlDeviceGetMemoryInfo_v2": {"memory_reserved_bytes": None},
            "nvmlDeviceGetCudaComputeCapability": {"compute_capability": None},
            "nvmlDeviceGetUUID": {"uuid_hash": ""},
            "nvmlDeviceGetPciInfo*": {"pci_address": ""},
            "nvmlDeviceGetMigMode": {"mig_mode": None},
            "nvmlDeviceGetE*": {"ecc_enabled": None},
            "nvmlDeviceGetTotalEccErrors": {"ecc_uncorrected": None},
            "nvmlDeviceGetRemappedRows": {"remapped_rows": None},
            "nvmlDeviceGetPersistenceMode": {"persistence": None},
            "nvmlDeviceGetCurrPcieLinkWidth": {"pcie_width": None},
            "nvmlDeviceGetNvLinkState": {"nvlinks": None},
            "nvmlDeviceGetComputeMode": {"compute_mode": ""},
            "nvmlDeviceGetDisplayActive": {"display": None},
        }.items(),
    )
    def test_a_refused_call_loses_its_own_field_alone(
        self, function: str, lost: dict[str, Any], code: int
    ) -> None:
        row, whole = gpu("h100_x8", f"{function}={code}"), sound_gpu("h100_x8")
        changed = {field for field in whole if row[field] != whole[field]}
        assert changed - {"memory_free_bytes"} == set(lost)
        assert {field: row[field] for field in lost} == lost

    def test_processes_that_may_not_be_asked_for(self) -> None:
        refused = gpu("v100", "nvmlDeviceGetComputeRunningProcesses*=4")
        assert refused["processes"] == []  # those that draw are told still
        assert gpu("wsl")["processes"] is None
        [process] = gpu("v100", "nvmlSystemGetProcessName=4")["processes"]
        assert process == {"name": "", "memory_bytes": 9000 * MIB, "kind": "compute"}

    def test_what_was_told_before_a_gpu_hangs_is_kept(self) -> None:
        machine = stubs.machine("h100_x8", "nvmlDeviceGetEccMode@3=hang")
        answer = look(machine, seconds=1.0)
        assert answer.completed.timed_out
        assert answer.section("nvml") is not None
        assert [event["index"] for event in answer.events if "index" in event] == [0, 1, 2]

    @pytest.mark.parametrize(("fault", "signal"), [("segv", "SIGSEGV"), ("abort", "SIGABRT")])
    def test_what_was_told_before_it_dies_is_kept(self, fault: str, signal: str) -> None:
        answer = look(stubs.machine("rtx4090_x2", f"nvmlDeviceGetName@1={fault}"))
        assert answer.completed.signal == signal
        assert [event["index"] for event in answer.events if "index" in event] == [0]

    def test_a_count_that_is_refused_leaves_the_driver(self) -> None:
        told = head("t4", "nvmlDeviceGetCount_v2=999")
        assert (told["driver"], told["error"], told["code"]) == ("535.104.05", "Unknown Error", 999)
        assert "count" not in told

    def test_a_driver_without_a_version_leaves_the_gpus(self) -> None:
        assert head("t4", "nvmlSystemGetDriverVersion=999")["driver"] is None
        assert gpu("t4", "nvmlSystemGetDriverVersion=999")["name"] == "Tesla T4"

    @pytest.mark.parametrize(
        ("library", "why"), [("empty", "file too short"), ("text", "invalid ELF header")]
    )
    def test_a_library_that_is_none_is_told_with_the_loaders_reason(self, library: str, why: str) -> None:
        told = head("t4", library=library)
        assert told["code"] == 12
        assert told["error"].startswith("NVML Shared Library Not Found (") and why in told["error"]

    def test_a_library_without_its_functions(self) -> None:
        assert head("t4", library="symbolless")["code"] == 13

    def test_a_truncated_library_kills_and_says_nothing(self) -> None:
        answer = look(stubs.machine("t4", library="truncated"))
        assert answer.completed.signal == "SIGBUS"
        assert answer.events == ()


@needs_compiler
class TestHealth:
    """Values that no healthy profile has."""

    def of(self, tmp_path: Path, profile: str, **values: Any) -> dict[str, Any]:
        """The first GPU of a profile with some lines of it replaced."""
        env = stubs.machine(profile)
        lines = Path(env["LORA_DOCTOR_STUB"]).read_text().splitlines()
        changed = {f"gpu0.{key.replace('__', '.')}": str(value) for key, value in values.items()}
        kept = [line for line in lines if line.partition("=")[0] not in changed]
        file = tmp_path / "machine"
        file.write_text("\n".join(kept + [f"{key}={value}" for key, value in changed.items()]) + "\n")
        events = look({**env, "LORA_DOCTOR_STUB": str(file)}).events
        return next(dict(event) for event in events if event["section"] == "nvml-gpu")

    def test_remapped_rows(self, tmp_path: Path) -> None:
        row = self.of(
            tmp_path, "h100_x8", remapped__corrected=2, remapped__uncorrected=1, remapped__pending=1
        )
        assert (row["remapped_rows"], row["remapping_pending"], row["remapping_failed"]) == (3, True, False)
        assert self.of(tmp_path, "h100_x8", remapped__failed=1)["remapping_failed"] is True

    def test_retired_pages(self, tmp_path: Path) -> None:
        row = self.of(tmp_path, "v100", retired__single=3, retired__double=2, retired__pending=1)
        assert (row["retired_pages"], row["retirement_pending"]) == (5, True)

    def test_memory_errors(self, tmp_path: Path) -> None:
        assert self.of(tmp_path, "v100", ecc__uncorrected=7)["ecc_uncorrected"] == 7
        assert gpu("rtx4090")["ecc_enabled"] is False

    @pytest.mark.parametrize(
        ("bits", "words"),
        [
            (0x1, []),
            (0x2, []),
            (0x4, ["power cap"]),
            (0x20, ["thermal"]),
            (0x48, ["hardware slowdown", "thermal"]),
            (0x88, ["hardware slowdown", "power brake"]),
        ],
    )
    @pytest.mark.parametrize("profile", ["t4", "k80"])  # of either name of the function
    def test_throttling(self, tmp_path: Path, profile: str, bits: int, words: list[str]) -> None:
        assert self.of(tmp_path, profile, throttle=bits)["throttle"] == words

    @pytest.mark.parametrize(("mode", "words"), [(2, "prohibited"), (3, "exclusive process"), (9, "")])
    def test_compute_modes(self, tmp_path: Path, mode: int, words: str) -> None:
        assert self.of(tmp_path, "t4", compute_mode=mode)["compute_mode"] == words

    def test_an_address_in_a_domain_of_its_own(self, tmp_path: Path) -> None:
        assert self.of(tmp_path, "t4", pci="0000000A:C1:00.0")["pci_address"] == "000a:c1:00.0"

    def test_a_process_that_computes_and_draws_is_told_once(self, tmp_path: Path) -> None:
        twice = {
            "processes": 2,
            "process0__kind": "graphics",
            "process1__pid": 5000001,
            "process1__memory": 9,
        }
        row = self.of(tmp_path, "v100", **twice, process1__kind="compute")
        assert row["processes"] == [{"name": "python3", "memory_bytes": 9, "kind": "compute"}]

    def test_a_process_whose_memory_and_name_are_not_told(self, tmp_path: Path) -> None:
        row = self.of(
            tmp_path,
            "rtx4090",
            processes=1,
            process0__pid=5000009,
            process0__kind="compute",
        )
        assert row["processes"] == [{"name": "", "memory_bytes": None, "kind": "compute"}]


class TestBindings:
    """The module ``pynvml`` that the collector finds."""

    def test_a_doctor_without_the_bindings_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "pynvml.py").write_text("raise ImportError('No module named pynvml')")
        [said] = look({"PYTHONPATH": str(tmp_path)}).events
        assert said["code"] == -1
        assert "nvidia-ml-py is not installed beside the doctor" in said["error"]

    def test_older_bindings_that_give_bytes_and_know_less(self, tmp_path: Path) -> None:
        (tmp_path / "pynvml.py").write_text(
            "class Memory: total, free, used = 24 << 30, 20 << 30, 4 << 30\n"
            "def nvmlInit(): pass\n"
            "def nvmlSystemGetDriverVersion(): return b'470.1'\n"
            "def nvmlDeviceGetCount(): return 1\n"
            "def nvmlDeviceGetHandleByIndex(index): return index\n"
            "def nvmlDeviceGetName(handle): return b'T4 \\xff'\n"
            "def nvmlDeviceGetMemoryInfo(handle): return Memory\n"
        )
        told, row = look({"PYTHONPATH": str(tmp_path)}).events
        assert (told["driver"], told["cuda"]) == ("470.1", None)
        assert (row["name"], row["memory_free_bytes"]) == ("T4 \ufffd", 20 << 30)
        assert row["compute_capability"] is row["processes"] is row["pcie_width"] is None

    def test_a_driver_gone_mad_keeps_nobody(self, tmp_path: Path) -> None:
        (tmp_path / "pynvml.py").write_text(
            "def nvmlInit(): pass\ndef nvmlDeviceGetCount(): return 2**32 - 1\n"
        )
        [told] = look({"PYTHONPATH": str(tmp_path)}).events
        assert told["error"] == "it counts 4294967295 GPUs" and "count" not in told

    def test_a_name_that_is_no_text_and_a_capability_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "pynvml.py").write_text(
            "def nvmlInit(): pass\n"
            "def nvmlDeviceGetCount(): return 1\n"
            "def nvmlDeviceGetHandleByIndex(index): return index\n"
            "def nvmlDeviceGetName(handle): return b'T4 \\xff'.decode()\n"
            "def nvmlDeviceGetCudaComputeCapability(handle): return 0, 0\n"
        )
        _, row = look({"PYTHONPATH": str(tmp_path)}).events
        assert (row["name"], row["compute_capability"]) == ("T4 \ufffd", None)

    def test_the_true_bindings_answer_on_this_very_machine(self) -> None:
        answer = look({})
        section = answer.section("nvml")
        assert section is not None, answer.trouble
        assert "count" in section or (isinstance(section["code"], int) and section["error"])
