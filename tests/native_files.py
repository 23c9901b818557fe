"""The native files of the healthy machine, and what its loader makes of them."""

from __future__ import annotations

from elf_files import elf, fat_binary

from doctor.native import Dependency, LibraryChoice, Linkage, NativeLibrary

SITE = "/env/lib/python3.11/site-packages"
SYSTEM = "/usr/lib/x86_64-linux-gnu"
CUDA = f"{SITE}/nvidia/cu13/lib"
TORCH = f"{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so"
TORCH_CODE = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")
OURS = "libbitsandbytes_cuda130.so"
OUR_CODE = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "compute_120")
RPATH = "$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"
RUNTIME = "libcudart.so.13"

# torch/__init__.py as far as it opens libraries itself.
TORCH_SOURCE = """\
def _preload_cuda_lib(lib_folder: str, lib_name: str, required: bool = True) -> None:
    ctypes.CDLL(lib_path)

def _preload_cuda_deps(err=None) -> None:
    cuda_libs: list[tuple[str, str]] = [
        ("cublas", "libcublasLt.so.*[0-9]"),
        ("cuda_runtime", "libcudart.so.*[0-9]"),
    ]

def _load_global_deps() -> None:
    try:
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)
        if "libcudart.so" not in _maps:
            return
        _preload_cuda_deps()
    except OSError as err:
        _preload_cuda_deps(err)
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)

if (USE_RTLD_GLOBAL_WITH_LIBTORCH or os.getenv("TORCH_USE_RTLD_GLOBAL")) and (
"""
FILES = {f"{SITE}/torch/__init__.py": TORCH_SOURCE, f"{SITE}/bitsandbytes/__init__.py": ""}
BLOBS = {
    "/env/bin/python": elf(needed=("libc.so.6",)),
    f"{SYSTEM}/libc.so.6": elf(soname="libc.so.6", defines=("GLIBC_2.2.5", "GLIBC_2.28", "GLIBC_2.36")),
    f"{SYSTEM}/libstdc++.so.6": elf(
        soname="libstdc++.so.6", needed=("libc.so.6",), defines=("GLIBCXX_3.4", "GLIBCXX_3.4.22")
    ),
    f"{CUDA}/{RUNTIME}": elf(soname=RUNTIME, defines=(RUNTIME,)),
    f"{CUDA}/libcublasLt.so.13": elf(
        soname="libcublasLt.so.13", needed=("libc.so.6",), defines=("libcublasLt.so.13",)
    ),
    TORCH: elf(needed=("libtorch_python.so", "libc.so.6"), rpath=f"{RPATH}:$ORIGIN/lib"),
    f"{SITE}/torch/lib/libtorch_global_deps.so": elf(needed=(RUNTIME, "libc.so.6"), rpath=RPATH),
    f"{SITE}/torch/lib/libtorch_python.so": elf(
        soname="libtorch_python.so",
        needed=("libtorch_cuda.so", "libstdc++.so.6", "libc.so.6"),
        rpath=RPATH,
        needs={"libc.so.6": ("GLIBC_2.2.5", "GLIBC_2.28"), "libstdc++.so.6": ("GLIBCXX_3.4.22",)},
    ),
    f"{SITE}/torch/lib/libtorch_cuda.so": elf(
        soname="libtorch_cuda.so",
        needed=(RUNTIME, "libcublasLt.so.13"),
        rpath=RPATH,
        needs={RUNTIME: (RUNTIME,), "libcublasLt.so.13": ("libcublasLt.so.13",)},
        fatbin=fat_binary(*TORCH_CODE),
    ),
    f"{SITE}/bitsandbytes/{OURS}": elf(
        soname=OURS,
        needed=(RUNTIME, "libcublasLt.so.13", "libstdc++.so.6", "libc.so.6"),
        runpath="/usr/local/cuda-13.0/targets/x86_64-linux/lib",
        needs={RUNTIME: (RUNTIME,), "libc.so.6": ("GLIBC_2.2.5",)},
        fatbin=fat_binary(*OUR_CODE),
    ),
}


def met(name: str, path: str) -> Dependency:
    """What bitsandbytes finds mapped."""
    return Dependency(name=name, path=path, by="already loaded", asked_by=OURS)


LINKAGE = Linkage(
    libraries=(
        NativeLibrary(
            package="torch",
            path=TORCH,
            dependencies=(
                Dependency(
                    name="libtorch_global_deps.so",
                    path=f"{SITE}/torch/lib/libtorch_global_deps.so",
                    by="path",
                    asked_by="torch/__init__.py",
                ),
                Dependency(
                    name=RUNTIME, path=f"{CUDA}/{RUNTIME}", by="rpath", asked_by="libtorch_global_deps.so"
                ),
                Dependency(
                    name="libcublasLt.so.13",
                    path=f"{CUDA}/libcublasLt.so.13",
                    by="path",
                    asked_by="torch/__init__.py",
                ),
                Dependency(
                    name="libtorch_python.so",
                    path=f"{SITE}/torch/lib/libtorch_python.so",
                    by="rpath",
                    asked_by="_C.cpython-311-x86_64-linux-gnu.so",
                ),
                Dependency(
                    name="libtorch_cuda.so",
                    path=f"{SITE}/torch/lib/libtorch_cuda.so",
                    by="rpath",
                    asked_by="libtorch_python.so",
                ),
                Dependency(
                    name="libstdc++.so.6",
                    path=f"{SYSTEM}/libstdc++.so.6",
                    by="default folder",
                    asked_by="libtorch_python.so",
                ),
            ),
            glibc="2.28",
            libstdcxx="3.4.22",
            architectures=TORCH_CODE,
        ),
        NativeLibrary(
            package="bitsandbytes",
            path=f"{SITE}/bitsandbytes/{OURS}",
            dependencies=(
                met(RUNTIME, f"{CUDA}/{RUNTIME}"),
                met("libcublasLt.so.13", f"{CUDA}/libcublasLt.so.13"),
                met("libstdc++.so.6", f"{SYSTEM}/libstdc++.so.6"),
            ),
            glibc="2.2.5",
            architectures=OUR_CODE,
        ),
    ),
    choice=LibraryChoice(
        library=OURS, because="torch is built for CUDA 13.0 and a GPU is seen", is_there=True
    ),
)
