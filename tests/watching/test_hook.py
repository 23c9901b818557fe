"""What the hook does to a process: nothing that it notices. On real interpreters."""

from __future__ import annotations

import ast
import os
import shutil
import sys
from pathlib import Path

import pytest

from .programs import HOOK, fake_torch, hooked, lines, run, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and /proc are of Unix")

SEEN = "import sys; print(sys.path, sorted(sys.modules), sys.flags, __name__)"
# A loop of 40 steps, 5 ms each, with 10 MiB more after each.
LOOP = """
import time, torch
model = torch.nn.Module()
optimizer = torch.optim.SGD(model)
def step(held, reserved=1000):
    torch.cuda.hold(held, reserved)
    optimizer.step()
    time.sleep(0.005)
"""
LEAK = LOOP + "for number in range(40): step(100 + 10 * number)\n"


@pytest.mark.parametrize("path", sorted(HOOK.glob("*.py")), ids=lambda path: path.name)
def test_its_text_is_that_of_an_old_python(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.name for node in imported for alias in node.names}
    assert "torch" not in names


def test_a_program_without_torch_sees_no_difference(tmp_path: Path) -> None:
    bare = run([sys.executable, "-c", SEEN], {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    done = hooked(tmp_path / "records", SEEN)
    assert done.stdout.replace("'sitecustomize', ", "") == bare.stdout.replace("'sitecustomize', ", "")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (tmp_path / "records").iterdir()] == ["python"]


def test_it_takes_no_thread_and_no_file_before_torch_is_asked_for(tmp_path: Path) -> None:
    count = "import os, threading; print(threading.active_count(), len(os.listdir('/proc/self/task')))"
    assert hooked(tmp_path / "records", count).stdout == "1 1\n"


def test_the_sitecustomize_that_it_hides_is_run(tmp_path: Path) -> None:
    theirs = write(tmp_path / "theirs", {"sitecustomize.py": "import builtins; builtins.theirs = __file__"})
    done = hooked(
        tmp_path / "records", "import sitecustomize; print(theirs, sitecustomize.__file__)", path=str(theirs)
    )
    assert done.stdout == f"{theirs}/sitecustomize.py {theirs}/sitecustomize.py\n"


def test_a_sitecustomize_that_fails_fails_as_ever(tmp_path: Path) -> None:
    theirs = write(tmp_path / "theirs", {"sitecustomize.py": "raise ValueError('theirs')"})
    done = hooked(tmp_path / "records", "print('went on')", path=str(theirs))
    bare = run([sys.executable, "-c", "print('went on')"], {**os.environ, "PYTHONPATH": str(theirs)})
    assert (done.stdout, done.stderr, done.returncode) == (bare.stdout, bare.stderr, bare.returncode)


def test_torch_that_is_absent_is_absent(tmp_path: Path) -> None:
    done = hooked(tmp_path / "records", "import torch")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'torch'"


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_where_the_interpreter_shuts_it_out_there_is_no_sign(tmp_path: Path, option: str) -> None:
    assert hooked(tmp_path / "records", "print(1)", option).stdout == "1\n"
    assert list((tmp_path / "records").iterdir()) == []


def test_a_folder_that_is_gone_stops_it(tmp_path: Path) -> None:
    gone = """
import os, shutil, time, torch
shutil.rmtree(os.environ["LORA_DOCTOR_WATCH"])
time.sleep(0.3)
print(1)
"""
    done = hooked(tmp_path / "records", gone, path=fake_torch(tmp_path / "fake"))
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


def test_steps_and_what_is_held_after_them(tmp_path: Path) -> None:
    done = hooked(tmp_path / "records", LEAK, path=fake_torch(tmp_path / "fake"))
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    [head] = lines(tmp_path / "records", "torch")
    assert (head["torch"], head["counted"]) == ("2.13.0+cu130", True)
    looks = lines(tmp_path / "records", "look")
    # The first steps may be over before torch was heard of.
    assert 30 <= looks[-1]["steps"] <= 40
    held = [size >> 20 for look in looks for _, size in look["lowest"]]
    assert held == sorted(held) and held[0] >= 100 and held[-1] > 300
    assert looks[-1]["devices"] == [[0, 490 << 20, 1000 << 20, 0, 490 << 20, 1000 << 20, 0, 0, "UUID"]]


def test_cuda_is_not_touched_before_the_program_does(tmp_path: Path) -> None:
    waiting = "import time, torch; time.sleep(0.2); assert not torch.cuda.initialised"
    assert hooked(tmp_path / "records", waiting, path=fake_torch(tmp_path / "fake")).returncode == 0
    assert {str(look["devices"]) for look in lines(tmp_path / "records", "look")} == {"[]"}


def test_modes_are_those_of_the_main_thread(tmp_path: Path) -> None:
    evaluate = (
        LOOP
        + """
step(100); time.sleep(0.2)
def busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100))
torch.recording = True; step(100)
model(lambda: busy(0.4))
model.training = False
model(lambda: busy(0.6))
torch.recording = False
model(lambda: busy(0.6))
"""
    )
    hooked(tmp_path / "records", evaluate, path=fake_torch(tmp_path / "fake"))
    answers = [tuple(look["answer"][2:]) for look in lines(tmp_path / "records", "look") if look["answer"]]
    inside = [answer for answer in answers if answer[2]]
    states = list(dict.fromkeys(inside))
    assert states == [(True, True, True), (False, True, True), (False, False, True)]
    assert min(inside.count(state) for state in states) >= 3


def test_an_error_of_memory_is_told_and_printed_as_ever(tmp_path: Path) -> None:
    failing = "import torch\nraise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB')"
    done = hooked(tmp_path / "records", failing, path=fake_torch(tmp_path / "fake"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    )
    [error] = lines(tmp_path / "records", "error")
    assert error["text"] == "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def test_an_error_right_after_the_import_is_told_with_its_torch(tmp_path: Path) -> None:
    failing = "import torch\nraise torch.OutOfMemoryError('CUDA out of memory')"
    hooked(tmp_path / "records", failing, path=fake_torch(tmp_path / "fake"), interval=30.0)
    assert len(lines(tmp_path / "records", "torch")) == len(lines(tmp_path / "records", "error")) == 1


def test_another_error_is_nobodys_business(tmp_path: Path) -> None:
    hooked(
        tmp_path / "records", "import torch; raise ValueError('secret')", path=fake_torch(tmp_path / "fake")
    )
    assert lines(tmp_path / "records", "error") == []


def test_a_failure_that_is_caught_is_told_by_the_allocator(tmp_path: Path) -> None:
    caught = (
        LOOP
        + "step(100); time.sleep(0.2)\nfor tell in torch._C.observers: tell(0, 2 << 30, 24 << 30, 1 << 30)\n"
    )
    hooked(tmp_path / "records", caught, path=fake_torch(tmp_path / "fake"))
    [failed] = lines(tmp_path / "records", "failed")
    assert (failed["device"], failed["asked"], failed["total"], failed["free"]) == (
        0,
        2 << 30,
        24 << 30,
        1 << 30,
    )
    assert failed["row"][:3] == [0, 100 << 20, 1000 << 20]


def test_failures_without_end_are_not_written_without_end(tmp_path: Path) -> None:
    caught = (
        LOOP + "step(100); time.sleep(0.2)\n"
        "for _ in range(2000): torch._C.observers[0](0, 2 << 30, 24 << 30, 1 << 30)\n"
    )
    hooked(tmp_path / "records", caught, path=fake_torch(tmp_path / "fake"))
    assert len(lines(tmp_path / "records", "failed")) == 256


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")
def test_a_file_that_is_read_through_a_map_is_nothing_that_is_held(tmp_path: Path) -> None:
    """As a data set is read: its pages are resident, and go when others need the room."""
    (tmp_path / "data").write_bytes(bytes(100 << 20))
    reads = (
        f"import mmap; file = open({str(tmp_path / 'data')!r}, 'rb')\n"
        "data = mmap.mmap(file.fileno(), 0, prot=1)\n"
        + LOOP
        + "step(100); time.sleep(0.2); step(100); time.sleep(0.2)\n"
        "data[::4096]; step(100); time.sleep(0.2); step(100)\n"
    )
    done = hooked(tmp_path / "records", reads, path=fake_torch(tmp_path / "fake"))
    assert done.stderr == ""
    resident = [look["resident"] for look in lines(tmp_path / "records", "look") if look["resident"]]
    assert len(resident) >= 2 and resident[-1] - resident[0] < 30 << 20


ALARM = """
import signal, time, torch
asked = []
def enabled():
    asked.append(1)
    if len(asked) == 1:
        signal.raise_signal(signal.SIGALRM)
    return True
torch.is_grad_enabled = enabled
class Late(Exception):
    pass
def late(*_):
    raise Late
signal.signal(signal.SIGALRM, late)
try:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        sum(range(100))
except Late:
    print("late")
"""


def test_what_a_signals_handler_raises_while_the_main_thread_is_asked_reaches_the_program(
    tmp_path: Path,
) -> None:
    done = hooked(tmp_path / "records", ALARM, path=fake_torch(tmp_path / "fake"))
    assert (done.stdout, done.stderr, done.returncode) == ("late\n", "", 0)


# Forks, spawns and threads


def test_a_fork_meets_no_thread_of_ours(tmp_path: Path) -> None:
    """Since 3.12 Python warns of a fork beside other threads; here the warning would be an error."""
    fork = (
        LOOP
        + """
import os
time.sleep(0.2)
for _ in range(20):
    if os.fork() == 0:
        os._exit(len(os.listdir("/proc/self/task")) - 1)
    assert os.wait()[1] == 0
step(100); time.sleep(0.1)
"""
    )
    done = hooked(tmp_path / "records", fork, "-W", "error", path=fake_torch(tmp_path / "fake"))
    assert (done.stderr, done.returncode) == ("", 0)
    assert len(list((tmp_path / "records").glob("*.jsonl"))) == 1
    assert lines(tmp_path / "records", "look")[-1]["steps"] == 1


def test_a_forked_child_that_trains_tells_of_itself(tmp_path: Path) -> None:
    fork = (
        LOOP
        + """
import os
time.sleep(0.2)
if os.fork() == 0:
    for number in range(20): step(100)
    time.sleep(0.2)
    os._exit(0)
os.wait()
"""
    )
    hooked(tmp_path / "records", fork, path=fake_torch(tmp_path / "fake"))
    heads = lines(tmp_path / "records", "torch")
    assert len({head["pid"] for head in heads}) == len(heads) == 2
    assert max(look["steps"] for look in lines(tmp_path / "records", "look")) == 20


def test_a_spawned_child_tells_of_itself(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        {
            "spawning.py": """
                import multiprocessing, time
                def train():
                    import torch
                    time.sleep(0.2)
                    optimizer = torch.optim.SGD(torch.nn.Module())
                    for _ in range(5): optimizer.step()
                    time.sleep(0.2)
                if __name__ == "__main__":
                    context = multiprocessing.get_context("spawn")
                    children = [context.Process(target=train) for _ in range(2)]
                    for child in children: child.start()
                    for child in children: child.join()
                    print([child.exitcode for child in children])
            """
        },
    )
    run_it = f"import runpy; runpy.run_path({str(program / 'spawning.py')!r}, run_name='__main__')"
    done = hooked(tmp_path / "records", run_it, path=fake_torch(tmp_path / "fake"))
    assert done.stdout == "[0, 0]\n", done.stderr
    assert len(lines(tmp_path / "records", "torch")) == 2


def test_threads_of_the_program_that_outlive_it_do_no_harm(tmp_path: Path) -> None:
    daemon = (
        LOOP
        + """
import threading
def forever():
    while True: step(100)
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
"""
    )
    done = hooked(tmp_path / "records", daemon, path=fake_torch(tmp_path / "fake"))
    assert (done.stderr, done.returncode) == ("", 0)


OTHERS = [name for version in range(8, 15) if (name := shutil.which(f"python3.{version}"))]


@pytest.mark.parametrize("python", OTHERS, ids=os.path.basename)
def test_it_works_in_every_python_that_is_here(tmp_path: Path, python: str) -> None:
    if run([python, "-c", ""]).returncode:
        pytest.skip("a name without an interpreter")
    done = hooked(tmp_path / "records", LEAK, path=fake_torch(tmp_path / "fake"), python=python)
    assert (done.stderr, done.returncode) == ("", 0)
    assert lines(tmp_path / "records", "look")[-1]["steps"] >= 30
