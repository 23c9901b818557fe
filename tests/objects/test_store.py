"""What was read is kept by the identity of its file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from elf_files import elf, fat_binary
from fakes import FakeHost

from doctor.host import LocalHost
from doctor.objects.store import KEPT, KEPT_ANSWERS, KEPT_FILES, Objects

FILE = "/lib/libone.so"


@pytest.fixture
def host() -> FakeHost:
    return FakeHost(blobs={FILE: elf(soname="libone.so", fatbin=fat_binary("sm_80"))})


def unread(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on no file may be opened."""
    monkeypatch.setattr(host, "open_binary", lambda path: pytest.fail(f"{path} was opened"))


def test_a_second_run_opens_nothing(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Objects(host)
    assert first.architectures(FILE, only_kept=True) is None
    assert first.architectures(FILE) == ("sm_80",)
    told = first.open(FILE)
    first.save()
    unread(host, monkeypatch)
    second = Objects(host)
    assert second.open(FILE) == told
    assert told and told.object and told.object.soname == "libone.so"
    assert second.architectures(FILE, only_kept=True) == ("sm_80",)
    host.kept.clear()
    second.save()
    assert host.kept == {}  # nothing was new


def test_a_changed_file_is_read_anew(host: FakeHost) -> None:
    first = Objects(host)
    first.open(FILE)
    first.save()
    host.blobs[FILE] = elf(soname="libother.so.2")
    opened = Objects(host).open(FILE)
    assert opened and opened.object and opened.object.soname == "libother.so.2"


def test_what_is_no_library_is_kept_as_that(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    host.blobs[FILE] = b"nothing of the kind"
    first = Objects(host)
    first.open(FILE)
    first.save()
    unread(host, monkeypatch)
    opened = Objects(host).open(FILE)
    assert opened and (opened.object, opened.fault) == (None, "is no ELF file")


@pytest.mark.parametrize("rubbish", [b"", b"\xc1", b"\x81\xa1a\x01", b"\x80\x80", b"{}", bytes(1000)])
def test_a_damaged_store_is_ignored(host: FakeHost, rubbish: bytes) -> None:
    host.kept[KEPT] = rubbish
    assert Objects(host).open(FILE)


def test_names_that_no_text_can_hold_are_read_again(host: FakeHost) -> None:
    strange = os.fsdecode(b"/lib/\xff.so")
    host.blobs[strange] = elf(soname=os.fsdecode(b"\xff.so"))
    first = Objects(host)
    assert first.open(strange) and first.open(FILE)
    first.save()
    assert b"libone.so" in host.kept[KEPT]
    assert Objects(host).open(strange)


def test_the_store_is_bounded(host: FakeHost) -> None:
    for number in range(KEPT_FILES + 50):
        host.blobs[f"/lib/{number}.so"] = b"text"
    first = Objects(host)
    for path in host.blobs:
        first.open(path)
    first.save()
    second = Objects(host)
    second.open(FILE)
    assert len(second._kept) <= KEPT_FILES


def test_answers_are_kept_and_bounded(host: FakeHost) -> None:
    first = Objects(host)
    assert first.answer(("one", 1), lambda: "absent") == "absent"
    for number in range(KEPT_ANSWERS + 5):
        first.answer(("many", number), lambda: "")
    first.save()
    second = Objects(host)
    assert second.answer(("many", KEPT_ANSWERS), lambda: pytest.fail("it was kept")) == ""
    assert second.answer(("one", 1), lambda: "new") == "new"  # what is oldest went


def test_a_home_without_room_costs_nothing(tmp_path: Path) -> None:
    host = LocalHost()
    host.env = {"XDG_CACHE_HOME": str(tmp_path / "file" / "below")}
    (tmp_path / "file").write_text("")
    library = tmp_path / "lib.so"
    library.write_bytes(elf(soname="lib.so"))
    objects = Objects(host)
    assert objects.open(str(library))
    objects.save()


def test_what_may_not_be_opened_is_not_there(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(host, "open_binary", refuse)
    objects = Objects(host)
    assert objects.open(FILE) is None
    assert objects.architectures(FILE) is None
    assert objects.open("/gone.so") is None
