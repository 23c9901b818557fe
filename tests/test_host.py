"""The seam to the machine, on real children: they end, die, flood, hang, and leave others behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor import child
from doctor import host as seam
from doctor.host import Completed, LocalHost, Patience

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and sh are of Unix")
PATIENT = Patience(limit_s=30.0)


@pytest.fixture
def host() -> LocalHost:
    return LocalHost()


def python(host: LocalHost, text: str, patience: Patience = PATIENT, **options: object) -> Completed:
    """Run a program of Python's, its text on the command line."""
    return host.run([sys.executable, "-S", "-c", text], patience=patience, **options)  # type: ignore[arg-type]


def shell(host: LocalHost, text: str, patience: Patience = PATIENT, **options: object) -> Completed:
    return host.run(["sh", "-c", text], patience=patience, **options)  # type: ignore[arg-type]


def test_output_error_output_and_exit_code(host: LocalHost) -> None:
    done = shell(host, "echo out; echo err >&2; exit 7")
    assert (done.code, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert not done.timed_out and done.signal == "" and done.error == ""
    assert 0 < done.seconds < 10


@pytest.mark.parametrize(
    ("text", "code", "name"),
    [
        ("kill -SEGV $$", -signal.SIGSEGV, "SIGSEGV"),
        ("kill -BUS $$", -signal.SIGBUS, "SIGBUS"),
        ("kill -KILL $$", -signal.SIGKILL, "SIGKILL"),
        ("exit 139", 139, "SIGSEGV"),  # a shell around it tells so
        ("exit 1", 1, ""),
        ("exit 128", 128, ""),
        ("exit 255", 255, ""),
    ],
)
def test_the_signal_that_killed_a_child_has_its_name(
    host: LocalHost, text: str, code: int, name: str
) -> None:
    done = shell(host, text)
    assert (done.code, done.signal) == (code, name)


@pytest.mark.parametrize("argv", [["/no/such/program"], ["no-such-program-anywhere"], ["/"], ["a\0b"]])
def test_a_program_that_cannot_be_started(host: LocalHost, argv: list[str]) -> None:
    done = host.run(argv, patience=PATIENT)
    assert done.code is None and not done.timed_out
    assert done.error
    assert done.signal == ""


def test_a_file_that_is_no_program_cannot_be_started(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "python").write_bytes(b"\x7fELF and no more")
    (tmp_path / "python").chmod(0o755)
    done = host.run([str(tmp_path / "python")], patience=PATIENT)
    assert done.code is None
    assert "format" in done.error.lower()


def test_a_flood_is_read_to_its_end_and_little_of_it_is_kept(host: LocalHost) -> None:
    text = (
        "import sys\n"
        "for _ in range(34): sys.stdout.write('x' * (3 << 20) + '\\n')\n"
        "sys.stdout.flush(); sys.stderr.write('end')"
    )
    tracemalloc.start()
    try:
        done = python(host, text)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert done.code == 0 and done.stderr == "end"
    assert len(done.stdout) == child.KEPT_BYTES
    assert peak_bytes < 6 * child.KEPT_BYTES


def test_a_flood_of_short_lines_is_handed_on_to_its_end(host: LocalHost) -> None:
    lines: list[int] = []

    def note(line: str) -> bool:
        lines.append(int(line.split()[1]))
        return False

    done = python(host, "for n in range(20000): print('line', n)", on_line=note)
    assert lines == list(range(20000))
    assert done.stdout.splitlines()[-1] == "line 19999"


def test_output_that_is_no_text_is_kept_as_far_as_it_is(host: LocalHost) -> None:
    done = shell(host, r"printf 'a\377\376b\000c\n'")
    assert done.stdout == "a\ufffd\ufffdb\0c\n"


def test_whoever_slept_to_the_limit_was_idle_and_whoever_computed_was_not(host: LocalHost) -> None:
    assert shell(host, "exec sleep 60", Patience(limit_s=4.0, idle_s=4.0)).idle
    assert not python(host, "while True: pass", Patience(limit_s=4.0, idle_s=4.0)).idle


def test_a_child_that_neither_computes_nor_speaks_hangs(host: LocalHost) -> None:
    done = shell(host, "echo begun; exec sleep 60", Patience(limit_s=60.0, idle_s=0.5))
    assert done.timed_out and done.idle and done.seconds < 10
    assert done.stdout == "begun\n"
    assert done.signal == ""  # ours, not its own


def test_a_child_that_computes_does_not_hang(host: LocalHost) -> None:
    busy = "import time\nend = time.time() + 2.4\nwhile time.time() < end: pass\nprint('done')"
    done = python(host, busy, Patience(limit_s=60.0, idle_s=0.5))
    assert (done.code, done.stdout, done.timed_out) == (0, "done\n", False)


def test_a_wrapper_whose_child_computes_does_not_hang(host: LocalHost) -> None:
    busy = "import time; end = time.time() + 2.4\nwhile time.time() < end: pass"
    done = host.run(
        ["sh", "-c", '"$0" -S -c "$1"; echo done', sys.executable, busy],
        patience=Patience(limit_s=60.0, idle_s=0.5),
    )
    assert (done.stdout, done.timed_out) == ("done\n", False)


def test_a_child_that_computes_for_ever_is_given_up(host: LocalHost) -> None:
    done = python(host, "while True: pass", Patience(limit_s=0.6))
    assert done.timed_out and not done.idle and 0.6 <= done.seconds < 8


@pytest.mark.parametrize(("is_sign", "hangs"), [(True, False), (False, True)])
def test_a_line_that_is_a_sign_of_life_buys_time(host: LocalHost, is_sign: bool, hangs: bool) -> None:
    speak = "for n in 1 2 3 4 5 6 7; do echo $n; sleep 0.2; done"
    done = shell(host, speak, Patience(limit_s=0.9), on_line=lambda line: is_sign)
    assert done.timed_out is hangs


def test_a_child_that_hangs_says_where(host: LocalHost) -> None:
    text = "import faulthandler, time\nfaulthandler.enable()\ndef stuck(): time.sleep(60)\nstuck()"
    done = python(host, text, Patience(limit_s=1.0, ask_stack=True))
    assert done.timed_out
    assert "Fatal Python error: Aborted" in done.stderr
    assert 'File "<string>", line 3 in stuck' in done.stderr


def test_a_child_that_does_not_let_itself_be_asked_is_killed(host: LocalHost) -> None:
    text = (
        "import signal, time\n"
        "signal.signal(signal.SIGABRT, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\n"
        "time.sleep(60)"
    )
    done = python(host, text, Patience(limit_s=0.8, ask_stack=True))
    assert done.timed_out and done.code == -signal.SIGKILL
    assert done.stdout == "deaf\n"
    assert done.seconds < 15


def test_merged_output_keeps_the_order_of_writing(host: LocalHost) -> None:
    done = python(host, "import os\nfor n in range(50): os.write(1 + n % 2, b'%d ' % n)", merge=True)
    assert done.stdout.split() == [str(n) for n in range(50)]
    assert done.stderr == ""


def test_a_grandchild_that_keeps_the_pipe_open_is_killed(host: LocalHost, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    done = shell(host, f"sleep 60 & echo $! > {note}; echo done")
    assert (done.code, done.stdout) == (0, "done\n")
    assert done.seconds < 10
    assert is_gone(int(note.read_text()))


def test_a_grandchild_that_left_the_group_does_not_hold_up_the_answer(
    host: LocalHost, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    text = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(note)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(60)\n"
        f"while not (os.path.exists({str(note)!r}) and os.path.getsize({str(note)!r})): time.sleep(0.01)\n"
        "os.write(1, b'done\\n')\nos._exit(0)"
    )
    done = python(host, text, merge=True)
    os.kill(int(note.read_text()), signal.SIGKILL)
    assert (done.code, done.stdout) == (0, "done\n")
    assert done.seconds < 15


def is_gone(pid: int) -> bool:
    """Is a process dead? One that waits to be reaped by somebody else is."""
    state = Path(f"/proc/{pid}/stat")
    for _ in range(50):
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False


def test_text_larger_than_a_pipe_reaches_the_child(host: LocalHost) -> None:
    text = "0123456789é\n" * 100_000
    done = host.run(["cat"], stdin=text, patience=PATIENT)
    assert done.stdout == text


def test_a_child_that_does_not_read_what_it_is_told(host: LocalHost) -> None:
    done = host.run(["true"], stdin="x" * (4 << 20), patience=PATIENT)
    assert (done.code, done.timed_out) == (0, False)


def test_a_child_sees_the_environment_that_it_is_given(host: LocalHost) -> None:
    assert shell(host, "echo $ONLY", env={"ONLY": "this", "PATH": os.defpath}).stdout == "this\n"
    assert shell(host, "echo $ONLY").stdout == "\n"
    host.env = {**host.env, "ONLY": "that"}
    assert shell(host, "echo $ONLY").stdout == "that\n"


def in_background(work: Callable[[], Completed]) -> tuple[threading.Thread, list[Completed]]:
    results: list[Completed] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    return thread, results


def test_closing_kills_what_runs(host: LocalHost) -> None:
    begun = threading.Event()

    def tell(line: str) -> bool:
        begun.set()
        return False

    thread, results = in_background(lambda: shell(host, "sleep 0.5; echo begun; exec sleep 60", on_line=tell))
    assert begun.wait(10)
    host.close()
    thread.join(10)
    assert [done.code for done in results] == [-signal.SIGKILL]


def test_nothing_is_started_after_closing(host: LocalHost, tmp_path: Path) -> None:
    host.close()
    done = shell(host, f"touch {tmp_path / 'started'}")
    assert done.code is None and done.error
    assert not (tmp_path / "started").exists()


def test_files_are_read_as_text_or_not_at_all(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("é\r\n".encode())
    (tmp_path / "bytes").write_bytes(b"\xff\x00")
    assert host.read_text(str(tmp_path / "text")) == "é\r\n"
    assert host.read_text(str(tmp_path / "bytes")) == "\ufffd\0"
    assert host.read_text(str(tmp_path / "absent")) is None
    assert host.read_text(str(tmp_path)) is None
    assert host.read_text("a\0b") is None


def test_bytes_of_a_file_and_why_there_are_none(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\x00abc")
    assert host.read_bytes(str(tmp_path / "bytes"), 3) == b"\xff\x00a"
    for path, kind in ((tmp_path / "absent", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(kind):
            host.read_bytes(str(path), 3)
    with pytest.raises(OSError, match="no regular file"):
        host.read_bytes("/dev/zero", 3)
    assert host.is_folder(str(tmp_path)) and not host.is_folder(str(tmp_path / "bytes"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "secret").touch(mode=0o000)
    assert host.read_text(str(tmp_path / "secret")) is None


def test_of_a_huge_file_the_start_is_read(host: LocalHost, tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(seam.READ_BYTES * 3)
    assert len(host.read_text(str(tmp_path / "huge")) or "") == seam.READ_BYTES


def test_folders_and_files(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "b").touch()
    (tmp_path / "a").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert host.list_folder(str(tmp_path)) == ("a", "b", "dangling")
    assert host.list_folder(str(tmp_path / "b")) == ()
    assert host.list_folder(str(tmp_path / "absent")) == ()
    assert host.is_file(str(tmp_path / "b"))
    assert not host.is_file(str(tmp_path / "a"))
    assert not host.is_file(str(tmp_path / "dangling"))
    assert host.is_link(str(tmp_path / "dangling"))
    assert not host.is_link(str(tmp_path / "b"))


def test_programs_are_found_on_the_path_of_the_host(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "note").write_text("no program")
    (tmp_path / "tool").chmod(0o755)
    host.env = {"PATH": str(tmp_path)}
    assert host.find_program("tool") == str(tmp_path / "tool")
    assert host.find_program("note") is None
    assert host.find_program("sh") is None


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
def test_libraries_are_found_where_the_loader_looks(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "libof_ours.so.1").touch()
    assert host.find_library("libof_ours.so.1") is None
    host.env = {**host.env, "LD_LIBRARY_PATH": f"/nowhere:{tmp_path}"}
    assert host.find_library("libof_ours.so.1") == str(tmp_path / "libof_ours.so.1")
    assert host.find_library("libof_ours.so") is None
    assert host.find_library("libc.so.6") is not None


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
def test_a_stated_folder_goes_before_the_loader_s_own(host: LocalHost, tmp_path: Path) -> None:
    own = host.find_library("libc.so.6")
    (tmp_path / "libc.so.6").touch()
    host.env = {**host.env, "LD_LIBRARY_PATH": str(tmp_path)}
    assert host.find_library("libc.so.6") == str(tmp_path / "libc.so.6") != own


@pytest.mark.skipif(sys.platform == "win32", reason="device files of Unix")
def test_a_device_is_no_file_and_may_be_usable(host: LocalHost) -> None:
    assert "null" in host.list_folder("/dev")
    assert not host.is_file("/dev/null")
    assert host.is_usable("/dev/null") and host.is_usable("/dev/null", writing=False)
    assert not host.is_usable("/dev/none-of-this-name")


def test_a_temporary_folder_goes_with_all_that_is_in_it(host: LocalHost) -> None:
    with host.temporary_folder() as folder:
        sealed = Path(folder, "sealed")
        sealed.mkdir()
        (sealed / "file").write_text("left by a child")
        (sealed / "file").chmod(0o400)
        sealed.chmod(0o500)
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


def test_a_temporary_folder_goes_when_the_work_in_it_fails(host: LocalHost) -> None:
    with pytest.raises(KeyError), host.temporary_folder() as folder:
        raise KeyError("failed")
    assert not Path(folder).exists()


def test_the_machine_describes_itself(host: LocalHost) -> None:
    told = host.machine()
    assert set(told) == {
        *("kernel", "arch", "name", "libc", "cpu_count", "disk_free_bytes", "shared_memory_bytes")
    }
    assert told["cpu_count"] == os.cpu_count()
    assert told["disk_free_bytes"] > 1 << 20
    assert told["arch"] == os.uname().machine
    assert os.uname().release in told["kernel"]
    assert told["name"].strip()


def test_the_disk_below_a_folder_that_is_not_there_yet(host: LocalHost, tmp_path: Path) -> None:
    disk = host.disk(str(tmp_path / "not" / "yet"))
    assert disk is not None and disk.writable
    assert disk.free_bytes is not None and disk.free_bytes > 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux has /proc")
def test_a_file_system_that_has_no_size_is_not_full(host: LocalHost) -> None:
    disk = host.disk("/proc/cache")
    assert disk is not None and disk.free_bytes is None


def test_what_cannot_be_kept_leaves_nothing_behind(host: LocalHost, tmp_path: Path) -> None:
    host.env = {"XDG_CACHE_HOME": str(tmp_path)}
    (tmp_path / "lora-doctor" / "kept").mkdir(parents=True)  # where the file should come
    host.cache("kept", b"content")
    assert [path.name for path in (tmp_path / "lora-doctor").iterdir()] == ["kept"]
