"""GPUs that are broken, slow or held by others, and what comes near them."""

from __future__ import annotations

import healthy
import pytest
from healthy import GPU_NAME, MIB, but

from doctor.facts import CudaDriver, Facts
from doctor.hardware import GpuProcess, LostGpu, Xid

from .judging import case, check, facts, ids
from .machines import (
    SIGNS,
    UNUSABLE,
    failing,
    gpus,
    in_words,
    silent,
    system,
)

GIB = 1 << 30
PYTHON_HOLDS = GpuProcess(name="python3", memory_bytes=21 * GIB)
FULL = {"memory_free_bytes": 2 * GIB, "processes": (PYTHON_HOLDS,)}


def logged(code: int, address: str = "0000:01:00") -> Facts:
    xid = Xid(address=address, code=code, text="said by the kernel", count=3)
    return facts(driver_signs=but(SIGNS, xids=(xid,)))


LOST = "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.  Reboot the system"
KEPT = LostGpu(index=1, error="Insufficient Permissions", code=4)
BUSY = "CUDA-capable device(s) is/are busy or unavailable"

HITS = {
    "a GPU that does not start": case(
        "gpu/not-started",
        "error",
        facts(gpus=(), cuda_driver=CudaDriver(library="", init_code=100), torch_runtime=UNUSABLE),
        "The driver shows none of the 1 NVIDIA GPU on the bus",
        command="dmesg",
    ),
    "a notebook holds the GPU": case(
        "gpu/held-by-other-process",
        "warning",
        facts(gpus=gpus(FULL)),
        f"Other programs hold 21.6 of the 24.0 GiB of {GPU_NAME}, GPU 0",
        seen=("python3 21.0 GiB; 2.0 GiB free",),
    ),
    "a stage finds the GPU busy, and nobody is seen to hold it": case(
        "gpu/held-by-other-process",
        "error",
        facts(trial=healthy.trial(healthy.raised("load-4bit", f"CUDA error: {BUSY}", "RuntimeError"))),
        "CUDA finds the GPU busy",
        seen=(f"CUDA: RuntimeError: CUDA error: {BUSY} -> success",),
        command="nvidia-smi",
        beside=("smoke/stage-failed",),
    ),
    "somebody outside of the container holds it": case(
        "gpu/held-by-other-process",
        "warning",
        facts(gpus=gpus({**FULL, "processes": ()}), system=system(container="docker")),
        "Other programs hold",
        seen=("no program that can be seen from here",),
    ),
    "the second of two is held": case(
        "gpu/held-by-other-process",
        "note",
        facts(gpus=gpus({}, FULL), cuda_driver="not asked"),
        "GPU 1",
        command="export CUDA_VISIBLE_DEVICES=0",
    ),
    "prohibited": case(
        "gpu/exclusive-compute-mode",
        "error",
        in_words("CUDA-capable device(s) is/are busy", gpus=gpus({"compute_mode": "prohibited"})),
        "is in compute mode 'prohibited'",
        command="sudo nvidia-smi -i 0 -c DEFAULT",
    ),
    "exclusive, and taken": case(
        "gpu/exclusive-compute-mode",
        "error",
        facts(
            gpus=gpus(
                {
                    "compute_mode": "exclusive process",
                    "processes": (GpuProcess(name="vllm", memory_bytes=GIB),),
                }
            )
        ),
        "in compute mode 'exclusive process', and vllm has it",
    ),
    "one of two is prohibited": case(
        "gpu/exclusive-compute-mode",
        "warning",
        facts(gpus=gpus({}, {"compute_mode": "prohibited"}), cuda_driver="not asked"),
        "GPU 1",
    ),
    "a lost GPU": case(
        "gpu/hardware-fault",
        "error",
        facts(driver_signs=but(SIGNS, lost=(LostGpu(index=1, error="GPU is lost", code=15),))),
        "GPU 1 is out of use: it is lost",
        seen=("gpu 1: GPU is lost",),
        command="sudo reboot",
    ),
    "a lost GPU, and CUDA with it": case(
        "gpu/hardware-fault",
        "error",
        failing(999, signs={"lost": (LostGpu(index=0, error="GPU requires reset", code=16),)}),
        "it must be reset",
    ),
    "NVML finds the GPU lost": case(
        "gpu/hardware-fault", "error", silent(signs={"nvml_code": 15, "nvml_error": "GPU is lost"}), "lost"
    ),
    "nvidia-smi alone finds the GPU lost": case(
        "gpu/hardware-fault",
        "error",
        silent(signs={"nvml_code": 12, "bus_gpus": 0, "smi_error": LOST}),
        "The GPU is out of use: it is lost",
        seen=(LOST,),
    ),
    "CUDA finds its memory broken": case(
        "gpu/hardware-fault",
        "error",
        failing(214),
        f"CUDA does not start on {GPU_NAME}: its memory has an uncorrectable error",
        command="nvidia-smi --gpu-reset",
    ),
    "GPUs of others, and none of one's own": case(
        "driver/device-nodes-not-usable",
        "error",
        facts(gpus="no answer", driver_signs=but(SIGNS, lost=(KEPT,)), cuda_driver="", torch_runtime=""),
        "is not usable for this user",
        seen=("Insufficient Permissions",),
    ),
    "no power": case(
        "gpu/hardware-fault",
        "error",
        silent(signs={"nvml_code": 8, "nvml_error": "Insufficient External Power"}),
        "its power cables are not connected",
    ),
    "a row that could not be replaced": case(
        "gpu/hardware-fault",
        "error",
        facts(gpus=gpus({"remapping_failed": True, "remapping_pending": True})),
        "could not be replaced",
    ),
    "a row that waits for a reset": case(
        "gpu/hardware-fault",
        "warning",
        facts(gpus=gpus({"remapping_pending": True})),
        "at the next reset",
        command="sudo nvidia-smi --gpu-reset -i 0",
    ),
    "a page that waits for a reset": case(
        "gpu/hardware-fault", "warning", facts(gpus=gpus({"retirement_pending": True})), "at the next reset"
    ),
    "uncorrected errors": case(
        "gpu/hardware-fault",
        "warning",
        facts(gpus=gpus({"ecc_uncorrected": 3})),
        "3 uncorrected memory errors",
    ),
    "Xid 79 of a GPU that is gone": case(
        "gpu/hardware-fault",
        "error",
        logged(79, "0000:81:00"),
        "Xid 79 of the GPU at 0000:81:00: the GPU has fallen",
    ),
    "Xid 79 of a GPU that answers again": case(
        "gpu/hardware-fault", "warning", logged(79), "Xid 79", seen=("said by the kernel (3 times)",)
    ),
    "Xid 94": case("gpu/hardware-fault", "warning", logged(94, "0000:81:00"), "that ended one program"),
    "too hot": case(
        "gpu/throttled", "warning", facts(gpus=gpus({"throttle": ("power cap", "thermal")})), "now: thermal"
    ),
    "half of the lanes": case(
        "gpu/pcie-degraded", "note", facts(gpus=gpus({"pcie_width": 4})), "runs on 4 of 16 PCIe lanes"
    ),
    "two GPUs that do not reach each other": case(
        "gpu/peer-to-peer-unsupported",
        "note",
        facts(
            gpus=gpus({"peers": {"1": "no: not supported"}}, {"peers": {"0": "no: not supported"}}),
            cuda_driver="not asked",
        ),
        "cannot reach the memory of GPU 1",
        command="export NCCL_P2P_DISABLE=1",
    ),
    "two RTX 4090 that tell nothing of each other, and a driver that accelerate refuses": case(
        "gpu/peer-to-peer-unsupported",
        "warning",
        facts(
            gpus=gpus({}, {}),
            cuda_driver="not asked",
            driver=but(healthy.FACTS.driver, version="535.104.05", cuda_version="12.2"),
            torch=but(healthy.FACTS.torch, version="2.8.0+cu121", cuda_version="12.1", variant="cu121"),
        ),
        f"accelerate refuses to train on several {GPU_NAME} with driver 535.104.05",
        seen=("535.104.05 -> 550.40.07 or newer",),
        command="export NCCL_P2P_DISABLE=1",
    ),
    "two RTX 4090 and a driver that accelerate refuses": case(
        "gpu/peer-to-peer-unsupported",
        "warning",
        facts(
            gpus=gpus({"peers": {"1": "no"}}, {"peers": {"0": "no"}}),
            cuda_driver="not asked",
            driver=but(healthy.FACTS.driver, version="535.104.05", cuda_version="12.2"),
            torch=but(healthy.FACTS.torch, version="2.8.0+cu121", cuda_version="12.1", variant="cu121"),
        ),
        "accelerate refuses this driver",
    ),
}

