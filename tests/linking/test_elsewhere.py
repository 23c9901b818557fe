"""What Windows and macOS take for the libraries of torch and bitsandbytes."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeHost
from foreign_files import dll, dylib

from doctor.linking.elsewhere import libraries_of
from doctor.native import LibraryChoice, NativeLibrary
from doctor.objects.store import Objects

SITE = "C:/env/Lib/site-packages"
OURS = "libbitsandbytes_cuda130.dll"
WINDOWS: dict[str, bytes] = {
    "C:/Windows/System32/kernel32.dll": b"",
    "C:/Python311/vcruntime140.dll": b"",
    f"{SITE}/torch/__init__.py": b"",
    f"{SITE}/bitsandbytes/__init__.py": b"",
    f"{SITE}/torch/lib/c10.dll": dll(["KERNEL32.dll", "VCRUNTIME140.dll", "api-ms-win-crt-heap-l1-1-0.dll"]),
    f"{SITE}/torch/lib/fbgemm.dll": dll(["c10.dll", "libomp140.x86_64.dll"]),
    f"{SITE}/torch/lib/cublas64_13.dll": dll(["KERNEL32.dll"]),
    f"{SITE}/bitsandbytes/{OURS}": dll(["CUBLAS64_13.dll", "cudart64_13.dll", "KERNEL32.dll"]),
}
MAC_SITE = "/env/lib/python3.11/site-packages"
MAC: dict[str, bytes] = {
    f"{MAC_SITE}/torch/__init__.py": b"",
    f"{MAC_SITE}/bitsandbytes/__init__.py": b"",
    f"{MAC_SITE}/torch/lib/libtorch_python.dylib": dylib(
        loads=["@rpath/libtorch.dylib", "/usr/lib/libc++.1.dylib"], rpaths=["@loader_path"]
    ),
    f"{MAC_SITE}/torch/lib/libtorch.dylib": dylib(loads=["@rpath/libc10.dylib"]),
    f"{MAC_SITE}/torch/lib/libc10.dylib": dylib(loads=["@rpath/libomp.dylib"]),
    f"{MAC_SITE}/bitsandbytes/libbitsandbytes_cpu.dylib": dylib(
        loads=["@rpath/libc10.dylib", "@executable_path/../lib/libz.dylib"]
    ),
    "/env/lib/libz.dylib": dylib(),
}


def told(system: str, blobs: dict[str, bytes], library: str, **interpreter: Any) -> tuple[NativeLibrary, ...]:
    host = FakeHost(os=system, blobs=blobs, env={"SYSTEMROOT": "C:/Windows"})
    choice = LibraryChoice(library=library, because="it was asked for", is_there=True)
    return libraries_of(Objects(host), interpreter, interpreter["site_folders"], choice)


def on_windows(blobs: dict[str, bytes] = WINDOWS) -> tuple[NativeLibrary, ...]:
    return told(
        "win32",
        blobs,
        OURS,
        executable="C:\\env\\Scripts\\python.exe",
        base_prefix="C:/Python311",
        site_folders=[SITE],
    )


def on_macos(blobs: dict[str, bytes] = MAC) -> tuple[NativeLibrary, ...]:
    return told(
        "darwin", blobs, "libbitsandbytes_cpu.dylib", executable="/env/bin/python", site_folders=[MAC_SITE]
    )


def places(library: NativeLibrary) -> dict[str, tuple[str, str]]:
    return {one.name: (one.by, one.path) for one in library.dependencies}


def test_dlls_are_torchs_own_or_missing() -> None:
    torch, ours = on_windows()
    assert places(torch) == {
        "c10.dll": ("already loaded", f"{SITE}/torch/lib/c10.dll"),
        "libomp140.x86_64.dll": ("not found", ""),
    }
    assert places(ours) == {
        "CUBLAS64_13.dll": ("already loaded", f"{SITE}/torch/lib/cublas64_13.dll"),
        "cudart64_13.dll": ("not found", ""),
    }


def test_a_dll_beside_its_own() -> None:
    beside = f"{SITE}/bitsandbytes/cudart64_13.dll"
    _, ours = on_windows({**WINDOWS, beside: dll(["other.dll"])})
    assert places(ours)["cudart64_13.dll"] == ("path", beside)
    assert places(ours)["other.dll"] == ("not found", "")  # what it leads to is followed


def test_macos_follows_rpaths_of_all_that_led_there() -> None:
    torch, ours = on_macos()
    lib = f"{MAC_SITE}/torch/lib"
    assert places(torch) == {
        "@rpath/libtorch.dylib": ("rpath", f"{lib}/libtorch.dylib"),
        "@rpath/libc10.dylib": ("rpath", f"{lib}/libc10.dylib"),
        "@rpath/libomp.dylib": ("not found", ""),
    }
    assert places(ours) == {
        "@rpath/libc10.dylib": ("already loaded", f"{lib}/libc10.dylib"),
        "@executable_path/../lib/libz.dylib": ("rpath", "/env/lib/libz.dylib"),
    }


@pytest.mark.parametrize("content", [b"", b"text"])
def test_a_library_that_is_none(content: bytes) -> None:
    _, ours = on_windows({**WINDOWS, f"{SITE}/bitsandbytes/{OURS}": content})
    assert ours.fault
    _, ours = on_macos({**MAC, f"{MAC_SITE}/bitsandbytes/libbitsandbytes_cpu.dylib": content})
    assert ours.fault


def test_without_torch_nothing_is_told() -> None:
    assert on_windows({}) == () == on_macos({})
