"""A set as text, as a file for installers and as JSON."""

from __future__ import annotations

import json
import subprocess

import msgspec
import pytest

from doctor.render import resolution as render
from doctor.resolution import Resolution

FOUND = Resolution(
    pins={"torch": "2.13.0", "peft": "0.17.1"},
    torch_variant="cu126",
    python="3.11",
    because=("torch 2.13.0 (cu126): driver 535.104.05 runs no CUDA newer than 12",),
    commands=(("/my env/bin/python", "-m", "pip", "install", "torch==2.13.0+cu126"),),
    installers={"pip": (("/my env/bin/python", "-m", "pip", "install", "torch==2.13.0+cu126"),)},
    constraints=("torch==2.13.0+cu126", "peft==0.17.1"),
    index_url="https://download.pytorch.org/whl/cu126",
    changes={"peft": "0.21.2", "torch": ""},
    machine="Python 3.11 on linux x86_64, driver 535.104.05",
)
NOTHING = Resolution(
    python="3.11",
    because=("peft==0.17.1 is asked for",),
    ways_out=("drop peft==0.17.1",),
    machine="Python 3.11",
)


def test_the_table_says_what_why_and_how() -> None:
    told = render.render(FOUND)
    assert told.startswith("A set for Python 3.11 on linux x86_64, driver 535.104.05\n")
    assert "  torch               2.13.0      cu126 build, not installed yet\n" in told
    assert "  peft                0.17.1      now 0.21.2\n" in told
    assert "  - torch 2.13.0 (cu126): driver 535.104.05 runs no CUDA newer than 12\n" in told
    assert "  '/my env/bin/python' -m pip install torch==2.13.0+cu126\n" in told
    assert told.endswith("Not verified; --verify asks the target's own installer for a dry run.\n")


@pytest.mark.parametrize(
    ("verified", "words"), [(True, "Verified"), (False, "refuses"), (None, "Not verified")]
)
def test_what_the_installer_said(verified: bool | None, words: str) -> None:
    found = msgspec.structs.replace(FOUND, verified=verified)
    assert words in render.render(found) and words in render.markdown(found)


def test_no_set_says_why_and_the_ways_out() -> None:
    told = render.render(NOTHING)
    assert told.splitlines() == [
        *("No set for Python 3.11", "", "Why", "  - peft==0.17.1 is asked for"),
        *("", "Ways out", "  - drop peft==0.17.1"),
    ]
    assert "peft==0.17.1 is asked for" in render.markdown(NOTHING)


def test_long_reasons_hang_from_their_mark() -> None:
    lines = render.render(FOUND, width=40).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  - torch"))
    assert lines[start + 1].startswith("    ") and len(lines[start]) <= 40


def test_foreign_text_stays_text() -> None:
    hostile = msgspec.structs.replace(FOUND, changes={"peft": "0.1\x1b[31m\n2"}, because=("a\x1b]0;x\x07b",))
    told = render.render(hostile)
    assert "\x1b" not in told and "\x07" not in told
    assert "now 0.1 2" in told


def test_a_constraints_file_is_one_that_pip_reads() -> None:
    lines = render.constraints(FOUND).splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["torch==2.13.0+cu126", "peft==0.17.1"]
    assert "# torch: --index-url https://download.pytorch.org/whl/cu126" in lines


def test_json_is_the_promise() -> None:
    told = json.loads(render.json(FOUND))
    assert told["schema"] == 1
    assert told["pins"] == {"torch": "2.13.0", "peft": "0.17.1"}
    assert (told["torch_variant"], told["python"], told["verified"]) == ("cu126", "3.11", None)
    assert told["because"] == list(FOUND.because)
    assert told["commands"] == [list(command) for command in FOUND.commands]
    assert json.loads(render.json_line(FOUND)) == told
    assert render.json_line(FOUND).count("\n") == 1


def test_commands_can_be_pasted() -> None:
    line = next(line for line in render.render(FOUND).splitlines() if "-m pip" in line)
    done = subprocess.run(["sh", "-c", "printf '%s|' " + line], capture_output=True, text=True, check=True)
    assert done.stdout.split("|")[0] == "/my env/bin/python"
