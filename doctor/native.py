"""Fact types of native code: what a loader will take, what the files hold, and what can be compiled here."""

from __future__ import annotations

from typing import Literal

from doctor.fact import Fact

# Where a loader finds a file, in the words of ld.so(8).
By = Literal[
    "preload",
    "already loaded",
    "rpath",
    "LD_LIBRARY_PATH",
    "runpath",
    "ld.so.cache",
    "default folder",
    "path",
    "not found",
]


class Dependency(Fact, frozen=True, kw_only=True):
    """One shared object that a library needs, and what the loader takes for it."""

    name: str  # as it is asked for: "libcudart.so.13"
    path: str = ""  # "" where nothing is found
    by: By
    asked_by: str  # file name of the object that asks
    # Why the file that is there cannot serve: "lacks version GLIBC_2.38", "is for aarch64", "is cut short".
    fault: str = ""
    shadowed: str = ""  # the file that would be taken without LD_LIBRARY_PATH, where it is another one


class NativeLibrary(Fact, frozen=True, kw_only=True):
    """One native library that a package loads, as its file and the loader's rules tell of it."""

    package: str  # "torch", "bitsandbytes", "flash-attn"
    path: str
    # Its own dependencies and theirs, in the order in which the loader maps them.
    dependencies: tuple[Dependency, ...] = ()
    fault: str = ""  # why it cannot be loaded by itself: "is cut short", "is no ELF file", "is for aarch64"
    glibc: str = ""  # the newest version of glibc that it and what comes with it ask for: "2.28"
    libstdcxx: str = ""  # likewise "3.4.30" of GLIBCXX
    # The GPU code inside: ("sm_80", "compute_90"), as torch.cuda.get_arch_list writes it. None: not read.
    architectures: tuple[str, ...] | None = None
    # Symbols that it asks of whoever has them and that nothing in the process offers, a few of them: it was
    # built for another torch. None: not looked for.
    undefined: tuple[str, ...] | None = None

    @property
    def missing(self) -> tuple[Dependency, ...]:
        """What it needs and the loader will not have."""
        return tuple(one for one in self.dependencies if not one.path or one.fault)


class LibraryChoice(Fact, frozen=True, kw_only=True):
    """The native library that bitsandbytes selects by its own rule, and why."""

    library: str  # file name: "libbitsandbytes_cuda130.so"; "" where it selects none
    because: str  # "torch is built for CUDA 13.0 and a GPU is seen"
    is_there: bool
    asked: str = ""  # the name it looks for first, where another one stands in
    error: str = ""  # what it raises instead, as for BNB_CUDA_VERSION=abc


class Linkage(Fact, frozen=True, kw_only=True):
    """What the loader will take, told before anything is loaded."""

    libraries: tuple[NativeLibrary, ...]
    choice: LibraryChoice | None = None  # None without bitsandbytes, or where its rule cannot be told

    def library_of(self, package: str) -> NativeLibrary | None:
        """The library of one package, None where it was not read."""
        return next((one for one in self.libraries if one.package == package), None)


class Compiling(Fact, frozen=True, kw_only=True):
    """What triton, torch.compile and extensions need at run time, and the limits that training meets."""

    compiler: str  # "/usr/bin/gcc"; "" where there is none that triton would take
    python_header: str  # the Python.h of the target; "" where it is not there
    libcuda_link: (
        str  # the libcuda that triton's linker finds by the name it is given; "" where it finds none
    )
    ptxas: str = ""  # the ptxas that triton takes
    ptxas_version: str = ""  # "12.8"
    triton: str = ""  # installed release
    cache_folder: str = ""  # of triton
    cache_fault: str = ""  # "not writable", "mounted noexec", "0.2 GiB free"
    cache_free_bytes: int | None = None
    hub_cache_folder: str = ""  # of Hugging Face models
    hub_cache_free_bytes: int | None = None
    shared_memory_free_bytes: int | None = None  # of /dev/shm
    memory_lock_bytes: int | None = None  # the limit of this process; None where there is none
    open_files: int | None = None  # likewise
    rdma_devices: tuple[str, ...] = ()  # network cards that memory is locked for: "mlx5_0"
