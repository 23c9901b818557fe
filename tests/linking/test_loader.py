"""The model of glibc's loader, held case by case against what a real process maps."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.linking.undefined import undefined
from doctor.objects.elf import VER_FLG_WEAK
from doctor.objects.store import Objects

from .workshop import Workshop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this is the loader of Linux")

ONE = "int one(void) { return 1; }\n"
ASKS = "int one(void); int asks(void) { return one(); }\n"
NODE = "LIBONE_1 { global: one; };\n"
NEWER_NODES = "LIBONE_1 { global: one; };\nLIBONE_2 { global: two; } LIBONE_1;\n"
AARCH64 = 183


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def patched(path: str, offset: int, value: int) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(bytes([value]))


def elf_hash(name: str) -> int:
    """The hash of the System V ABI."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high
    return value


def cut(path: str, size: int) -> None:
    os.truncate(path, size)


def test_rpath_comes_before_the_variable(shop: Workshop) -> None:
    for folder in ("own", "other"):
        shop.library(f"{folder}/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], rpath="$ORIGIN/own", source=ASKS)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "other")})
    assert (told.needs["libone.so"].by, told.needs["libone.so"].shadowed) == ("rpath", "")


def test_the_variable_comes_before_runpath(shop: Workshop) -> None:
    for folder in ("own", "other"):
        shop.library(f"{folder}/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], runpath="${ORIGIN}/own", source=ASKS)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "other")})
    need = told.needs["libone.so"]
    assert (need.by, need.path) == ("LD_LIBRARY_PATH", str(shop.folder / "other/libone.so"))
    assert need.shadowed == str(shop.folder / "own/libone.so")
    (told,) = shop.agree(root)
    assert told.needs["libone.so"].by == "runpath"


def test_an_rpath_serves_what_its_library_needs_and_runpath_does_not(shop: Workshop) -> None:
    shop.library("deep/libone.so", source=ONE)
    shop.library("libmiddle.so", links=["deep/libone.so"], source=ASKS)
    inherits = shop.library("inherits.so", links=["libmiddle.so"], rpath="$ORIGIN:$ORIGIN/deep")
    (told,) = shop.agree(inherits)
    assert told.needs["libone.so"].by == "rpath"
    lacks = shop.library("lacks.so", links=["libmiddle.so"], runpath="$ORIGIN:$ORIGIN/deep")
    (told,) = shop.agree(lacks)
    assert told.needs["libone.so"].by == "not found" and told.fails


def test_an_object_with_runpath_inherits_no_rpath(shop: Workshop) -> None:
    shop.library("deep/libone.so", source=ONE)
    shop.library("libmiddle.so", links=["deep/libone.so"], runpath="/nowhere", source=ASKS)
    root = shop.library("root.so", links=["libmiddle.so"], rpath="$ORIGIN:$ORIGIN/deep")
    (told,) = shop.agree(root)
    assert told.fails


def test_what_is_mapped_serves_by_its_soname(shop: Workshop) -> None:
    first = shop.library("first/libone-1.2.so", soname="libone.so", source=ONE)
    shop.library("second/libone.so", source=ONE)
    root = shop.library("root.so", links=["second/libone.so"], rpath="$ORIGIN/second", source=ASKS)
    _, told = shop.agree(first, root)
    assert (told.needs["libone.so"].by, told.needs["libone.so"].path) == ("already loaded", first)


def test_what_is_mapped_serves_by_the_name_it_was_asked_for(shop: Workshop) -> None:
    shop.library("libone.so", soname="libone.so", source=ONE)
    shop.library("libother.so", soname="libother.so", source=ONE)
    first = shop.library("first.so", links=["libone.so"], rpath="$ORIGIN", source=ASKS)
    second = shop.library("second.so", links=["libone.so"], source=ASKS)
    (shop.folder / "libone.so").unlink()
    os.symlink("libother.so", shop.folder / "libone.so")
    _, told = shop.agree(first, second)
    assert told.needs["libone.so"].by == "already loaded"


def test_one_file_under_two_names_is_mapped_once(shop: Workshop) -> None:
    shop.library("libone.so", source=ONE)
    shop.library("libtwin.so", source=ONE)
    root = shop.library("root.so", links=["libone.so", "libtwin.so"], rpath="$ORIGIN", source=ASKS)
    (shop.folder / "libtwin.so").unlink()
    os.link(shop.folder / "libone.so", shop.folder / "libtwin.so")
    (told,) = shop.agree(root)
    assert not told.fails


def test_libraries_that_need_each_other(shop: Workshop) -> None:
    shop.library("libone.so", source=ONE)
    shop.library("libtwo.so", links=["libone.so"], rpath="$ORIGIN", source="int two(void) { return 2; }\n")
    shop.library("libone.so", links=["libtwo.so"], rpath="$ORIGIN", source=ONE)
    root = shop.library("root.so", links=["libone.so"], rpath="$ORIGIN", source=ASKS)
    (told,) = shop.agree(root)
    assert {"libone.so", "libtwo.so"} <= set(told.needs)


def test_origin_is_the_folder_of_the_link_and_not_of_its_file(shop: Workshop) -> None:
    shop.library("beside_link/libone.so", source=ONE)
    shop.library("beside_file/libone.so", source=ONE)
    file = shop.library("beside_file/root.so", links=["beside_file/libone.so"], rpath="$ORIGIN", source=ASKS)
    link = str(shop.folder / "beside_link/root.so")
    os.symlink(file, link)
    (told,) = shop.agree(link)
    assert told.needs["libone.so"].path == str(shop.folder / "beside_link/libone.so")


def test_a_link_that_leads_nowhere_is_passed_over(shop: Workshop) -> None:
    shop.library("own/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], runpath="$ORIGIN/own", source=ASKS)
    (shop.folder / "other").mkdir()
    os.symlink("gone.so", shop.folder / "other/libone.so")
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "other")})
    assert told.needs["libone.so"].by == "runpath"


