"""What triton lacks to compile with, on a machine with a GPU."""

from __future__ import annotations

from stubs import machine

from .environment import QUICK, QUICK_HEALTHY, Target, environment, impaired
from .lab import Lab
from .stand_ins import cuda_environment

TOOLS = "triton/backends/nvidia/bin"


def with_triton(lab: Lab, version: str, profile: str, **variables: str) -> Target:
    """An environment for CUDA with a triton in it, as far as the doctor reads one."""
    venv = cuda_environment(lab)
    venv.register("triton", version)
    for tool in ("ptxas", "ptxas-blackwell"):
        venv.release("triton", f"{TOOLS}/{tool}", "")
    return Target(venv.python, variables={**machine(profile), **variables})


@environment(QUICK_HEALTHY)
def triton_has_all(lab: Lab) -> Target:
    """Nothing: triton finds a compiler, Python.h and libcuda.so.1"""
    return with_triton(lab, "3.7.1", "rtx5090")


@environment(impaired("triton/python-headers-missing", QUICK))
def triton_has_no_compiler(lab: Lab) -> Target:
    """CC names a compiler that is not there"""
    return with_triton(lab, "3.7.1", "rtx4090", CC="/nowhere/gcc")


@environment(impaired("triton/libcuda-not-linkable", QUICK))
def triton_has_no_libcuda_to_link(lab: Lab) -> Target:
    """A triton that links with -lcuda, and a driver that brings libcuda.so.1 alone"""
    return with_triton(lab, "3.5.1", "rtx4090")


@environment(impaired("triton/gpu-too-new", QUICK))
def triton_is_older_than_the_gpu(lab: Lab) -> Target:
    """A GB10 beside a triton whose ptxas ends at compute capability 12.0"""
    stubs = lab.folder()
    (stubs / "libcuda.so").touch()
    return with_triton(lab, "3.5.1", "gb10", TRITON_LIBCUDA_PATH=str(stubs))
