"""Messages are read whatever stands around them, and hostile ones do no harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.paste import Complaint
from doctor.triage.lookups import look_up
from doctor.triage.lookups.messages import MissingName, UnknownModelType, WrongCall, WrongVersion, shape_of
from doctor.triage.lookups.statements import stated_in
from tests.triage.lookups.pastes import case_of

WORDS = (
    *(
        "cannot import name ",
        "'HybridCache'",
        " from ",
        "'transformers'",
        "partially initialized module ",
        "No module named ",
    ),
    *(
        "module ",
        " has no attribute ",
        " object",
        "type object ",
        "got an unexpected keyword argument ",
        "__init__() ",
    ),
    *(
        ">=",
        "0.20.1",
        ",<1.0",
        " is required for a normal functioning of this module",
        ", but found ",
        "==",
        "requires ",
    ),
    *(
        "Found an incompatible version of ",
        "KeyError: ",
        "model type ",
        "(from versions: ",
        "sm_90 ",
        "(",
        ")",
        "\n",
        " " * 9,
    ),
)
PIECES = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=40).map("".join)


def complaint(message: str, kind: str = "") -> Complaint:
    return Complaint(kind=kind, message=message, line=1, level="error")


@given(PIECES)
def test_no_text_makes_it_raise(text: str) -> None:
    case = case_of(text)
    look_up(case.complaints[0], case)
    list(stated_in(case.complaints[0]))


@pytest.mark.parametrize("piece", [*WORDS, "a", "a.", "a-", ">=1", "sm_90", "requires a>=1,"])
def test_long_repetitions_end(piece: str) -> None:
    case = case_of(piece * 4000)
    look_up(case.complaints[0], case)
    list(stated_in(case.complaints[0]))


def test_shapes() -> None:
    assert shape_of(complaint("cannot import name 'A' from 'b.c' (/x/c.py)")) == MissingName("A", "b.c")
    assert shape_of(complaint("cannot import name 'A'")) == MissingName("A", "")
    assert shape_of(complaint("module 'b' has no attribute 'A'")) == MissingName("A", "b", attribute=True)
    assert shape_of(complaint("f() got an unexpected keyword argument 'k'")) == WrongCall("f", "k")
    assert shape_of(
        complaint("torch>=2.0 is required for a normal functioning of this module")
    ) == WrongVersion("torch", ">=2.0", "", "transformers")
    assert shape_of(complaint("'qwen3'", "KeyError")) == UnknownModelType("qwen3", "key")
    assert shape_of(complaint("'qwen3'", "ValueError")) is None
    assert shape_of(complaint("loss is nan")) is None


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "huggingface-hub>=0.34.0,<1.0 is required for a normal functioning of this module, but found "
            "huggingface-hub==1.2.0.",
            [("package", "huggingface-hub", "1.2.0")],
        ),
        (
            "Found an incompatible version of torchao. Found version 0.15.0, but only versions above 0.16.0 "
            "are supported",
            [("package", "torchao", "0.15.0")],
        ),
        (
            "you need flash_attn package version to be greater or equal than 2.1.0. Detected version 2.0.4",
            [("package", "flash-attn", "2.0.4")],
        ),
        (
            "Disabling PyTorch because PyTorch >= 2.4 is required but found 2.3.0",
            [("package", "torch", "2.3.0")],
        ),
        ("The NVIDIA driver on your system is too old (found version 12040).", [("driver cuda", "", "12.4")]),
        (
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch",
            [("gpu capability", "", "12.0")],
        ),
        (
            "The current PyTorch install supports CUDA capabilities sm_80 sm_90 compute_90.",
            [("torch architectures", "", "sm_80 sm_90 compute_90")],
        ),
        ("PyTorch 2.5.1+cu124 with CUDA 1204 (you have 2.6.0+cu124)", [("package", "torch", "2.6.0+cu124")]),
        (
            "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.1.0 as it may crash.",
            [("package", "numpy", "2.1.0")],
        ),
        ("no kernel image is available", []),
    ],
)
def test_a_message_tells_of_the_environment(message: str, told: list[tuple[str, str, str]]) -> None:
    found = list(stated_in(complaint(message)))
    assert [(one.topic, one.name, one.value) for one in found] == told
    assert all(one.form == "error text" and one.line == 1 for one in found)
