"""What a folder says of itself, and the lock of its making."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.host import LocalHost
from doctor.installing import marker
from doctor.installing.marker import NAME, Marker

UNFINISHED = Marker(tool_version="1", state="unfinished", pins=("peft==0.18.0",))


def state_of(folder: Path) -> str:
    return marker.state_of(LocalHost(), str(folder))


def test_no_folder_and_an_empty_one_are_new(tmp_path: Path) -> None:
    assert state_of(tmp_path / "none") == "new"
    assert state_of(tmp_path) == "new"


def test_what_a_kill_leaves_before_the_marker_is_new_too(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.lock").touch()
    (tmp_path / f"{NAME}.4711").write_text('{"sch')
    assert state_of(tmp_path) == "new"


@pytest.mark.parametrize("name", ["pyvenv.cfg", "train.py", ".git"])
def test_whatever_else_lies_there_is_foreign(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert state_of(tmp_path) == "foreign"
    assert state_of(tmp_path / name) == "foreign"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}', '{"state": "mine", "tool_version": "1"}'])
def test_a_marker_that_says_nothing_makes_nothing_ours(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    (tmp_path / "train.py").touch()
    assert state_of(tmp_path) == "foreign"


def test_a_marker_is_read_as_it_was_written(tmp_path: Path) -> None:
    marker.write(str(tmp_path), UNFINISHED)
    assert marker.read(LocalHost(), str(tmp_path)) == UNFINISHED
    assert state_of(tmp_path) == "unfinished"
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_folder_is_emptied_of_all_but_its_marker(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder = tmp_path / "env"
    (folder / "lib" / "deep").mkdir(parents=True)
    (folder / "lib" / "deep" / "x.py").touch()
    (folder / "link").symlink_to(outside)
    marker.write(str(folder), UNFINISHED)
    marker.emptied(str(folder))
    assert [path.name for path in folder.iterdir()] == [NAME]
    assert (outside / "kept").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no lock is held there")
def test_two_runs_are_kept_apart_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom doctor.installing.marker import held\n"
        "with held(sys.argv[1]) as ours:\n    print(ours, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout and other.stdout.readline() == "True\n"
        with marker.held(str(tmp_path)) as ours:
            assert not ours
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    with marker.held(str(tmp_path)) as ours:
        assert ours
