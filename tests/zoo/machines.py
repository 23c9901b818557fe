"""Environments beside a driver: an nvidia-smi that is first on PATH."""

from __future__ import annotations

import os
from pathlib import Path

from .drivers import CU130, RELEASES
from .environment import QUICK, QUICK_HEALTHY, Target, broken, environment, impaired
from .lab import Lab

SILENT_DRIVER = impaired("driver/not-answering")


def beside_nvidia_smi(lab: Lab, name: str, python: Path | None = None) -> Target:
    """One of the programs of the folder ``nvidia_smi``, put first on PATH."""
    folder = lab.folder()
    program = folder / "nvidia-smi"
    program.write_text((Path(__file__).with_name("nvidia_smi") / name).read_text())
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return Target(python or lab.base().python, variables={"PATH": path})


@environment(SILENT_DRIVER)
def nvidia_smi_hangs(lab: Lab) -> Target:
    """nvidia-smi hangs"""
    return beside_nvidia_smi(lab, "hangs")


@environment(SILENT_DRIVER)
def nvidia_smi_fails(lab: Lab) -> Target:
    """nvidia-smi cannot communicate with the driver"""
    return beside_nvidia_smi(lab, "fails")


@environment(QUICK_HEALTHY)
def nvidia_smi_prints_rubbish(lab: Lab) -> Target:
    """nvidia-smi prints rubbish"""
    return beside_nvidia_smi(lab, "prints_rubbish")


@environment(broken("driver/library-version-mismatch", options=QUICK))
def nvidia_smi_of_another_driver(lab: Lab) -> Target:
    """nvidia-smi names a driver/library version mismatch"""
    return beside_nvidia_smi(lab, "version_mismatch")


@environment(broken("torch/cpu-only-build", options=QUICK))
def gpu_and_cpu_torch(lab: Lab) -> Target:
    """A Tesla T4 under driver 470, and torch's CPU build"""
    venv = lab.skeleton("2.13.0+cpu", "", RELEASES)
    return beside_nvidia_smi(lab, "driver_470_tesla_t4", venv.python)


@environment(broken("driver/too-old-for-cuda-runtime", options=QUICK))
def old_driver_and_torch_for_cuda_13(lab: Lab) -> Target:
    """A Tesla T4 under driver 470, and torch for CUDA 13.0"""
    venv = lab.skeleton(*CU130, RELEASES)
    return beside_nvidia_smi(lab, "driver_470_tesla_t4", venv.python)