@pytest.mark.parametrize(("offset", "value", "fault"), [(18, AARCH64, "is for aarch64"), (4, 1, "")])
def test_what_is_for_another_machine_is_passed_over(
    shop: Workshop, offset: int, value: int, fault: str
) -> None:
    shop.library("own/libone.so", source=ONE)
    patched(shop.library("other/libone.so", source=ONE), offset, value)
    root = shop.library("root.so", links=["own/libone.so"], runpath="$ORIGIN/own", source=ASKS)
    env = {"LD_LIBRARY_PATH": str(shop.folder / "other")}
    (told,) = shop.agree(root, env=env)
    assert (told.needs["libone.so"].by, told.needs["libone.so"].shadowed) == ("runpath", "")
    (shop.folder / "own/libone.so").unlink()
    (told,) = shop.agree(root, env=env)
    need = told.needs["libone.so"]
    assert need.by == "not found" and fault in need.fault


def test_a_root_for_another_machine(shop: Workshop) -> None:
    root = shop.library("root.so")
    patched(root, 18, AARCH64)
    (told,) = shop.agree(root)
    assert told.fault == "is for aarch64"


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"", "is empty"), (b"GROUP ( libone.so.1 )\n" * 9, "is no ELF file"), (b"\x7fELF\x02", "is cut short")],
)
def test_at_what_is_no_library_the_loader_gives_up(shop: Workshop, content: bytes, fault: str) -> None:
    shop.library("own/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], runpath="$ORIGIN/own", source=ASKS)
    (shop.folder / "other").mkdir()
    (shop.folder / "other/libone.so").write_bytes(content)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "other")})
    assert told.needs["libone.so"].fault == fault
    (told,) = shop.agree(str(shop.folder / "other/libone.so"))
    assert told.fault == fault


def test_a_folder_with_the_name_of_a_library(shop: Workshop) -> None:
    shop.library("own/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], runpath="$ORIGIN/own", source=ASKS)
    (shop.folder / "other/libone.so").mkdir(parents=True)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "other")})
    assert told.needs["libone.so"].fault == "is no regular file"


BULKY = "char bulk[200000] = {1}; int one(void) { return bulk[7]; }\n"


@pytest.mark.parametrize("size", [64, 600, 1000, 5000, 30000])
def test_what_is_cut_short_kills(shop: Workshop, size: int) -> None:
    cut(shop.library("libone.so", source=BULKY), size)
    (told,) = shop.agree(str(shop.folder / "libone.so"))
    assert told.fault == "is cut short"
    shop.library("libone.so", source=BULKY)
    root = shop.library("root.so", links=["libone.so"], rpath="$ORIGIN", source=ASKS)
    cut(str(shop.folder / "libone.so"), size)
    (told,) = shop.agree(root)
    assert told.needs["libone.so"].fault == "is cut short"


