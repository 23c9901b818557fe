"""What the loader will take: the healthy machine, and machines on which it cannot be told."""

from __future__ import annotations

import sys
from typing import Any

import healthy
import native_files
import pytest
from elf_files import elf
from fakes import FakeHost, emits
from healthy import PYTHON, SITE, survey
from native_files import BLOBS, LINKAGE, OURS, RUNTIME

from doctor.facts import Gap, Linkage
from doctor.native import Dependency
from doctor.probes import Looks, linkage

STEM = f"{SITE}/bitsandbytes"


def told(host: FakeHost, quick: bool = False) -> Linkage | Gap:
    looks = Looks(host, healthy.TARGET)
    looks.quick = quick
    return linkage.probe(looks)


def with_blobs(**hosted: Any) -> FakeHost:
    """The healthy machine with other native files; None takes one away."""
    changed = hosted.pop("blobs", {})
    blobs = {path: content for path, content in {**BLOBS, **changed}.items() if content is not None}
    return healthy.host(blobs=blobs, **hosted)


def library(found: Linkage | Gap, package: str) -> Any:
    assert isinstance(found, Linkage)
    return found.library_of(package)


def test_the_healthy_machine() -> None:
    assert told(healthy.host()) == LINKAGE


def test_packages_in_a_folder_that_no_installer_knows() -> None:
    """As ``pip install --target`` fills one, for PYTHONPATH or a .pth file to name it."""
    found = survey(interpreter={"site_folders": ["/env/empty"]}, packages={"folders": ["/env/empty", SITE]})
    assert told(healthy.host(survey=emits(*found))) == LINKAGE


def test_a_quick_look_reads_no_gpu_code_unless_it_is_kept() -> None:
    host = healthy.host()
    quick = told(host, quick=True)
    assert library(quick, "torch").architectures is None
    assert library(quick, "torch").dependencies == LINKAGE.libraries[0].dependencies
    told(host)
    assert told(host, quick=True) == LINKAGE


def test_a_warm_look_imports_no_reader_of_elf(monkeypatch: pytest.MonkeyPatch) -> None:
    host = healthy.host()
    told(host)
    for name in [name for name in sys.modules if name.startswith(("elftools", "doctor.objects.elf"))]:
        monkeypatch.delitem(sys.modules, name)
    assert told(host) == LINKAGE
    assert not [name for name in sys.modules if name.startswith("elftools")]


def test_a_library_that_is_not_there() -> None:
    found = told(with_blobs(blobs={f"{native_files.CUDA}/libcublasLt.so.13": None}))
    (missing,) = library(found, "torch").missing
    assert missing == Dependency(name="libcublasLt.so.13", by="not found", asked_by="libtorch_cuda.so")
    assert library(found, "bitsandbytes").missing  # it needs the same


def test_a_library_of_another_release() -> None:
    old = elf(soname="libstdc++.so.6", needed=("libc.so.6",), defines=("GLIBCXX_3.4",))
    found = told(with_blobs(blobs={f"{native_files.SYSTEM}/libstdc++.so.6": old}))
    (missing,) = library(found, "torch").missing
    assert (missing.fault, missing.asked_by) == ("lacks version GLIBCXX_3.4.22", "libtorch_python.so")


def test_what_bitsandbytes_selects_is_not_there() -> None:
    found = told(with_blobs(env={"BNB_CUDA_VERSION": "118", "PATH": "/usr/bin"}))
    assert isinstance(found, Linkage) and found.choice
    assert (found.choice.library, found.choice.is_there) == ("libbitsandbytes_cuda118.so", False)
    assert found.library_of("bitsandbytes") is None


def test_the_file_of_bitsandbytes_is_none() -> None:
    found = told(with_blobs(blobs={f"{STEM}/{OURS}": b""}))
    assert library(found, "bitsandbytes").fault == "is empty"


def test_further_packages_find_mapped_what_torch_brought() -> None:
    path = f"{SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so"
    found = told(with_blobs(blobs={path: elf(needed=(RUNTIME, "libtorch_cuda.so"))}))
    ours = library(found, "flash-attn")
    assert ours.path == path
    assert [one.by for one in ours.dependencies] == ["already loaded", "already loaded"]
    assert ours.undefined is None  # these files have no table of symbols


def test_a_broken_store_and_a_home_without_room() -> None:
    host = healthy.host()
    host.kept["objects-1.msgpack"] = b"\xc1 rubbish"
    assert told(host) == LINKAGE


@pytest.mark.parametrize(
    ("hosted", "kind", "words"),
    [
        ({"survey": emits(*survey(builds={"torch": None}))}, "not-applicable", "torch is not installed"),
        ({"survey": emits(*survey(interpreter=None))}, "failed", ""),
        ({"blobs": {}}, "failed", "interpreter cannot be read"),
        ({"blobs": {PYTHON: b"#!/bin/sh"}}, "failed", "interpreter cannot be read"),
    ],
)
def test_where_nothing_can_be_told(hosted: dict[str, Any], kind: str, words: str) -> None:
    found = told(healthy.host(**hosted))
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == ("linkage", kind)
    assert words in found.reason


def test_musl_is_not_told() -> None:
    """Its loader has other folders, no cache and no versions."""
    musl = elf(needed=("libc.musl-x86_64.so.1",), interpreter="/lib/ld-musl-x86_64.so.1")
    found = told(with_blobs(blobs={PYTHON: musl}))
    assert isinstance(found, Gap) and "musl" in found.reason


def test_a_torch_that_is_there_and_empty() -> None:
    found = told(with_blobs(blobs={native_files.TORCH: None}))
    assert library(found, "torch").fault == "is not there"
