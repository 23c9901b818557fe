"""Random sets: the same seed, the same sets; old ones, new ones, and nothing that no installer would take."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.matrix.releases import Release, release

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts lock files as POSIX does")
if sys.platform != "win32":
    import version_sets
    from version_sets import FLOORS, PACKAGES, candidates, draw, last_before


def test_a_seed_stands_for_its_sets() -> None:
    assert list(draw(8, 3, "3.11")) == list(draw(8, 3, "3.11"))
    assert list(draw(8, 3, "3.11")) != list(draw(8, 4, "3.11"))


def test_more_sets_begin_with_the_same() -> None:
    assert list(draw(12, 3, "3.11"))[:5] == list(draw(5, 3, "3.11"))


@given(st.integers(0, 10_000))
def test_a_set_names_the_whole_stack_by_releases_that_install(seed: int) -> None:
    for one in draw(4, seed, "3.11"):
        assert sorted((*one.pins, *one.free)) == sorted(PACKAGES)
        for package, version in one.pins.items():
            known = release(package, version)
            assert known and not known.yanked and known.has_wheel("3.11", "linux", "x86_64")


def test_all_ways_of_drawing_are_taken() -> None:
    pinned = {len(one.pins) for one in draw(40, 1, "3.11")}
    assert {1, 2, 3, 4, 5} <= pinned


def test_what_is_older_than_the_promise_is_not_drawn() -> None:
    oldest = {package: candidates(package, "3.11")[0].version for package in PACKAGES}
    assert oldest["peft"] == "0.7.0"
    assert oldest["transformers"].startswith(FLOORS["transformers"])


def test_the_last_before_a_day() -> None:
    releases = [
        Release(version=version, uploaded=day)
        for version, day in (("1.0", "2025-01-01"), ("1.1", "2025-03-01"))
    ]
    days = {"2024-12-31": "1.0", "2025-01-01": "1.0", "2025-02-28": "1.0", "2025-03-01": "1.1"}
    assert {day: last_before(releases, datetime.date.fromisoformat(day)) for day in days} == days


def stages(tmp_path: Path, source: str) -> dict[str, str]:
    """What the stage program says of a torch that is one file."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(source)
    code = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); sys.argv[1:] = ['import-torch'];"
        f"runpy.run_path({str(version_sets.PROGRAM)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    outcomes: dict[str, str] = json.loads(done.stdout)
    return outcomes


def test_a_stage_that_passes(tmp_path: Path) -> None:
    source = "print('chatter')\nclass nn:\n    def Linear(self, _): pass"
    assert stages(tmp_path, source) == {"import-torch": "ok"}


def test_a_stage_that_raises_says_what_it_hid(tmp_path: Path) -> None:
    source = (
        "try:\n    import no_such_thing\nexcept ImportError as e:\n    raise RuntimeError('Failed') from e"
    )
    words = "RuntimeError: Failed <- ModuleNotFoundError: No module named 'no_such_thing'"
    assert stages(tmp_path, source) == {"import-torch": words}


def test_a_stage_that_is_killed(tmp_path: Path) -> None:
    source = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    assert stages(tmp_path, source) == {"import-torch": "died of signal 9"}


def test_what_is_not_installed_is_left_out(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(version_sets.PROGRAM), "import-trl", "sft-step"],
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout) == {}
