"""The command line as users and programs meet it: text, files, exit codes, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from collectors.throwaway import Environment
from elf_files import elf

from doctor import __version__
from doctor.diagnosis import all_rules
from doctor.facts import Facts, Stage
from doctor.render import json_report

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
OF_THE_SHELL = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "COLUMNS", "NO_COLOR", "CI", "LD_LIBRARY_PATH"),
    "CUDA_VISIBLE_DEVICES",
)


class Shell:
    """A shell in an empty folder, with an environment that holds what a test puts there."""

    def __init__(self, folder: Path, environment: Environment) -> None:
        self.folder, self.target = folder, environment
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.env = {name: value for name, value in inherited.items() if name not in OF_THE_SHELL}
        self.env |= {"HOME": str(folder), "TMPDIR": str(folder / "tmp")}
        (folder / "tmp").mkdir()

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "doctor", *arguments]

    def run(self, *arguments: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """Run to the end; whatever happens there is no traceback."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert done.returncode == code, done.stderr
        return done

    def check(self, *arguments: str, code: int = 1, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("check", "--quick", "--python", str(self.target.python), *arguments, code=code, **env)

    def report(self, *arguments: str, code: int = 1, **env: str) -> dict[str, Any]:
        found = json.loads(self.check("--format", "json", *arguments, code=code, **env).stdout)
        assert isinstance(found, dict)
        return found


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    (tmp_path / "here").mkdir()
    shell = Shell(tmp_path / "here", Environment(tmp_path / "env"))
    yield shell
    assert list((shell.folder / "tmp").glob("lora-doctor-[!c]*")) == []  # temporary folders


STACK = ("torch", "bitsandbytes", "transformers", "accelerate", "peft", "trl")


def install_stack(shell: Shell) -> None:
    """A stack that a quick look finds nothing wrong with."""
    version = b"__version__ = '2.13.0+cpu'\ncuda = None\nhip = None\n"
    shell.target.install("torch", "2.13.0+cpu", files={"torch/version.py": version, "torch/__init__.py": b""})
    libraries = {"bitsandbytes/__init__.py": b"", "bitsandbytes/libbitsandbytes_cpu.so": elf()}
    shell.target.install("bitsandbytes", "0.50.2", files=libraries)
    for name, release in (
        ("transformers", "5.24.0"),
        ("accelerate", "1.15.0"),
        ("peft", "0.21.2"),
        ("trl", "1.16.0"),
    ):
        shell.target.install(name, release)


# -- words and exit codes


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["check", "--help"], ["explain", "-h"], ["report", "--help"]]
)
def test_help(shell: Shell, arguments: list[str]) -> None:
    assert "Usage: lora-doctor" in shell.run(*arguments).stdout


def test_help_names_the_commands(shell: Shell) -> None:
    said = shell.run("--help").stdout
    assert all(command in said for command in ("check", "explain", "report"))


def test_the_version(shell: Shell) -> None:
    assert shell.run("--version").stdout == f"lora-doctor {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["check", "--no-such-option"],
        ["check", "--format", "xml"],
        ["check", "--timeout", "soon"],
        ["check", "--timeout", "0"],
        ["check", "--timeout", "-3"],
        ["check", "--timeout", "nan"],
        ["check", "--timeout", "inf"],
        ["check", "--python"],
        ["check", "stray"],
        ["check", "--all-environments", "--python", "x"],
        ["check", "--all-environments", "--format", "json"],
        ["explain"],
        [],
    ],
    ids=" ".join,
)
def test_bad_usage_ends_with_2(shell: Shell, arguments: list[str]) -> None:
    done = shell.run(*arguments, code=2)
    assert done.stdout + done.stderr


def test_a_target_that_is_not_there_ends_with_3(shell: Shell) -> None:
    done = shell.run("check", "--python", "/no/such/python", code=3)
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first == "lora-doctor: --python /no/such/python names no interpreter"
    assert "lora-doctor check --all-environments" in second


def test_an_active_environment_that_is_gone_ends_with_3(shell: Shell) -> None:
    assert "VIRTUAL_ENV names /gone" in shell.run("check", code=3, VIRTUAL_ENV="/gone").stderr


