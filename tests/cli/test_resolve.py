"""``lora-doctor resolve`` as users and programs meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from collectors.throwaway import Environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
T4 = (
    "--os",
    "linux",
    "--arch",
    "x86_64",
    "--python-version",
    "3.11",
    "--driver",
    "535.104.05",
    "--gpu",
    "T4",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def resolve(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    hidden = ("VIRTUAL_ENV", "CONDA_PREFIX", "COLUMNS", "NO_COLOR")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "resolve", *arguments],
        cwd=folder,
        env={**env, "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == code, done.stdout + done.stderr
    return done


def resolved(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    found = json.loads(resolve(folder, *arguments, "--format", "json", code=code).stdout)
    assert isinstance(found, dict)
    return found


def test_json_of_a_described_machine(folder: Path) -> None:
    found = resolved(folder, *T4, "peft==0.17.1")
    assert {"schema", "pins", "torch_variant", "python", "because", "commands", "verified"} <= found.keys()
    assert (found["schema"], found["python"], found["verified"]) == (1, "3.11", None)
    assert (found["pins"]["torch"], found["torch_variant"]) == ("2.13.0", "cu126")
    assert found["pins"]["peft"] == "0.17.1"
    assert "/whl/cu126" in found["commands"][0][-1]


def test_the_set_goes_into_a_constraints_file_and_the_reasons_on_the_screen(folder: Path) -> None:
    done = resolve(folder, *T4, "--output", "constraints.txt")
    assert "driver 535.104.05 runs no CUDA newer than 12" in done.stdout
    assert "torch==2.13.0+cu126\n" in (folder / "constraints.txt").read_text()


def test_json_goes_into_the_file_that_is_named(folder: Path) -> None:
    assert resolve(folder, *T4, "--format", "json", "--output", "set.json").stdout == ""
    assert json.loads((folder / "set.json").read_text())["torch_variant"] == "cu126"


def test_no_set_ends_with_1_and_the_reason(folder: Path) -> None:
    done = resolve(
        folder, "--driver", "470.256.02", "--gpu", "K80", "--arch", "x86_64", "--os", "linux", code=1
    )
    assert "no wheel of bitsandbytes" in done.stdout and "compute capability 3.7" in done.stdout
    found = resolved(folder, *T4, "peft==0.17.1", "transformers==5.24.0", code=1)
    assert found["pins"] == {} and found["commands"] == []
    assert any("HybridCache" in reason for reason in found["because"])
    assert "drop peft==0.17.1" in found["ways_out"][0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["peft=0.17"], "is no requirement"),
        (["no-such-package"], "not among the packages that are known here"),
        (["transformers==0.0.1"], "not among the known releases"),
        (["--gpu", "RTX 9999"], "is not known"),
        (["--driver", "new"], "is no version"),
        (["--compute-capability", "9"], "is none such as 8.6"),
        (["--torch-cuda", "12.x"], "is no version"),
        (["--os", "amiga"], "is none of"),
    ],
    ids=" ".join,
)
def test_bad_input_ends_with_2_and_says_what_is_wrong(folder: Path, arguments: list[str], said: str) -> None:
    done = resolve(folder, *arguments, code=2)
    assert said in done.stderr and done.stdout == ""


def test_a_target_that_is_not_there_ends_with_3(folder: Path) -> None:
    assert "names no interpreter" in resolve(folder, "--python", "/no/such/python", code=3).stderr


def test_what_the_target_has_is_kept_where_it_can_be(tmp_path: Path) -> None:
    target = Environment(tmp_path / "env")
    target.install("transformers", "5.12.1")
    target.install("peft", "0.17.1")
    found = resolved(tmp_path, "--closest", "--python", str(target.python), *T4[:4])
    assert found["pins"]["transformers"] == "5.12.1"
    assert found["changes"]["peft"] == "0.17.1"
    assert found["commands"][-1][0].endswith("env/bin/python")


def test_help_names_the_options(folder: Path) -> None:
    said = resolve(folder, "--help").stdout
    assert all(option in said for option in ("--closest", "--verify", "--driver", "--compute-capability"))


def test_a_pin_that_is_none_tells_no_secret(folder: Path) -> None:
    done = resolve(folder, "git+https://user:hunter33@example.com/peft", code=2)
    assert "hunter33" not in done.stderr and "is no requirement" in done.stderr
