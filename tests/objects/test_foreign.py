"""Reading the native files of Windows and macOS."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from foreign_files import INTEL64, dll, dylib
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.objects import ObjectUnreadable, SharedObject, macho, pe

DLL = dll(["cublas64_13.dll", "KERNEL32.dll"], delayed=["nvml.dll"])
DYLIB = dylib(
    "@rpath/libmine.dylib",
    ["@rpath/libc10.dylib", "/usr/lib/libSystem.B.dylib"],
    ["/gone.dylib"],
    ["@loader_path"],
)


def read_dll(content: bytes) -> SharedObject:
    return pe.read_object(io.BytesIO(content), len(content))


def read_dylib(content: bytes) -> SharedObject:
    return macho.read_object(io.BytesIO(content), len(content))


def test_a_dll() -> None:
    expected = SharedObject(
        machine="x86_64", bits=64, needed=("cublas64_13.dll", "KERNEL32.dll"), optional=("nvml.dll",)
    )
    assert read_dll(DLL) == expected


def test_a_dll_that_is_cut_short() -> None:
    assert read_dll(DLL[:-200]).damage == "is cut short"


def test_a_library_of_macos() -> None:
    assert read_dylib(DYLIB) == SharedObject(
        machine="arm64",
        bits=64,
        soname="@rpath/libmine.dylib",
        needed=("@rpath/libc10.dylib", "/usr/lib/libSystem.B.dylib"),
        optional=("/gone.dylib",),
        rpath=("@loader_path",),
    )
    assert read_dylib(dylib(processor=INTEL64)).machine == "x86_64"


@pytest.mark.parametrize(
    ("read", "content", "words"),
    [
        (read_dll, b"", "is empty"),
        (read_dll, b"\x7fELF" + bytes(99), "is no DLL"),
        (read_dylib, b"", "is empty"),
        (read_dylib, b"MZ" + bytes(99), "is no Mach-O file"),
        (read_dylib, DYLIB[:60], "has damaged load commands"),
    ],
)
def test_what_is_none(read: Callable[[bytes], SharedObject], content: bytes, words: str) -> None:
    with pytest.raises(ObjectUnreadable, match=words):
        read(content)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_damage_raises_anything_else(data: st.DataObject) -> None:
    read, whole = data.draw(st.sampled_from([(read_dll, DLL), (read_dylib, DYLIB)]))
    content = bytearray(whole)
    changes = st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=8)
    for place, byte in data.draw(changes):
        content[place] = byte
    try:
        read(bytes(content[: data.draw(st.integers(0, len(content)))]))
    except ObjectUnreadable as error:
        assert str(error)
