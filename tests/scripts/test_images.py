"""The files with which machines and images are made say what the doctor's commands understand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import PROGRAMS

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
CLOUD = SCRIPTS / "cloud_init.yaml"


def test_cloud_init_gets_a_cloud_config() -> None:
    text = CLOUD.read_text()
    assert text.startswith("#cloud-config\n")
    found = yaml.safe_load(text)
    assert set(found) == {"package_update", "packages", "runcmd"}
    assert all(isinstance(word, str) for command in found["runcmd"] for word in command)
    named = [
        word for command in found["runcmd"] for word in re.findall(r"/opt/lora-doctor/(\S+\.sh)", command[-1])
    ]
    assert named and all((SCRIPTS.parent / name).is_file() for name in named)


@pytest.mark.program("cloud-init")
def test_cloud_init_finds_no_fault() -> None:
    done = subprocess.run(
        ["cloud-init", "schema", "--config-file", str(CLOUD)],
        env={**os.environ, "PATH": PROGRAMS},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_calls_commands_that_there_are() -> None:
    text = (SCRIPTS / "Dockerfile").read_text().replace("\\\n", " ")
    for name in ("GPU", "DRIVER"):
        text = re.sub(rf"\$\{{{name}:\+([^}}]*)\}}", r"\1", text)
    calls = re.findall(
        r"^(?:RUN|  CMD|.*&&|HEALTHCHECK.*CMD).*?lora-doctor (install|check) ([^&|\n]*)", text, re.M
    )
    assert [name for name, _ in calls] == ["install", "check"]
    for name, words in calls:
        options = [word for word in shlex.split(words) if word.startswith("--")]
        known = subprocess.check_output([sys.executable, "-m", "doctor", name, "--help"], text=True)
        assert options and all(option in known for option in options)
