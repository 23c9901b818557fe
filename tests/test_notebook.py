"""``doctor.check()`` in a notebook: what is shown, and that the kernel is left alone."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import sandboxes
from render.machines import broken_pair

import doctor
from doctor.notebook import OneLine, Shown

ROOT = Path(doctor.__file__).resolve().parents[1]
KERNEL = ("ipykernel==6.30.1", "jupyter_client==8.6.3")


@pytest.fixture(scope="module")
def kernel() -> Path:
    """The Python of an environment with a kernel and all that the doctor needs, made once."""
    needs = [need for need in metadata.requires("lora-doctor") or () if "extra ==" not in need]
    folder = sandboxes.cache_folder() / f"kernel-{sandboxes.key_of(sys.version, *needs, *KERNEL)}"
    with sandboxes.built_once(folder) as missing:
        if missing:
            venv = sandboxes.make_venv(folder, Path(sys.executable))
            sandboxes.run(
                sandboxes.uv(), "pip", "install", "--quiet", "--python", venv.python, *needs, *KERNEL
            )
    return sandboxes.Venv(folder).python


def messages(kernel: Path, cell: str) -> list[dict[str, Any]]:
    """What a kernel sends for one cell, the status of its reply last."""
    hidden = ("VIRTUAL_ENV", "CONDA_PREFIX")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [kernel, Path(__file__).with_name("notebook_cell.py"), cell],
        env={**env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


@pytest.mark.environments
def test_a_cell_shows_the_report_of_its_own_kernel(kernel: Path) -> None:
    cell = "import doctor, sys\nshown = doctor.check()\nprint('torch' in sys.modules)\nshown"
    found = messages(kernel, cell)
    assert found[-1] == {"status": "ok"}
    [data] = [message["data"] for message in found if "data" in message]
    assert set(data) == {"text/plain", "text/html"}
    assert "torch is not installed" in data["text/html"] and "torch is not installed" in data["text/plain"]
    assert f"Python {sys.version.split()[0]}" in data["text/plain"]
    assert "<html" not in data["text/html"] and "<script" not in data["text/html"]
    printed = "".join(message["text"] for message in found if message.get("name") == "stdout")
    assert printed.endswith("False\n") and "lora-doctor: " in printed
    assert printed.rpartition("\r")[2] == "False\n"  # the moving line is gone


def test_the_report_as_page_and_as_text() -> None:
    shown = Shown(broken_pair())
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown)
    assert bundle["text/html"] == shown._repr_html_()
    assert "HybridCache" in bundle["text/plain"] and "HybridCache" in bundle["text/html"]
    assert max(map(len, repr(shown).splitlines())) <= 100


def test_a_short_label_leaves_nothing_of_a_long_one() -> None:
    stream = io.StringIO()
    line = OneLine(stream)
    line.working("import-transformers")
    line.working("import-trl")
    line.working("import-trl")
    line.stop()
    line.stop()
    first, second, blank, rest = stream.getvalue().split("\r")[1:]
    assert first == "lora-doctor: import-transformers ..."
    assert second.rstrip() == "lora-doctor: import-trl ..." and len(second) == len(first)
    assert blank.strip() == "" and len(blank) >= len(second.rstrip()) and rest == ""


def test_importing_the_package_brings_nothing_along() -> None:
    program = "import sys, doctor; print([name for name in sys.modules if name.startswith('doctor.')])"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.check_output([sys.executable, "-c", program], env=env, text=True) == "[]\n"


def test_it_can_be_asked_without_any_notebook() -> None:
    shown = doctor.check(quick=True, ignore=("torch/",))
    assert shown.report.subject.kind == "live"
    assert not any(finding.id.startswith("torch/") for finding in shown.report.findings)
