"""``lora-doctor check`` in processes that lack what programs take for granted."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from .environment import HEALTHY, Target, built
from .lab import Lab
from .running import MODULE, left_running, merged, run_doctor, run_environment
from .surroundings import ASCII, NO_FOLDER

pytestmark = pytest.mark.environments

CONDITIONS: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": None},
    "a home that is nowhere": {"HOME": NO_FOLDER},
    "a home that nobody can write to": {"HOME": "/proc", "HF_HOME": "/proc/hf"},
    "ascii": dict(ASCII),
    "narrow": {"COLUMNS": "40"},
    "dumb terminal": {"TERM": "dumb"},
    "no temporary folder": {"TMPDIR": NO_FOLDER},
    "nothing but PATH": {name: None for name in os.environ if name not in ("PATH", "LD_LIBRARY_PATH")},
}
ALL_AT_ONCE = {**CONDITIONS["nothing but PATH"], **ASCII, "TMPDIR": NO_FOLDER, "TERM": "dumb"}


@pytest.fixture(scope="module")
def healthy(lab: Lab) -> Target:
    return Target(lab.base().python)


@pytest.mark.parametrize("form", ["json", "terminal"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_healthy_environment_stays_healthy(
    condition: str, form: str, healthy: Target, tmp_path: Path
) -> None:
    target = merged(healthy, CONDITIONS[condition])
    outcome = run_doctor(target, tmp_path, "--quick", "--format", form)
    assert (outcome.stderr, outcome.code, outcome.left_running) == ("", 0, ())
    assert "transformers" in outcome.stdout


def test_the_trial_needs_none_of_it(healthy: Target, tmp_path: Path) -> None:
    outcome = run_doctor(merged(healthy, ALL_AT_ONCE), tmp_path, "--format", "json")
    assert (outcome.stderr, outcome.code) == ("", 0)
    assert outcome.report["verdict"] == HEALTHY.verdict
    runs = {run["stage"]: run["outcome"] for run in outcome.facts["trial"]["runs"]}
    assert runs["qlora-step"] == "ok"


def test_ascii_is_answered_in_ascii(healthy: Target, tmp_path: Path) -> None:
    outcome = run_doctor(merged(healthy, {**ASCII, "TERM": "dumb"}), tmp_path, "--quick")
    assert outcome.stdout.isascii()
    assert "\x1b" not in outcome.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_without_write_permission(healthy: Target, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    outcome = run_doctor(merged(healthy, {"HOME": str(home)}), tmp_path, "--quick", "--format", "json")
    assert (outcome.stderr, outcome.code) == ("", 0)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("form", ["json", "terminal"])
def test_a_reader_that_has_left(form: str, healthy: Target, tmp_path: Path) -> None:
    """As ``lora-doctor check | head -1`` leaves it."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*MODULE, "check", "--python", healthy.python, "--quick", "--format", form],
        stdout=writer,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env=run_environment(healthy, "reader-left"),
        text=True,
        timeout=120,
    )
    os.close(writer)
    assert done.stderr == ""
    assert left_running("reader-left") == ()


@pytest.mark.parametrize("form", ["json", "terminal"])
def test_no_standard_output_at_all(form: str, healthy: Target, tmp_path: Path) -> None:
    closed = ("sh", "-c", 'exec "$@" >&-', "sh", *MODULE)
    outcome = run_doctor(healthy, tmp_path, "--quick", "--format", form, doctor=closed)
    assert (outcome.stderr, outcome.code) == ("", 0)


def test_a_narrow_terminal(healthy: Target, tmp_path: Path) -> None:
    code, text = in_terminal(healthy, tmp_path, columns=40)
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    # A carriage return redraws a line; a path or a command longer than the terminal stays in one piece.
    lines = [part for line in plain.splitlines() for part in line.split("\r")]
    assert [line for line in lines if len(line) > 40 and "/" not in line] == []
    assert "transformers" in plain


def in_terminal(target: Target, folder: Path, *, columns: int) -> tuple[int, str]:
    """Run a quick check with a terminal of this width as its standard output and error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [*MODULE, "check", "--python", target.python, "--quick"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**run_environment(target, uuid.uuid4().hex), "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    text = b"".join(iter(lambda: read_terminal(ours), b"")).decode()
    os.close(ours)
    return process.wait(timeout=60), text


def read_terminal(descriptor: int) -> bytes:
    """What a terminal shows next; nothing once its last writer is gone."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


@pytest.fixture(scope="module")
def spinning(lab: Lab) -> Iterator[Target]:
    """A target whose import of torch never ends and cannot be asked to."""
    with built(lab, "torch_spins") as target:
        yield target


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_it_takes_its_children_along(
    number: signal.Signals, spinning: Target, tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [*MODULE, "check", "--python", spinning.python],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=run_environment(spinning, mark),
        text=True,
        # Who starts the tests in the background has them ignore interrupts, and so their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for_busy_child(process.pid)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert left_running(mark) == ()
    assert "Traceback" not in said
    assert process.returncode in (128 + number, -number)


def wait_for_busy_child(pid: int) -> None:
    """Wait until a child of the doctor has computed for seconds: it is in the endless import."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for child in psutil.Process(pid).children(recursive=True):
            if child.cpu_times().user > 3:
                return
        time.sleep(0.2)
    raise AssertionError("no child was ever busy")
