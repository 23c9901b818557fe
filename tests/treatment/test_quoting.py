"""Hostile versions, paths and values: the printed line is the very command, and nothing more."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

import pytest
from healthy import but
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.plain import plain
from doctor.render.shell import command_line
from doctor.treatment.languages import worded
from doctor.treatment.plan import Language, Step
from treatment.targets import made_by, on_system, setting, step

EVIL = st.sampled_from("'\"\\$`!*#&|; ()<>[]{}=~\n\t")
TEXT = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")) | EVIL, max_size=14)
VERSIONS = TEXT.map(lambda text: text.replace("\n", ""))
IN_COMMANDS: tuple[Language, ...] = ("pip", "uv", "conda", "mamba", "pixi", "poetry", "pdm")
STEPS: tuple[Any, ...] = ("install", "anew", "remove")


def reads(line: str) -> list[str]:
    """The words of a line as bash has them."""
    script = f"show() {{ printf '%s\\0' \"$@\"; }}\nshow {line}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8", "HOME": "~"}
    )
    return done.stdout.decode().split("\0")[:-1]


@st.composite
def said(draw: st.DrawFn) -> Step:
    """A step in some language, for a target in an odd place."""
    odd = f"/my {draw(TEXT)}"
    target = made_by(
        draw(st.sampled_from(["pip", "uv", "conda"])),
        kind=draw(st.sampled_from(["venv", "conda"])),
        executable=f"{odd}/bin/python",
        prefix=odd,
    )
    version = draw(VERSIONS)
    index_url = f"https://x/{version}"
    changes = [step(kind, f"peft=={version}", "torch", index_url=index_url) for kind in STEPS]
    one = draw(st.sampled_from([*changes, setting("LD_LIBRARY_PATH", draw(TEXT))]))
    return worded(one, target, draw(st.sampled_from(IN_COMMANDS)))


@settings(max_examples=60, deadline=None)
@given(said())
def test_a_line_is_the_command_and_nothing_more(one: Step) -> None:
    lines = [command_line(command) for command in one.commands]
    assert not any("\n" in line for line in lines)
    words = [plain(word) for command in one.commands for word in command]
    if lines:
        assert reads(" ".join(lines)) == words
    for line, command in zip(lines, one.commands, strict=True):
        if not any(letter in word for word in command for letter in "\n\t"):
            assert shlex.split(line) == [plain(word) for word in command]


@settings(max_examples=60, deadline=None)
@given(TEXT, VERSIONS)
def test_a_line_of_an_image_is_the_command_and_nothing_more(folder: str, version: str) -> None:
    python = f"/my {folder}/bin/python"
    target = but(made_by("pip", executable=python), system=on_system(container="docker"))
    wanted = [python, "-m", "pip", "install", "--no-cache-dir", f"peft=={version}"]
    for line in worded(step("install", f"peft=={version}"), target, "dockerfile").lines:
        assert line.startswith("RUN ") and "\n" not in line
        words = line.removeprefix("RUN ")
        assert (json.loads(words) if words.startswith("[") else shlex.split(words)) == wanted


@pytest.mark.parametrize(
    "version", ["1.0; rm -rf ~", "1.0 $(id)", "1.0`id`", "1.0 && id", "1.0 | sh", "1.0 > /etc/passwd"]
)
def test_a_version_runs_nothing(version: str) -> None:
    [command] = worded(step("install", f"peft=={version}"), made_by("pip"), "pip").commands
    assert shlex.split(command_line(command))[-1] == f"peft=={version}"
    assert command_line(command, windows=True).endswith(f'"peft=={version}"')


def test_of_windows_no_quote_ends_early() -> None:
    target = but(made_by("conda", kind="conda", prefix=r"C:\my env"), system=on_system(os="win32"))
    asked = step("install", "torch==2.6.0+cu126")
    [command] = worded(asked, target, "conda").commands
    assert command_line(command, windows=True) == (
        r'conda install -y -p "C:\my env" -c conda-forge'
        ''' "pytorch[version='==2.6.0',build='cuda*']"'''
    )
