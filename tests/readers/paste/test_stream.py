"""Logs of any size: what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste import stream
from doctor.readers.paste.stream import interesting, shortened

TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "/home/u/train.py", line 3, in <module>',
    "    from peft import LoraConfig",
    "ImportError: cannot import name 'X' from 'Y'",
]


def steps(count: int) -> list[str]:
    return [f"{{'loss': {at * 0.37:.4f}, 'epoch': {at / 100:.2f}}}" for at in range(count)]


def in_chunks(text: str, encoding: str = "utf-8", size: int = 65536) -> Iterator[bytes]:
    data = text.encode(encoding)
    return (data[at : at + size] for at in range(0, len(data), size))


def test_small_text_is_kept_whole() -> None:
    text = "a\n\nb\n" * 1000
    assert interesting(in_chunks(text)) == (text, tuple(range(1, 3002)))


def test_a_traceback_in_a_long_log() -> None:
    lines = [*steps(20_000), *TRACEBACK, *steps(20_000)]
    text, numbers = interesting(in_chunks("\n".join(lines)))
    assert "\n".join(TRACEBACK) in text
    kept = text.split("\n")
    assert len(kept) == len(numbers) < 1000
    assert all(lines[number - 1] == line for number, line in zip(numbers, kept, strict=True))


def test_the_beginning_and_the_end_are_kept() -> None:
    lines = steps(40_000)
    text, numbers = interesting(in_chunks("\n".join(lines)))
    assert numbers[0] == 1 and numbers[-1] == 40_000
    assert text.endswith(lines[-1])


def test_what_stands_across_two_blocks_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BLOCK", 5000)
    monkeypatch.setattr(stream, "SMALL", 1000)
    for before in range(1000, 1140, 7):
        text, _ = interesting(in_chunks("\n".join([*steps(before), *TRACEBACK, *steps(900)]), size=777))
        assert "\n".join(TRACEBACK) in text


def test_ranks_that_fail_alike_are_kept_a_few_times() -> None:
    ranks = [f"[rank{rank}]: {line}" for rank in range(64) for line in TRACEBACK]
    text, _ = interesting(
        in_chunks("\n".join([*steps(20_000), *ranks, *steps(20_000), *ranks, *steps(9000)]))
    )
    assert 1 <= text.count("ImportError") <= 40


def test_a_report_is_kept_whole() -> None:
    report = [
        "Collecting environment information...",
        *(f"Key {chr(65 + at % 26)}{at}: value" for at in range(90)),
    ]
    text, _ = interesting(in_chunks("\n".join([*steps(20_000), *report, *steps(20_000)])))
    assert "\n".join(report) in text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("count", [100, 20_000])
def test_encodings(encoding: str, count: int) -> None:
    text, numbers = interesting(in_chunks("\n".join([*steps(count), *TRACEBACK]), encoding, size=65537))
    assert "\n".join(TRACEBACK) in text
    assert numbers[-1] == count + 4
    assert not text.startswith("\ufeff") and "\0" not in text


def test_an_error_within_one_huge_line() -> None:
    line = "x" * 3_000_000 + " RuntimeError: CUDA error: invalid device ordinal " + "y" * 3_000_000
    text, numbers = interesting(in_chunks(line))
    assert "RuntimeError: CUDA error: invalid device ordinal" in text
    assert numbers == (1,) and len(text) < 30_000


def test_output_is_bounded() -> None:
    text, numbers = interesting(
        in_chunks("\n".join(f"error {chr(97 + at % 26) * (at % 97)} failed" for at in range(90_000)))
    )
    assert len(text) < 1_100_000
    assert list(numbers) == sorted(set(numbers))


@given(st.binary(max_size=3000), st.integers(1, 700))
def test_any_bytes(data: bytes, size: int) -> None:
    text, numbers = interesting(data[at : at + size] for at in range(0, len(data), size))
    assert len(text.split("\n")) == len(numbers)


@given(st.lists(st.binary(max_size=300) | st.just(b"error\n") | st.just(b"\n"), max_size=60))
def test_any_bytes_through_the_sieve(parts: list[bytes]) -> None:
    sieve = stream.Sieve()
    for part in parts:
        sieve.take(part)
    text, numbers = sieve.result()
    assert list(numbers) == sorted(set(numbers))
    assert not numbers or len(text.split("\n")) == len(numbers)
    assert all(1 <= number <= sieve.count for number in numbers)


@given(st.binary(min_size=1, max_size=200))
def test_a_cut_line_is_short(line: bytes) -> None:
    assert len(shortened(line * 20_001)) <= stream.LONGEST + 100