def test_a_missing_section_table_harms_nobody(shop: Workshop) -> None:
    root = shop.library("root.so", source=BULKY)
    with open(root, "rb") as file:
        sections = int.from_bytes(file.read(48)[40:], "little")
    cut(root, sections)
    (told,) = shop.agree(root)
    assert not told.fails


def test_a_version_that_is_not_defined(shop: Workshop) -> None:
    two = ONE + "int two(void) { return 2; }\n"
    shop.library("new/libone.so", source=two, versions=NEWER_NODES)
    shop.library("old/libone.so", source=ONE, versions=NODE)
    asks = "int two(void); int asks(void) { return two(); }\n"
    root = shop.library("root.so", links=["new/libone.so"], runpath="$ORIGIN/new", source=asks)
    (told,) = shop.agree(root)
    assert not told.fails
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "old")})
    assert told.needs["libone.so"].fault == "lacks version LIBONE_2"


def test_versions_are_asked_of_what_is_mapped_already(shop: Workshop) -> None:
    two = ONE + "int two(void) { return 2; }\n"
    shop.library("new/libone.so", source=two, versions=NEWER_NODES)
    old = shop.library("old/libone.so", source=ONE, versions=NODE)
    asks = "int two(void); int asks(void) { return two(); }\n"
    root = shop.library("root.so", links=["new/libone.so"], rpath="$ORIGIN/new", source=asks)
    _, told = shop.agree(old, root)
    need = told.needs["libone.so"]
    assert (need.by, need.fault) == ("already loaded", "lacks version LIBONE_2")


def test_a_weak_version_may_be_absent(shop: Workshop) -> None:
    two = ONE + "int two(void) { return 2; }\n"
    shop.library("new/libone.so", source=two, versions=NEWER_NODES)
    shop.library("old/libone.so", source=ONE, versions=NODE)
    asks = "__attribute__((weak)) int two(void); int asks(void) { return two ? two() : 0; }\n"
    root = shop.library("root.so", links=["new/libone.so"], runpath="$ORIGIN/new", source=asks)
    content = Path(root).read_bytes()
    asked = struct.pack("<IH", elf_hash("LIBONE_2"), 0)  # what newer linkers mark as weak themselves
    assert content.count(asked) == 1
    Path(root).write_bytes(content.replace(asked, struct.pack("<IH", elf_hash("LIBONE_2"), VER_FLG_WEAK)))
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "old")})
    assert not told.fails


def test_a_library_without_any_version_ends_the_loader(shop: Workshop) -> None:
    """As a foreign libcudart without version nodes does: "Inconsistency detected by ld.so"."""
    shop.library("own/libone.so", source=ONE, versions=NODE)
    shop.library("bare/libone.so", source=ONE, options=["-nostdlib"])
    root = shop.library("root.so", links=["own/libone.so"], runpath="$ORIGIN/own", source=ASKS)
    env = {"LD_LIBRARY_PATH": str(shop.folder / "bare")}
    (told,) = shop.agree(root, env=env)
    assert told.needs["libone.so"].fault == "lacks version LIBONE_1"
    assert "Inconsistency detected by ld.so" in shop.real(root, env=env)[0].error


def test_a_library_that_only_asks_for_versions_is_taken_if_it_has_the_symbols(shop: Workshop) -> None:
    shop.library("own/libone.so", source=ONE, versions=NODE)
    shop.library("plain/libone.so", source=ONE)
    shop.library("stranger/libone.so")
    root = shop.library("root.so", links=["own/libone.so"], runpath="$ORIGIN/own", source=ASKS)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "plain")})
    assert not told.fails
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "stranger")})
    assert told.needs["libone.so"].fault == "lacks symbol one"


def test_an_older_library_under_the_one_version_of_its_name(shop: Workshop) -> None:
    """As nvJitLink: each release defines the version libnvJitLink.so.12, and newer ones more symbols."""
    versions = "libone.so { global: *; };\n"
    shop.library("new/libone.so", source=ONE, versions=versions)
    shop.library("old/libone.so", source="int older(void) { return 0; }\n", versions=versions)
    root = shop.library("root.so", links=["new/libone.so"], runpath="$ORIGIN/new", source=ASKS)
    (told,) = shop.agree(root)
    assert not told.fails
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "old")})
    assert told.needs["libone.so"].fault == "lacks symbol one"