def test_a_target_that_does_not_run_ends_with_3(shell: Shell) -> None:
    (shell.target.site / "sitecustomize.py").write_text("import os; os._exit(7)")
    report = shell.report(code=3)
    assert (report["verdict"], report["primary"]) == ("broken", "python/interpreter-does-not-start")
    assert "exit code 7" in report["findings"][0]["evidence"][0]["seen"]


def test_nothing_installed_ends_with_1(shell: Shell) -> None:
    done = shell.check()
    assert "python/stack-missing" in done.stdout
    assert str(shell.target.python) in done.stdout
    assert done.stderr == ""


def test_a_whole_environment_ends_with_0(shell: Shell) -> None:
    install_stack(shell)
    report = shell.report(code=0)
    assert report["verdict"] == "healthy" and report["primary"] is None
    assert [one["id"] for one in report["findings"] if one["severity"] != "note"] == []


def test_strict_counts_gaps_and_warnings(shell: Shell) -> None:
    install_stack(shell)
    shell.check("--strict", code=1)  # --quick leaves gaps


def test_a_warning_alone_ends_with_0_and_strictly_with_1(shell: Shell) -> None:
    install_stack(shell)
    shell.target.install("peft", "0.21.2", requires=["safetensors>=0.4"])
    report = shell.report(code=0)
    assert (report["verdict"], report["primary"]) == ("impaired", "python/requirement-unsatisfied")
    shell.check("--strict", code=1)


def test_findings_are_left_out_by_prefix(shell: Shell) -> None:
    report = shell.report("--ignore", "python/", code=0)
    assert [one for one in report["findings"] if one["id"].startswith("python/")] == []


def test_a_fault_of_the_environment_is_found(shell: Shell) -> None:
    install_stack(shell)
    os.truncate(shell.target.site / "bitsandbytes" / "libbitsandbytes_cpu.so", 1)
    report = shell.report()
    assert (report["verdict"], report["primary"]) == ("broken", "bitsandbytes/native-library-corrupt")
    *_, command = report["findings"][0]["fixes"][0]["commands"]
    assert command[0] == str(shell.target.python)
    assert command[-1] == "bitsandbytes==0.50.2"


# -- JSON, to the contract


def test_json_is_to_the_contract(shell: Shell) -> None:
    report = shell.report()
    assert set(report) == {
        *("schema", "tool_version", "matrix_reviewed", "subject", "verdict", "primary", "findings"),
        *("gaps", "not_judged", "questions", "facts"),
    }
    assert (report["schema"], report["tool_version"]) == (1, __version__)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", report["matrix_reviewed"])
    assert report["subject"] == {"kind": "live", "name": str(shell.target.python)}
    assert report["verdict"] in ("healthy", "impaired", "broken", "undetermined")
    assert report["primary"] == report["findings"][0]["id"]
    for finding in report["findings"]:
        assert {"id", "severity", "confidence", "title", "why", "breaks", "evidence", "fixes"} <= set(finding)
        assert finding["severity"] in ("error", "warning", "note")
        assert finding["confidence"] in ("confirmed", "likely", "possible")
        assert set(finding["breaks"]) <= set(get_args(Stage))
        for evidence in finding["evidence"]:
            assert set(evidence) == {"subject", "seen", "wanted", "where"}
        for fix in finding["fixes"]:
            assert {"title", "commands", "scope", "verified"} == set(fix)
            assert fix["scope"] in ("script", "setting", "environment", "system", "hardware")
            assert all(isinstance(word, str) for command in fix["commands"] for word in command)
            assert fix["verified"] in (True, False, None)
    for gap in report["gaps"]:
        assert set(gap) == {"about", "kind", "reason"}
        assert gap["kind"] in ("failed", "not-asked", "not-applicable")
    known = {rule.id for rule in all_rules()}
    assert {one["id"] for one in report["not_judged"]} <= known
    unknown = {name for name in Facts.__struct_fields__ if report["facts"].get(name) is None}
    of_other_commands = {"reading", "workload", "script", "paste"}
    assert unknown >= of_other_commands
    unknown -= {"gaps", *of_other_commands}
    assert {gap["about"] for gap in report["gaps"]} == unknown


