"""``lora-doctor watch`` at a terminal, and what becomes of its own faults."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from doctor.cli import watch
from doctor.watching.run import Watch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals are of Unix")


@pytest.mark.parametrize(("text", "seconds"), [("1s", 1.0), ("500ms", 0.5), ("2", 2.0), (" 0.25S ", 0.25)])
def test_intervals(text: str, seconds: float) -> None:
    assert watch.seconds_of(text) == seconds


@pytest.mark.parametrize(("text", "size"), [
    ("16", 16_000_000_000), ("16GB", 16_000_000_000), ("1.5 GiB", 3 << 29), ("800mib", 800 << 20),
    ("4096b", 4096),
])  # fmt: skip
def test_limits(text: str, size: int) -> None:
    assert watch.bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "nan", "inf", "1e99", "16 potatoes"])
def test_what_is_no_limit(text: str) -> None:
    with pytest.raises(typer.Exit):
        watch.bytes_of(text)


def at_terminal(*arguments: str, rows: int = 24, columns: int = 100, output: str | None = None) -> str:
    """What a terminal is sent by a run of watch, whose standard output may go to a file."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        hidden = ("CI", "COLUMNS", "LINES")  # readline writes the last two past os.environ
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {"TERM": "xterm", "LC_ALL": "C.UTF-8"}
        if output is not None:
            os.dup2(os.open(output, os.O_WRONLY), 1)
        os.execve(sys.executable, [sys.executable, "-m", "doctor", "watch", *arguments], environment)
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    shown = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        shown += data
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 5
    return shown.decode()


PROGRAM = "import time; print('begun', flush=True); time.sleep(1); raise SystemExit(5)"


def test_the_line_moves_in_the_last_row_and_the_row_is_given_back() -> None:
    shown = at_terminal("--interval", "100ms", "--", sys.executable, "-c", PROGRAM)
    assert "begun\r\n" in shown
    assert shown.count("\x1b[24;1H\x1b[2Kmemory") >= 3
    assert "\x1b[1;23r" in shown and shown.rindex("\x1b[r") > shown.rindex("\x1b[24;1H\x1b[2Kmemory")
    assert "Watched python for" in shown[shown.rindex("\x1b[r") :]


def test_the_last_row_is_that_of_the_terminal_where_standard_output_goes_elsewhere() -> None:
    command = ("--interval", "100ms", "--", sys.executable, "-c", PROGRAM)
    shown = at_terminal(*command, rows=50, columns=50, output=os.devnull)
    assert "\x1b[1;49r" in shown and "\x1b[50;1H" in shown and "\x1b[24;1H" not in shown
    plain = re.sub(r"\x1b\[\d*m", "", shown)
    assert max(len(row) for row in plain[plain.index("Watched") :].splitlines()) <= 50


def test_quiet_is_quiet_at_a_terminal() -> None:
    assert at_terminal("--quiet", "--", sys.executable, "-c", PROGRAM) == "begun\r\n"


def run(*arguments: str) -> int:
    """The exit code of the command, in this process."""
    with pytest.raises(typer.Exit) as leaving:
        watch.watch(command=list(arguments), interval="100ms")
    return leaving.value.exit_code


def test_a_fault_of_ours_while_it_runs_is_not_the_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def broken(self: Watch, *, last: bool = False) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(Watch, "_look", broken)
    assert run("sh", "-c", "sleep 0.5; exit 6") == 6
    assert "KeyError: 'ours'" in capsys.readouterr().err


def test_a_fault_of_ours_after_its_end_is_not_the_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def broken(*_: Any) -> str:
        raise KeyError("ours")

    monkeypatch.setattr(watch, "rendered", broken)
    assert run("sh", "-c", "exit 6") == 6
    assert "lora-doctor itself failed" in capsys.readouterr().err


SCRIPT = """
import sys
if len(sys.argv) < 9:
    raise MemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, TrainingArguments, Trainer
model = AutoModelForCausalLM.from_pretrained(
    "Qwen/Qwen2.5-7B", quantization_config=BitsAndBytesConfig(load_in_4bit=True)
)
Trainer(model=model, args=TrainingArguments(output_dir="o", per_device_train_batch_size=8)).train()
"""


def test_after_a_failure_the_levers_have_numbers_of_the_scripts_own_plan(tmp_path: Path, capsys: Any) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    with pytest.raises(typer.Exit):
        watch.watch(command=[sys.executable, str(script)], output=str(tmp_path / "told.json"))
    told = json.loads((tmp_path / "told.json").read_text())
    titles = [fix["title"] for fix in told["findings"][0]["fixes"]]
    assert [title for title in titles if title.startswith("batch of 1 with accumulation: saves about ")]


def test_a_file_that_cannot_be_written_is_said_and_no_more(capsys: Any, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(typer.Exit) as leaving:
        watch.watch(command=["sh", "-c", f"rmdir {folder}; exit 6"], output=str(folder / "told.svg"))
    assert leaving.value.exit_code == 6
    assert "cannot be written" in capsys.readouterr().err
