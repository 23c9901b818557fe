"""Answers read from the text of releases: they differ wherever the true ones differ."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from compute.fingerprints import Question, Reader, compared
from compute.sources import Sources

OLD = {
    "tool/__init__.py": "from .core import *\n_structure = {'late': ['Late']}\n",
    "tool/core.py": "if True:\n  Kept = 1\nclass Machine:\n  def __init__(self, split, even=True): pass\n",
    "tool/old.py": "",
    "tool/willing.py": "",
}
NEW = {
    "tool/willing.py": "def __getattr__(name): return name\n",
    "tool/__init__.py": "from .core import *\n",
    "tool/core.py": "Kept = Fresh = 1\nclass Machine:\n    def __init__(self, *, plan=None): pass\n",
}


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    for version, files in (("1.0", OLD), ("2.0", NEW)):
        with zipfile.ZipFile(tmp_path / f"tool-{version}.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    return Reader(Sources(tmp_path), "tool")


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (("name", "tool", "Kept"), ("bound", "bound")),
        (("name", "tool", "Fresh"), ("absent", "bound")),
        (("name", "tool", "Late"), ("mentioned", "absent")),
        (("name", "tool", "old"), ("bound", "absent")),
        (("name", "tool.old", "anything"), ("absent", "no module")),
        (("name", "tool.willing", "anything"), ("absent", "made up")),
        (("parameter", "tool.core", "Machine.__init__(split)"), ("True", "False")),
        (("attribute", "tool.core", "Machine.plan"), ("False", "True")),
        (("version", "", ">= 1.5"), ("False", "True")),
        (("version", "", "1.5 <"), ("False", "True")),
    ],
)
def test_an_answer(reader: Reader, question: tuple[str, str, str], answers: tuple[str, str]) -> None:
    asked = Question(*question)
    assert (reader.answer("1.0", asked), reader.answer("2.0", asked)) == answers


@pytest.mark.parametrize("shape", ["(1;;False)", "(0;even,split;False)", "(1;plan;False)"])
def test_a_call_that_only_one_accepts_is_told_apart(reader: Reader, shape: str) -> None:
    asked = Question("call", "tool.core", f"Machine.__init__{shape}")
    assert reader.answer("1.0", asked) != reader.answer("2.0", asked)


@pytest.mark.parametrize(
    ("version", "comparison", "answer"),
    [("1.10", ">= 1.9", True), ("1.10", "< 1.9", False), ("2.0", "1.9 <=", True), ("1.0", "== 1.0.0", True)],
)
def test_a_comparison_of_versions(version: str, comparison: str, answer: bool) -> None:
    assert compared(version, comparison) == str(answer)
