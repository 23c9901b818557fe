"""Whole runs of ``lora-doctor watch``: real children, NVML of the stubs, a torch that plays an allocator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import stubs
from stubs.profiles import lines as profile_lines
from stubs.profiles import read as read_profile

from doctor.host import LocalHost
from doctor.watching.run import Watch

from .programs import PATIENCE_S, fake_torch, told, watch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and the stubs are of Unix")
needs_compiler = pytest.mark.skipif(not stubs.compiler_is_there(), reason="the stubs need Linux and cc")

GIB, MIB = 1 << 30, 1 << 20
# A program that plays a training on the GPU of the stubs: it writes what the driver is to say of it.
TRAINING = """
import os, sys, time
import torch
profile = os.environ["LORA_DOCTOR_STUB"]
with open(profile) as file:
    machine = file.read()
def driver(own, others=0):
    rows = [f"gpu0.memory.used={own + others << 20}", "gpu0.processes=2"]
    processes = (os.getpid(), own, "/usr/bin/python3"), (1, others, "/usr/bin/jupyter --secret")
    for number, (pid, held, name) in enumerate(processes):
        told = {"pid": pid, "memory": held << 20, "name": name, "kind": "compute"}
        rows += [f"gpu0.process{number}.{key}={value}" for key, value in told.items()]
    with open(profile + ".new", "w") as file:
        file.write("\\n".join(rows) + "\\n" + machine)
    os.replace(profile + ".new", profile)
model = torch.nn.Module()
optimizer = torch.optim.SGD(model)
def step(held, reserved, others=1000):
    torch.cuda.hold(held, reserved)
    driver(reserved + 200, others)
    optimizer.step()
    time.sleep(0.03)
"""


def run(
    folder: Path, program: str, *options: str, profile: str = "rtx4090", faults: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The JSON of a run of this program on a machine of the stubs."""
    environment = stubs.machine(profile, *faults)
    machine = folder / "machine"
    own = read_profile(profile)
    own["gpus"][0].pop("processes", None)
    rows = profile_lines(own).splitlines(keepends=True)
    machine.write_text("".join(row for row in rows if not row.startswith("gpu0.memory.used")))
    environment |= {"LORA_DOCTOR_STUB": str(machine), "LORA_DOCTOR_STUB_CHANGES": "1"}
    environment["PYTHONPATH"] = fake_torch(folder)
    command = ["--interval", "50ms", "-o", str(folder / "told.json"), *options]
    done = watch(*command, "--", sys.executable, "-c", TRAINING + program, environment=environment)
    whole = told(done, folder / "told.json")
    whole["code"], whole["stderr"] = done.returncode, done.stderr
    return whole


def ids(whole: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in whole["findings"]]


@needs_compiler
def test_a_leak_is_seen_by_driver_and_torch(tmp_path: Path) -> None:
    whole = run(tmp_path, "for number in range(80): step(4000 + 10 * number, 6000)\n")
    [gpu] = whole["run"]["gpus"]
    assert (gpu["index"], gpu["name"], gpu["total_bytes"]) == (0, "NVIDIA GeForce RTX 4090", 24564 * MIB)
    assert (gpu["peak_bytes"], gpu["least_free_bytes"]) == (7200 * MIB, (24564 - 437 - 7200) * MIB)
    assert max(size for _, size in gpu["own"]) == 6200 * MIB
    assert {size for _, size in gpu["others"][3:]} == {1000 * MIB}
    assert [(one["name"], one["pid"]) for one in gpu["holders"]] == [("jupyter", 1)]
    [process] = whole["run"]["processes"]
    [device] = process["devices"]
    assert (device["device"], device["gpu"], device["peak_reserved_bytes"]) == (0, 0, 6000 * MIB)
    assert 60 <= process["steps"] <= 80
    assert ids(whole) == ["memory/leak"]
    assert whole["findings"][0]["title"] == "Every step leaves 10.00 MiB behind"
    assert (whole["code"], whole["run"]["hook"]) == (0, "worked")