def test_json_is_read_back_by_its_own_reader(shell: Shell) -> None:
    text = shell.check("--format", "json").stdout
    assert json_report.render(json_report.read(text)) == text


def test_json_lines_is_one_line(shell: Shell) -> None:
    [line] = shell.check("--format", "jsonl").stdout.splitlines()
    assert json.loads(line)["primary"] == "python/stack-missing"


def test_a_quick_check_names_what_it_left_out(shell: Shell) -> None:
    install_stack(shell)
    gaps = {gap["about"]: gap["kind"] for gap in shell.report(code=0)["gaps"]}
    left_out = {about for about, kind in gaps.items() if kind == "not-asked"}
    loaded = {"trial", "torch_runtime", "bitsandbytes_runtime", "hashes"}
    assert left_out in (loaded, loaded | {"cuda_driver"})  # of a machine that has a libcuda at all


def test_a_full_check_of_a_stack_that_cannot_be_imported(shell: Shell) -> None:
    install_stack(shell)
    (shell.target.site / "torch" / "__init__.py").write_bytes(b"raise ImportError('of our own making')")
    done = shell.run("check", "--format", "json", "--python", str(shell.target.python), code=1)
    report = json.loads(done.stdout)
    runs = {run["stage"]: run for run in report["facts"]["trial"]["runs"]}
    assert runs["import-torch"]["failure"]["chain"] == [["ImportError", "of our own making"]]
    assert runs["sft-step"]["outcome"] == "blocked"
    assert report["primary"] == "python/files-missing-or-altered"  # the hashes show the cause
    assert [one["id"] for one in report["findings"][0]["symptoms"]] == ["torch/import-failed"]


# -- where it goes


@pytest.mark.parametrize("form", ["terminal", "json", "jsonl", "markdown"])
def test_an_output_file_holds_what_would_be_printed(shell: Shell, form: str) -> None:
    printed = shell.check("--format", form, PYTHONIOENCODING="utf-8").stdout
    assert shell.check("--format", form, "--output", "out").stdout == ""
    written = (shell.folder / "out").read_text(encoding="utf-8")
    steady = re.compile(r"\d+(\.\d+)? GiB|\d{6,}")  # free memory changes from run to run
    assert steady.sub("", written) == steady.sub("", printed)


@pytest.mark.parametrize("place", ["/no/such/folder/out", "."])
def test_a_file_that_cannot_be_written_ends_with_2(shell: Shell, place: str) -> None:
    done = shell.check("--output", place, code=2)
    assert f"{place} cannot be written" in done.stderr


def test_no_colour_where_nobody_can_see_it(shell: Shell) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "xterm")):
        assert "\x1b" not in shell.check(code=1, **{name: value}).stdout


def test_json_stays_json_where_the_stream_holds_ascii_alone(shell: Shell) -> None:
    folder = shell.folder / "grün 😀"
    folder.symlink_to(shell.target.python.parent.parent)
    arguments = ("check", "--quick", "--format", "json", "--python", str(folder / "bin/python"))
    said = shell.run(*arguments, code=1, PYTHONIOENCODING="ascii", PYTHONUTF8="1").stdout
    assert said.isascii()
    assert "grün 😀" in json.loads(said)["subject"]["name"]


def test_an_ascii_terminal_gets_ascii(shell: Shell) -> None:
    assert shell.check(PYTHONIOENCODING="ascii", TERM="dumb").stdout.isascii()


def test_a_reader_that_goes_away_is_no_fault(shell: Shell) -> None:
    install_stack(shell)
    process = subprocess.Popen(
        shell.command("check", "--quick", "--format", "json", "--python", str(shell.target.python)),
        cwd=shell.folder,
        env=shell.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(30) == 0
    assert said == ""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
@pytest.mark.parametrize(
    "arguments", [("check", "--quick"), ("check", "--quick", "--format", "json"), ("explain", "zzqx")]
)
def test_streams_that_are_closed(shell: Shell, closed: str, arguments: Sequence[str]) -> None:
    words = [
        *shell.command(*arguments),
        *(["--python", str(shell.target.python)] if "check" in arguments else []),
    ]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *words],
        cwd=shell.folder,
        env=shell.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == (1 if "check" in arguments else 2)
    assert "Traceback" not in done.stdout + done.stderr and "own fault" not in done.stderr
    assert list((shell.folder / "tmp").iterdir()) == []


