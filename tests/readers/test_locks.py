"""Locks: the pins of uv, poetry, pdm, pipenv and PEP 751."""

from __future__ import annotations

import pytest

from doctor.readers import Unreadable

from .reading import lines, pairs, wanted

UV = """\
version = 1
requires-python = ">=3.11"

[[package]]
name = "mine"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "torch", marker = "sys_platform == 'linux'" },
]

[[package]]
name = "torch"
version = "2.3.0+cpu"
source = { registry = "https://download.pytorch.org/whl/cpu" }
resolution-markers = [
    "sys_platform == 'linux'",
]
sdist = { url = "https://x.org/torch-2.3.0.tar.gz", hash = "sha256:ab", size = 1 }
wheels = [
    { url = "https://x.org/torch-2.3.0-cp311-none-any.whl", hash = "sha256:ab", size = 1 },
]

[[package]]
name = "peft"
version = "0.11.0"
source = { git = "https://github.com/huggingface/peft?rev=main#13e53fc" }
"""


def test_uv() -> None:
    found = wanted(UV, "uv.lock")
    assert (found.form, found.python) == ("locked", ">=3.11")
    assert pairs(found) == [("torch", "==2.3.0+cpu"), ("peft", "==0.11.0")]
    assert lines(found) == {"torch": 13, "peft": 25}
    assert found.requirements[0].marker == "(sys_platform == 'linux')"
    assert found.requirements[1].origin.startswith("https://github.com/huggingface/peft")


def test_poetry() -> None:
    found = wanted(
        '[[package]]\nname = "PEFT"\nversion = "0.11.0"\noptional = true\n'
        "markers = \"python_version < '3.12'\"\n"
        'files = [\n    {file = "peft-0.11.0.whl", hash = "sha256:ab"},\n]\n'
        '[metadata]\nlock-version = "2.1"\npython-versions = ">=3.10,<3.13"\n',
        "poetry.lock",
    )
    assert [(one.name, one.specifier, one.group, one.marker) for one in found.requirements] == [
        ("peft", "==0.11.0", "optional", "python_version < '3.12'")
    ]
    assert found.python == "<3.13,>=3.10"


def test_pylock_and_pdm() -> None:
    pylock = 'lock-version = "1.0"\n[[packages]]\nname = "peft"\nversion = "0.11.0"\n'
    assert pairs(wanted(pylock, "pylock.train.toml")) == [("peft", "==0.11.0")]
    pdm = '[metadata]\ngroups = ["default"]\n[[package]]\nname = "peft"\nversion = "0.11.0"\n'
    assert pairs(wanted(pdm, "pdm.lock")) == [("peft", "==0.11.0")]


def test_pipfile_lock() -> None:
    found = wanted(
        '{"_meta": {"requires": {"python_version": "3.11"}},\n"default": {\n'
        '"peft": {"version": "==0.11.0"}},\n'
        '"develop": {"pytest": {"version": "==8.0"}}}',
        "Pipfile.lock",
    )
    assert [(one.name, one.specifier, one.group) for one in found.requirements] == [
        ("peft", "==0.11.0", ""),
        ("pytest", "==8.0", "dev"),
    ]
    assert (found.form, found.python, lines(found)["peft"]) == ("locked", "==3.11.*", 3)


def test_a_lock_by_another_name_is_known_by_what_stands_in_it() -> None:
    assert wanted(UV, "lock-of-today.txt").form == "locked"


@pytest.mark.parametrize("text", ["x = 1", "[[package]\n", ""])
def test_what_is_no_lock(text: str) -> None:
    with pytest.raises(Unreadable):
        wanted(text, "uv.lock")


def test_entries_of_another_kind_are_left_out() -> None:
    text = (
        'version = 1\n[[package]]\nname = 5\nversion = [1]\n[[package]]\nname = "peft"\nversion = "banana"\n'
    )
    found = wanted(text, "uv.lock")
    assert found.requirements == ()
    assert "no version" in found.notes[0].text
