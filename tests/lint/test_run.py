"""A run over many files: none is lost, none is opened that was not named."""

from __future__ import annotations

import pytest
from fakes import FakeHost

from doctor.lint.inputs import expand
from doctor.lint.scripts import Unjudged
from doctor.render import file_terminal

from .files import run

GOOD = "transformers==5.24.0\npeft==0.21.2\n"


def test_a_bad_file_among_many_loses_no_other() -> None:
    files = {"a.txt": GOOD, "b.txt": "\ud800" * 3, "uv.lock": "[[", "d.txt": GOOD}
    given = run(files)
    reports = list(given.reports(["a.txt", "b.txt", "uv.lock", "gone.txt", "d.txt"]))
    assert [one.subject.name for one in reports] == ["a.txt", "b.txt", "uv.lock", "gone.txt", "d.txt"]
    assert [one.verdict == "undetermined" for one in reports] == [False, True, True, True, False]
    assert [name for name, _ in given.unreadable] == ["b.txt", "uv.lock", "gone.txt"]
    [gap] = [gap for gap in reports[3].gaps if gap.kind == "failed"]
    assert (gap.about, gap.reason) == ("packages", "it cannot be read: No such file or directory")
    missing = {name for name in reports[3].facts.__struct_fields__ if getattr(reports[3].facts, name) is None}
    assert missing == {gap.about for gap in reports[3].gaps}


@pytest.mark.parametrize("text", ["", "# nothing\n", "--index-url https://x.org\n"])
def test_a_file_that_asks_for_nothing_is_not_judged(text: str) -> None:
    given = run({"requirements.txt": text})
    assert given.report("requirements.txt").verdict == "undetermined"
    assert "names no package" in given.unreadable[0][1]


def test_folders_are_looked_through_and_what_is_installed_is_not() -> None:
    files = dict.fromkeys(
        ["p/requirements.txt", "p/train.py", "p/notes.md", "p/sub/uv.lock", "p/.venv/x.py"]
        + ["p/env/lib/site-packages/peft/setup.py", "p/a/b/c/d/train.py", "other/requirements.txt"],
        "",
    )
    found = list(expand(FakeHost(files=files), ["p", "other/requirements.txt"]))
    assert found == ["p/requirements.txt", "p/sub/uv.lock", "p/train.py", "other/requirements.txt"]


def test_versions_for_scripts_that_cannot_be_read_end_the_run() -> None:
    given = run({"train.py": "import peft\n"})
    given.scripts.against = "gone.txt"
    with pytest.raises(Unjudged, match=r"--against gone\.txt: it cannot be read"):
        given.report("train.py")


def test_a_script_is_held_against_the_file_beside_it() -> None:
    files = {"p/src/train.py": "import peft\n", "p/requirements.txt": "peft==0.9.0\ntransformers==4.40.0\n"}
    given = run(files)
    versions = given.scripts.beside("p/src/train.py")
    assert versions and versions.origin == "p/requirements.txt"
    assert versions.facts.version_of("peft") == "0.9.0"
    assert given.scripts.beside("elsewhere/train.py") is None
    assert given.scripts.newest.facts.version_of("peft")


NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "source": ["!pip install -q transformers==4.40.0 peft==0.10.0\\n"]},'
    ' {"cell_type": "code", "source": ["from transformers import TrainingArguments\\n",'
    ' "TrainingArguments(evaluation_strategy=\\"no\\")\\n"]}, {"cell_type": "code", "source": ["def f(:"]}]}'
)
METADATA = """\
# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "transformers==4.40.0",
#     "peft==0.10.0",
# ]
# ///
from transformers import TrainingArguments
TrainingArguments(evaluation_strategy="no")
"""


@pytest.mark.parametrize(("name", "text"), [("nb.ipynb", NOTEBOOK), ("train.py", METADATA)])
def test_a_script_is_held_against_the_versions_that_it_installs(name: str, text: str) -> None:
    report = run({name: text, "requirements.txt": GOOD}).report(name)
    assert report.facts.version_of("transformers") == "4.40.0"
    assert not report.findings
    [held] = [gap.reason for gap in report.gaps if gap.about == "versions"]
    assert held.startswith("held against what it asks for itself")


@pytest.mark.parametrize(
    "text",
    [
        "# /// script\n# dependencies = [\n# ///\n",
        "# /// script\n# dependencies = ['rich']\n# ///\nimport peft\n",
    ],
)
def test_a_script_that_asks_for_nothing_of_the_stack_is_held_against_the_file_beside_it(text: str) -> None:
    report = run({"train.py": text, "requirements.txt": GOOD}).report("train.py")
    assert report.facts.version_of("transformers") == "5.24.0"


def test_cells_that_were_left_out_are_said() -> None:
    report = run({"nb.ipynb": NOTEBOOK}).report("nb.ipynb")
    assert "left out: cell 3: line 1: " in file_terminal.render([report])
    assert "left out: cell 3: line 1: " in file_terminal.render([report, report])
