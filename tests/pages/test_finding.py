"""What a reader asks for, however loosely."""

from __future__ import annotations

import pytest

from doctor.pages import page_of
from doctor.pages.finding import Found, found

HUB = """Traceback (most recent call last):
  File "train.py", line 1, in <module>
ImportError: cannot import name 'split_torch_state_dict_into_shards' from 'huggingface_hub'
"""


def first(result: Found) -> str:
    assert len(result.pages) == 1
    return result.pages[0].id


@pytest.mark.parametrize(
    "asked",
    [
        "torch/cpu-only-build",
        "Torch/CPU-only-build",
        " torch/cpu_only_build ",
        "cpu-only-build",
        "CPU only build",
    ],
)
def test_an_id_may_be_written_loosely(asked: str) -> None:
    assert first(found(asked)) == "torch/cpu-only-build"
    assert found(asked).others == ()


@pytest.mark.parametrize("asked", ["torch/", "torch", "Torch"])
def test_a_subject_lists_its_faults(asked: str) -> None:
    result = found(asked)
    assert result.pages == ()
    assert {one.id.partition("/")[0] for one in result.others} == {"torch"}


def test_a_fault_of_several_subjects_lists_them() -> None:
    assert {"peft/import-failed", "torch/import-failed"} <= {one.id for one in found("import-failed").others}


def test_a_misspelt_id_shows_what_is_near() -> None:
    assert [one.id for one in found("torch/cpu-only-biuld").others] == ["torch/cpu-only-build"]


def test_an_error_text_finds_its_page_with_the_cases_that_it_is_about() -> None:
    result = found(HUB)
    assert first(result) == "huggingface-hub/too-old"
    whole = page_of("huggingface-hub/too-old")
    assert whole and 0 < len(result.pages[0].cases) < len(whole.cases)


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", "torch/cpu-only-build"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "workload/does-not-fit"),
        ("报错 ValueError: Your setup doesn't support bf16/gpu.", "gpu/bf16-unsupported"),
    ],
)
def test_error_texts_of_all_kinds_find_their_page(text: str, id: str) -> None:
    assert first(found(text)) == id


def test_a_harmless_line_is_explained_as_such() -> None:
    assert (
        first(found("FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated"))
        == "report/harmless-lines"
    )


def test_a_message_of_several_faults_names_them_all() -> None:
    result = found("ImportError: cannot import name 'HybridCache' from 'transformers'")
    assert {first(result), *(one.id for one in result.others)} >= {"peft/too-old-for-transformers"}
    assert result.others


def test_stated_versions_and_devices_lead_to_a_page_too() -> None:
    assert first(found("torch 2.13 driver 470 RTX 5090")) == "driver/gpu-not-supported"


@pytest.mark.parametrize("text", ["", "   ", "my dog ate the homework", "\x1b[31m\x00", "../../etc/passwd"])
def test_where_nothing_is_known_nothing_is_found(text: str) -> None:
    assert found(text) == Found()


def test_a_megabyte_of_one_line_is_no_problem() -> None:
    assert found("x" * 1_000_000) == Found()
    assert first(found("x " * 500_000 + "\nAssertionError: Torch not compiled with CUDA enabled\n"))
