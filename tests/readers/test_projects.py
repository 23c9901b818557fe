"""pyproject.toml, setup.cfg and Pipfile: what projects say of themselves."""

from __future__ import annotations

import pytest
from packaging.markers import Marker

from doctor.readers import Unreadable
from doctor.readers.poetry_bounds import marker_of, of_poetry
from doctor.readers.requirement import NoRequirement

from .reading import lines, pairs, wanted


def test_pep_621_with_extras_groups_and_sources() -> None:
    found = wanted(
        """\
[project]
name = "mine"
requires-python = ">=3.10"
dependencies = [
  "torch>=2.3",
  "mine[train]",
]
[project.optional-dependencies]
train = ["peft==0.17.1"]
[dependency-groups]
dev = ["trl<1", { include-group = "lint" }]
lint = ["ruff"]
[tool.uv.sources]
peft = { git = "https://github.com/huggingface/peft", rev = "main" }
[[tool.uv.index]]
name = "pytorch"
url = "https://download.pytorch.org/whl/cu126"
""",
        "pyproject.toml",
    )
    assert [(one.name, one.specifier, one.group, one.line) for one in found.requirements] == [
        ("torch", ">=2.3", "", 5),
        ("peft", "==0.17.1", "train", 9),
        ("trl", "<1", "dev", 11),
        ("ruff", "", "lint", 12),
    ]
    assert found.requirements[1].origin == "git+https://github.com/huggingface/peft@main"
    assert (found.python, found.index_urls) == (">=3.10", ("https://download.pytorch.org/whl/cu126",))


def test_poetry_with_groups_and_every_kind_of_entry() -> None:
    found = wanted(
        """\
[tool.poetry.dependencies]
python = "^3.10"
torch = "~2.3"
peft = {version = "^0.9.0", extras = ["x"], markers = "sys_platform == 'linux'"}
trl = {git = "https://github.com/huggingface/trl.git", tag = "v0.9.6"}
numpy = [{version = "<2", python = "<3.12"}, {version = ">=2", python = ">=3.12"}]
[tool.poetry.group.dev.dependencies]
ruff = "*"
""",
        "pyproject.toml",
    )
    assert pairs(found) == [
        ("torch", "<2.4,>=2.3"),
        ("peft", "<0.10,>=0.9.0"),
        ("trl", "==0.9.6"),
        ("numpy", "<2"),
        ("numpy", ">=2"),
        ("ruff", ""),
    ]
    assert found.requirements[1].marker == "sys_platform == 'linux'"
    assert found.requirements[3].marker == 'python_full_version < "3.12"'
    assert found.python == "<4,>=3.10"
    assert lines(found)["trl"] == 5 and lines(found)["ruff"] == 8


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("^1.2.3", "<2,>=1.2.3"),
        ("^0.2.3", "<0.3,>=0.2.3"),
        ("^0.0.3", "<0.0.4,>=0.0.3"),
        ("^0", "<1,>=0"),
        ("~1.2.3", "<1.3,>=1.2.3"),
        ("~1", "<2,>=1"),
        (">=1.2,<2", "<2,>=1.2"),
        (">=1.2 <2", "<2,>=1.2"),
        ("1.2.3", "==1.2.3"),
        ("1.2.*", "==1.2.*"),
        ("*", ""),
        ("", ""),
    ],
)
def test_bounds_of_poetry(text: str, bounds: str) -> None:
    assert of_poetry(text) == bounds


@pytest.mark.parametrize(
    ("entry", "marker"),
    [
        ({}, ""),
        ({"markers": "os_name == 'nt'"}, "os_name == 'nt'"),
        ({"python": "<3.9 || >=3.12"}, 'python_full_version < "3.9" or python_full_version >= "3.12"'),
        ({"python": "^3.10", "platform": "linux"}, '(PYTHON) and (sys_platform == "linux")'),
        ({"sys_platform": "== 'win32'"}, "sys_platform == 'win32'"),
        ({"python": "rubbish"}, ""),
    ],
)  # fmt: skip
def test_where_an_entry_holds(entry: dict[str, str], marker: str) -> None:
    python = 'python_full_version < "4" and python_full_version >= "3.10"'
    assert marker_of(entry) == marker.replace("PYTHON", python)
    assert not marker or Marker(marker_of(entry))


def test_alternatives_of_poetry_are_no_bounds() -> None:
    with pytest.raises(NoRequirement):
        of_poetry("^1.0 || ^3.0")


def test_pipfile() -> None:
    found = wanted(
        '[packages]\ntorch = "==2.3.0"\npeft = {version = ">=0.9"}\n[dev-packages]\npytest = "*"\n'
        '[requires]\npython_version = "3.11"\n',
        "Pipfile",
    )
    assert pairs(found) == [("torch", "==2.3.0"), ("peft", ">=0.9"), ("pytest", "")]
    assert (found.python, lines(found)["peft"]) == ("==3.11.*", 3)


def test_setup_cfg() -> None:
    found = wanted(
        "[options]\npython_requires = >=3.9\ninstall_requires =\n    torch>=2\n    peft  # adapters\n"
        "[options.extras_require]\ntrain =\n    trl==0.9.6\n",
        "setup.cfg",
    )
    assert pairs(found) == [("torch", ">=2"), ("peft", ""), ("trl", "==0.9.6")]
    assert (found.python, lines(found)) == (">=3.9", {"torch": 4, "peft": 5, "trl": 8})


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("pyproject.toml", "[project\n", "it is no TOML"),
        ("pyproject.toml", "x = " + "[" * 9000, "too deeply|no TOML"),
        ("pyproject.toml", "x." * 900 + "y = 1", "more than 200 parts"),
        ("setup.cfg", "x = 1", "it is no setup.cfg"),
        ("Pipfile.lock", "[]", "no Pipfile.lock"),
        ("Pipfile.lock", "{", "it is no JSON"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        wanted(text, name)


def test_tables_of_another_kind_are_left_alone() -> None:
    assert wanted("project = 5\ntool = []\n[dependency-groups]\nx = 7\n", "pyproject.toml").requirements == ()
