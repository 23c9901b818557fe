"""Machines by GPU, driver and build of torch, in which everything else is sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import healthy
from healthy import but

from doctor.facts import Driver, Facts, Gpu, TorchBuild
from doctor.matrix.drivers import offered_cuda
from doctor.matrix.gpus import gpu_named
from doctor.matrix.torch_builds import architectures_of, cuda_of, minor_of


def machine(
    *gpus: str,
    torch: str = "2.13.0+cu130",
    driver: str = "580.95.05",
    cuda: str = "",
    bitsandbytes: str = "0.50.2",
    seen: Sequence[str] | None = None,
    **changes: Any,
) -> Facts:
    """A machine that NVML alone saw, quickly. ``seen``: the list that torch gave once it was imported.

    A GPU is a name of the table, or a name with its compute capability: "GPU 8.6". ``cuda`` is torch's where
    its label does not tell.
    """
    variant = torch.partition("+")[2]
    cuda_version = cuda or cuda_of(variant) or None
    digits, offered = (cuda_version or "").replace(".", ""), offered_cuda(driver, "linux") or None
    build = TorchBuild(version=torch, cuda_version=cuda_version, hip_version=None, variant=variant)
    runtime = but(
        healthy.FACTS.torch_runtime,
        version=torch,
        cuda_version=build.cuda_version,
        arch_list=tuple(seen or ()),
        cuda_available=None,
        devices=(),
        capabilities=(),
    )
    return healthy.facts(
        **{
            "driver": Driver(version=driver, cuda_version=offered, source="nvml"),
            "gpus": tuple(gpu(number, name) for number, name in enumerate(gpus)),
            "packages": healthy.packages(torch=torch, bitsandbytes=bitsandbytes),
            "torch": build,
            "bitsandbytes": but(
                healthy.FACTS.bitsandbytes,
                version=bitsandbytes,
                expected=f"libbitsandbytes_cuda{digits}",
                libraries=(f"libbitsandbytes_cuda{digits}.so", "libbitsandbytes_cpu.so"),
            ),
            "torch_runtime": runtime if seen is not None else None,
            "bitsandbytes_runtime": None,
            "linkage": None,
            "cuda_driver": None,
            "trial": None,
            **changes,
        }
    )


def gpu(index: int, name: str) -> Gpu:
    """A GPU of the table, or one that is spelt out."""
    known = gpu_named(name)
    return Gpu(
        index=index,
        name=known.name if known else name,
        compute_capability=known.compute_capability if known else name.split()[-1],
        memory_total_bytes=16 << 30,
        memory_free_bytes=16 << 30,
    )


def listed(torch: str, arch: str = "x86_64") -> tuple[str, ...]:
    """The list that a build of torch gives, by the table."""
    return architectures_of(minor_of(torch), torch.partition("+")[2], arch)


def in_order(given: Facts, *names: str) -> Facts:
    """The machine with its GPUs as torch saw them, in CUDA's order."""
    told = [gpu(number, name) for number, name in enumerate(names)]
    runtime = but(
        given.torch_runtime or healthy.FACTS.torch_runtime,
        devices=tuple(one.name for one in told),
        capabilities=tuple(one.compute_capability for one in told),
        cuda_available=True,
    )
    seen: Facts = but(given, torch_runtime=runtime)
    return seen