MISSES = {
    "the GPU of another job": facts(driver_signs=but(SIGNS, lost=(KEPT,))),
    "a library too old to name a GPU": facts(
        driver_signs=but(SIGNS, lost=(LostGpu(index=1, error="Function Not Found", code=13),))
    ),
    "a desktop on the GPU": facts(gpus=gpus({"memory_free_bytes": 21 * GIB})),
    "a small GPU with a desktop": facts(
        gpus=gpus({"memory_total_bytes": 2 * GIB, "memory_free_bytes": GIB + 200 * MIB})
    ),
    "a GPU without memory of its own": facts(
        gpus=gpus({"memory_total_bytes": None, "memory_free_bytes": None})
    ),
    "exclusive, and free": facts(gpus=gpus({"compute_mode": "exclusive process"})),
    "corrected errors and remapped rows": facts(
        gpus=gpus({"ecc_enabled": True, "ecc_uncorrected": 0, "remapped_rows": 2, "retired_pages": 1})
    ),
    "a program's own Xid": logged(31),
    "a second one": logged(13),
    "a power cap under load": facts(gpus=gpus({"throttle": ("power cap",)})),
    "eight lanes of sixteen": facts(gpus=gpus({"pcie_width": 8})),
    "a link that idles": facts(gpus=gpus({"pcie_generation": 1, "pcie_generation_max": 4})),
    "two GPUs that reach each other": facts(
        gpus=gpus({"peers": {"1": "nvlink"}}, {"peers": {"0": "p2p"}}), cuda_driver="not asked"
    ),
    "NCCL is told": facts(
        gpus=gpus({"peers": {"1": "no"}}, {}),
        cuda_driver="not asked",
        environment={"NCCL_P2P_DISABLE": "1"},
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []
