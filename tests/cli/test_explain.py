"""``lora-doctor explain`` as users and programs meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest


def explain(
    *arguments: str, code: int = 0, stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run to the end; whatever happens there is no traceback."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "explain", *arguments],
        env={**inherited, "PYTHONUTF8": "1", **env},
        input=stdin,
        capture_output=True,
        timeout=60,
    )
    told = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in told.stdout + told.stderr and "failed, which says nothing" not in told.stderr
    assert told.returncode == code, told.stdout + told.stderr
    return told


def answer(*arguments: str) -> Any:
    return json.loads(explain(*arguments, "--format", "json").stdout)


def test_an_id_prints_its_page() -> None:
    told = explain("torch/cpu-only-build").stdout
    assert told.startswith("torch/cpu-only-build\n")
    assert "python -m pip install torch --index-url" in told


def test_words_without_quotes_are_one_question() -> None:
    assert answer("out", "of", "memory")["pages"][0]["id"] == "workload/does-not-fit"


def test_an_error_is_read_from_standard_input_whatever_its_bytes() -> None:
    error = b"\xff\xfa\x1b[31mAssertionError: Torch not compiled with CUDA enabled\x1b[0m\x00\n"
    assert explain("-", stdin=error).stdout.startswith("torch/cpu-only-build\n")


def test_a_megabyte_of_text_and_escapes_is_read_to_the_end() -> None:
    rubbish = b"\x1b]0;title\x07" + b"a" * 1_000_000 + b"\n" + b"\x1b[31m(" * 10_000
    told = explain("-", stdin=rubbish + b"\nCUDA out of memory. Tried to allocate 2 GiB\n")
    assert "workload/does-not-fit" in told.stdout and "\x1b" not in told.stdout


def test_the_text_that_is_asked_about_is_not_repeated() -> None:
    told = explain("hf_abcdefghijklmnopqrstuvwxyzabcdef", "/home/alice/secret", code=2)
    assert "alice" not in told.stdout + told.stderr and "hf_" not in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "there is nothing to explain"),
        (("-",), "there is nothing to explain"),
        (("\x1b[31m",), "no fault is known"),
        (("my", "dog", "ate", "the", "homework"), "no fault is known"),
        (("--list", "torch"), "leave the words out"),
        (("torch/cpu-only-build", "--lang", "fr"), "fr"),
        (("torch/cpu-only-build", "-o", "/nowhere/at/all"), "cannot be written"),
    ],
)
def test_what_cannot_be_answered_ends_with_2_and_says_what_to_do(
    arguments: tuple[str, ...], says: str
) -> None:
    told = explain(*arguments, code=2)
    assert says in told.stderr and told.stdout == ""


def test_a_subject_lists_its_faults() -> None:
    lines = explain("driver/").stdout.splitlines()
    assert len(lines) > 10 and all(line.startswith("driver/") for line in lines)


def test_the_list_is_one_fault_a_line_in_a_pipe_and_fits_a_terminal() -> None:
    piped = explain("--list").stdout.splitlines()
    assert any(line.startswith("torch/cpu-only-build\t") for line in piped)
    narrow = explain("--list", COLUMNS="60").stdout.splitlines()
    assert len(narrow) > len(piped) and "torch" in narrow
    assert [line for line in narrow if len(line) > 60 and " " in line.strip()] == []


def test_programs_get_the_list_and_the_page() -> None:
    listed = answer("--list")
    assert listed["pages"] == [] and len(listed["faults"]) > 200
    page = answer("torch/cpu-only-build")["pages"][0]
    assert {"id", "title", "why", "see", "fixes", "verify", "proofs"} <= set(page)
    assert len(explain("--list", "--format", "jsonl").stdout.splitlines()) == len(listed["faults"])


def test_chinese_pages_lists_and_questions() -> None:
    assert "解决办法" in explain("torch/cpu-only-build", "--lang", "zh").stdout
    assert answer("显存不足", "--lang", "zh")["pages"][0]["language"] == "zh"
    assert "显存不足" in explain("--list", "--lang", "zh").stdout


def test_a_page_that_is_not_translated_is_printed_in_english_and_says_so() -> None:
    told = explain("smoke/stage-failed", "--lang", "zh").stdout
    assert told.startswith("这一页还没有中文版") and "What it means" in told


def test_a_terminal_without_unicode_gets_a_page_all_the_same() -> None:
    told = explain("workload/does-not-fit", "--lang", "zh", PYTHONUTF8="0", PYTHONIOENCODING="ascii").stdout
    assert told.isascii() and "workload/does-not-fit" in told


def test_markdown_and_html_are_whole_documents() -> None:
    assert explain("torch/cpu-only-build", "--format", "markdown").stdout.startswith(
        "# `torch/cpu-only-build`\n"
    )
    page = explain("torch/cpu-only-build", "--format", "html", "--lang", "zh").stdout
    assert page.startswith("<!doctype html>") and '<html lang="zh">' in page
