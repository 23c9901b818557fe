"""Messages as torch has worded them over the years, each with its numbers read off by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory import out_of_memory
from doctor.memory.out_of_memory import OutOfMemory, read

GIB, MIB = 1 << 30, 1 << 20


def test_torch_1_0() -> None:
    assert read(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 11.00 GiB total capacity; 8.00 "
        "GiB already allocated; 1.50 GiB free; 512.00 MiB cached)"
    ) == OutOfMemory(
        kind="device", asked_bytes=2 * GIB, device=0, total_bytes=11 * GIB, free_bytes=3 * GIB // 2,
        allocated_bytes=8 * GIB, reserved_bytes=512 * MIB,
    )  # fmt: skip


def test_torch_1_10() -> None:
    told = read(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 3; 23.50 GiB "
        "total capacity; 20.50 GiB already allocated; 23.00 MiB free; 22.00 GiB reserved in total by "
        "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
        "fragmentation."
    )
    assert told == OutOfMemory(
        kind="device", asked_bytes=20 * MIB, device=3, total_bytes=47 * GIB // 2, free_bytes=23 * MIB,
        allocated_bytes=41 * GIB // 2, reserved_bytes=22 * GIB,
    )  # fmt: skip
    assert told is not None and told.pieces_bytes == 3 * GIB // 2


def test_torch_2_1_which_misspells_it() -> None:
    told = read(
        "CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacty of 14.75 GiB of which "
        "11.00 MiB is free. Process 3258 has 14.50 GiB memory in use. Of the allocated memory 14.00 GiB is "
        "allocated by PyTorch, and 256.00 MiB is reserved by PyTorch but unallocated. If reserved but "
        "unallocated memory is large"
    )
    assert told == OutOfMemory(
        kind="device", asked_bytes=224 * MIB, device=0, total_bytes=59 * GIB // 4, free_bytes=11 * MIB,
        allocated_bytes=14 * GIB, reserved_bytes=14 * GIB + 256 * MIB,
    )  # fmt: skip
    assert told is not None and told.pieces_bytes == 256 * MIB


def test_torch_2_6_with_graphs_and_another_process() -> None:
    told = read(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 1 has a total capacity "
        "of 48.00 GiB of which 1.00 GiB is free. Process 4711 has 2.00 GiB memory in use. Including "
        "non-PyTorch memory, this process has 45.00 GiB memory in use. 40.00 GiB allowed; Of the allocated "
        "memory 40.00 GiB is allocated by PyTorch, with 12.00 GiB allocated in private pools (e.g., CUDA "
        "Graphs), and 4.00 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
        "large try setting"
    )
    assert told == OutOfMemory(
        kind="device", asked_bytes=3 * GIB // 2, device=1, total_bytes=48 * GIB, free_bytes=GIB,
        allocated_bytes=40 * GIB, reserved_bytes=44 * GIB, private_bytes=12 * GIB, allowed_bytes=40 * GIB,
        held_bytes=45 * GIB, holders={4711: 2 * GIB},
    )  # fmt: skip


def test_cuda_malloc_async() -> None:
    assert read(
        "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
        "Currently allocated     : 12.50 GiB\nRequested               : 50.00 MiB\n"
        "Device limit            : 16.00 GiB\nFree (according to CUDA): 0 bytes\n"
        "PyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB"
    ) == OutOfMemory(
        kind="device", asked_bytes=50 * MIB, total_bytes=16 * GIB, free_bytes=0, allocated_bytes=25 * GIB // 2
    )  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "asked"), [
    ("HIP out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.98 GiB total capacity)", "device", 2 * GIB),
    ("XPU out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 15.00 GiB of which 1.00 "
     "MiB is free. Of the allocated memory 1.00 GiB is allocated by PyTorch", "device", GIB),
    ("RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 2.00 GB, max "
     "allowed: 6.50 GB). Tried to allocate 1024.00 MB on private pool.", "mps", GIB),
    ("[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
     "allocate 2359296 bytes. Error code 12 (Cannot allocate memory)", "cpu", 2359296),
    ("DefaultCPUAllocator: not enough memory: you tried to allocate 4096 bytes.", "cpu", 4096),
    ("numpy.MemoryError: Unable to allocate 3.00 GiB for an array with shape (3,)", "cpu", 3 * GIB),
    ("RuntimeError: CUDA error: out of memory", "driver", None),
    ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "driver", None),
])  # fmt: skip
def test_other_allocators(text: str, kind: str, asked: int | None) -> None:
    told = read(text)
    assert told is not None
    assert (told.kind, told.asked_bytes) == (kind, asked)


def test_the_last_of_several_counts_and_lines_may_break_anywhere() -> None:
    first = "CUDA out of memory. Tried to allocate 1.00 GiB.\n"
    told = read(
        first
        + "retrying\nCUDA out of memory. Tried to\nallocate  3.00 GiB. GPU 0 has a total\n capacity of 8 GiB"
    )
    assert told is not None and told.asked_bytes == 3 * GIB


@pytest.mark.parametrize(
    "text", ["", "ValueError: out of range", "loss is out of this world", "memory is fine"]
)
def test_what_is_about_something_else(text: str) -> None:
    assert read(text) is None
    assert out_of_memory.excerpt(text) == ""


def test_a_message_is_cut_out_of_what_surrounds_it() -> None:
    words = out_of_memory.excerpt(
        "my secret path\n" * 99 + "CUDA out of memory. Tried to allocate 1.00 GiB.\nbye"
    )
    assert words == "CUDA out of memory. Tried to allocate 1.00 GiB. bye"


@given(st.text(max_size=400))
def test_no_text_breaks_it(text: str) -> None:
    read(text)
    told = read("CUDA out of memory. " + text)
    assert told is not None and told.kind == "device"
