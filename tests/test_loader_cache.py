"""The loader's cache, held against glibc's own words of it and against rubbish."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.loader_cache import LOADER_CACHE, MAGIC, machine, paths_by_name, places

Entry = tuple[int, str, str, int]  # flags, name, path, CPU features
X86_64, I386, AARCH64 = 0x0303, 0x0003, 0x0A03


def cache(*entries: Entry, before: bytes = b"") -> bytes:
    """A cache as ldconfig writes it, its texts after its entries."""
    rows, texts = b"", b""
    start = 48 + 24 * len(entries)
    for flags, name, path, features in entries:
        at = start + len(texts)
        texts += name.encode() + b"\0" + path.encode() + b"\0"
        rows += struct.pack("=iIIIQ", flags, at, at + len(name.encode()) + 1, 0, features)
    head = MAGIC + struct.pack("=II", len(entries), len(texts)) + b"\2" + bytes(19)
    return before + head + rows + texts


def test_the_first_of_its_own_kind_is_taken() -> None:
    data = cache(
        (I386, "libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", 0),
        (X86_64, "libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", 0),
        (X86_64, "libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", 0),
        (X86_64, "libm.so.6", "/lib/glibc-hwcaps/x86-64-v4/libm.so.6", 1 << 62),
    )
    assert paths_by_name(data, "x86_64") == {"libcuda.so.1": "/usr/lib/wsl/lib/libcuda.so.1"}
    assert paths_by_name(data, "aarch64") == {}
    assert paths_by_name(cache((AARCH64, "liba.so", "/lib/liba.so", 0)), "aarch64") == {
        "liba.so": "/lib/liba.so"
    }


def test_the_older_form_before_it_is_passed_over() -> None:
    data = cache((X86_64, "liba.so", "/lib/liba.so", 0), before=b"ld.so-1.7.0\0" + bytes(52))
    assert paths_by_name(data, "x86_64") == {"liba.so": "/lib/liba.so"}


@pytest.mark.parametrize("data", [b"", b"no cache", MAGIC, MAGIC + b"\xff" * 40, MAGIC + b"\xff" * 400])
def test_what_is_no_cache_is_empty(data: bytes) -> None:
    assert paths_by_name(data, "x86_64") == {}


@given(st.binary(max_size=200), st.integers(0, 300))
def test_any_bytes_are_survived(rubbish: bytes, at: int) -> None:
    whole = cache((X86_64, "liba.so", "/lib/liba.so", 0), (X86_64, "libb.so", "/lib/libb.so", 0))
    found = paths_by_name(whole[:at] + rubbish + whole[at + len(rubbish) :], "x86_64")
    assert "" not in found and len(found) <= 2
    paths_by_name(whole[:at], "x86_64")


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("ldconfig"), reason="glibc's ldconfig is needed"
)
def test_it_agrees_with_ldconfig() -> None:
    said = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    rows = [
        line.strip().split(" ", 1) for line in said.splitlines() if " => " in line and "hwcap" not in line
    ]
    first: dict[str, str] = {}
    for name, rest in rows:
        if "x86-64" in rest or "AArch64" in rest:
            first.setdefault(name, rest.split(" => ")[1])
    assert first
    assert paths_by_name(Path(LOADER_CACHE).read_bytes(), machine()) == first


def test_the_loader_looks_in_this_order() -> None:
    found = list(places("liba.so", "/first::/second", {"liba.so": "/cached/liba.so"}))
    assert found[:3] == ["/first/liba.so", "/second/liba.so", "/cached/liba.so"]
    assert found[-1] == "/usr/lib/liba.so"
    assert list(places("liba.so", "", {}))[-2:] == ["/lib/liba.so", "/usr/lib/liba.so"]
