"""lora-doctor: the true cause of a broken LoRA or QLoRA environment, and a fix that works.

PYTEST_DONT_REWRITE: there is no assertion here, and a plugin for pytest imports this early.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def check(quick: bool = False, python: str | None = None, ignore: tuple[str, ...] = ()) -> Any:
    """Examine the interpreter that runs this, as ``lora-doctor check`` would; for notebooks.

    ``quick`` leaves out whatever imports a heavy library. Nothing is imported into this process: what is
    tried runs in children, and a crash there leaves the kernel alone. ``python`` examines another
    interpreter, ``ignore`` leaves out findings whose id begins so. Returns a :class:`doctor.notebook.Shown`,
    which a notebook shows as the report; as ``.report`` it has a :class:`doctor.findings.Report`.
    """
    # By name: every module of ours imports this one, and none must bring the whole examination along.
    return import_module("doctor.notebook").check(quick, python, ignore)
