"""The first fix of a finding, carried out as it is printed, cures the environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sandboxes import uv

from .environment import built
from .lab import Lab
from .running import run_doctor

pytestmark = pytest.mark.environments


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("peft_too_old_for_transformers", "peft/too-old-for-transformers"),
        ("bitsandbytes_without_libraries", "bitsandbytes/native-library-missing"),
        ("bitsandbytes_cuda_library_cut", "bitsandbytes/native-library-corrupt"),
        ("numpy_without_extension", "python/files-missing-or-altered"),
        ("peft_half_uninstalled", "python/files-missing-or-altered"),
        ("peft_metadata_random", "python/metadata-unreadable"),
        ("transformers_registered_twice", "python/duplicate-metadata"),
        ("peft_source_gone", "python/editable-source-gone"),
        ("bitsandbytes_windows_beside", "python/packages-overlap"),
        ("transformers_4_40_0", "python/release-out-of-step"),
        ("accelerate_0_20_3", "accelerate/too-old"),
        ("huggingface_hub_0_23_0", "huggingface-hub/too-old"),
    ],
)
def test_the_first_fix_cures(name: str, fault: str, lab: Lab, tmp_path: Path) -> None:
    with built(lab, name) as target:
        before = run_doctor(target, tmp_path, "--format", "json", "--quick").report
        assert before["primary"] == fault
        for command in before["findings"][0]["fixes"][0]["commands"]:
            carry_out(command)
        after = run_doctor(target, tmp_path, "--format", "json", "--quick").report
        assert (after["primary"], after["verdict"]) == (None, "healthy")


def carry_out(command: list[str]) -> None:
    """Run a command as its reader would; "~" stands for the home folder, and uv is the tests' own."""
    words = [os.path.expanduser(word) for word in command]
    program = uv() if words[0] == "uv" else words[0]
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_fixes_name_the_interpreter_that_was_examined(lab: Lab, tmp_path: Path) -> None:
    with built(lab, "peft_too_old_for_transformers") as target:
        report: dict[str, Any] = run_doctor(target, tmp_path, "--format", "json", "--quick").report
        words = [os.path.expanduser(word) for word in report["findings"][0]["fixes"][0]["commands"][0]]
        assert str(target.python) in words
