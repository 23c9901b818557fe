"""One requirement in every spelling that is met in the wild."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.requirement import NoRequirement, is_moving, parse

SHA = "13e53fc7ee5d89d59b16523051006dddf0fb7a49"


@pytest.mark.parametrize(
    ("text", "name", "specifier"),
    [
        ("peft==0.17.1", "peft", "==0.17.1"),
        ("Huggingface_Hub >= 0.23 , < 1", "huggingface-hub", "<1,>=0.23"),
        ("torch==2.1.0+cu118", "torch", "==2.1.0+cu118"),
        ("torch==2.1.*", "torch", "==2.1.*"),
        ("transformers[sentencepiece,torch]~=4.36", "transformers", "~=4.36"),
        ("peft", "peft", ""),
        ("torch=2.1.0", "torch", "==2.1.0"),
        ("torch 2.1.0", "torch", "==2.1.0"),
        ("https://x.org/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl", "torch", "==2.1.0+cu118"),
        ("./wheels/flash_attn-2.5.6-cp310-cp310-linux_x86_64.whl", "flash-attn", "==2.5.6"),
        ("https://x.org/peft-0.9.0.tar.gz", "peft", "==0.9.0"),
        ("git+https://github.com/huggingface/peft.git@v0.9.0", "peft", "==0.9.0"),
        (f"git+https://github.com/huggingface/peft.git@{SHA}", "peft", ""),
        ("git+https://github.com/huggingface/peft.git@fix/some-branch", "peft", ""),
        ("git+ssh://git@github.com/huggingface/trl", "trl", ""),
        ("git@github.com:huggingface/trl.git", "trl", ""),
        ("trl @ git+https://github.com/lvwerra/trl.git#egg=trl-0.4.1", "trl", ""),
        ("git+https://github.com/x/y.git#egg=lm-eval&subdirectory=z", "lm-eval", ""),
        ("triton @ https://x.org/triton-2.7.4.post1-cp310-cp310-linux_x86_64.whl", "triton", "==2.7.4.post1"),
    ],
)  # fmt: skip
def test_what_it_asks_for(text: str, name: str, specifier: str) -> None:
    found = parse(text)
    assert (found.name, found.specifier) == (name, specifier)


def test_extras_and_markers_are_kept() -> None:
    found = parse('bitsandbytes[all]>=0.43.0; platform_system != "Windows"')
    assert found.extras == ("all",)
    assert found.marker == 'platform_system != "Windows"'


@pytest.mark.parametrize(
    "text", ["", "peft==banana", "peft===banana", "peft>=", "foo bar baz", "@@@@", "<<<<<<< HEAD", "a" * 3000]
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(NoRequirement):
        parse(text)


@pytest.mark.parametrize(
    ("reference", "moving"),
    [("", True), ("@main", True), (f"@{SHA}", False), ("@v0.9.0", False), ("@some-branch", False)],
)
def test_only_the_main_branch_moves_with_the_newest_release(reference: str, moving: bool) -> None:
    assert is_moving(parse(f"git+https://github.com/huggingface/peft.git{reference}")) is moving


@given(st.text(max_size=200))
def test_any_text_is_a_requirement_or_says_why_not(text: str) -> None:
    try:
        assert parse(text).name
    except NoRequirement as error:
        assert str(error)