@needs_compiler
def test_out_of_memory_is_answered(tmp_path: Path) -> None:
    text = (
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.99 GiB of which "
        "1.00 GiB is free. Including non-PyTorch memory, this process has 20.20 GiB memory in use. Of the "
        "allocated memory 17.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but "
        "unallocated."
    )
    whole = run(
        tmp_path,
        f"step(17000, 20000, 3000); time.sleep(0.5); raise torch.OutOfMemoryError({text!r})",
    )
    assert whole["code"] == 1
    failed = whole["findings"][0]
    assert (failed["id"], failed["severity"]) == ("memory/out-of-memory", "error")
    assert failed["title"] == "Out of memory on GPU 0: 2.00 GiB asked for, 1.00 GiB free"
    first, second = (fix["title"] for fix in failed["fixes"][:2])
    assert first.startswith(
        "End other processes on the GPU, which hold 2.93 GiB: jupyter (pid 1); that alone"
    )
    assert second.startswith("Start with PYTORCH_ALLOC_CONF=expandable_segments:True")
    assert whole["stderr"].count("Traceback") == 1  # of the program, which prints as ever


@needs_compiler
def test_a_driver_that_hangs_loses_the_gpu_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.watching.gpus.SILENT_S", 0.5)
    host = LocalHost()
    host.env = {**host.env, **stubs.machine("t4", "nvmlDeviceGetMemoryInfo*=hang")}
    seen = Watch(host, 0.1).command([sys.executable, "-c", "import time; time.sleep(2)"])
    host.close()
    assert (seen.exit_code, seen.gpus) == (0, ())
    assert [gap.reason for gap in seen.gaps] == ["NVML stopped answering while the run went on"]
    assert seen.peak_resident_bytes > 4 * MIB


@needs_compiler
def test_a_machine_without_a_driver(tmp_path: Path) -> None:
    host = LocalHost()
    host.env = {**host.env, **stubs.machine("t4", library="absent")}
    seen = Watch(host, 0.1).command([sys.executable, "-c", "import time; time.sleep(1)"])
    host.close()
    assert seen.gpus == () and [gap.kind for gap in seen.gaps] == ["not-applicable"]


@needs_compiler
def test_process_numbers_of_a_container_are_not_ours(tmp_path: Path) -> None:
    """The driver counts 4711 where we are something else: whose memory it is stays open."""
    host = LocalHost()
    host.env = {**host.env, **stubs.machine("rtx3060")}
    seen = Watch(host, 0.1).command([sys.executable, "-c", "import time; time.sleep(1)"])
    host.close()
    [gpu] = seen.gpus
    assert gpu.peak_bytes == 512 * MIB and gpu.own == gpu.others == () and gpu.holders == ()


def test_the_exit_code_is_the_commands_own(tmp_path: Path) -> None:
    done = watch("--", sys.executable, "-c", "print('out'); raise SystemExit(7)")
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert "Watched python" in done.stderr and "exit code 7" in done.stderr


def test_a_signal_that_ends_it_is_an_exit_code_as_of_a_shell(tmp_path: Path) -> None:
    done = watch("--quiet", "--", "sh", "-c", "kill -KILL $$")
    assert (done.returncode, done.stdout, done.stderr) == (137, "", "")


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (("--", "no-such-program-anywhere"), 127, "no-such-program-anywhere was not found"),
    (("--", "/"), 126, "cannot be started"),
    ((), 2, "watch takes a command or --pid"),
    (("--pid", "1", "--", "true"), 2, "watch takes a command or --pid"),
    (("--interval", "soon", "--", "true"), 2, "'soon' is no interval"),
    (("--interval", "0", "--", "true"), 2, "'0' is no interval"),
    (("--limit", "much", "--", "true"), 2, "'much' is no size"),
    (("-o", "plot.bmp", "--", "true"), 2, "no form goes by that name"),
    (("--pid", str(2**22 + 1)), 2, "there is no process"),
    (("--pid", "-1"), 2, "there is no process -1"),
    (("-o", "no/such/folder/plot.svg", "--", "false"), 2, "no/such/folder/plot.svg cannot be written"),
    (("-o", "/", "--format", "svg", "--", "false"), 2, "/ cannot be written"),
])  # fmt: skip
def test_what_cannot_be_watched(arguments: tuple[str, ...], code: int, words: str) -> None:
    done = watch(*arguments)
    assert done.returncode == code
    assert words in done.stderr and "Traceback" not in done.stderr