@pytest.mark.parametrize("hashes", ["gnu", "sysv", "both"])
def test_a_symbol_that_no_version_tells_of(shop: Workshop, hashes: str) -> None:
    """As NCCL, which has no versions."""
    style = [f"-Wl,--hash-style={hashes}"]
    shop.library("new/libone.so", source=ONE, options=style)
    shop.library("old/libone.so", options=style)
    root = shop.library("root.so", links=["new/libone.so"], runpath="$ORIGIN/new", source=ASKS, options=style)
    (told,) = shop.agree(root)
    assert not told.fails
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "old")})
    assert told.needs["libone.so"].fault == "lacks symbol one"


def test_a_symbol_that_another_library_offers_is_not_absent(shop: Workshop) -> None:
    shop.library("own/libone.so", source=ONE)
    shop.library("other/libone.so")
    shop.library("own/libtwo.so", source=ONE)
    links = ["own/libone.so", "own/libtwo.so"]
    root = shop.library("root.so", links=links, runpath="$ORIGIN/own", source=ASKS)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": str(shop.folder / "other")})
    assert not told.fails


def test_symbols_are_read_once_and_anew_where_a_file_changed(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.library("own/libone.so", source=ONE)
    shop.library("other/libone.so")
    root = shop.library("root.so", links=["own/libone.so"], runpath="$ORIGIN/own", source=ASKS)
    env = {"LD_LIBRARY_PATH": str(shop.folder / "other")}
    read: list[str] = []
    monkeypatch.setattr(Objects, "symbols", counted(Objects.symbols, read))
    assert shop.told(root, env=env)[0].fails and read
    read.clear()
    assert shop.told(root, env=env)[0].fails and not read
    shop.library("other/libone.so", source=ONE)
    assert not shop.told(root, env=env)[0].fails and read


def counted(work: Callable[..., Any], calls: list[str]) -> Callable[..., Any]:
    def call(self: Any, path: str) -> Any:
        calls.append(path)
        return work(self, path)

    return call


def test_what_nothing_offers_ends_the_opening(shop: Workshop) -> None:
    shop.library("libone.so", source=ONE)
    calls = (
        "int one(void); int ghost(void); int asks(void) { return one() + ghost() + Py_IsInitialized(); }\n"
    )
    source = f"int Py_IsInitialized(void);\n{calls}"
    root = shop.library("root.so", links=["libone.so"], rpath="$ORIGIN", source=source)
    process = shop.process()
    process.open(root)
    assert undefined(process, root, only_kept=True) is None
    assert undefined(process, root) == ("ghost",)
    assert undefined(process, root, only_kept=True) == ("ghost",)
    (seen,) = shop.real(root)
    assert "undefined symbol: ghost" in seen.error
    shop.library("libone.so", source=ONE + "int ghost(void) { return 2; }\n")
    process = shop.process()
    assert not process.open(root).fails
    assert undefined(process, root) == ()
    shop.agree(root)


def test_ld_preload(shop: Workshop) -> None:
    shop.library("own/libone.so", source=ONE)
    shop.library("other/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], rpath="$ORIGIN/own", source=ASKS)
    preload = f"{shop.folder}/other/libone.so:/gone/libtwo.so libnot-there.so"
    (told,) = shop.agree(root, env={"LD_PRELOAD": preload})
    need = told.needs["libone.so"]
    assert (need.by, need.path) == ("preload", str(shop.folder / "other/libone.so"))
    assert need.shadowed == str(shop.folder / "own/libone.so")


def test_a_name_with_a_slash_is_a_path(shop: Workshop) -> None:
    named = str(shop.folder / "apart/libone.so")
    shop.library("apart/libone.so", soname=named, source=ONE)
    root = shop.library("root.so", links=["apart/libone.so"], source=ASKS)
    (told,) = shop.agree(root)
    assert told.needs[named].by == "path"


def test_an_empty_part_of_the_variable_is_the_working_folder(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.folder)
    shop.library("libone.so", source=ONE)
    root = shop.library("deep/root.so", links=["libone.so"], source=ASKS)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": "/nowhere:"})
    assert told.needs["libone.so"].by == "LD_LIBRARY_PATH"
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": ""})
    assert told.fails


@pytest.mark.parametrize("runpath", [":/nowhere", "/nowhere:", "/nowhere::/gone"])
def test_an_empty_part_of_runpath_is_the_working_folder(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, runpath: str
) -> None:
    monkeypatch.chdir(shop.folder)
    shop.library("libone.so", source=ONE)
    root = shop.library("deep/root.so", links=["libone.so"], runpath=runpath, source=ASKS)
    (told,) = shop.agree(root)
    assert told.needs["libone.so"].by == "runpath"


def test_parts_of_the_variable_may_be_divided_by_semicolons(shop: Workshop) -> None:
    shop.library("own/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], source=ASKS)
    (told,) = shop.agree(root, env={"LD_LIBRARY_PATH": f"/nowhere;{shop.folder}/own"})
    assert not told.fails


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v9"])
def test_variants_for_newer_processors(shop: Workshop, level: str) -> None:
    shop.library("own/libone.so", source=ONE)
    shop.library(f"own/glibc-hwcaps/{level}/libone.so", source=ONE)
    root = shop.library("root.so", links=["own/libone.so"], rpath="$ORIGIN/own", source=ASKS)
    (told,) = shop.agree(root)
    assert not told.fails


def test_names_that_are_no_utf8(shop: Workshop) -> None:
    name = os.fsdecode(b"lib\xff\xfe.so")
    shop.library(f"d\N{SNOWMAN}/{name}", soname=name, source=ONE)
    root = shop.library("root.so", links=[f"d\N{SNOWMAN}/{name}"], rpath="$ORIGIN/d\N{SNOWMAN}", source=ASKS)
    (told,) = shop.agree(root)
    assert told.needs[name].by == "rpath"
    (shop.folder / f"d\N{SNOWMAN}/{name}").unlink()
    (told,) = shop.agree(root)
    assert told.needs[name].by == "not found"


def test_an_object_may_refuse_the_systems_folders(shop: Workshop) -> None:
    root = shop.library("root.so", options=["-lz", "-Wl,-z,nodefaultlib", "-nodefaultlibs"])
    (told,) = shop.told(root)
    assert told.needs["libz.so.1"].by in ("not found", "already loaded")
    shop.agree(root)


OPENER = """
#include <dlfcn.h>
#include <stdio.h>
int opens(const char *path) {
    void *handle = dlopen(path, RTLD_NOW);
    puts(handle ? "" : dlerror());
    return !handle;
}
"""
MAIN = "int opens(const char *); int main(int n, char **paths) { return opens(paths[1]); }\n"


def program(shop: Workshop, *options: str) -> str:
    """A program that opens a file by a library of its own, as Python does by libpython."""
    code = shop.folder / "main.c"
    code.write_text(MAIN)
    made = str(shop.folder / "bin/main")
    Path(made).parent.mkdir(exist_ok=True)
    shop.library("libopener.so", source=OPENER)
    linked = [str(shop.folder / "libopener.so"), "-Wl,-rpath,$ORIGIN/..", *options]
    subprocess.run(["gcc", "-o", made, str(code), *linked], check=True, capture_output=True)
    return made


@pytest.mark.parametrize(("tags", "is_found"), [("disable", True), ("enable", False)])
def test_the_rpath_of_the_program_serves_all_that_it_opens(shop: Workshop, tags: str, is_found: bool) -> None:
    """As conda's python has it, so that its libstdc++ is everybody's."""
    shop.library("lib/libone.so", source=ONE)
    root = shop.library("root.so", links=["lib/libone.so"], source=ASKS)
    made = program(shop, f"-Wl,--{tags}-new-dtags,-rpath,$ORIGIN/../lib")
    link = str(shop.folder / "python")
    os.symlink(made, link)  # as in a venv
    (told,) = shop.told(root, python=link)
    done = subprocess.run([link, root], capture_output=True, text=True, check=False)
    assert (told.fails, not told.fails) == (done.returncode == 1, is_found), done.stdout


def test_the_rpath_of_who_opens_does_not_serve(shop: Workshop) -> None:
    shop.library("lib/libone.so", source=ONE)
    root = shop.library("root.so", links=["lib/libone.so"], source=ASKS)
    made = program(shop)
    shop.library("libopener.so", source=OPENER, rpath="$ORIGIN/lib")
    (told,) = shop.told(root, python=made)
    done = subprocess.run([made, root], capture_output=True, text=True, check=False)
    assert told.fails and done.returncode == 1, done.stdout


def test_a_file_that_is_not_there(shop: Workshop) -> None:
    (told,) = shop.agree(str(shop.folder / "gone.so"))
    assert told.fault == "is not there"


def test_all_that_is_missing_is_told_at_once(shop: Workshop) -> None:
    shop.library("libone.so", source=ONE)
    shop.library("libtwo.so")
    root = shop.library("root.so", links=["libone.so", "libtwo.so"], source=ASKS)
    (told,) = shop.agree(root)
    assert [name for name, need in told.needs.items() if need.fails] == ["libone.so", "libtwo.so"]
