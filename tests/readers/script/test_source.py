"""From text to a tree: notebooks, magics, and what is no Python."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.readers.script import ScriptUnreadable, read_script
from doctor.readers.script.source import without_magics


def notebook(*cells: str, kind: str = "code") -> str:
    return json.dumps(
        {
            "cells": [{"cell_type": "markdown", "source": ["# A title"]}]
            + [
                {"cell_type": kind, "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells
            ],
            "nbformat": 4,
        }
    )


def test_a_notebook_is_one_script_and_keeps_its_cells() -> None:
    script = read_script(
        notebook(
            "!pip install trl\nfrom trl import SFTTrainer", "x = 1\ntrainer = SFTTrainer(model, tokenizer=t)"
        ),
        "train.ipynb",
    )
    [call] = script.calls
    assert call.callable == "trl.SFTTrainer"
    assert script.where(call.place.line) == "cell 3, line 2"
    assert script.where(script.imports[0].place.line) == "cell 2, line 2"


@pytest.mark.parametrize(
    "cell",
    [
        "%%bash\npip install 'trl'\nif [ -f x ]; then echo; fi",
        "%%writefile train.py\nfrom nowhere import",
        "import os; os.environ['A'] = '1' if else",
    ],
)
def test_a_cell_that_is_no_python_costs_only_itself(cell: str) -> None:
    script = read_script(notebook(cell, "import trl\ntrl.SFTTrainer(tokenizer=1)"), "train.ipynb")
    assert [call.callable for call in script.calls] == ["trl.SFTTrainer"]
    assert len(script.skipped) == (not cell.startswith("%%"))


def test_a_skipped_cell_says_which_and_why() -> None:
    script = read_script(notebook("print 'hello'", "x = 1"), "train.ipynb")
    [reason] = script.skipped
    assert reason.startswith("cell 2: line 1: Missing parentheses")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("print 'hello'", "line 1: Missing parentheses"),
        ("x = (", "line 1: "),
        ("a\0b", "NUL bytes"),
        ("(" * 5000, "nested"),
        ("x = " + "-" * 100_000 + "1", "nested too deeply"),
        ("x = 1\n" * 1_000_000, "6 MB of code"),
        ("".join(f"if a:\n  x{n} = 1\n" for n in range(20_000)), "too many names and branches"),
        ("x = " + "9" * 5000, "cannot be read as Python|Exceeds the limit"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, words: str) -> None:
    with pytest.raises(ScriptUnreadable, match=words):
        read_script(text, "train.py")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"cells": []}', '{"cells": [1, {"cell_type": "code"}]', '{"worksheets": [3]}', "[" * 9000],
)
def test_what_is_no_notebook_says_so(text: str) -> None:
    with pytest.raises(ScriptUnreadable, match="no notebook"):
        read_script(text, "train.ipynb")


def test_a_notebook_of_python_2_is_unreadable() -> None:
    with pytest.raises(ScriptUnreadable, match="none of its code cells is Python 3; cell 2: line 1"):
        read_script(notebook("print 'a'", "print 'b'"), "train.ipynb")


def test_a_notebook_of_format_3_is_read() -> None:
    old = {
        "worksheets": [{"cells": [{"cell_type": "code", "input": ["import trl\n", "trl.SFTConfig('o')"]}]}]
    }
    script = read_script(json.dumps(old), "train.ipynb")
    assert [call.callable for call in script.calls] == ["trl.SFTConfig"]


def test_magics_in_a_plain_script_are_blanked() -> None:
    script = read_script(
        "!pip install trl \\\n  peft\nimport trl\nif 1:\n    %cd x\nfiles = !ls\ntrl.SFTConfig()", "a.py"
    )
    assert [(call.callable, call.place.line) for call in script.calls] == [("trl.SFTConfig", 7)]


def test_a_percent_sign_that_is_python_stays() -> None:
    text = "import trl\nname = ('%s'\n% 1)\ntrl.SFTConfig(name)"
    assert len(read_script(text, "a.py").calls) == 1


def test_a_byte_order_mark_is_no_fault() -> None:
    assert read_script("\ufeffimport trl", "a.py").imports[0].module == "trl"


@settings(deadline=None)
@given(st.text(alphabet="%!?x =\n\t\\a", max_size=60))
def test_blanking_keeps_the_number_of_lines(text: str) -> None:
    assert without_magics(text).count("\n") == text.count("\n")


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for name in ("a.py", "a.ipynb"):
        try:
            read_script(text, name)
        except ScriptUnreadable as error:
            assert str(error)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the parser of Python 3.10 reads sums of any length")
def test_a_sum_that_is_too_long_is_refused() -> None:
    with pytest.raises(ScriptUnreadable, match="nested too deeply"):
        read_script("x = " + "1 + " * 60_000 + "1", "train.py")
