"""``lora-doctor explain`` as its users meet it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def explain(*arguments: str, code: int = 0, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "explain", *arguments],
        input=stdin.encode(),
        capture_output=True,
        timeout=60,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback (most" not in err, err
    assert done.returncode == code, out + err
    return out + err


def test_an_id_prints_its_page() -> None:
    told = explain("torch/cpu-only-build")
    assert told.startswith("torch/cpu-only-build\n")
    for heading in ("What it means", "Is it your case", "Fix", "See that it is cured"):
        assert f"\n{heading}\n" in told


def test_an_error_text_finds_its_page() -> None:
    error = "RuntimeError: operator torchvision::nms does not exist"
    assert explain(error).startswith("torch/torchvision-mismatch\n")
    assert explain("-", stdin=f"a line before\n{error}\n").startswith("torch/torchvision-mismatch\n")


def test_the_list_names_every_fault_with_its_words() -> None:
    told = explain("--list")
    assert "torch/cpu-only-build" in told and "Torch not compiled with CUDA enabled" in told
    assert len(told.splitlines()) > 250


def test_a_page_in_chinese() -> None:
    told = explain("torch/cpu-only-build", "--lang", "zh")
    assert "这是什么问题" in told and "python -m pip install" in told


def test_a_page_without_a_translation_is_told_in_english() -> None:
    told = explain("driver/bound-to-vfio", "--lang", "zh")
    assert "What it means" in told and told[0] != "d"


@pytest.mark.parametrize("form", ["json", "jsonl", "markdown", "html"])
def test_other_forms(form: str) -> None:
    told = explain("torch/cpu-only-build", "--format", form)
    assert "torch/cpu-only-build" in told
    if form in ("json", "jsonl"):
        assert json.loads(told)


@pytest.mark.parametrize("words", [("zzqx frobnicate",), (), ("--list", "torch/missing"), ("\x1b[31m",)])
def test_what_cannot_be_explained_ends_with_two(words: tuple[str, ...]) -> None:
    told = explain(*words, code=2)
    assert told.startswith("lora-doctor: ") and "\x1b" not in told
