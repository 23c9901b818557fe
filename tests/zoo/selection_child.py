"""Runs bitsandbytes' own selection in the folder it is given, with a torch made of what it asks torch for.

Standard input: {"folder", "case"}; standard output: {"library": what was opened, "said": all that was raised
or logged}. Loading is recorded instead of done, so that the files need hold nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import logging
import os
import sys
import types
import warnings

asked = json.load(sys.stdin)
case, folder = asked["case"], asked["folder"]
opened = []


def torch_of_the_case() -> types.ModuleType:
    """The few answers of torch on which the choice depends."""
    torch = types.ModuleType("torch")
    capability = tuple(int(part) for part in case["capability"].split("."))
    torch.version = types.SimpleNamespace(cuda=case["cuda"], hip=case["hip"], xpu=case["xpu"])
    torch._C = types.SimpleNamespace(_has_xpu=case["xpu"] is not None)
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: case["gpu"],
        device_count=lambda: int(case["gpu"]),
        device=lambda index: index,
        get_device_capability=lambda index: capability,
    )
    return torch


class Opened:
    """What stands for a library that was opened: of CUDA's, where its name says so."""

    def __init__(self, path: str) -> None:
        self.is_gpu = "_cuda" in path or "_rocm" in path

    def __getattr__(self, name: str) -> types.SimpleNamespace:
        if name in ("get_context", "get_cusparse", "cadam32bit_grad_fp32") and not self.is_gpu:
            raise AttributeError(name)
        return types.SimpleNamespace()


def load(self: object, path: object) -> Opened:
    if not os.path.exists(str(path)):
        raise OSError(f"{path}: cannot open shared object file: No such file or directory")
    opened.append(os.path.basename(str(path)))
    return Opened(str(path))


sys.modules["torch"] = torch_of_the_case()
sys.path.insert(0, folder)
ctypes.LibraryLoader.LoadLibrary = load
logged = io.StringIO()
logging.basicConfig(stream=logged, format="%(message)s")
raised = ""
with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
    warnings.simplefilter("ignore")
    try:
        import bitsandbytes.cextension  # noqa: F401
    except Exception as error:
        raised = str(error)
json.dump({"library": opened[-1] if opened else None, "said": raised + logged.getvalue()}, sys.stdout)
