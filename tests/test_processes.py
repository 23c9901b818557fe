"""The user's command between us and the terminal, on real children, a real terminal and real signals."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from doctor.processes import Family, Foreground, place

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals and signals are of Unix")

# A doctor that does nothing but run a command: it says how that ended and what it kept of its words.
RUNNER = """
import os, sys
from doctor.processes import Foreground
child = Foreground(sys.argv[1:], os.environ)
while not child.wait(0.5):
    pass
child.finish()
os.write(1, b"ended %d kept %r\\n" % (child.code, child.last_words()[-60:].encode()))
"""
CATCHING = """
import signal, sys, time
seen = []
for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
    signal.signal(getattr(signal, name), lambda number, frame: seen.append(number))
print("ready", flush=True)
until = time.monotonic() + 20
while time.monotonic() < until and not seen:
    time.sleep(0.02)
time.sleep(0.3)  # for a second one, which must not come
print("seen", seen, flush=True)
"""


def start(*command: str, **how: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", RUNNER, *command], **how)  # type: ignore[call-overload, no-any-return]


def outcome(*command: str, **how: object) -> tuple[str, str]:
    out, err = start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how).communicate(timeout=60)
    return out.decode(), err.decode()


def test_streams_and_the_exit_code_pass_through() -> None:
    out, err = outcome("sh", "-c", "cat; echo out; printf err >&2; exit 7", stdin=subprocess.DEVNULL)
    assert (out, err) == ("out\nended 7 kept b'err'\n", "err")


def test_what_passes_through_is_kept_from_its_end() -> None:
    flood = "import sys; sys.stderr.write('x' * 300_000 + 'the end')"
    out, err = outcome(sys.executable, "-c", flood)
    assert err == "x" * 300_000 + "the end"
    assert out.endswith("xxxthe end'\n")


def test_one_stream_for_both_is_left_alone() -> None:
    """A copy might come after what is written past it."""
    both = start(
        "sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    out, _ = both.communicate(timeout=60)
    assert out == b"1\n2\n3\n4\nended 0 kept b''\n"


def test_what_is_left_behind_does_not_hold_us() -> None:
    began = time.monotonic()
    out, _ = outcome("sh", "-c", "sleep 60 >/dev/null & echo now; exit 3")
    assert out.startswith("now\nended 3")
    assert time.monotonic() - began < 50


def test_files_that_were_handed_down_stay_open(tmp_path: Path) -> None:
    with open(tmp_path / "log", "wb") as log:
        os.set_inheritable(log.fileno(), True)
        writing = f"import os; os.write({log.fileno()}, b'hello')"
        outcome(sys.executable, "-c", writing, close_fds=False)
    assert (tmp_path / "log").read_bytes() == b"hello"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_a_signal_to_us_is_passed_on(name: str) -> None:
    number = getattr(signal, name)
    process = start(sys.executable, "-c", CATCHING, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert out.decode() == f"seen [{int(number)}]\nended 0 kept b''\n"


def test_a_signal_that_ends_the_command_is_told() -> None:
    out, _ = outcome("sh", "-c", "kill -TERM $$")
    assert out.startswith(f"ended -{int(signal.SIGTERM)} ")


def test_what_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    hup = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{RUNNER}"
    done = subprocess.run(
        [sys.executable, "-c", ignoring, sys.executable, "-c", hup],
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith(b"True\n")


def in_terminal(command: Sequence[str], typed: bytes = b"", after: bytes = b"") -> str:
    """What a terminal shows of a command that has it, when something is typed after something is shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], list(command))
    shown = b""
    try:
        while True:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
            if typed and after in shown:
                os.write(terminal, typed)
                typed = b""
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_stays_a_terminal() -> None:
    asks = "import os; print([os.isatty(number) for number in (0, 1, 2)], os.tcgetpgrp(0) == os.getpgrp())"
    shown = in_terminal([sys.executable, "-c", RUNNER, sys.executable, "-c", asks])
    assert shown == "[True, True, True] True\nended 0 kept b''\n"


def test_control_c_reaches_the_command_once_and_spares_us() -> None:
    shown = in_terminal([sys.executable, "-c", RUNNER, sys.executable, "-c", CATCHING], b"\x03", b"ready\r\n")
    assert shown == f"ready\n^Cseen [{int(signal.SIGINT)}]\nended 0 kept b''\n"


@pytest.mark.parametrize(
    ("command", "error"), [("no-such-program-anywhere", FileNotFoundError), ("/", OSError)]
)
def test_what_cannot_be_started(command: str, error: type[OSError]) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with pytest.raises(error):
        Foreground([command], os.environ)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


# A process and its children

HOLDING = """
import subprocess, sys, time
held = bytearray(b"x") * ({mib} << 20)
children = [subprocess.Popen([sys.executable, "-c", text]) for text in sys.argv[1:]]
print("ready", flush=True)
time.sleep(60)
"""


def test_a_family_is_all_that_was_started() -> None:
    own, child = (HOLDING.format(mib=mib) for mib in (100, 150))
    process = subprocess.Popen(
        [sys.executable, "-c", own, child], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
        family = Family(process.pid)
        family.refresh()
        assert len(family.pids) == 2 and process.pid in family.pids
        assert 250 << 20 < (family.resident_bytes() or 0) < 350 << 20
        assert 250 << 20 < (family.unique_bytes() or 0) <= (family.resident_bytes() or 0)
        assert family.is_alive
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert not family.is_alive
    assert family.resident_bytes() is None


def test_who_does_not_live_has_no_family() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(ProcessLookupError, match=f"there is no process {process.pid}"):
        Family(process.pid)


def test_files_are_placed_where_nobody_else_looks(tmp_path: Path) -> None:
    place(str(tmp_path), {"hook/a.py": b"1", "b": b"2"})
    assert (tmp_path / "hook" / "a.py").read_bytes() == b"1" and (tmp_path / "b").read_bytes() == b"2"
    assert (tmp_path / "hook").stat().st_mode & 0o077 == 0
