"""The child's own text, and in a real environment its counter of storages against sizes known by hand."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

import doctor.measuring
from doctor.collectors import behind_gate, joined
from doctor.measuring.child import PARTS

CHILD = Path(doctor.measuring.__file__).parent / "child"


@pytest.mark.parametrize("part", PARTS)
def test_a_part_parses_as_python_3_8(part: str) -> None:
    ast.parse((CHILD / f"{part}.py").read_text(encoding="utf-8"), feature_version=(3, 8))


def test_every_file_is_a_part() -> None:
    assert {path.stem for path in CHILD.glob("*.py")} == {*PARTS, "__init__"}


def test_no_name_is_defined_twice() -> None:
    tree = ast.parse(joined(PARTS, "doctor.measuring.child"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(names) == len(set(names))


COUNTING = """
import torch

storages = Storages()
told = []
with watch_storages(storages):
    kept = torch.ones(1000)                       # 4000 bytes
    view = kept.view(10, 100)[3]                  # the same storage
    told.append((storages.alive_bytes, storages.peak_bytes))
    other = kept.double()                         # 8000 bytes
    told.append((storages.alive_bytes, storages.peak_bytes))
    del other
    told.append((storages.alive_bytes, storages.peak_bytes))
    storages.forget_peak()
    del kept                                      # the view keeps it
    told.append((storages.alive_bytes, storages.peak_bytes))
    del view
    nowhere = torch.empty(10 ** 9, device="meta")
    told.append((storages.alive_bytes, storages.peak_bytes))
x = torch.ones(100, 10, requires_grad=True)       # 4000 bytes
weight = torch.nn.Linear(10, 5, bias=False)
saved = Saved(weight)
with torch.autograd.graph.saved_tensors_hooks(saved.pack, lambda tensor: tensor):
    y = weight(x).exp()                           # keeps x for the weight, its own result for exp: 2000 bytes
told.append((saved.total_bytes(), distinct_bytes([x, x[3], weight.weight])))
emit({"told": told})
"""


@pytest.mark.environments
def test_storages_are_counted_as_they_live(base_python: str) -> None:
    parts = joined(("limit", "storages"), "doctor.measuring.child")
    done = subprocess.run(
        [base_python, "-", json.dumps({"mark": "<mark>"})],
        input=behind_gate(parts + COUNTING),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("<mark>"))
    assert json.loads(line[len("<mark>") : -len("<mark>")])["told"] == [
        [4000, 4000],
        [12000, 12000],
        [4000, 12000],
        [4000, 4000],
        [0, 4000],
        [6000, 4200],
    ]
