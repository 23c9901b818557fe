"""The man page and the completions say what the command line says, and real shells take them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import write_completion
import write_man
from command_line import commands

from doctor.cli.app import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "man" / "lora-doctor.1"
SCRIPTS = ROOT / "doctor" / "completion"


def output(*command: str | Path) -> str:
    """What a program says where it is content."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_every_command_is_told() -> None:
    assert set(COMMANDS) <= {command.path for command in commands()}
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f".SS lora\\-doctor {name}" not in page] == []


@pytest.mark.parametrize("script", [write_man, write_completion], ids=lambda script: script.__name__)
def test_what_is_written_is_up_to_date(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(("script", "place"), [(write_man, "PAGE"), (write_completion, "FOLDER")])
def test_what_is_not_is_said(
    script: ModuleType,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(script, place, tmp_path / "new" / "lora-doctor.1")
    assert script.main(["--check"]) == 1
    assert "not as written" in capsys.readouterr().err
    assert script.main([]) == 0 and script.main(["--check"]) == 0
    assert script.main(["--chek"]) == 2


@pytest.mark.parametrize("text", ["a\\b", ".SH forged", "'so", "--x", "a\n.b"])
def test_no_text_is_a_request(text: str) -> None:
    assert not write_man.escaped(text).startswith((".", "'"))
    assert "\n." not in write_man.escaped(text)


@pytest.mark.program("mandoc")
def test_mandoc_finds_no_fault() -> None:
    assert output("mandoc", "-T", "lint", PAGE) == ""


@pytest.mark.program("mandoc")
def test_the_page_as_it_is_read() -> None:
    told = re.sub(".\b", "", output("mandoc", "-T", "ascii", "-O", "width=80", PAGE))
    assert "   lora-doctor check\n       Examine this machine" in told and "EXIT STATUS" in told


def bash(*words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    return output(
        "bash",
        "--norc",
        "-c",
        f"source {SCRIPTS}/lora-doctor.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1};"
        '_lora_doctor; printf "%s\\n" "${COMPREPLY[@]}"',
    ).split()


def zsh(*words: str) -> list[str]:
    """compadd is told by itself what it would offer: those that begin as the last word does."""
    line = " ".join(f"'{word}'" for word in words)
    told = output(
        "zsh",
        "-f",
        "-c",
        "compdef() { true }; compadd() { shift; print -l -- $@ }; _files() { print FILES };"
        f"source {SCRIPTS}/lora-doctor.zsh; words=({line}); CURRENT={len(words)}; _lora_doctor",
    ).split()
    return [word for word in told if word.startswith(words[-1])]


def fish(*words: str) -> list[str]:
    told = output(
        "fish", "--no-config", "-c", f"source {SCRIPTS}/lora-doctor.fish; complete -C '{' '.join(words)}'"
    )
    return [line.split("\t")[0] for line in told.splitlines()]


SHELLS = [pytest.param(shell, marks=pytest.mark.program(shell.__name__)) for shell in (bash, zsh, fish)]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("tr",), {"triage"}),
        (("check", "--qu"), {"--quick"}),
        (("check", "--format", "json"), {"json", "jsonl"}),
        (("check", "--quick", "--format", "m"), {"markdown"}),
        (("explain", "torch/cpu"), {"torch/cpu-only-build"}),
        (("fit", "llama-3.1-8"), {"llama-3.1-8b"}),
        (("fit", "--method", "q"), {"qlora"}),
        (("resolve", "--os", ""), {"linux", "darwin", "win32"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_words_are_completed(
    shell: Callable[..., list[str]], words: tuple[str, ...], offered: set[str]
) -> None:
    assert set(shell("lora-doctor", *words)) == offered


@pytest.mark.parametrize("shell", SHELLS[:2])
def test_behind_two_hyphens_the_command_is_another_programs(shell: Callable[..., list[str]]) -> None:
    assert shell("lora-doctor", "watch", "--", "py") == []


def test_a_value_behind_an_equals_sign_is_completed_in_bash() -> None:
    assert bash("lora-doctor", "check", "--format", "=", "m") == ["markdown"]
    assert "json" in bash("lora-doctor", "check", "--format", "=")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(shell: str) -> None:
    told = output(sys.executable, "-m", "doctor", "completion", shell)
    assert told == (SCRIPTS / f"lora-doctor.{shell}").read_text(encoding="utf-8")
