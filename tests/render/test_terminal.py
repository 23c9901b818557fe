from __future__ import annotations

import io
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.findings import Fix, Report
from doctor.render.lines import LINES, examining, lines_of, subject_line
from doctor.render.terminal import LiveTerminal, render

from .hostile import reports
from .machines import MACHINES, OLD_PEFT, PYTHON, broken_pair, healthy_cpu

replace = msgspec.structs.replace
SGR = re.compile(r"\x1b\[[0-9;]+m")
WIDTHS = st.none() | st.integers(-1, 200)


def is_harmless(text: str) -> bool:
    return all(letter == "\n" or letter.isprintable() for letter in text)


@given(reports(), WIDTHS, st.booleans(), st.booleans())
def test_no_control_character_ever_leaves(report: Report, width: int | None, color: bool, wide: bool) -> None:
    told = render(report, width=width, color=color, unicode=wide)
    assert ("\x1b" in told) == color
    told = SGR.sub("", told) if color else told
    assert {letter for letter in told if unicodedata.category(letter) in ("Cc", "Cs")} <= {"\n"}
    assert wide or told.isascii()
    told.encode("utf-8")


@pytest.mark.parametrize("width", [None, 10, 40, 59, 60, 80, 200])
@pytest.mark.parametrize("machine", MACHINES)
def test_colour_changes_nothing_but_colour(machine: str, width: int | None) -> None:
    report = MACHINES[machine]()
    plain = render(report, width=width, unicode=True)
    assert SGR.sub("", render(report, width=width, unicode=True, color=True)) == plain
    assert is_harmless(plain)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("machine", MACHINES)
def test_lines_fit_but_for_what_is_copied(machine: str, width: int) -> None:
    report = MACHINES[machine]()
    commands = [word for finding in report.findings for fix in finding.fixes for word in fix.commands]
    for line in render(report, width=width, unicode=True).splitlines():
        is_command = any(line.split()[:1] == [command[0]] for command in commands)
        longest_word = max(map(len, line.split()), default=0)
        assert len(line) <= width or is_command or longest_word > width - 20, line
        assert line == line.rstrip()


@pytest.mark.parametrize("width", [None, 10, 40, 80])
def test_a_command_stands_whole_on_a_line_of_its_own(width: int | None) -> None:
    lines = [line.strip() for line in render(broken_pair(), width=width).splitlines()]
    assert f"{PYTHON} -m pip install 'peft>=0.18.0'" in lines
    assert f"{PYTHON} -m pip install 'transformers>=4.56,<5' 'huggingface-hub<1'" in lines


def test_windows_commands_are_quoted_for_windows() -> None:
    report = broken_pair()
    assert report.facts.system is not None
    facts = replace(report.facts, system=replace(report.facts.system, os="win32"))
    assert '-m pip install "peft>=0.18.0"' in render(replace(report, facts=facts))


def test_markup_of_rich_is_text() -> None:
    finding = replace(OLD_PEFT, title="[bold]x[/bold] :smile:")
    assert "[bold]x[/bold] :smile:" in render(replace(broken_pair(), findings=(finding,)), color=True)


def test_a_long_error_text_is_cut_and_says_so() -> None:
    long = replace(OLD_PEFT.evidence[0], seen="\n".join(f"frame {number}" for number in range(30)))
    told = render(replace(broken_pair(), findings=(replace(OLD_PEFT, evidence=(long,)),)))
    assert "frame 7\n" in told
    assert "frame 8\n" not in told
    assert "(22 more lines)" in told


def test_a_fix_says_whether_it_was_verified() -> None:
    fixes = tuple(Fix(title=f"title {state}", verified=state) for state in (True, False, None))
    told = render(replace(broken_pair(), findings=(replace(OLD_PEFT, fixes=fixes),)))
    assert "fix     title True (verified)\n" in told
    assert "or      title False (not verified)\n" in told
    assert "or      title None\n" in told


def test_live_without_a_terminal_tells_the_same_lines() -> None:
    report = broken_pair()
    stream = io.StringIO()
    live = LiveTerminal(stream, width=80)
    live.begin(examining(report.subject.name, report.facts.interpreter))
    for line in lines_of(report.facts):
        live.working(line.title)
        live.line(subject_line(line, report.facts, report.findings))
    live.finish(report)
    assert stream.getvalue() == render(report, width=80)


def test_live_tells_a_line_at_once() -> None:
    stream = io.StringIO()
    live = LiveTerminal(stream)
    live.begin("Examining python")
    live.line(subject_line(LINES[0], healthy_cpu().facts, []))
    assert stream.getvalue().splitlines()[-1].startswith("[ok]   system ")


def test_live_tells_a_changed_line_again_and_a_missing_one_at_last() -> None:
    report = broken_pair()
    stream = io.StringIO()
    live = LiveTerminal(stream, width=80)
    for line in LINES[:4]:
        live.line(subject_line(line, report.facts, []))
    live.finish(report)
    told = stream.getvalue()
    assert "[ok]   interpreter" in told
    assert "[warn] interpreter" in told
    assert len(re.findall(r"\] +driver ", told)) == 1
    assert len(re.findall(r"\] +torch ", told)) == 1


def test_animated_shows_what_runs_and_cleans_up() -> None:
    stream = io.StringIO()
    live = LiveTerminal(stream, width=60, animated=True)
    live.working("import-peft \x1b[2J[bold]")
    wait_until(lambda: "import-peft" in stream.getvalue())
    live.line(subject_line(LINES[0], healthy_cpu().facts, []))
    moving, last = stream.getvalue().rsplit("\x1b[2K", 1)  # rich erases its line before ours is written
    assert "import-peft [bold]" in moving
    assert "\x1b[2J" not in moving
    assert last.startswith("[ok]   system ")


def test_what_is_done_at_once_is_never_announced() -> None:
    stream = io.StringIO()
    live = LiveTerminal(stream, animated=True)
    live.working("import-peft")
    live.finish(healthy_cpu())
    assert "import-peft" not in stream.getvalue()


def test_stopping_twice_is_stopping_once() -> None:
    stream = io.StringIO()
    live = LiveTerminal(stream, width=20, animated=True)
    live.working("a long label that has no room here")
    wait_until(lambda: bool(stream.getvalue()))
    live.stop()
    told = stream.getvalue()
    live.stop()
    assert stream.getvalue() == told


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, io; from doctor.render.terminal import LiveTerminal\n"
        "live = LiveTerminal(io.StringIO(), animated=True); live.begin('x'); live.working('y'); live.stop()\n"
        "sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
