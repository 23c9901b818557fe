"""Environments in which code misbehaves when it is imported; RECORD agrees, so only the import shows it."""

from __future__ import annotations

from .environment import HEALTHY, IMPATIENT, Target, broken, environment
from .lab import Lab, Venv

# Looks like the doctor's own JSON, holds what no text should, and would fool a terminal.
RUBBISH = '{"ready": true}\n\x00\x1b[31mred\x1b[0m\x1b]0;title\x07{"schema": 1, "findings": []\n'
PRINT_RUBBISH = f"import os\nos.write(1, {RUBBISH.encode()!r})\nos.write(2, {RUBBISH.encode()!r})\n"
IGNORE_SIGNALS = "import signal\nfor _number in (2, 15):\n    signal.signal(_number, signal.SIG_IGN)\n"
SEGFAULT = "import ctypes\nctypes.string_at(0)\n"


def that_runs(venv: Venv, package: str, program: str, file: str = "__init__.py") -> Target:
    """Replace a package by a release one of whose files begins with this program."""
    (old,) = venv.find(f"{package}/{file}")
    text = old.read_text(encoding="utf-8")
    head, future, rest = text.partition("from __future__ import annotations\n")
    venv.release(package, f"{package}/{file}", head + future + program + rest if future else program + text)
    return Target(venv.python)


def torch_alone(lab: Lab, program: str) -> Target:
    """An environment that holds nothing but a torch whose import is this program."""
    venv = lab.empty()
    venv.register("torch", "2.13.0+cpu")
    venv.release("torch", "torch/version.py", "__version__ = '2.13.0+cpu'\ncuda = None\nhip = None\n")
    venv.release("torch", "torch/__init__.py", program)
    return Target(venv.python)


@environment(broken("torch/import-crashed"))
def torch_segfaults(lab: Lab) -> Target:
    """Importing torch is a segmentation fault"""
    return that_runs(lab.copy(), "torch", SEGFAULT)


@environment(broken("torch/import-hung", options=IMPATIENT))
def torch_sleeps(lab: Lab) -> Target:
    """Importing torch hangs, and so does a process that it started"""
    child = "import subprocess, time\nsubprocess.Popen(['sleep', '3600'])\n"
    return that_runs(lab.copy(), "torch", child + "time.sleep(3600)\n")


@environment(broken("torch/import-hung", options=IMPATIENT))
def torch_spins(lab: Lab) -> Target:
    """Importing torch keeps a core busy for ever and does not listen to the polite signals"""
    return that_runs(lab.copy(), "torch", IGNORE_SIGNALS + "while True:\n    pass\n")


@environment(broken("peft/import-hung", options=("--timeout", "20")))
def peft_hangs(lab: Lab) -> Target:
    """Importing peft never ends"""
    return that_runs(lab.copy(), "peft", "import time\ntime.sleep(3600)\n")


@environment(HEALTHY)
def torch_prints_rubbish(lab: Lab) -> Target:
    """torch prints escape sequences, a NUL and half a JSON report as it is imported"""
    return that_runs(lab.copy(), "torch", PRINT_RUBBISH, "version.py")


@environment(broken("torch/import-failed"))
def torch_prints_rubbish_and_raises(lab: Lab) -> Target:
    """torch prints rubbish, and raises it"""
    return that_runs(lab.copy(), "torch", PRINT_RUBBISH + f"raise RuntimeError({RUBBISH!r})\n")


@environment(broken("torch/import-crashed", "python/stack-missing"))
def torch_alone_segfaults(lab: Lab) -> Target:
    """A torch that segfaults, and nothing else installed"""
    return torch_alone(lab, SEGFAULT)


@environment(broken("torch/import-failed", "python/stack-missing"))
def torch_alone_prints_rubbish(lab: Lab) -> Target:
    """A torch that prints rubbish, imports and is no torch at all, and nothing else installed"""
    return torch_alone(lab, PRINT_RUBBISH)


@environment(broken("flash-attn/import-crashed"))
def flash_attn_segfaults(lab: Lab) -> Target:
    """flash_attn is built for another torch: importing it is a segmentation fault"""
    venv = lab.copy()
    venv.register("flash_attn", "2.8.3")
    venv.release("flash_attn", "flash_attn/__init__.py", SEGFAULT)
    return Target(venv.python)
