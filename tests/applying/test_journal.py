"""What is written down of a run, found again and heeded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from fakes import FakeHost

from doctor.applying import journal as journals
from doctor.applying import recovery
from doctor.applying.applied import settled
from doctor.applying.interrupts import uninterrupted
from doctor.applying.journal import Journal, Kept, Run
from doctor.applying.lock import is_held, locked
from doctor.applying.workplace import CannotApply
from doctor.host import LocalHost
from doctor.processes import end_marked
from doctor.target import Target


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    (tmp_path / "venv").mkdir()
    return Journal(target=str(tmp_path / "venv/bin/python"), prefix=str(tmp_path / "venv"))


def written(journal: Journal) -> str:
    folder = journals.folder_of(os.environ, journal.prefix)
    journals.write(journals.journal_in(folder), journal)
    return folder


def test_a_journal_is_found_by_any_interpreter_of_its_environment(journal: Journal, tmp_path: Path) -> None:
    past = Run(name="1", way="aside", state="kept", past=f"{journal.prefix}.before-1")
    folder = written(msgspec.structs.replace(journal, past=past))
    host = LocalHost()
    for name in ("python", "python3", "python3.11"):
        assert journals.of_target(host, Target(f"{journal.prefix}/bin/{name}", "")) is not None
    assert journals.last(host, Target(journal.target, "")) == past
    assert journals.unfinished(host, Target(journal.target, "")) is None
    assert journals.last(host, Target(str(tmp_path / "venv2/bin/python"), "")) is None
    Path(journals.journal_in(folder)).write_text('{"schema": 1, "target":')
    assert journals.last(host, Target(journal.target, "")) is None


def test_no_state_folder_no_journals() -> None:
    assert list(journals.known(FakeHost(env={"XDG_STATE_HOME": "/nowhere"}))) == []


def test_an_environment_that_somebody_made_anew_is_left_alone(journal: Journal, tmp_path: Path) -> None:
    """A run was cut short, and its target has since been removed and made again."""
    (tmp_path / "twin").mkdir()
    (tmp_path / "venv" / "new").write_text("")
    run = Run(name="1", way="aside", state="ready", original=(1, 2), twin=str(tmp_path / "twin"), past="gone")
    folder = written(msgspec.structs.replace(journal, run=run))
    assert settled(LocalHost()) == (journal.prefix,)
    assert (tmp_path / "venv" / "new").exists() and not (tmp_path / "twin").exists()
    assert journals.read(journals.journal_in(folder)) == journal


def test_a_past_that_was_not_whole_is_not_put_back(journal: Journal, tmp_path: Path) -> None:
    site, past = tmp_path / "venv" / "site", tmp_path / "venv" / ".lora-doctor" / "1"
    for folder in (site, past / "0"):
        folder.mkdir(parents=True)
    (site / "all.py").write_text("")
    kept = (Kept(str(site), str(past / "0")),)
    written(msgspec.structs.replace(journal, run=Run(name="1", way="in place", past=str(past), kept=kept)))
    settled(LocalHost())
    assert (site / "all.py").exists() and not past.parent.exists()


def test_a_run_that_works_is_not_settled(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "twin").mkdir()
    run = Run(name="1", way="aside", state="begun", twin=str(tmp_path / "twin"))
    folder = written(msgspec.structs.replace(journal, run=run))
    with locked(journals.lock_in(folder), "it"):
        assert is_held(journals.lock_in(folder)) and settled(LocalHost()) == ()
    assert (tmp_path / "twin").exists() and not is_held(journals.lock_in(folder))


def test_the_lock_of_a_living_process_is_respected(tmp_path: Path) -> None:
    path = str(tmp_path / "state" / "lock")
    with locked(path, "it"), pytest.raises(CannotApply, match=str(os.getpid())), locked(path, "it"):
        pass
    with locked(path, "it"):
        assert is_held(path)


def test_what_an_unfinished_run_started_is_ended() -> None:
    orphan = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        env={**os.environ, recovery.MARK: "of-this-test"},
    )
    end_marked(recovery.MARK, "of-this-test")
    assert orphan.poll() is not None  # which would have taken a minute


def test_signals_wait_for_the_end_of_what_must_not_be_cut() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGINT) == before
    told: list[str] = []

    def elsewhere() -> None:  # a thread has no signals to hold off
        with uninterrupted():
            told.append("done")

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert told == ["done"]
