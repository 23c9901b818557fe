"""What the place of an environment must offer."""

from __future__ import annotations

import pytest
from fakes import FakeHost

from doctor.host import Disk
from doctor.installing.outcome import NotMade, Stopped
from doctor.installing.room import GB, NEED_CPU, NEED_CUDA, NO_MORE, need_of, room_for


def machine(free_gb: float, temporary_gb: float | None = None, **disk: bool) -> FakeHost:
    free_bytes = int(free_gb * GB)
    temporary_bytes = free_bytes if temporary_gb is None else int(temporary_gb * GB)
    place = Disk(free_bytes, disk.get("writable", True), disk.get("executable", True))
    return FakeHost(disks={"/": place}, machine={"disk_free_bytes": temporary_bytes})


def refused(host: FakeHost, with_uv: bool = False, variant: str = "cpu") -> NotMade:
    with pytest.raises(Stopped) as stopped:
        room_for(host, "/env", need_of(variant), with_uv=with_uv)
    assert stopped.value.outcome.is_refusal
    return stopped.value.outcome


def test_a_cuda_build_needs_more_than_a_cpu_build_and_macos_as_much_as_that() -> None:
    assert need_of("cu126") == need_of("rocm6.4") == NEED_CUDA
    assert need_of("cpu") == need_of(None) == NEED_CPU


def test_little_room_is_said_with_both_numbers() -> None:
    assert "1.9 GB free" in refused(machine(1.9)).seen and "2.0 GB needed" in refused(machine(1.9)).seen
    assert "9.5 GB needed" in refused(machine(9.0), variant="cu128").seen


def test_scant_room_is_not_spent_on_pips_cache() -> None:
    assert room_for(machine(2.2), "/env", NEED_CPU, with_uv=False) == ("--no-cache-dir",)
    assert room_for(machine(2.5), "/env", NEED_CPU, with_uv=False) == ()
    assert room_for(machine(2.2), "/env", NEED_CPU, with_uv=True) == ()


def test_uv_unpacks_as_it_fetches() -> None:
    assert room_for(machine(1.7), "/env", NEED_CPU, with_uv=True) == ()
    assert "1.6 GB needed" in refused(machine(1.5), with_uv=True).seen


def test_a_small_temporary_folder_is_no_place_for_pip() -> None:
    found = refused(machine(50, temporary_gb=1), variant="cu128")
    assert "temporary" in found.why and "TMPDIR" in found.advice
    assert room_for(machine(50, temporary_gb=1), "/env", NEED_CUDA, with_uv=True) == ()


def test_what_was_begun_is_not_asked_for_room_again() -> None:
    assert room_for(machine(0.5), "/env", NO_MORE, with_uv=False) == ()


def test_places_where_nothing_may_be_written_or_run() -> None:
    assert "may not write" in refused(machine(50, writable=False)).why
    assert "noexec" in refused(machine(50, executable=False)).why


def test_a_system_that_does_not_tell_of_its_disks_is_believed() -> None:
    host = FakeHost()
    host.disk = lambda folder: None  # type: ignore[method-assign]
    assert room_for(host, "/env", NEED_CUDA, with_uv=False) == ()
