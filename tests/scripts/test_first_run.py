"""The first run on bare machines: real bash, with programs of our own making on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it is for bash")
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
BASH = shutil.which("bash") or "/bin/bash"
NOBODY = 65534

# A Python that says what it is told to, makes environments of itself, and writes down what it was asked.
PYTHON = """#!{bash}
case "$*" in
  *"v < (3, 10)"*) exit {is_old} ;;
  *"import venv, ensurepip"*) exit {lacks_venv} ;;
  *'"%d.%d"'*) echo 3.11 ;;
  --version) echo "Python {version}" ;;
  "-m venv "*)
    {venv}
    {mkdir} -p "$3/bin" && {cp} "$0" "$3/bin/python" && {cp} "{doctor}" "$3/bin/lora-doctor" ;;
  "-m pip install "*) echo "pip $*" >>"{log}"; {pip} ;;
  *) exit 0 ;;
esac
"""
DOCTOR = """#!{bash}
echo "doctor $*" >>"{log}"
[ "$1" != resolve ] || exit {resolves}
"""
NO_NETWORK = """echo "WARNING: connection broken by 'NewConnectionError(Failed to establish)'" >&2; exit 1"""
DEBIAN = "ID=debian\n"
ROCKY = 'ID="rocky"\nID_LIKE="rhel centos fedora"\n'


class Machine:
    """A checkout with stubs in place of the doctor, and a PATH that has what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin, self.log = folder / "lora-doctor", folder / "bin", folder / "log"
        for name in ("scripts", "doctor", "compat_matrix"):
            (self.root / name).mkdir(parents=True)
        (self.root / "pyproject.toml").touch()
        for name in ("first_run.sh", "constraints.txt"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")
        self.bin.mkdir()
        for name in ("id", "find"):
            (self.bin / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
        self.release(DEBIAN)
        self.doctor()

    def release(self, text: str) -> None:
        (self.root.parent / "os-release").write_text(text)

    def program(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def doctor(self, resolves: int = 0) -> None:
        self.program(
            self.root.parent / "stub-doctor", DOCTOR.format(bash=BASH, log=self.log, resolves=resolves)
        )

    def python(
        self, name: str = "python3", *, version: str = "3.11.2", venv: str = "", pip: str = ""
    ) -> None:
        tools = {tool: shutil.which(tool) for tool in ("mkdir", "cp")}
        is_old = int(version.split(".")[1]) < 10
        text = PYTHON.format(
            bash=BASH,
            log=self.log,
            doctor=self.root.parent / "stub-doctor",
            version=version,
            is_old=int(is_old),
            lacks_venv=int(bool(venv)),
            venv=venv,
            pip=pip or ":",
            **tools,
        )
        self.program(self.bin / name, text)

    def run(self, *arguments: str, code: int = 0, user: int | None = None, **env: str) -> str:
        """Its exit code is as expected; what it says."""
        done = subprocess.run(
            [BASH, str(self.root / "scripts" / "first_run.sh"), *arguments],
            env={"PATH": str(self.bin), "OS_RELEASE": str(self.root.parent / "os-release"), **env},
            capture_output=True,
            text=True,
            timeout=60,
            user=user,
            start_new_session=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "command not found" not in done.stderr and "unbound" not in done.stderr
        return done.stderr

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine() -> Iterator[Machine]:
    """In a folder that any user may enter, as pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="first-run-"))
    folder.chmod(0o755)
    yield Machine(folder)
    shutil.rmtree(folder)


def test_the_doctor_then_the_stack(machine: Machine) -> None:
    machine.python()
    said = machine.run("--dry-run")
    assert "installing the doctor into .venv-doctor" in said
    assert machine.calls() == [
        "pip -m pip install --quiet --disable-pip-version-check .",
        "doctor --version",
        "doctor resolve --python .venv-doctor torch==2.13.0",
        "doctor install .venv torch==2.13.0 --dry-run",
    ]


def test_again_it_takes_up_what_is_there(machine: Machine) -> None:
    machine.python()
    machine.run()
    before = len(machine.calls())
    machine.run()
    assert [call.split()[1] for call in machine.calls()[before:]] == ["resolve", "install"]


def test_newer_sources_are_installed_again(machine: Machine) -> None:
    machine.python()
    machine.run()
    later = (machine.root / ".venv-doctor" / "installed").stat().st_mtime + 10
    (machine.root / "doctor" / "new.py").touch()
    os.utime(machine.root / "doctor" / "new.py", (later, later))
    machine.run()
    assert sum(call.startswith("pip ") for call in machine.calls()) == 2


def test_broken_off_it_goes_on(machine: Machine) -> None:
    machine.python(pip="kill -9 0")
    machine.run(code=-9)
    machine.python()
    machine.run()
    assert machine.calls()[-1] == "doctor install .venv torch==2.13.0"


def test_another_torch_may_be_asked_for(machine: Machine) -> None:
    machine.python()
    machine.run("torch>=2.14", "peft==0.18.0")
    assert machine.calls()[-1] == "doctor install .venv torch>=2.14 peft==0.18.0"


def test_where_no_build_of_the_pinned_torch_runs_any_may_be_taken(machine: Machine) -> None:
    machine.doctor(resolves=1)
    machine.python()
    machine.run()
    assert machine.calls()[-1] == "doctor install .venv"


def test_an_environment_of_another_origin_is_only_checked(machine: Machine) -> None:
    machine.python()
    (machine.root / ".venv" / "bin").mkdir(parents=True)
    machine.program(machine.root / ".venv" / "bin" / "python", "")
    assert "left as it is" in machine.run()
    assert machine.calls()[-1] == "doctor check --python .venv"


@pytest.mark.parametrize(
    ("release", "command"),
    [
        (DEBIAN, "apt-get install -y python3 python3-venv"),
        (ROCKY, "dnf install -y python3.11"),
        ("ID=opensuse-leap\nID_LIKE=suse\n", "zypper install -y python311"),
        ("ID=arch\n", "pacman -S --needed python"),
        ("ID=nixos\n", "astral.sh/uv/install.sh"),
        ("", "astral.sh/uv/install.sh"),
    ],
)
def test_no_python(machine: Machine, release: str, command: str) -> None:
    machine.release(release)
    said = machine.run(code=3)
    assert "no Python is on PATH" in said and command in said


def test_an_old_python_is_named_and_uv_has_a_newer_one(machine: Machine) -> None:
    machine.python(version="3.8.10")
    said = machine.run(code=3)
    assert "python3: Python 3.8.10" in said and "astral.sh/uv" in said


def test_a_newer_python_beside_an_old_one_is_taken(machine: Machine) -> None:
    machine.python(version="3.9.2")
    machine.python("python3.12", version="3.12.1")
    machine.run()
    assert machine.calls()


def test_a_python_that_can_make_environments_is_taken_before_one_that_cannot(machine: Machine) -> None:
    machine.python(venv="echo 'No module named venv'; exit 1")
    machine.python("python3.11")
    machine.run()
    assert machine.calls()


def test_the_python_that_is_named_is_taken_or_refused(machine: Machine) -> None:
    machine.python()
    assert "no python9 is on PATH" in machine.run(code=3, PYTHON="python9")


@pytest.mark.parametrize(
    "words",
    [
        "echo 'No module named venv'; exit 1",
        "echo 'not created successfully because ensurepip is not available'; exit 1",
    ],
)
@pytest.mark.parametrize(
    ("release", "command"),
    [(DEBIAN, "apt-get install -y python3.11-venv"), (ROCKY, "dnf install -y python3.11")],
)
def test_no_venv_module(machine: Machine, words: str, release: str, command: str) -> None:
    machine.release(release)
    machine.python(venv=words)
    said = machine.run(code=3)
    assert "lacks venv or ensurepip" in said and command in said and "astral.sh/uv" in said
    machine.python()
    machine.run()


def test_uv_is_taken_where_it_is_even_without_any_python(machine: Machine) -> None:
    own = machine.root / ".venv-doctor" / "bin"
    mkdir, cp = shutil.which("mkdir"), shutil.which("cp")
    lays_down = f'{mkdir} -p "{own}"; {cp} "{machine.root.parent}/stub-doctor" "{own}/lora-doctor"'
    machine.program(machine.bin / "uv", f'#!{BASH}\necho "uv $*" >>"{machine.log}"\n{lays_down}\n')
    machine.run()
    assert machine.calls()[:2] == [
        "uv venv --quiet --allow-existing --python 3.11 .venv-doctor",
        "uv pip install --quiet --python .venv-doctor .",
    ]


def test_no_network(machine: Machine) -> None:
    machine.python(pip=NO_NETWORK)
    said = machine.run(code=3)
    assert "https://pypi.org/simple cannot be reached" in said and "PIP_INDEX_URL" in said
    assert "mirror.example/simple cannot" in machine.run(
        code=3, PIP_INDEX_URL="https://mirror.example/simple"
    )


def test_a_proxy_is_not_repeated_with_its_password(machine: Machine) -> None:
    machine.python(pip=NO_NETWORK)
    said = machine.run(code=3, HTTPS_PROXY="http://me:secret@proxy:3128")
    assert "through the proxy that HTTPS_PROXY names" in said and "secret" not in said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ERROR: [Errno 28] No space left on device", "the disk is full"),
        ("SSL: CERTIFICATE_VERIFY_FAILED", "certificate that is not trusted"),
        ("ERROR: something else", "something else"),
    ],
)
def test_other_ends_of_pip(machine: Machine, words: str, expected: str) -> None:
    machine.python(pip=f"echo '{words}'; exit 1")
    assert expected in machine.run(code=3)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="another user is needed to be refused")
def test_a_folder_of_another_user(machine: Machine) -> None:
    machine.python()
    said = machine.run(code=3, user=NOBODY)
    assert "cannot be written by this user" in said and "cp -r" in said


def test_root_is_never_taken(machine: Machine) -> None:
    text = (SCRIPTS / "first_run.sh").read_text()
    uses = [line for line in text.splitlines() if "sudo" in line]
    assert len(uses) == 1 and "root='sudo '" in uses[0]  # before a command that a person may type


@pytest.mark.program("shellcheck")
@pytest.mark.parametrize("name", ["first_run.sh", "newcomer_trial.sh"])
def test_shellcheck_finds_nothing(name: str) -> None:
    done = subprocess.run(["shellcheck", str(SCRIPTS / name)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


@pytest.mark.environments
def test_for_real_up_to_the_plan(tmp_path: Path) -> None:
    root = tmp_path / "lora-doctor"
    root.mkdir()
    for name in ("doctor", "compat_matrix", "docs", "scripts"):
        shutil.copytree(SCRIPTS.parent / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(SCRIPTS.parent / name, root)
    hidden = ("VIRTUAL_ENV", "CONDA_PREFIX")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [BASH, str(root / "scripts" / "first_run.sh"), "--dry-run"],
        env={**env, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert "torch==2.13.0" in done.stdout and not (root / ".venv").exists()
