"""Whole reports of machines of the stubs. ``UPDATE_GOLDEN=1 pytest tests/stubs`` writes them anew.

What is told of the driver comes from the command line on that machine; all else is the healthy machine's,
for it must be the same wherever the tests run.
"""

from __future__ import annotations

import os
from pathlib import Path

import healthy
import msgspec
import pytest

from doctor.diagnosis import diagnose
from doctor.facts import DriverSigns, Facts, Gap
from doctor.findings import Subject
from doctor.render import terminal

from . import compiler_is_there
from .running import Case, case, run

pytestmark = [
    pytest.mark.skipif(not compiler_is_there(), reason="the stubs need Linux and cc"),
    pytest.mark.skipif(
        os.path.exists("/proc/driver/nvidia"), reason="a true driver would mix with the stubs"
    ),
]

GOLDEN = Path(__file__).parent / "golden"
NEW = "580.95.05"  # a driver that the healthy torch runs on
MACHINES: dict[str, Case] = {
    "t4": case("t4", driver=NEW),
    "v100_held_by_another": case("v100"),
    "k80": case("k80"),
    "a100_mig": case("a100_mig", driver=NEW),
    "h100_x8": case("h100_x8", driver=NEW),
    "rtx4090_x2_one_lost": case("rtx4090_x2", "nvmlDevice*@1=15", driver=NEW),
    "rtx5090": case("rtx5090"),
    "laptop": case("laptop", driver=NEW),
    "wsl": case("wsl"),
    "t4_library_version_mismatch": case("t4", "nvmlInit_v2=18"),
    "t4_library_truncated": case("t4", library="truncated", smi=False),
}
OF_THE_DRIVER = ("driver_signs", "driver", "gpus")
NOT_ASKED = ("cuda_driver", "torch_runtime", "bitsandbytes_runtime", "trial", "hashes")


def facts_of(at: Case) -> Facts:
    """The healthy machine with this driver, in a quick look."""
    seen = run(at).facts
    gaps = [gap for gap in seen.gaps if gap.about in OF_THE_DRIVER]
    gaps += [Gap(about=name, kind="not-asked", reason="left out by --quick") for name in NOT_ASKED]
    return msgspec.structs.replace(
        healthy.FACTS,
        driver_signs=seen.driver_signs and of_no_machine(seen.driver_signs),
        driver=seen.driver,
        gpus=seen.gpus,
        gaps=tuple(gaps),
        **dict.fromkeys(NOT_ASKED),
    )


def of_no_machine(signs: DriverSigns) -> DriverSigns:
    """Without bus, kernel and files, which are those of the machine that runs the tests."""
    return DriverSigns(
        nvml_error=signs.nvml_error, nvml_code=signs.nvml_code, smi_error=signs.smi_error, lost=signs.lost
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_report(machine: str) -> None:
    report = diagnose(facts_of(MACHINES[machine]), Subject("live", healthy.PYTHON))
    told = terminal.render(report, width=100)
    file = GOLDEN / f"{machine}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")


def test_every_golden_file_is_compared() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(MACHINES)
