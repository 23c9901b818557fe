"""Indexes, networks, wheels, disks and installers that fail leave the environment exactly as it was."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandboxes import uv

from doctor.applying.applied import applied
from doctor.child import Patience
from doctor.findings import Report
from doctor.host import LocalHost
from doctor.target import Target
from doctor.treatment.outcome import Outcome
from doctor.treatment.plan import Command

from .index import served
from .test_killed import in_shared_folder, litter, strike
from .workshop import ILL, OLD, Patient, fingerprint, make_wheel, plan, recheck, report

pytestmark = pytest.mark.environments
Make = Callable[..., Patient]
SHORT = Patience(limit_s=20.0)


def apply(
    one: Patient, *commands: Command, check: Callable[[str], Report] = recheck, **how: object
) -> Outcome:
    host = LocalHost()
    target = Target(str(one.python), "--python")
    try:
        return applied(host, target, plan(one.python, *commands), check, lambda line: None, patience=SHORT)
    finally:
        host.close()


def pip_from(one: Patient, index: str) -> Command:
    """pip that does not try for long."""
    quick = ("--retries", "0", "--timeout", "1", "--index-url", index, "--trusted-host", "127.0.0.1")
    return (str(one.python), "-m", "pip", "install", *quick, "demo==2.0")


def uv_from(one: Patient, index: str) -> Command:
    return (
        uv(),
        "pip",
        "install",
        "--no-cache",
        "--index-url",
        index,
        "--python",
        str(one.python),
        "demo==2.0",
    )


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "1")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("PIP_RESUME_RETRIES", "0")


FAULTS = (
    *("error pages", "garbage", "another kind", "login", "nothing listed", "wrong hash", "missing file"),
    *("cut short", "reset", "stalls", "other bytes"),
)


def test_a_sound_index_cures(patient: Make, wheels: Path) -> None:
    one = patient()
    with served(wheels, "") as index:
        assert apply(one, pip_from(one, index)).state == "cured"


@pytest.mark.parametrize("fault", ["wrong hash", "missing file", "cut short", "stalls", "other bytes"])
def test_pip_meets_a_broken_index(fault: str, patient: Make, wheels: Path) -> None:
    one = patient()
    before = fingerprint(one.folder)
    with served(wheels, fault) as index:
        outcome = apply(one, pip_from(one, index))
    assert outcome.state == "restored" and outcome.failed == "Step 1" and "exit code" in outcome.said
    assert fingerprint(one.folder) == before and litter(one) == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_uv_meets_a_broken_index(fault: str, patient: Make, wheels: Path) -> None:
    one = in_shared_folder(patient(pip=False))
    before = fingerprint(one.folder)
    with served(wheels, fault) as index:
        outcome = apply(one, uv_from(one, index))
    assert outcome.state == "restored" and outcome.failed == "Step 1" and outcome.said.startswith("uv ended")
    assert fingerprint(one.folder) == before and litter(one) == set()


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_network_is_gone(installer: str, patient: Make) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        index = f"http://127.0.0.1:{closed.getsockname()[1]}/simple/"
    one = patient(pip=installer == "pip")
    before = fingerprint(one.folder)
    outcome = apply(one, (pip_from if installer == "pip" else uv_from)(one, index))
    assert outcome.state == "restored" and outcome.failed == "Step 1"
    assert fingerprint(one.folder) == before


WHEELS: dict[str, dict[str, str | None]] = {
    "metadata of another package": {
        "demo-2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 2.0\n"
    },
    "no metadata": {"demo-2.0.dist-info/METADATA": None},
    "no WHEEL": {"demo-2.0.dist-info/WHEEL": None},
    "a WHEEL of the future": {
        "demo-2.0.dist-info/WHEEL": "Wheel-Version: 9.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    },
    "a module that does not parse": {"demo/__init__.py": "def broken(:\n"},
    "a module that raises": {"demo/__init__.py": "raise ImportError('no libfoo.so')\n"},
    "the old version under a new name": {"demo/__init__.py": "__version__ = '1.0'\n"},
    "a .pth that kills python": {"demo.pth": "import os; os._exit(7)\n"},
}


@pytest.mark.parametrize(
    ("installer", "fault"),
    [*(("uv", fault) for fault in WHEELS), ("pip", "no metadata"), ("pip", "a .pth that kills python")],
)
def test_a_broken_wheel(fault: str, installer: str, patient: Make, tmp_path: Path) -> None:
    one = patient(pip=installer == "pip")
    before = fingerprint(one.folder)
    one.wheels = make_wheel(tmp_path / "wheels", "demo", "2.0", changed=WHEELS[fault]).parent
    outcome = apply(one, (one.pip if installer == "pip" else one.uv)("demo==2.0"))
    assert outcome.state == "restored" and outcome.failed
    assert fingerprint(one.folder) == before and litter(one) == set()


PROGRAMS = {
    "fails": "import sys; sys.exit(1)",
    "is killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "does nothing": "pass",
    "fails after half of its work": "import demo, os, sys; os.unlink(demo.__file__); sys.exit(1)",
    "succeeds and breaks something else": (
        "import demo, pathlib; pathlib.Path(demo.__file__).unlink();"
        "pathlib.Path(demo.__file__).write_text('import nothing_of_that_name')"
    ),
    "removes pip and itself": "import shutil, sysconfig; shutil.rmtree(sysconfig.get_path('purelib'))",
    "removes the interpreter": "import os, sys; os.unlink(sys.executable)",
    "makes all read-only": (
        "import os, sysconfig; site = sysconfig.get_path('purelib');"
        "folders = [one.path for one in os.scandir(site) if one.is_dir()];"
        "[os.chmod(one, 0o500) for one in [*folders, site]]; raise SystemExit(3)"
    ),
}


@pytest.mark.parametrize("shared", [False, True], ids=["twin", "in place"])
@pytest.mark.parametrize("fault", PROGRAMS)
def test_an_installer_that(fault: str, shared: bool, patient: Make) -> None:
    one = patient(pip=False)
    if shared:
        in_shared_folder(one)
    before = fingerprint(one.folder)
    outcome = apply(one, (str(one.python), "-c", PROGRAMS[fault]))
    assert (
        "/home/" not in outcome.said or str(one.folder) in outcome.said
    )  # the twin's name is nobody's concern
    assert outcome.state == "restored" and outcome.failed
    assert fingerprint(one.folder) == before and litter(one) == set()


def test_an_installer_that_hangs(patient: Make) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    host = LocalHost()
    made = plan(one.python, (str(one.python), "-c", "import time; time.sleep(60)"))
    outcome = applied(
        host,
        Target(str(one.python), "--python"),
        made,
        recheck,
        lambda line: None,
        patience=Patience(limit_s=0.5),
    )
    assert outcome.state == "restored" and "no sign of life" in outcome.said
    assert fingerprint(one.folder) == before


def test_an_installer_that_is_not_there(patient: Make) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    outcome = apply(one, ("no-such-installer", "install", "demo"))
    assert outcome.state == "restored" and "cannot be started" in outcome.said
    assert fingerprint(one.folder) == before


def test_the_second_of_two_steps_fails(patient: Make) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    outcome = apply(one, one.uv("demo==2.0"), one.uv("no-such-package"))
    assert outcome.state == "restored" and outcome.failed == "Step 2" and "no-such-package" in outcome.said
    assert fingerprint(one.folder) == before and litter(one) == set()


@pytest.mark.parametrize("shared", [False, True], ids=["twin", "in place"])
def test_the_check_of_the_outcome_raises(shared: bool, patient: Make) -> None:
    one = patient(pip=False)
    if shared:
        in_shared_folder(one)
    before = fingerprint(one.folder)

    def check(python: str) -> Report:
        raise ValueError("a fault of the doctor's own")

    with pytest.raises(ValueError, match="of the doctor's own"):
        apply(one, one.uv("demo==2.0"), check=check)
    assert fingerprint(one.folder) == before and litter(one) == set()


def test_a_new_error_takes_the_cure_back(patient: Make) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    outcome = apply(one, one.uv("demo==2.0"), check=lambda python: report("other/broken"))
    assert outcome.state == "restored" and outcome.new == ("other/broken",) and outcome.cured == (ILL,)
    assert fingerprint(one.folder) == before


@pytest.mark.parametrize(
    ("installer", "shared"), [("pip", False), ("uv", False), ("uv", True)], ids=["pip", "uv", "in place"]
)
def test_no_file_may_grow_that_far(installer: str, shared: bool, patient: Make, tmp_path: Path) -> None:
    """As a quota, or a disk that fills up: a file of the wheel cannot be written whole."""
    one = patient(pip=installer == "pip")
    if shared:
        in_shared_folder(one)
    one.wheels = make_wheel(
        tmp_path / "wheels", "demo", "2.0", changed={"demo/big.py": "#" * (1 << 20)}
    ).parent
    before = fingerprint(one.folder)
    command = (one.pip if installer == "pip" else one.uv)("demo==2.0")
    done = strike(one, "", commands=[command], limit_bytes=1 << 19)
    assert done.returncode == 0 and done.stdout.startswith("restored: Step 1"), done.stdout + done.stderr
    assert fingerprint(one.folder) == before and litter(one) == set()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB, where this user may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("this user may mount nothing")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("shared", [False, True], ids=["twin", "in place"])
def test_the_disk_is_full(  # and the journal lies on it too
    shared: bool, small_disk: Path, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.applying.environment.ROOM_BYTES", 0)
    monkeypatch.setenv("UV_LINK_MODE", "copy")
    monkeypatch.setenv("XDG_STATE_HOME", str(small_disk / "state"))
    one = Patient(small_disk / "home" / "venv", wheels, pip=False)
    if shared:
        in_shared_folder(one)
    one.wheels = make_wheel(
        tmp_path / "wheels", "demo", "2.0", changed={"demo/big.py": "#" * (4 << 20)}
    ).parent
    before = fingerprint(one.folder)
    outcome = apply(one, one.uv("demo==2.0"))
    assert outcome.state == "restored" and "space" in outcome.said
    assert fingerprint(one.folder) == before and litter(one) == set()


def test_another_program_changes_the_environment_meanwhile(patient: Make) -> None:
    one = patient(pip=False)

    def check(python: str) -> Report:
        (one.site / "somebody.py").write_text("")
        return recheck(python)

    before = fingerprint(one.folder)
    outcome = apply(one, one.uv("demo==2.0"), check=check)
    assert (
        outcome.state == "restored"
        and outcome.failed == "keeping the outcome"
        and "another program" in outcome.said
    )
    (one.site / "somebody.py").unlink()
    assert fingerprint(one.folder) == before and litter(one) == set()


def test_the_old_environment_serves_until_the_exchange(patient: Make) -> None:
    one = patient(pip=False)
    program = "import sys; [sys.stdin.readline(), __import__('demo')]; print(sys.modules['demo'].__version__)"
    training = subprocess.Popen(
        [one.python, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def check(python: str) -> Report:
        assert training.communicate("go\n", timeout=20)[0].strip() == OLD
        return recheck(python)

    assert apply(one, one.uv("demo==2.0"), check=check).state == "cured"


def test_a_guardian_that_dies_does_not_matter(patient: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.applying import applied as course

    one = in_shared_folder(patient(pip=False))
    before = fingerprint(one.folder)
    guardians: list[int] = []

    class Companion(course.Companion):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]
            guardians.append(self._process.pid)

    monkeypatch.setattr(course, "Companion", Companion)

    def check(python: str) -> Report:
        os.kill(guardians[0], signal.SIGKILL)
        return report(ILL)

    assert apply(one, one.uv("demo==2.0"), check=check).state == "restored"
    assert fingerprint(one.folder) == before