# -- the other commands


def test_a_report_for_an_issue(shell: Shell) -> None:
    done = shell.run("report", "--quick", "--python", str(shell.target.python))
    assert "python/stack-missing" in done.stdout
    assert done.stdout.startswith("#") or done.stdout.startswith("<") or done.stdout.startswith("*")


def test_a_report_names_nobody(shell: Shell) -> None:
    (shell.target.site / "sitecustomize.py").write_text(f"print('hello from {shell.folder}', flush=True)")
    done = shell.run("report", "--quick", "--python", str(shell.target.python), HF_TOKEN="hf_" + "a1" * 20)
    assert str(shell.folder) not in done.stdout
    assert "hf_a1" not in done.stdout


def test_the_form_for_issues(shell: Shell) -> None:
    shell.run("report", "--issue-form", "--output", "form.yml")
    form = yaml.safe_load((shell.folder / "form.yml").read_text(encoding="utf-8"))
    assert any("lora-doctor report" in str(part) for part in form["body"])


def test_every_environment_near_here(shell: Shell) -> None:
    (shell.folder / ".venv").symlink_to(shell.target.folder)
    done = shell.run("check", "--all-environments", PATH="/nowhere")
    [line] = done.stdout.splitlines()
    assert line == f"~/.venv/bin/python (here) | Python {sys.version.split()[0]} | nothing of the stack"


def test_two_environments_near_here_are_both_examined(shell: Shell) -> None:
    Environment(shell.folder / "quick")
    slow = Environment(shell.folder / "slow")
    (slow.site / "sitecustomize.py").write_text("import time; time.sleep(1.5)")
    done = shell.run("check", "--all-environments", PATH="/nowhere")
    assert [line.split(" | ")[1] for line in done.stdout.splitlines()] == [
        f"Python {sys.version.split()[0]}"
    ] * 2


def test_no_environment_near_here(shell: Shell) -> None:
    assert (
        "no interpreter was found" in shell.run("check", "--all-environments", code=3, PATH="/nowhere").stderr
    )


# -- trouble of its own


def test_a_file_in_the_working_folder_does_not_break_the_doctor(shell: Shell) -> None:
    for name in ("json", "typer", "rich", "random", "msgspec", "tempfile"):
        (shell.folder / f"{name}.py").write_text("raise RuntimeError('a local file was imported')")
    report = shell.report()
    assert "python/stack-missing" in [one["id"] for one in report["findings"]]


def test_its_own_fault_is_one_line_and_a_crash_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sitecustomize.py").write_text(
        "import sys\nclass Broken:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'doctor.render.json_report':\n"
        "            raise RuntimeError('of our own making, hf_0123456789abcdefghij')\n"
        "sys.meta_path.insert(0, Broken())\n"
    )
    done = shell.check("--format", "json", code=3, PYTHONPATH=str(tmp_path / "broken"))
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.endswith("says nothing of your environment: RuntimeError: of our own making, <secret>")
    [crash] = (shell.folder / "tmp").glob("lora-doctor-crash-*.txt")
    assert str(crash) in second
    told = crash.read_text(encoding="utf-8")
    assert "Traceback" in told and "hf_0123456789abcdefghij" not in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_doctor_that_is_told_to_leave_takes_its_children_with_it(
    shell: Shell, number: int, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    (shell.target.site / "sitecustomize.py").write_text(
        f"import os, time\nwith open({str(note)!r}, 'w') as file: file.write(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        shell.command("check", "--quick", "--python", str(shell.target.python)),
        cwd=shell.folder,
        env=shell.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who starts the tests in the background has them ignore interrupts, and so their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (note.exists() and note.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)  # past the imports: an interrupt within one is Python's own affair
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode not in (0, 3)
    assert "Traceback" not in stdout + stderr
    for _ in range(50):
        if not is_running(int(note.read_text())):
            return
        time.sleep(0.1)
    pytest.fail("a child outlived the doctor")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
