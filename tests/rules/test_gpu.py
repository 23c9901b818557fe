"""GPUs that a program does not see: variables, MIG, containers, Slurm; and what comes near them."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from healthy import but

from doctor.facts import CudaDriver, Facts
from doctor.hardware import MigInstance

from .judging import case, check, facts, ids, of
from .machines import (
    RUNTIME,
    SIGNS,
    UNUSABLE,
    device,
    failing,
    gpus,
    nodes,
    silent,
    system,
    without_nvidia,
)

NOT_FOUND: dict[str, Any] = {"nvml_error": "NVML Shared Library Not Found", "nvml_code": 12}
NO_GPU = "No CUDA GPUs are available"
UUID = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"
HASH = hashlib.sha256(UUID.encode()).hexdigest()[:12]
A100 = {"name": "NVIDIA A100-SXM4-40GB", "compute_capability": "8.0", "mig_mode": True}
SLICES = tuple(MigInstance(name=f"NVIDIA A100-SXM4-40GB MIG {n}g.5gb", uuid_hash=str(n)) for n in (1, 2))


def hidden(value: str, said: str = NO_GPU, **changes: Any) -> Facts:
    """A variable, and torch that sees no GPU."""
    return facts(
        **{
            "environment": {"CUDA_VISIBLE_DEVICES": value},
            "torch_runtime": but(UNUSABLE, cuda_error=said),
            **changes,
        }
    )


def in_container(engine: str, **seen: Any) -> Facts:
    return silent(signs={**NOT_FOUND, **seen}, system=system(container=engine))


HITS = {
    "docker": case(
        "gpu/none-visible-in-container",
        "error",
        in_container("docker"),
        "This docker container was started without the machine's GPU",
        seen=("bus: 1 NVIDIA GPU",),
    ),
    "a container that sees the host's module alone": case(
        "gpu/none-visible-in-container",
        "error",
        in_container("docker", bus_gpus=0, kernel_version="580.95.05"),
        "without the machine's GPU",
        seen=("NVIDIA's module 580.95.05 is loaded on the host",),
    ),
    "a container with device files and no driver": case(
        "gpu/none-visible-in-container",
        "error",
        in_container("lxc", kernel_version="580.95.05", nodes=nodes(True, "nvidia0", "nvidiactl")),
        "This lxc container",
    ),
    "NVIDIA_VISIBLE_DEVICES is void": case(
        "gpu/none-visible-in-container",
        "error",
        silent(
            signs=NOT_FOUND,
            system=system(container="docker"),
            environment={"NVIDIA_VISIBLE_DEVICES": "void"},
        ),
        "without the machine's GPU",
        seen=("NVIDIA_VISIBLE_DEVICES: 'void'",),
    ),
    "a container with the driver and no GPU": case(
        "gpu/none-visible-in-container",
        "error",
        facts(
            gpus=(),
            cuda_driver=CudaDriver(library="", init_code=100),
            torch_runtime=UNUSABLE,
            system=system(container="podman"),
        ),
        "This podman container",
    ),
    "a container without compute": case(
        "gpu/none-visible-in-container",
        "error",
        facts(
            environment={"NVIDIA_DRIVER_CAPABILITIES": "utility"},
            system=system(container="docker"),
            driver_signs=but(SIGNS, libraries={"libnvidia-ml.so.1": "/usr/lib/libnvidia-ml.so.580.95.05"}),
            cuda_driver="libcuda is not there",
            torch_runtime=UNUSABLE,
        ),
        "NVIDIA_DRIVER_CAPABILITIES is 'utility', so this container was given no libcuda",
    ),
    "Slurm keeps the files": case(
        "gpu/not-allocated-by-slurm",
        "error",
        silent(
            signs={
                "slurm": True,
                "nvml_code": 9,
                "nvml_error": "Driver Not Loaded",
                "kernel_version": "580.95.05",
                "nodes": nodes(False, "nvidia0", "nvidia1") + nodes(True, "nvidiactl"),
            }
        ),
        "This Slurm job was given no GPU of its node",
        seen=("/dev/nvidia0, /dev/nvidia1 closed to this job",),
        command="srun --gres=gpu:1",
    ),
    "Slurm shows no device": case(
        "gpu/not-allocated-by-slurm",
        "error",
        facts(
            gpus=(),
            cuda_driver=CudaDriver(library="", init_code=100),
            torch_runtime=UNUSABLE,
            driver_signs=but(SIGNS, slurm=True, nodes=nodes(True, "nvidiactl")),
        ),
        "This Slurm job",
        seen=("none shown",),
    ),
    "Slurm says so in the variable": case(
        "gpu/not-allocated-by-slurm",
        "error",
        hidden("NoDevFiles", driver_signs=but(SIGNS, slurm=True)),
        "This Slurm job",
    ),
    "an empty variable": case(
        "gpu/hidden-by-environment",
        "error",
        hidden(""),
        "CUDA_VISIBLE_DEVICES is '', which hides the GPU",
        command="unset CUDA_VISIBLE_DEVICES",
    ),
    "minus one": case("gpu/hidden-by-environment", "error", hidden("-1"), "'-1'"),
    "an index that is not here": case(
        "gpu/hidden-by-environment", "error", hidden("1"), "'1' is no further GPU here, so no GPU is shown"
    ),
    "a word": case("gpu/hidden-by-environment", "error", hidden("all"), "'all'"),
    "a GPU named twice": case("gpu/hidden-by-environment", "error", hidden("0,0"), "no GPU is shown"),
    "the UUID of another GPU": case(
        "gpu/hidden-by-environment", "error", hidden(UUID), "no GPU is shown", seen=("unset",)
    ),
    "an index behind one that is not here": case(
        "gpu/hidden-by-environment",
        "warning",
        facts(
            environment={"CUDA_VISIBLE_DEVICES": "0,7,1"},
            gpus=gpus({}, {}),
            cuda_driver="not asked",
            torch_runtime=RUNTIME,
        ),
        "'7' is no further GPU here, so only the first 1 are shown",
    ),
    "MIG without instances": case(
        "gpu/mig-visibility",
        "error",
        failing(3, "CUDA driver initialization failed", gpus=gpus(A100)),
        "is in MIG mode without an instance",
        command="sudo nvidia-smi -i 0 -mig 0",
    ),
    "MIG without instances, and CUDA was not asked": case(
        "gpu/mig-visibility",
        "error",
        facts(gpus=gpus(A100), cuda_driver="not asked", torch_runtime="not asked"),
        "is in MIG mode without an instance",
    ),
    "one of two GPUs is in MIG mode": case(
        "gpu/mig-visibility", "warning", facts(gpus=gpus({}, A100)), "GPU 1, is in MIG mode"
    ),
    "an instance by its index": case(
        "gpu/mig-visibility",
        "error",
        hidden("1", gpus=gpus({**A100, "mig_instances": SLICES})),
        "MIG instances are named by their UUID",
        command="nvidia-smi -L",
    ),
    "two instances by their indices": case(
        "gpu/mig-visibility",
        "warning",
        facts(environment={"CUDA_VISIBLE_DEVICES": "0,1"}, gpus=gpus({**A100, "mig_instances": SLICES})),
        "MIG instances are named by their UUID: a program sees the first alone",
        seen=("CUDA_VISIBLE_DEVICES: '0,1' -> MIG- and a UUID",),
    ),
    "one instance of two": case(
        "gpu/mig-visibility",
        "note",
        facts(gpus=gpus({**A100, "mig_instances": SLICES})),
        "A program here sees one of 2 MIG instances",
    ),
}

MISSES = {
    "one GPU chosen": facts(environment={"CUDA_VISIBLE_DEVICES": "0"}),
    "a GPU chosen by a shortened UUID": hidden("GPU-8932f937", said="", torch_runtime=RUNTIME),
    "a GPU chosen by its UUID": facts(
        environment={"CUDA_VISIBLE_DEVICES": UUID}, gpus=gpus({"uuid_hash": HASH})
    ),
    "a UUID where no hash is known": facts(
        environment={"CUDA_VISIBLE_DEVICES": UUID}, gpus=gpus({"uuid_hash": ""})
    ),
    "a value that nobody can read": facts(environment={"CUDA_VISIBLE_DEVICES": "0 1"}),
    "a hidden GPU that torch sees all the same": facts(environment={"CUDA_VISIBLE_DEVICES": "3"}),
    "a variable where there is no GPU": without_nvidia(environment={"CUDA_VISIBLE_DEVICES": ""}),
    "a container with nvidia-smi's part named, and libcuda all the same": facts(
        environment={"NVIDIA_DRIVER_CAPABILITIES": "utility"},
        system=system(container="docker"),
        cuda_driver="not asked",
        torch_runtime="not asked",
    ),
    "a container with both parts named, and stub libraries": facts(
        environment={"NVIDIA_DRIVER_CAPABILITIES": "compute, utility"},
        system=system(container="docker"),
        driver_signs=but(SIGNS, libraries={}),
        cuda_driver="not asked",
        torch_runtime="not asked",
    ),
    "the variable of containers outside of one": facts(
        environment={"NVIDIA_DRIVER_CAPABILITIES": "utility"},
        driver_signs=but(SIGNS, libraries={}),
        cuda_driver="not asked",
        torch_runtime="not asked",
    ),
    "a Slurm job that sees a GPU all the same": facts(
        environment={"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, driver_signs=but(SIGNS, slurm=True)
    ),
    "a Slurm job that got its GPU": facts(
        driver_signs=but(
            SIGNS, slurm=True, nodes=nodes(True, "nvidia0", "nvidiactl") + nodes(False, "nvidia1")
        )
    ),
    "a Slurm job on a node without a GPU": without_nvidia(
        driver_signs=but(
            SIGNS,
            **{
                **NOT_FOUND,
                "slurm": True,
                "bus_gpus": 0,
                "bus": (),
                "modules": {},
                "nodes": (),
                "kernel_version": "",
                "libraries": {},
            },
        )
    ),
    "indices of GPUs in MIG mode": hidden(
        "0,1",
        said="",
        gpus=gpus({**A100, "mig_instances": SLICES}, {}),
        cuda_driver="not asked",
        torch_runtime=RUNTIME,
    ),
    "MIG that works": facts(gpus=gpus({**A100, "mig_instances": SLICES[:1]})),
    "an instance by its UUID": facts(
        environment={"CUDA_VISIBLE_DEVICES": "MIG-c6d4f1ef"},
        gpus=gpus({**A100, "mig_instances": SLICES}),
    ),
    "nothing is known of the bus in a container": silent(
        signs={"bus_gpus": 0, **NOT_FOUND, "bus": (device("", vendor="amd"),)},
        system=system(container="docker"),
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("docker", "docker run --gpus all"),
        ("podman", "podman run --device nvidia.com/gpu=all"),
        ("kubernetes", "nvidia.com/gpu: 1"),
        ("apptainer", "apptainer exec --nv"),
        ("lxc", "lxc config device add"),
        ("containerd", "nerdctl run --gpus all"),
        ("some-new-engine", "docker run --gpus all"),
    ],
)
def test_each_container_engine_has_its_own_words(engine: str, words: str) -> None:
    finding = of("gpu/none-visible-in-container", in_container(engine))
    assert words in finding.fixes[0].title


def test_a_container_on_a_jetson_is_started_with_its_own_runtime() -> None:
    finding = of("gpu/none-visible-in-container", in_container("docker", jetson="36.4.3"))
    assert "docker run --runtime nvidia" in finding.fixes[0].title


def test_a_container_in_a_slurm_job_is_told_of_both() -> None:
    flag, job = of("gpu/none-visible-in-container", in_container("apptainer", slurm=True)).fixes
    assert "--nv" in flag.title and "--gres=gpu:1" in job.title
