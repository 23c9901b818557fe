"""Environments whose packages are at fault, one function each, named after the fault.

A function gets the :class:`~.lab.Lab`, breaks one thing in a copy of a base, and returns the target.
"""

from __future__ import annotations

from sandboxes import install

from .environment import Target, environment
from .lab import Lab, Venv

# Looks like the doctor's own JSON, holds what no text should, and would fool a terminal.
RUBBISH = '{"ready": true}\n\x00\x1b[31mred\x1b[0m\x1b]0;title\x07{"schema": 1, "findings": []\n'
PRINT_RUBBISH = f"import os\nos.write(1, {RUBBISH.encode()!r})\nos.write(2, {RUBBISH.encode()!r})\n"
IGNORE_SIGNALS = "import signal\nfor _number in (2, 15):\n    signal.signal(_number, signal.SIG_IGN)\n"


# --- releases that do not go together


@environment
def peft_too_old_for_transformers(lab: Lab) -> Target:
    """peft 0.17.1 imports HybridCache, which transformers 5 no longer has."""
    venv = lab.copy()
    install(venv, "peft==0.17.1")
    return Target(venv.python)


@environment
def peft_needs_newer_transformers(lab: Lab) -> Target:
    """peft 0.21.2 imports EncoderDecoderCache, which transformers 4.41.2 does not have yet."""
    return Target(lab.base("older_transformers").python)


# --- files that are missing or altered


@environment
def bitsandbytes_without_libraries(lab: Lab) -> Target:
    """Its imports pass all the same, in slow torch code."""
    venv = lab.copy()
    venv.remove("bitsandbytes/libbitsandbytes_*")
    return Target(venv.python)


@environment
def bitsandbytes_cpu_library_cut(lab: Lab) -> Target:
    """Touching the pages that are not there kills the process with SIGBUS."""
    venv = lab.copy()
    venv.truncate("bitsandbytes/libbitsandbytes_cpu.so", 4096)
    return Target(venv.python)


@environment
def bitsandbytes_cuda_library_cut(lab: Lab) -> Target:
    """Without a GPU nothing loads this library: only its size tells."""
    venv = lab.copy()
    venv.truncate("bitsandbytes/libbitsandbytes_cuda130.so", 2_000_000)
    return Target(venv.python)


@environment
def numpy_without_extension(lab: Lab) -> Target:
    venv = lab.copy()
    venv.remove("numpy/_core/_multiarray_umath*.so")
    return Target(venv.python)


@environment
def torch_edited(lab: Lab) -> Target:
    """Someone edited torch in place, and it no longer imports."""
    venv = lab.copy()
    venv.write("torch/__init__.py", "raise RuntimeError('edited')\n")
    return Target(venv.python)


# --- metadata


@environment
def transformers_registered_twice(lab: Lab) -> Target:
    venv = lab.copy()
    text = (venv.dist_info("transformers") / "METADATA").read_text(encoding="utf-8")
    older = "transformers-4.57.1.dist-info"
    venv.write(f"{older}/METADATA", text.replace("Version: 5.24.0", "Version: 4.57.1"))
    venv.write(f"{older}/RECORD", f"{older}/METADATA,,\n{older}/RECORD,,\n")
    return Target(venv.python)


@environment
def peft_half_uninstalled(lab: Lab) -> Target:
    venv = lab.copy()
    venv.remove("peft/tuners", "peft/utils")
    return Target(venv.python)


@environment
def peft_leftover(lab: Lab) -> Target:
    """What pip leaves when an uninstall is interrupted: the first letter gives way to a tilde."""
    venv = lab.copy()
    venv.write("~eft-0.14.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: peft\nVersion: 0.14.0\n")
    venv.write("~eft/__init__.py", "")
    return Target(venv.python)


@environment
def peft_metadata_missing(lab: Lab) -> Target:
    venv = lab.copy()
    venv.remove("peft-*.dist-info/METADATA")
    return Target(venv.python)


@environment
def peft_metadata_random(lab: Lab) -> Target:
    venv = lab.copy()
    venv.write(f"{venv.dist_info('peft').name}/METADATA", bytes(range(255, 0, -1)) * 20)
    return Target(venv.python)


@environment
def peft_record_missing(lab: Lab) -> Target:
    venv = lab.copy()
    venv.remove("peft-*.dist-info/RECORD")
    return Target(venv.python)


# --- a torch that misbehaves when it is imported; its RECORD agrees, so that only the import shows it


def torch_that_runs(venv: Venv, program: str) -> Target:
    """Replace torch by a release whose import begins with this program."""
    (init,) = venv.find("torch/__init__.py")
    venv.release("torch", "torch/__init__.py", program + init.read_text(encoding="utf-8"))
    return Target(venv.python)


def torch_alone(lab: Lab, program: str) -> Target:
    """An environment that holds nothing but a torch whose import is this program."""
    venv = lab.empty()
    metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+cpu\n"
    venv.write("torch-2.13.0+cpu.dist-info/METADATA", metadata)
    venv.write("torch-2.13.0+cpu.dist-info/RECORD", "torch-2.13.0+cpu.dist-info/METADATA,,\n")
    venv.release("torch", "torch/version.py", "__version__ = '2.13.0+cpu'\ncuda = None\nhip = None\n")
    venv.release("torch", "torch/__init__.py", program)
    return Target(venv.python)


@environment
def torch_segfaults(lab: Lab) -> Target:
    return torch_that_runs(lab.copy(), "import ctypes\nctypes.string_at(0)\n")


@environment
def torch_sleeps(lab: Lab) -> Target:
    """Hangs, and so does a process that it started."""
    child = "import subprocess, time\nsubprocess.Popen(['sleep', '3600'])\n"
    return torch_that_runs(lab.copy(), child + "time.sleep(3600)\n")


@environment
def torch_spins(lab: Lab) -> Target:
    """Keeps a core busy and does not listen to the polite signals."""
    return torch_that_runs(lab.copy(), IGNORE_SIGNALS + "while True:\n    pass\n")


@environment
def torch_prints_rubbish(lab: Lab) -> Target:
    return torch_that_runs(lab.copy(), PRINT_RUBBISH)


@environment
def torch_prints_rubbish_and_raises(lab: Lab) -> Target:
    return torch_that_runs(lab.copy(), PRINT_RUBBISH + f"raise RuntimeError({RUBBISH!r})\n")


@environment
def torch_alone_segfaults(lab: Lab) -> Target:
    return torch_alone(lab, "import ctypes\nctypes.string_at(0)\n")


@environment
def torch_alone_prints_rubbish(lab: Lab) -> Target:
    """Imports, and is no torch at all."""
    return torch_alone(lab, PRINT_RUBBISH)
