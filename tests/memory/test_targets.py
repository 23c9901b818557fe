"""Patterns of module names: which of them may keep a matcher busy without end."""

from __future__ import annotations

import pytest

from doctor.memory.targets import may_be_endless

OF_UNSLOTH = (
    r"(?:.*?(?:language|text).*?(?:self_attn|mlp).*?(?:q_proj|down_proj).*?)"
    r"|(?:\bmodel\.layers\.[\d]{1,}\.(?:self_attn|mlp)\.(?:(?:q_proj|down_proj)))"
)


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(.*.*)x", "(.*.*.*.*)*x", "((a|b*)c)*", r"(?:\w{2,}){3,}", ".*?.*", r"([^.]+\.?)+x"],
)
def test_what_repeats_what_repeats_may_have_no_end(pattern: str) -> None:
    assert may_be_endless(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r".*\.(q|v)_proj",
        OF_UNSLOTH,
        r".*\.layers\.(\d+)\.(self_attn|mlp)\.[a-z_]+",
        r"model\.(layers\.\d+\.)?[(*+)]*\(\*",
        "(a|b)+c{2}d?",
        r"[]+)*]+x",
    ],
)
def test_patterns_as_people_write_them_have_one(pattern: str) -> None:
    assert not may_be_endless(pattern)
