"""Loops of the real torch on the CPU: one that leaks, one that does not, evaluations of both kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .programs import watch

pytestmark = pytest.mark.environments

MIB = 1 << 20
# Four layers of 512: an output of 128 rows keeps, besides itself, the input of each layer: 5 * 128 * 512 * 4
# bytes, which is 1.25 MiB; what malloc adds for its pages is less than as much again.
LOOP = """
import time, torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
kept = []
for number in range(150):
    loss = model(torch.randn(256, 512)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
LEAK = LOOP + "    kept.append(model(torch.randn(128, 512)))\n"
VARYING = LOOP + "    model(torch.randn(1 + number * 7919 % 2000, 512)).mean().backward()\n"
EVALUATE = """
until = time.monotonic() + 3
model.eval()
while time.monotonic() < until:
    model(torch.randn(512, 512))
"""
WITHOUT = """
until = time.monotonic() + 3
model.eval()
with torch.no_grad():
    while time.monotonic() < until:
        model(torch.randn(512, 512))
"""
COMPILED = """
compiled = torch.compile(model, backend="eager")
until = time.monotonic() + 2
while time.monotonic() < until:
    compiled(torch.randn(512, 512))
from torch._dynamo.utils import counters
print(dict(counters["graph_break"]), counters["stats"]["unique_graphs"])
"""


def run(python: str, folder: Path, program: str) -> dict[str, Any]:
    output = folder / "told.json"
    environment = {"OMP_NUM_THREADS": "1"}
    done = watch(
        "--interval", "100ms", "-o", str(output), "--", python, "-c", program, environment=environment
    )
    assert done.returncode == 0, done.stderr
    whole = json.loads(output.read_text())
    whole["stdout"] = done.stdout
    assert isinstance(whole, dict)
    return whole


def ids(whole: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in whole["findings"]]


def test_outputs_that_are_kept_with_their_graph(base_python: str, tmp_path: Path) -> None:
    whole = run(base_python, tmp_path, LEAK)
    assert ids(whole) == ["memory/leak"]
    assert whole["run"]["processes"][0]["steps"] >= 140
    number, unit = whole["findings"][0]["title"].split("leaves ")[1].split()[:2]
    assert 1.25 <= float(number) <= 2.5 and unit == "MiB"


def test_a_loop_that_keeps_nothing(base_python: str, tmp_path: Path) -> None:
    assert ids(run(base_python, tmp_path, LOOP)) == ["memory/steady"]


def test_lengths_that_vary(base_python: str, tmp_path: Path) -> None:
    assert "memory/leak" not in ids(run(base_python, tmp_path, VARYING))


def test_an_evaluation_that_forgets_no_grad(base_python: str, tmp_path: Path) -> None:
    assert ids(run(base_python, tmp_path, LOOP + EVALUATE)) == ["memory/evaluation-with-gradients"]


def test_an_evaluation_under_no_grad(base_python: str, tmp_path: Path) -> None:
    assert ids(run(base_python, tmp_path, LOOP + WITHOUT)) == ["memory/steady"]


def test_compiling_is_not_disturbed(base_python: str, tmp_path: Path) -> None:
    """Asked in the middle of compiled code, the main thread breaks no graph and compiles nothing of ours."""
    assert run(base_python, tmp_path, LOOP + COMPILED)["stdout"] == "{} 1\n"


def test_a_tensor_that_the_system_has_no_room_for(base_python: str, tmp_path: Path) -> None:
    failing = "import torch; torch.empty(1 << 48, dtype=torch.uint8)"
    output = tmp_path / "told.json"
    done = watch("-o", str(output), "--", base_python, "-c", failing)
    assert done.returncode == 1
    [failed] = [
        one for one in json.loads(output.read_text())["findings"] if one["id"] == "memory/out-of-memory"
    ]
    assert failed["evidence"][0] == {
        "subject": "asked for", "seen": "262144 GiB", "wanted": "", "where": ""
    }  # fmt: skip
