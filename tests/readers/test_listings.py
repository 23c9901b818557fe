"""What installers print, and commands that install."""

from __future__ import annotations

import pytest

from doctor.readers import Unreadable

from .reading import lines, pairs, wanted

PIP_LIST = """\
Package           Version       Editable project location
----------------- ------------- -------------------------
torch             2.3.0+cu121
my-code           0.1.0         /home/someone/my-code
"""
CONDA_LIST = """\
# packages in environment at /opt/conda:
#
# Name                    Version                   Build  Channel
python                    3.10.13         h955ad1f_0
pytorch                   2.3.0           py3.10_cuda12.1_cudnn8.9.2_0    pytorch
libblas                   3.9.0           1_mkl
transformers              4.41.0          pypi_0    pypi
"""


def test_pip_list() -> None:
    found = wanted(PIP_LIST, "packages.txt")
    assert (found.form, pairs(found)) == ("installed", [("torch", "==2.3.0+cu121"), ("my-code", "==0.1.0")])
    assert lines(found) == {"torch": 3, "my-code": 4}


def test_pip_list_pasted_with_a_prompt_and_a_fence() -> None:
    found = wanted(f"```\n$ pip list\n{PIP_LIST}```\n", "paste.txt")
    assert pairs(found)[0] == ("torch", "==2.3.0+cu121")


def test_conda_list() -> None:
    found = wanted(CONDA_LIST, "packages.txt")
    assert pairs(found) == [("torch", "==2.3.0"), ("transformers", "==4.41.0")]
    assert (found.python, found.torch_cuda) == ("==3.10.13", "12.1")


def test_conda_list_export() -> None:
    found = wanted("# platform: linux-64\nnumpy=1.26.4=py310_0\npytorch=2.3.0=cpu_py310\n", "spec.txt")
    assert pairs(found) == [("numpy", "==1.26.4"), ("torch", "==2.3.0")]
    assert found.torch_cuda == "cpu"


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "peft", "version": "0.9.0"}]',
        '{"installed": [{"metadata": {"name": "peft", "version": "0.9.0"}}]}',
    ],
)
def test_json(text: str) -> None:
    found = wanted(text, "list.json")
    assert (found.form, pairs(found)) == ("installed", [("peft", "==0.9.0")])


@pytest.mark.parametrize("text", ["[", "[]", '{"a": 1}', "[" * 9000])
def test_json_that_is_no_list_of_packages(text: str) -> None:
    with pytest.raises(Unreadable, match="JSON"):
        wanted(text, "list.json")


def test_a_row_that_is_none_is_noted() -> None:
    found = wanted(PIP_LIST + "lonely\nx notaversion\n", "packages.txt")
    assert [note.line for note in found.notes] == [5, 6]


def test_commands_of_a_dockerfile() -> None:
    found = wanted(
        "FROM python:3.11\n"
        "RUN apt-get install -y git && pip install --no-cache-dir torch==2.1.0+cu118 'peft>=0.9' \\\n"
        "    --extra-index-url https://download.pytorch.org/whl/cu118 ; echo done\n"
        "# RUN pip install nothing\n"
        "RUN uv pip install -U -r requirements.txt transformers; "
        "pip3 install \"trl<1; python_version<'3.12'\"\n",
        "Dockerfile",
    )
    assert pairs(found) == [
        ("torch", "==2.1.0+cu118"),
        ("peft", ">=0.9"),
        ("transformers", ""),
        ("trl", "<1"),
    ]
    assert found.requirements[-1].marker == 'python_version < "3.12"'
    assert found.index_urls == ("https://download.pytorch.org/whl/cu118",)
    assert "requirements.txt is installed from there" in found.notes[0].text


def test_commands_of_a_readme_and_of_a_cell() -> None:
    text = "Install:\n\n    !pip install -q bitsandbytes $EXTRA {more}\n    conda install pytorch=2.3 mkl\n"
    assert pairs(wanted(text, "README.md")) == [("bitsandbytes", ""), ("torch", "==2.3.*")]