def test_options_behind_the_command_are_its_own(tmp_path: Path) -> None:
    done = watch("--quiet", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--output", "x", "--pid")
    assert done.stdout == "['--output', 'x', '--pid']\n"


@pytest.mark.parametrize(("name", "start"), [
    ("told.svg", "<svg "), ("told.html", "<!doctype html>"), ("told.json", "{"), ("told.md", "# Watched"),
    ("told.txt", "\nWatched"),
])  # fmt: skip
def test_a_file_is_written_as_it_is_named(tmp_path: Path, name: str, start: str) -> None:
    done = watch("-o", str(tmp_path / name), "--", sys.executable, "-c", "import time; time.sleep(0.3)")
    assert done.returncode == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_nothing_of_the_user_is_left_in_what_is_written(tmp_path: Path) -> None:
    """Neither the command's arguments nor what it prints, but for an error of memory, and that is masked."""
    text = "CUDA out of memory. Tried to allocate 1.00 GiB. hf_" + "abcdefghij" * 4
    program = f"import sys; sys.stderr.write('password=hunter2\\n'); sys.exit({text!r})"
    command = (sys.executable, "-c", program, "--token", "topsecret")
    done = watch("-o", str(tmp_path / "told.json"), "--", *command)
    whole = (tmp_path / "told.json").read_text(encoding="utf-8")
    assert "hunter2" in done.stderr  # it passes through, as ever
    assert not [word for word in ("hunter2", "topsecret", "abcdefghij", str(tmp_path)) if word in whole]
    assert json.loads(whole)["findings"][0]["title"] == "Out of memory: 1.00 GiB asked for"


def test_children_of_children_count(tmp_path: Path) -> None:
    inner = "held = bytearray(b'x') * (200 << 20); import time; time.sleep(1.5)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    watch("--interval", "100ms", "-o", str(tmp_path / "told.json"), "--", sys.executable, "-c", outer)
    run = json.loads((tmp_path / "told.json").read_text())["run"]
    assert 200 * MIB < run["peak_resident_bytes"] < 400 * MIB


def test_a_hook_that_finds_nowhere_to_stand_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: LocalHost) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalHost, "temporary_folder", full)
    host = LocalHost()
    seen = Watch(host, 0.1).command([sys.executable, "-c", "import time; time.sleep(0.3)"])
    host.close()
    assert seen.exit_code == 0 and seen.hook == "not-asked"
    assert "no temporary folder for the hook: No space left on device" in [gap.reason for gap in seen.gaps]


@pytest.mark.parametrize(("options", "state"), [(["-I"], "impossible"), ([], "silent")])
def test_how_far_the_hook_came(options: list[str], state: str) -> None:
    host = LocalHost()
    seen = Watch(host, 0.1).command([sys.executable, *options, "-c", "pass"])
    host.close()
    assert seen.hook == state


def test_the_folder_of_the_hook_is_private_and_goes(tmp_path: Path) -> None:
    look = (
        "import os; folder = os.environ['LORA_DOCTOR_WATCH'];"
        "print(folder, oct(os.stat(folder).st_mode)[-3:], os.environ['PYTHONPATH'])"
    )
    done = watch("--quiet", "--", sys.executable, "-c", look, environment={"PYTHONPATH": "/theirs"})
    folder, mode, path = done.stdout.split()
    assert (mode, path) == ("700", f"{folder}/hook:/theirs")
    assert not os.path.exists(folder)


def test_a_process_that_runs_already(tmp_path: Path) -> None:
    holding = "held = bytearray(b'x') * (90 << 20); import time; time.sleep(3)"
    process = subprocess.Popen([sys.executable, "-c", holding])
    output = str(tmp_path / "told.json")
    done = watch("--pid", str(process.pid), "--interval", "100ms", "--limit", "50MiB", "-o", output)
    assert process.wait() == 0
    run = json.loads((tmp_path / "told.json").read_text())
    assert done.returncode == 1  # above the limit
    assert [one["id"] for one in run["findings"]][0] == "memory/over-limit"
    assert run["run"]["peak_resident_bytes"] > 90 * MIB


def test_a_process_that_has_ended_is_not_watched(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its number is still taken
    done = watch("--pid", str(process.pid))
    assert (done.returncode, process.wait()) == (2, 0)
    assert f"process {process.pid} has ended" in done.stderr


def test_enough_may_be_seen_of_a_process(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    command = [sys.executable, "-m", "doctor", "watch", "--pid", str(process.pid)]
    watching = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(2)
        watching.send_signal(signal.SIGINT)
        _, words = watching.communicate(timeout=PATIENCE_S)
        assert "Watched sleep for" in words and watching.returncode == 0
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
