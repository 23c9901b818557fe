from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.render.shell import command_line

WORDS = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp")) | st.sampled_from("'\"\\$`!~*#&|; \n\t"),
    max_size=12,
)


def seen_by_bash(line: str) -> list[str]:
    script = f"show() {{ printf '%s\\0' \"$@\"; }}\nshow {line}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        check=True,
        env={"HOME": "/home/ann", "PATH": os.defpath, "LC_ALL": "C.UTF-8"},
    )
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4))
def test_bash_reads_back_the_same_words(words: list[str]) -> None:
    line = command_line(words)
    assert "\n" not in line
    expanded = [f"/home/ann{word[1:]}" if word == "~" or word.startswith("~/") else word for word in words]
    assert seen_by_bash(line) == expanded


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("~/train/.venv/bin/python", "-m", "pip"), "~/train/.venv/bin/python -m pip"),
        (("~/my models/python",), "~/'my models/python'"),
        (("pip", "install", "peft>=0.18,<1"), "pip install 'peft>=0.18,<1'"),
        (("uv", "--python=~/train/.venv"), 'uv --python="$HOME"/train/.venv'),
        (("echo", "it's"), "echo 'it'\"'\"'s'"),
        (("echo", ""), "echo ''"),
    ],
)
def test_posix(words: tuple[str, ...], line: str) -> None:
    assert command_line(words) == line


@pytest.mark.parametrize("word", ["~", "~/x y", "--python=~/train", "--prefix=~"])
def test_a_tilde_that_redaction_left_is_still_the_home_folder(word: str) -> None:
    assert seen_by_bash(command_line(["echo", word])) == ["echo", word.replace("~", "/home/ann")]


def test_windows() -> None:
    words = (r"~\train\Scripts\python.exe", "-m", "pip", "install", "peft>=0.18", 'x; python_version > "3.9"')
    expected = r"""~\train\Scripts\python.exe -m pip install "peft>=0.18" "x; python_version > '3.9'\""""
    assert command_line(words, windows=True) == expected.replace('\\"', '"')
