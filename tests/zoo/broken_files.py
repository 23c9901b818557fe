"""Environments in which installed files are missing or not what was installed."""

from __future__ import annotations

from .environment import QUICK, Target, broken, environment
from .lab import Lab

CORRUPT, ALTERED = "bitsandbytes/native-library-corrupt", "python/files-missing-or-altered"


@environment(broken("torch/missing", options=QUICK))
def torch_missing(lab: Lab) -> Target:
    """torch is not installed"""
    venv = lab.copy()
    venv.remove("torch", "torch-*.dist-info")
    return Target(venv.python)


@environment(broken("python/requirement-unsatisfied"))
def numpy_missing(lab: Lab) -> Target:
    """numpy is not installed"""
    venv = lab.copy()
    venv.remove("numpy", "numpy-*.dist-info")
    return Target(venv.python)


@environment(broken("bitsandbytes/native-library-missing"))
def bitsandbytes_without_libraries(lab: Lab) -> Target:
    """bitsandbytes without any native library: its imports pass all the same, in slow torch code"""
    venv = lab.copy()
    venv.remove("bitsandbytes/libbitsandbytes_*")
    return Target(venv.python)


@environment(broken("bitsandbytes/native-library-missing", options=QUICK))
def bitsandbytes_without_cpu_library(lab: Lab) -> Target:
    """bitsandbytes without its CPU library, on a machine that has nothing else"""
    venv = lab.copy()
    venv.remove("bitsandbytes/libbitsandbytes_cpu.so")
    return Target(venv.python)


@environment(broken(CORRUPT))
def bitsandbytes_cpu_library_cut(lab: Lab) -> Target:
    """The CPU library of bitsandbytes is cut short: touching the pages that are not there is SIGBUS"""
    venv = lab.copy()
    venv.truncate("bitsandbytes/libbitsandbytes_cpu.so", 4096)
    return Target(venv.python)


@environment(broken(CORRUPT, options=QUICK))
def bitsandbytes_cuda_library_cut(lab: Lab) -> Target:
    """A CUDA library of bitsandbytes is cut short: without a GPU nothing loads it, only its size tells"""
    venv = lab.copy()
    venv.truncate("bitsandbytes/libbitsandbytes_cuda130.so", 2_000_000)
    return Target(venv.python)


@environment(broken(ALTERED))
def numpy_without_extension(lab: Lab) -> Target:
    """The native core of numpy is missing"""
    venv = lab.copy()
    venv.remove("numpy/_core/_multiarray_umath*.so")
    return Target(venv.python)


@environment(broken(ALTERED))
def safetensors_without_extension(lab: Lab) -> Target:
    """The native module of safetensors is missing, and transformers blames a class of its own"""
    venv = lab.copy()
    venv.remove("safetensors/*.so")
    return Target(venv.python)


@environment(broken(ALTERED))
def yaml_without_folder(lab: Lab) -> Target:
    """The folder of PyYAML is gone and its metadata is left, so that pip calls it installed"""
    venv = lab.copy()
    venv.remove("yaml")
    return Target(venv.python)


@environment(broken(ALTERED))
def libtorch_missing(lab: Lab) -> Target:
    """libtorch_cpu.so is missing"""
    venv = lab.copy()
    venv.remove("torch/lib/libtorch_cpu.so")
    return Target(venv.python)


@environment(broken(ALTERED))
def libtorch_cut(lab: Lab) -> Target:
    """libtorch_cpu.so is cut short"""
    venv = lab.copy()
    venv.truncate("torch/lib/libtorch_cpu.so", 1_000_000)
    return Target(venv.python)


@environment(broken(ALTERED))
def torch_edited(lab: Lab) -> Target:
    """Someone edited torch in place, and it no longer imports"""
    venv = lab.copy()
    venv.write("torch/__init__.py", "raise RuntimeError('edited')\n")
    return Target(venv.python)


@environment(broken(ALTERED))
def peft_half_uninstalled(lab: Lab) -> Target:
    """Half of peft's folders are gone"""
    venv = lab.copy()
    venv.remove("peft/tuners", "peft/utils")
    return Target(venv.python)


@environment(broken(ALTERED))
def accelerate_written_to_a_full_disk(lab: Lab) -> Target:
    """The disk was full during an upgrade: files of accelerate have their names and no bytes"""
    venv = lab.copy()
    for name in ("accelerate/__init__.py", "accelerate/accelerator.py", "accelerate/utils/__init__.py"):
        venv.write(name, "")
    return Target(venv.python)


@environment(broken(ALTERED))
def safetensors_of_another_machine(lab: Lab) -> Target:
    """The native module of safetensors was copied from an ARM machine"""
    venv = lab.copy()
    (library,) = venv.find("safetensors/*.so")
    content = bytearray(library.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    venv.write(f"safetensors/{library.name}", bytes(content))
    return Target(venv.python)
