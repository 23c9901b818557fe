"""Reading ELF files: real ones, small ones, damaged ones and rubbish."""

from __future__ import annotations

import glob
import io
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from elf_files import AARCH64, elf, fat_binary
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.host import LocalHost
from doctor.linking.loader import Process
from doctor.objects import ObjectUnreadable, SharedObject
from doctor.objects.elf import read_object
from doctor.objects.fatbin import architectures
from doctor.objects.store import Objects
from doctor.objects.symbols import Symbols

FULL = elf(
    needed=("libcudart.so.13", "libc.so.6"),
    soname="libmine.so.1",
    runpath="$ORIGIN/../lib:/opt/lib",
    needs={"libc.so.6": ("GLIBC_2.2.5", "GLIBC_2.34"), "libcudart.so.13": ("libcudart.so.13",)},
    defines=("libmine.so.1", "MINE_1"),
)
WITH_CODE = elf(needed=("libc.so.6",), fatbin=fat_binary("sm_80", "sm_90", "compute_90"))


def read(content: bytes) -> SharedObject:
    return read_object(io.BytesIO(content), len(content))


def test_all_that_a_file_tells() -> None:
    assert read(FULL) == SharedObject(
        machine="x86_64",
        bits=64,
        soname="libmine.so.1",
        needed=("libcudart.so.13", "libc.so.6"),
        runpath=("$ORIGIN/../lib", "/opt/lib"),
        has_runpath=True,
        needs={
            "libc.so.6": {"GLIBC_2.2.5": False, "GLIBC_2.34": False},
            "libcudart.so.13": {"libcudart.so.13": False},
        },
        defines=("libmine.so.1", "MINE_1"),
        has_versions=True,
    )


def test_where_both_stand_rpath_is_ignored() -> None:
    found = read(elf(rpath="/one", runpath="/two"))
    assert (found.rpath, found.runpath) == ((), ("/two",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"MZ\x90\x00" + bytes(200), "is no ELF file"),
        (FULL[:20], "is cut short"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is no ELF file"),
    ],
)
def test_what_is_no_elf_file(content: bytes, words: str) -> None:
    with pytest.raises(ObjectUnreadable, match=words):
        read(content)


@pytest.mark.parametrize(
    ("content", "damage"),
    [
        (FULL[:100], "is cut short"),
        (FULL[:-1], "is cut short"),
        (FULL[:16] + b"\x01" + FULL[17:], "is no shared object"),
        (FULL[:54] + b"\x39" + FULL[55:], "has a damaged ELF header"),
        (FULL.replace(b"libc.so.6\0", b"libc.so.6x")[:-9], "is cut short"),
    ],
)
def test_a_damaged_file_still_tells_its_machine(content: bytes, damage: str) -> None:
    found = read(content)
    assert (found.machine, found.damage) == ("x86_64", damage)


def test_zeros_in_place_of_the_dynamic_section() -> None:
    offset, _, _, size = struct.unpack_from("<4Q", FULL, 64 + 56 + 8)  # in the second program header
    zeroed = FULL[:offset] + bytes(size) + FULL[offset + size :]
    assert read(zeroed).damage == "has a damaged dynamic section"


def test_the_machine_is_told_by_its_name() -> None:
    assert read(elf(machine=AARCH64)).machine == "aarch64"
    assert read(elf(machine=4242)).machine == "machine 4242"


def test_names_are_bytes() -> None:
    assert os.fsencode(read(elf(needed=(os.fsdecode(b"lib\xff.so"),))).needed[0]) == b"lib\xff.so"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_damage_raises_anything_else(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from([FULL, WITH_CODE])))
    for place, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=12)
    ):
        content[place] = byte
    examined(bytes(content[: data.draw(st.integers(0, len(content)))]))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=600), st.sampled_from([0, 4, 16, 64]))
def test_no_rubbish_raises_anything_else(rubbish: bytes, kept: int) -> None:
    examined(FULL[:kept] + rubbish)


def examined(content: bytes) -> None:
    """Read everything that is read of a file."""
    for reading in (lambda: read(content), lambda: Symbols(io.BytesIO(content), len(content))):
        try:
            reading()
        except ObjectUnreadable as error:
            assert str(error)
    assert isinstance(architectures(io.BytesIO(content), len(content)), tuple)


def test_counts_of_four_thousand_million_end() -> None:
    """A chain of versions that leads back to itself, and sizes beyond any file."""
    for place in range(64, len(FULL) - 8, 4):
        examined(FULL[:place] + b"\xff" * 8 + FULL[place + 8 :])


SYSTEM = sorted(glob.glob("/usr/lib/*-linux-gnu/lib*.so.?"))


@pytest.mark.skipif(sys.platform != "linux", reason="these are libraries of Linux")
def test_the_systems_own_libraries_lead_where_their_loader_says() -> None:
    """ld.so itself lists, for each file, what it would map."""
    for path in SYSTEM[:: max(1, len(SYSTEM) // 40)]:
        host = LocalHost()
        process = Process(host, Objects(host), path)
        told = {os.path.realpath(one.path) for one in process.names.values()}
        assert told == listed(path), path


def listed(path: str) -> set[str]:
    """The files that ld.so lists."""
    loader = read_object_at(sys.executable).interpreter
    done = subprocess.run([loader, "--list", path], capture_output=True, text=True, check=False)
    found = set(re.findall(r"(/\S+) \(0x", done.stdout))
    return {os.path.realpath(one) for one in found}


def read_object_at(path: str) -> SharedObject:
    with open(path, "rb") as file:
        return read_object(file, Path(path).stat().st_size)
