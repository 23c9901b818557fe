"""Names of packages in the spellings of people."""

from __future__ import annotations

import re

import pytest

from doctor.readers.paste.names import ALIASES, NAME, PACKAGES, VERSION, canonical


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("PyTorch", "torch"),
        ("Flash Attention", "flash-attn"),
        ("flash_attn", "flash-attn"),
        ("LLaMA-Factory", "llamafactory"),
        ("HuggingFace Hub", "huggingface-hub"),
        ("unsloth_zoo", "unsloth-zoo"),
        ("bnb", "bitsandbytes"),
        ("Sentence Transformers", "sentence-transformers"),
        ("apples", ""),
    ],
)
def test_a_name_is_that_of_the_index(written: str, name: str) -> None:
    assert canonical(written) == name


def test_every_alias_leads_to_a_package() -> None:
    assert set(ALIASES.values()) <= set(PACKAGES)
    assert not set(ALIASES) & set(PACKAGES)


def test_the_longest_name_is_taken() -> None:
    pattern = re.compile(NAME, re.I)
    for name in PACKAGES:
        found = pattern.match(name)
        assert found is not None and canonical(found[0]) == name


@pytest.mark.parametrize(
    "version",
    [
        "2.6.0+cu124",
        "2.7.0.dev20250310+cu128",
        "2.4.0a0+07cecf4168.nv24.05",
        "0.46.0rc1",
        "2.7.4.post1",
        "0.13",
    ],
)
def test_a_version_is_matched_whole(version: str) -> None:
    assert re.fullmatch(VERSION, version)
