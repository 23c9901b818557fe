"""A torch of our own that plays an allocator, a doctor as a process, and the lines that the hook leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HOOK = Path(__file__).parents[2] / "doctor" / "watching" / "hook"
PATIENCE_S = 120.0

# As much of torch as the hook asks, with an allocator that holds what the program says. Asking it before CUDA
# is initialised is an error, as it would be a fault of the hook.
FAKE_TORCH = {
    "torch/__init__.py": """
        import ctypes
        __version__ = "2.13.0+cu130"
        from torch import nn, optim, cuda, _C
        recording = True
        def is_grad_enabled():
            return recording
        class OutOfMemoryError(RuntimeError):
            pass
    """,
    "torch/nn.py": """
        class Parameter:
            pass
        class Module:
            def __init__(self):
                self._parameters, self.training = {"weight": Parameter()}, True
            def _call_impl(self, function):
                return function()
            __call__ = _call_impl
    """,
    "torch/_C.py": """
        observers = []
        def _cuda_attach_out_of_memory_observer(observer):
            observers.append(observer)
    """,
    "torch/cuda.py": """
        MIB = 1 << 20
        initialised, allocated, reserved, pieces = False, 0, 0, 0
        peaks, retries, failures = [0, 0], 0, 0
        class Properties:
            uuid = "UUID"
        def is_initialized():
            return initialised
        def device_count():
            return 1
        def hold(mib, of):
            global initialised, allocated, reserved
            initialised, allocated, reserved = True, mib * MIB, of * MIB
            peaks[:] = [max(peaks[0], allocated), max(peaks[1], reserved)]
        def memory_stats_as_nested_dict(device):
            assert initialised
            return {
                "allocated_bytes": {"all": {"current": allocated, "peak": peaks[0]}},
                "reserved_bytes": {"all": {"current": reserved, "peak": peaks[1]}},
                "inactive_split_bytes": {"all": {"current": pieces * MIB}},
                "num_alloc_retries": retries, "num_ooms": failures,
            }
        def get_device_properties(device):
            return Properties
    """,
    "torch/optim/__init__.py": """
        from torch.optim import optimizer
        class SGD:
            def __init__(self, module):
                self.param_groups = [{"params": list(module._parameters.values())}]
            def step(self):
                for hook in optimizer.hooks:
                    hook(self, (), {})
    """,
    "torch/optim/optimizer.py": """
        hooks = []
        def register_optimizer_step_post_hook(hook):
            hooks.append(hook)
    """,
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Files with their text, its common indent taken off."""
    import textwrap

    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def fake_torch(folder: Path) -> str:
    """The folder to put on PYTHONPATH."""
    return str(write(folder, FAKE_TORCH))


def hooked(
    records: Path,
    program: str,
    *options: str,
    path: str = "",
    interval: float = 0.02,
    python: str = sys.executable,
) -> subprocess.CompletedProcess[str]:
    """A program with the hook in its environment, without a doctor."""
    records.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(part for part in (str(HOOK), path) if part),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LORA_DOCTOR_WATCH": str(records),
        "LORA_DOCTOR_WATCH_INTERVAL": str(interval),
    }
    return run([python, *options, "-c", program], environment)


def run(
    argv: list[str], environment: Mapping[str, str] | None = None, **how: Any
) -> subprocess.CompletedProcess[str]:
    """A process to its end."""
    return subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **how
    )


def lines(records: Path, kind: str) -> list[dict[str, Any]]:
    """What the hook told of a kind, of all processes."""
    texts = [path.read_text(encoding="ascii") for path in sorted(records.glob("*.jsonl"))]
    told = [json.loads(line) for text in texts for line in text.splitlines()]
    return [line for line in told if line["kind"] == kind]


def watch(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """``lora-doctor watch`` as a process of its own."""
    return run([sys.executable, "-m", "doctor", "watch", *arguments], {**os.environ, **(environment or {})})


def told(done: subprocess.CompletedProcess[str], file: Path) -> dict[str, Any]:
    """The JSON that a run of watch has written."""
    assert "Traceback" not in done.stdout, done.stdout
    whole = json.loads(file.read_text(encoding="utf-8"))
    assert isinstance(whole, dict) and whole["schema"] == 1, done.stderr
    return whole
