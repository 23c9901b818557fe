"""Environments whose packages are sound, and which are started badly, in a bad place, or hold little."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sandboxes import install

from .environment import Target, environment
from .lab import Lab, rename_torch

BANNER = "*** WELCOME TO CLUSTER 7 ***"
PRINT_BANNER = f"import sys\nprint({BANNER!r})\nprint({BANNER!r}, file=sys.stderr)\n"


@environment
def healthy(lab: Lab) -> Target:
    return Target(lab.base().python)


# --- an interpreter that greets, or does not start


@environment
def sitecustomize_prints(lab: Lab) -> Target:
    venv = lab.copy()
    venv.write("sitecustomize.py", PRINT_BANNER)
    return Target(venv.python)


@environment
def sitecustomize_exits(lab: Lab) -> Target:
    venv = lab.copy()
    venv.write("sitecustomize.py", "raise SystemExit(7)\n")
    return Target(venv.python)


@environment
def interpreter_gone(lab: Lab) -> Target:
    """The Python below the environment was upgraded away."""
    venv = lab.empty()
    venv.python.unlink()
    venv.python.symlink_to("/nonexistent/bin/python3.11")
    return Target(venv.python)


# --- the working folder


def started_among(lab: Lab, files: Mapping[str, str]) -> Target:
    """The healthy base, started in a folder that holds these files."""
    folder = lab.folder()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return Target(lab.base().python, folder)


@environment
def torch_py_here(lab: Lab) -> Target:
    return started_among(lab, {"torch.py": "print('my notes on torch')\n"})


@environment
def peft_py_here(lab: Lab) -> Target:
    return started_among(lab, {"peft.py": "from peft import LoraConfig\n"})


@environment
def datasets_folder_here(lab: Lab) -> Target:
    """Data, not code: without an __init__.py the installed package wins."""
    return started_among(lab, {"datasets/train.jsonl": "{}\n"})


@environment
def standard_library_names_here(lab: Lab) -> Target:
    names = ("json.py", "random.py", "inspect.py", "tempfile.py")
    return started_among(lab, dict.fromkeys(names, "raise RuntimeError('not the standard library')\n"))


# --- little or nothing installed


@environment
def empty(lab: Lab) -> Target:
    """pip and nothing else."""
    return Target(lab.empty(seed=True).python)


@environment
def empty_without_pip(lab: Lab) -> Target:
    return Target(lab.empty().python)


@environment
def python38_empty(lab: Lab) -> Target:
    return Target(lab.empty("3.8").python)


@environment
def python38_with_old_peft(lab: Lab) -> Target:
    """The newest releases that Python 3.8 ever got, and nothing that they need."""
    venv = lab.empty("3.8")
    install(venv, "peft==0.13.2", "transformers==4.46.3")
    return Target(venv.python)


# --- an nvidia-smi on PATH


def beside_nvidia_smi(lab: Lab, name: str, python: Path | None = None) -> Target:
    """One of the programs of the folder ``nvidia_smi``, put first on PATH."""
    folder = lab.folder()
    program = folder / "nvidia-smi"
    program.write_text((Path(__file__).with_name("nvidia_smi") / name).read_text())
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return Target(python or lab.base().python, variables={"PATH": path})


@environment
def nvidia_smi_hangs(lab: Lab) -> Target:
    return beside_nvidia_smi(lab, "hangs")


@environment
def nvidia_smi_fails(lab: Lab) -> Target:
    return beside_nvidia_smi(lab, "fails")


@environment
def nvidia_smi_prints_rubbish(lab: Lab) -> Target:
    return beside_nvidia_smi(lab, "prints_rubbish")


@environment
def nvidia_smi_of_another_driver(lab: Lab) -> Target:
    return beside_nvidia_smi(lab, "version_mismatch")


@environment
def gpu_and_cpu_torch(lab: Lab) -> Target:
    return beside_nvidia_smi(lab, "driver_470_tesla_t4")


@environment
def old_driver_and_torch_for_cuda_13(lab: Lab) -> Target:
    venv = lab.copy()
    rename_torch(venv, "cu130", "13.0")
    return beside_nvidia_smi(lab, "driver_470_tesla_t4", venv.python)
