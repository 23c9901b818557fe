"""What importing torch opens besides, as the source of each era says."""

from __future__ import annotations

import native_files
import pytest
from elf_files import elf
from fakes import FakeHost
from native_files import BLOBS, CUDA, FILES, RUNTIME, SITE, SYSTEM

from doctor.linking.loader import Opening, Process
from doctor.linking.torch_import import Preloads, fits, open_torch, preloads
from doctor.objects.store import Objects

# torch 2.3: only where libtorch_global_deps.so cannot be opened.
FAILURE_ALONE = """
def _preload_cuda_deps(lib_folder, lib_name):
    ctypes.CDLL(lib_path)

def _load_global_deps() -> None:
    try:
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)
    except OSError as err:
        cuda_libs: Dict[str, str] = {
            'cublas': 'libcublas.so.*[0-9]',
            'cuda_runtime': 'libcudart.so.*[0-9]',
        }
        for lib_folder, lib_name in cuda_libs.items():
            _preload_cuda_deps(lib_folder, lib_name)

if USE_RTLD_GLOBAL_WITH_LIBTORCH:
"""
# torch 2.8: a few of them also where it could be, if libcudart came from a wheel.
BOTH = """
def _preload_cuda_deps(lib_folder: str, lib_name: str) -> None:
    ctypes.CDLL(lib_path)

def _load_global_deps() -> None:
    try:
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)
        try:
            if "nvidia/cuda_runtime/lib/libcudart.so" not in _maps:
                return
            _preload_cuda_deps("cuda_nvrtc", "libnvrtc.so.*[0-9]")
            _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
        except Exception:
            pass
    except OSError as err:
        cuda_libs: dict[str, str] = {
            "cublas": "libcublas.so.*[0-9]",
        }
        if t_major >= 12:
            cuda_libs["cufile"] = "libcufile.so.*[0-9]"

if (USE_RTLD_GLOBAL_WITH_LIBTORCH or os.getenv("TORCH_USE_RTLD_GLOBAL")) and (
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", Preloads()),
        (
            FAILURE_ALONE,
            Preloads((("cublas", "libcublas.so.*[0-9]"), ("cuda_runtime", "libcudart.so.*[0-9]"))),
        ),
        (
            BOTH,
            Preloads(
                (("cublas", "libcublas.so.*[0-9]"), ("cufile", "libcufile.so.*[0-9]")),
                (("cuda_nvrtc", "libnvrtc.so.*[0-9]"), ("nvjitlink", "libnvJitLink.so.*[0-9]")),
                "nvidia/cuda_runtime/lib/libcudart.so",
            ),
        ),
        (
            native_files.TORCH_SOURCE,
            Preloads(
                (("cublas", "libcublasLt.so.*[0-9]"), ("cuda_runtime", "libcudart.so.*[0-9]")),
                (("cublas", "libcublasLt.so.*[0-9]"), ("cuda_runtime", "libcudart.so.*[0-9]")),
                "libcudart.so",
            ),
        ),
    ],
)
def test_what_the_source_says(source: str, expected: Preloads) -> None:
    assert preloads(source) == expected


def test_patterns() -> None:
    assert fits("libcublas.so.13", "libcublas.so.*[0-9]")
    assert not fits("libcublas.so", "libcublas.so.*[0-9]")
    assert not fits("libcublas.so.alt", "libcublas.so.*[0-9]")
    assert not fits("libcublasLt.so.13", "libcublas.so.*[0-9]")


def opened(
    blobs: dict[str, bytes], folders: tuple[str, ...] = (SITE,), env: dict[str, str] | None = None
) -> Opening:
    host = FakeHost(files=FILES, blobs=blobs, env=env or {})
    process = Process(host, Objects(host), "/env/bin/python")
    return open_torch(process, f"{SITE}/torch", folders, "13.0")


# torch installed apart from NVIDIA's wheels, so that its RPATH leads nowhere.
ELSEWHERE = "/other/site-packages"
APART = {path.replace(CUDA, f"{ELSEWHERE}/nvidia/cu13/lib"): content for path, content in BLOBS.items()}


def test_what_rpath_does_not_reach_is_opened_by_its_path() -> None:
    told = opened(APART, (SITE, ELSEWHERE))
    assert not told.fails
    need = told.needs[RUNTIME]
    assert (need.by, need.asked_by) == ("path", "torch/__init__.py")
    assert need.path == f"{ELSEWHERE}/nvidia/cu13/lib/{RUNTIME}"


def test_what_is_nowhere_is_missing() -> None:
    told = opened(APART)
    assert {name for name, need in told.needs.items() if need.fails} == {RUNTIME, "libcublasLt.so.13"}
    assert told.needs[RUNTIME].asked_by.endswith("libtorch_global_deps.so")


def test_a_second_runtime_beside_that_of_the_system() -> None:
    system = f"{SYSTEM}/{RUNTIME}"
    told = opened({**APART, system: BLOBS[f"{CUDA}/{RUNTIME}"]}, (SITE, ELSEWHERE))
    runtimes = [(need.path, need.by) for need in told.needs.values() if need.name == RUNTIME]
    assert runtimes == [(system, "default folder"), (f"{ELSEWHERE}/nvidia/cu13/lib/{RUNTIME}", "path")]


def test_what_came_by_a_variable_and_fails_a_later_opening_came_by_it() -> None:
    foreign = elf(soname=RUNTIME, defines=("libcudart.so.12",))
    blobs = {f"/foreign/{RUNTIME}": foreign, **BLOBS}
    del blobs[f"{CUDA}/{RUNTIME}"]
    need = opened(blobs, env={"LD_LIBRARY_PATH": "/foreign"}).needs[RUNTIME]
    assert (need.path, need.by) == (f"/foreign/{RUNTIME}", "LD_LIBRARY_PATH")
    assert need.fault == f"lacks version {RUNTIME}"


def test_an_older_folder_layout() -> None:
    old = {
        path.replace("cu13/lib/libcudart", "cuda_runtime/lib/libcudart"): one for path, one in APART.items()
    }
    told = opened(old, (SITE, ELSEWHERE))
    assert told.needs[RUNTIME].path == f"{ELSEWHERE}/nvidia/cuda_runtime/lib/{RUNTIME}"


def test_a_preloaded_library_that_is_none() -> None:
    told = opened({**BLOBS, f"{CUDA}/libcublasLt.so.13": b"text"})
    assert told.needs["libcublasLt.so.13"].fault == "is no ELF file"


def test_a_link_to_a_library_that_is_gone() -> None:
    class Dangling(FakeHost):
        def list_folder(self, path: str) -> tuple[str, ...]:
            return (*super().list_folder(path), *(("libcublasLt.so.13",) if path == CUDA else ()))

    blobs = {path: one for path, one in BLOBS.items() if not path.endswith("libcublasLt.so.13")}
    host = Dangling(files=FILES, blobs=blobs)
    process = Process(host, Objects(host), "/env/bin/python")
    need = open_torch(process, f"{SITE}/torch", (SITE,), "13.0").needs["libcublasLt.so.13"]
    assert need.fails and (need.path, need.fault) == ("", "")


def test_no_extension_module() -> None:
    told = opened({path: one for path, one in BLOBS.items() if path != native_files.TORCH})
    assert told.fault == "is not there"


def test_a_cpu_build_opens_nothing_more() -> None:
    plain = elf(needed=("libc.so.6",))
    told = opened({**BLOBS, f"{SITE}/torch/lib/libtorch_global_deps.so": plain, native_files.TORCH: plain})
    assert set(told.needs) == {"libtorch_global_deps.so", "libc.so.6"}
