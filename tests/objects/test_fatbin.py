"""GPU code inside libraries: the architectures that its headers name."""

from __future__ import annotations

import io

import pytest
from elf_files import elf, fat_binary

from doctor.objects.fatbin import architectures


def read(content: bytes) -> tuple[str, ...]:
    return architectures(io.BytesIO(content), len(content))


def test_kinds_and_numbers_in_the_order_of_torch() -> None:
    code = fat_binary("compute_120", "sm_120", "sm_75", "sm_86")
    assert read(elf(fatbin=code)) == ("sm_75", "sm_86", "sm_120", "compute_120")


def test_what_one_kernel_alone_was_built_for_is_left_out() -> None:
    bulk = fat_binary("sm_80", "sm_90")
    assert read(elf(fatbin=bulk * 3 + fat_binary("sm_80", "sm_90", "sm_121"))) == ("sm_80", "sm_90")


def test_room_between_fat_binaries_is_passed_over() -> None:
    code = fat_binary("sm_80")
    assert read(elf(fatbin=code + bytes(24) + code)) == ("sm_80",)


@pytest.mark.parametrize("content", [b"", b"text", elf(needed=("libc.so.6",)), elf(fatbin=bytes(80))])
def test_no_gpu_code(content: bytes) -> None:
    assert read(content) == ()


def test_of_a_file_that_is_cut_short_what_came_before_counts() -> None:
    code = fat_binary("sm_80") + fat_binary("sm_80", "sm_90")
    whole = bytearray(elf(fatbin=code))
    at = bytes(whole).find(code) + len(fat_binary("sm_80"))
    whole[at + 8 : at + 16] = (1 << 40).to_bytes(8, "little")  # entries beyond the end of the file
    assert "sm_80" in read(bytes(whole))
