"""Where a variable belongs, and that each place reads back the value that was meant."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import healthy
import pytest
import yaml
from healthy import but
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import toml

from doctor.facts import Facts
from doctor.treatment import shells
from doctor.treatment.languages import dockerfile, pixi, worded
from doctor.treatment.settings import where_to_set
from treatment.targets import CONDA, PIP, made_by, setting

WINDOWS = {"os": "win32", "name": "Windows 11"}
HOSTILE = st.text(
    st.characters(exclude_categories=("C", "Z")) | st.sampled_from("'\"\\$`!%;&|() #=~"), max_size=16
)


def on(target: Facts, **system: Any) -> Facts:
    return but(target, system=but(healthy.FACTS.system, **system))


def places(target: Facts, value: str | None = "1") -> list[str]:
    return [one.where for one in where_to_set("BNB_CUDA_VERSION", value, target)]


@pytest.mark.parametrize(
    ("target", "first"),
    [
        (PIP, "/env/bin/activate"),
        (CONDA, "the conda environment"),
        (made_by("pip", kind="system"), "~/.profile"),
        (on(made_by("pip", kind="system"), os="darwin"), "~/.zprofile"),
        (on(PIP, container="docker"), "Dockerfile"),
        (on(PIP, container="kubernetes"), "the pod's manifest"),
        (on(PIP, container="apptainer"), "the host's shell"),
        (on(PIP, container="systemd-nspawn"), "/env/bin/activate"),
        (on(made_by("pip", prefix=r"C:\env"), **WINDOWS), r"C:\env\Scripts\activate.bat"),
        (on(made_by("pip", kind="system"), **WINDOWS), "PowerShell"),
    ],
)
def test_the_first_place_is_that_of_the_target(target: Facts, first: str) -> None:
    assert places(target)[0] == first


def test_the_others_come_after_it() -> None:
    assert places(PIP)[1:] == [
        "/env/bin/activate.fish",
        "~/.profile",
        "the systemd unit that trains (systemctl edit UNIT)",
        "kernel.json of the Jupyter kernel (jupyter kernelspec list)",
    ]
    assert places(on(CONDA, container="podman"))[:3] == ["Dockerfile", "podman run", "the conda environment"]


def test_conda_keeps_a_list_and_a_script_takes_away() -> None:
    listed = where_to_set("HF_HOME", "/big disk", CONDA)[0]
    assert listed.commands == (("conda", "env", "config", "vars", "set", "-p", "/env", "HF_HOME=/big disk"),)
    script, dropped = where_to_set("HF_HOME", None, CONDA)[:2]
    assert script.where == "/env/etc/conda/activate.d/HF_HOME.sh"
    assert script.lines == ("unset HF_HOME",)
    assert dropped.commands == (("conda", "env", "config", "vars", "unset", "-p", "/env", "HF_HOME"),)


@pytest.mark.parametrize("name", ["A B", "A=B", "1A", "", "A;rm", "PATH\n"])
def test_what_is_no_name_is_set_nowhere(name: str) -> None:
    assert where_to_set(name, "1", PIP) == ()
    said = worded(setting(name, "1"), PIP, "pip")
    assert said.commands == said.lines == () and "no name of a variable" in said.said


def test_a_line_break_is_told_to_a_shell_alone() -> None:
    [place] = where_to_set("A", "1\nB=2", on(PIP, container="docker"))
    assert (place.where, place.lines) == ("~/.profile", ("export A=$'1\\nB=2'",))
    [line] = worded(setting("A", "1\nRUN x"), PIP, "dockerfile").lines
    assert line.startswith("# A must be given when the container is started")


def test_a_step_sets_it_for_good_and_for_now() -> None:
    said = worded(setting("BNB_CUDA_VERSION", None), PIP, "uv")
    assert said.commands == (("unset", "BNB_CUDA_VERSION"),)
    assert (said.lines, said.place) == (("unset BNB_CUDA_VERSION",), "/env/bin/activate")
    said = worded(setting("A", "1"), CONDA, "conda")
    assert said.commands[-1] == ("export", "A=1") and said.commands[0][0] == "conda"
    windows = on(made_by("pip", prefix=r"C:\env"), **WINDOWS)
    assert worded(setting("A", "1"), windows, "pip").commands == (("set", "A=1"),)


def test_without_conda_a_script_does_it_that_mamba_runs_too() -> None:
    said = worded(setting("A", "1"), CONDA, "mamba", programs=("micromamba",))
    assert said.place == "/env/etc/conda/activate.d/A.sh"
    assert said.commands == (("export", "A=1"),)


def test_files_have_their_own_words() -> None:
    assert worded(setting("A", "1"), PIP, "dockerfile").lines == ('ENV A="1"',)
    assert worded(setting("A", None), PIP, "dockerfile").lines == ("# delete the line that sets A",)
    said = worded(setting("A", "1"), CONDA, "pixi")
    assert (said.lines, said.place) == (("[activation.env]", 'A = "1"'), "pixi.toml")
    assert worded(setting("A", None), CONDA, "pixi").lines == ("# delete A from [activation.env]",)


@settings(max_examples=40, deadline=None)
@given(st.lists(HOSTILE | st.just("two\nlines\t'of' $it"), min_size=1, max_size=5))
def test_a_shell_reads_back_the_value(values: list[str]) -> None:
    lines = [shells.posix(f"A{number}", value) for number, value in enumerate(values)]
    names = " ".join(f'"$A{number}"' for number in range(len(values)))
    script = "\n".join([*lines, f"printf '%s\\0' {names}"])
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode().split("\0")[:-1] == values


@pytest.mark.program("fish")
@settings(max_examples=20, deadline=None)
@given(HOSTILE)
def test_fish_reads_back_the_value(value: str) -> None:
    script = f"{shells.fish('A', value)}; printf '%s' \"$A\""
    own = {"LC_ALL": "C.UTF-8", "HOME": os.devnull}
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, check=True, env=own)
    assert done.stdout.decode() == value


@given(HOSTILE)
def test_files_read_back_the_value(value: str) -> None:
    pod = yaml.safe_load("\n".join(shells.pod("A", value)))["env"]
    assert pod == [{"name": "A", "value": value.replace("$(", "$$(")}]
    assert toml.decode("\n".join(pixi.variable_lines("A", value)))["activation"]["env"] == {"A": value}
    [kernel] = where_to_set("A", value, PIP)[-1].lines
    assert json.loads(f"{{{kernel}}}") == {"env": {"A": value}}


@given(HOSTILE)
def test_an_image_reads_back_the_value(value: str) -> None:
    [line] = dockerfile.environment("A", value)
    start, end = 'ENV A="', '"'
    assert line.startswith(start) and line.endswith(end)
    inner, read = iter(line[len(start) : -len(end)]), ""
    for letter in inner:  # as docker reads it: a backslash takes the next letter as it is
        assert letter not in '"$'
        read += next(inner) if letter == "\\" else letter
    assert read == value


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (shells.fish("A", r"it's \n"), r"set -gx A 'it\'s \\n'"),
        (shells.fish("A", None), "set -e A"),
        (shells.batch("A", '50% "x"'), 'set "A=50%% "x""'),
        (shells.batch("A", None), 'set "A="'),
        (shells.powershell("A", "it's $x"), "$Env:A = 'it''s $x'"),
        (shells.powershell("A", None), "Remove-Item Env:A -ErrorAction SilentlyContinue"),
        (shells.unit("A", '50% of "C:\\x"'), r'Environment="A=50%% of \"C:\\x\""'),
        (shells.unit("A", None), "UnsetEnvironment=A"),
    ],
)
def test_other_languages(line: str, words: str) -> None:
    assert line == words
