"""Bytes to text."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers import Source, Unreadable
from doctor.readers.recognition import is_looked_at, is_script, read, reader_of
from doctor.readers.text import LIMIT_BYTES, decode

TEXT = "peft==0.17.1\ntransformers==5.24.0\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_and_line_ends(encoding: str) -> None:
    assert decode(TEXT.replace("\n", "\r\n").encode(encoding)) == TEXT


def test_comments_of_an_old_editor() -> None:
    assert decode("# für\npeft\n".encode("cp1252")) == "# für\npeft\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04" + bytes(range(256)) * 8, "binary"),
        (b"peft\x00==0.9\n" * 9, "binary"),
        (b"a" * (LIMIT_BYTES + 1), "larger than 16 MiB"),
    ],
)
def test_what_is_no_text(data: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        decode(data)


@pytest.mark.parametrize("text", ["x" * 30_000, " " * 1_100_000])
def test_what_no_person_has_written(text: str) -> None:
    with pytest.raises(Unreadable, match="longer than|larger than"):
        read(Source("requirements.txt", text))


NAMES = (
    *("requirements.txt", "pyproject.toml", "setup.cfg", "uv.lock", "Pipfile", "Pipfile.lock", "pylock.toml"),
    *("environment.yml", "Dockerfile", "list.json", "poetry.lock", "notes.md"),
)
WORDS = st.sampled_from(
    [
        "peft",
        "==",
        "0.9",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "\n",
        " ",
        "\\",
        "-r ",
        "#",
        "name",
        "=",
        "&a ",
        "*a",
        "- ",
    ]
    + [
        "[[package]]",
        "[project]",
        "dependencies",
        ":",
        "pip install ",
        "Package Version\n",
        "@",
        "git+https://x/y",
    ]
)


@given(st.sampled_from(NAMES), st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=60).map("".join)))
def test_any_text_is_read_or_refused(name: str, text: str) -> None:
    try:
        found = read(Source(name, text))
    except Unreadable as error:
        assert str(error)
    else:
        assert all(one.name for one in found.requirements)


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    try:
        assert "\r" not in decode(data)
    except Unreadable as error:
        assert str(error)


def test_random_bytes_are_refused() -> None:
    with pytest.raises(Unreadable):
        decode(os.urandom(20_000))


@pytest.mark.parametrize(
    ("name", "text", "reader"),
    [
        ("a/requirements-dev.txt", "peft\n", "requirements_txt.read"),
        ("C:\\x\\uv.lock", "", "locks.read"),
        ("freeze.txt", "peft @ git+https://x/y@main\n", "requirements_txt.read"),
        ("env.yaml", "name: x\ndependencies:\n  - numpy\n", "conda_environment.read"),
        ("project.txt", "[project]\nname='x'\n", "pyproject.read"),
        ("install.txt", "pip install peft\n", "commands.read"),
    ],
)
def test_readers_are_chosen_by_name_then_by_content(name: str, text: str, reader: str) -> None:
    assert reader_of(Source(name, text)) == reader


def test_scripts_and_recipes() -> None:
    assert is_script("a/train.py") and is_script("Train.IPYNB")
    assert is_script("qlora.yaml", "base_model: x\n")
    assert not is_script("conda.yaml", "dependencies:\n  - numpy\n")
    assert not is_script("environment.yml", "x: 1\n") and not is_script("requirements.txt", "peft")


def test_what_a_folder_is_looked_through_for() -> None:
    assert is_looked_at("requirements-dev.txt") and is_looked_at("train.py") and is_looked_at("Pipfile.lock")
    assert not is_looked_at("README.md") and not is_looked_at("weights.bin")
