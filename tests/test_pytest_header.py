"""The plugin in test runs of others: two lines where they are asked for, and no harm otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import compat_matrix
import doctor
from doctor.render.header import MARK

PLUGIN = ("-p", "doctor.pytest_header", "-p", "no:cacheprovider")


class Project:
    """A folder with one test, and the test run of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("test_one.py", "def test_one(): pass\n")
        self.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, *words: str, code: int = 0, before: str = "") -> str:
        """Standard output of a run; ``before`` is executed in its process first."""
        program = f"import os, sys\n{before}\nimport pytest\nsys.exit(pytest.main(sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-c", program, *PLUGIN, *words],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stderr == ""
        return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def told(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("lora-doctor")]


def test_unasked_it_says_and_imports_nothing(project: Project) -> None:
    project.write(
        "test_one.py",
        "import sys\ndef test_one():\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] in ('doctor', 'msgspec', 'typer')}\n"
        "    assert ours == {'doctor', 'doctor.pytest_header'}\n",
    )
    assert told(project.run()) == []


@pytest.mark.parametrize("way", ["option", "ini"])
def test_asked_it_says_two_lines(project: Project, way: str) -> None:
    if way == "ini":
        project.write("pytest.ini", "[pytest]\nfilterwarnings = error\nlora_doctor = true\n")
    output = project.run(*(["--lora-doctor"] if way == "option" else []))
    versions, standing = told(output)
    assert versions.startswith(f"{MARK}Python {sys.version.split()[0]}") and standing.startswith(MARK)
    assert "1 passed" in output


def test_a_doctor_that_fails_is_one_line(project: Project) -> None:
    project.write("sleeps", "#!/bin/sh\nexec sleep 60\n")
    (project.folder / "sleeps").chmod(0o755)
    cases = {
        "sys.executable = '/nowhere/python'": "could not look: ",
        "sys.executable = '/bin/false'": "could not look: exit code 1",
        "import doctor.host; doctor.host.LocalHost.run = lambda *a, **k: 1 / 0": "ZeroDivisionError",
        "sys.modules['doctor.host'] = None": "could not look: ModuleNotFoundError",
        "import doctor.pytest_header as it; it.PATIENCE_S, sys.executable = 1, './sleeps'": "in 1 s",
    }
    for before, said in cases.items():
        output = project.run("--lora-doctor", before=before)
        assert len(told(output)) == 1 and said in told(output)[0], (before, output)
        assert "1 passed" in output


def test_a_broken_test_run_is_told_as_ever(project: Project) -> None:
    project.write("test_one.py", "def test_one(): assert 1 == 2\n")
    assert "assert 1 == 2" in project.run("--lora-doctor", code=1)


def test_pytest_has_nothing_to_rewrite_in_what_was_imported_before() -> None:
    """Else `import doctor; pytest.main()` is a warning, and with filterwarnings = error the end."""
    assert all("PYTEST_DONT_REWRITE" in (package.__doc__ or "") for package in (doctor, compat_matrix))


def test_the_entry_point_names_the_plugin() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\nlora_doctor = "doctor.pytest_header"\n' in text
