"""The cases of linking on a machine with CUDA: what the loader finds for torch and bitsandbytes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stubs import machine

from .environment import QUICK, QUICK_HEALTHY, Expected, Target, broken, environment, impaired
from .lab import Lab, Venv
from .stand_ins import CUDA, compiled, cuda_environment

BNB = "bitsandbytes/libbitsandbytes_cuda130.so"
CUDART, CUDNN, NCCL = (
    f"{CUDA}/libcudart.so.13",
    "nvidia/cudnn/lib/libcudnn.so.9",
    "nvidia/nccl/lib/libnccl.so.2",
)
SYSTEM_CUDA = Path(
    "/usr/local/cuda-13.0/lib"
)  # where the packages of NVIDIA put it, and ld.so.cache finds it
HAS_SYSTEM = (SYSTEM_CUDA / "libcudart.so.13").exists()

Break = Callable[[Venv, Path], Mapping[str, str] | None]  # the variables that it needs


@dataclass(frozen=True)
class Case:
    """One thing that is done to an environment that links as on a machine with CUDA."""

    fault: str
    expected: Expected
    apply: Break = field(default=lambda venv, folder: None)

    def made(self, lab: Lab, venv: Venv | None = None) -> Target:
        """The environment, or a ``venv`` with a true CUDA build after the same, on a machine with a GPU."""
        venv, folder = venv or cuda_environment(lab), lab.folder()
        variables = dict(self.apply(venv, folder) or {})
        given = machine("rtx4090")
        if "LD_LIBRARY_PATH" in variables:
            given["LD_LIBRARY_PATH"] = f"{variables.pop('LD_LIBRARY_PATH')}:{given['LD_LIBRARY_PATH']}"
        return Target(venv.python, variables={**given, **variables})


def variable(name: str, value: str) -> Break:
    return lambda venv, folder: {name: value}


def without(*names: str) -> Break:
    """Files are deleted."""
    return lambda venv, folder: venv.remove(*names)


def holding(name: str, content: bytes) -> Break:
    """A file is replaced."""

    def apply(venv: Venv, folder: Path) -> None:
        venv.write(name, content)

    return apply


def cut(name: str, size_bytes: int) -> Break:
    """A file is cut short."""
    return lambda venv, folder: venv.truncate(name, size_bytes)


def overwritten(name: str, place: Callable[[bytes], int], content: bytes) -> Break:
    """Some bytes of a file are others."""

    def apply(venv: Venv, folder: Path) -> None:
        whole = (venv.site / name).read_bytes()
        at = place(whole)
        venv.write(name, whole[:at] + content + whole[at + len(content) :])

    return apply


def foreign_runtime(venv: Venv, folder: Path) -> dict[str, str]:
    """A library under the name of the CUDA runtime, without its symbols and versions, on LD_LIBRARY_PATH."""
    (folder / "libcudart.so.13").write_bytes(compiled("libcudart.so.13"))
    return {"LD_LIBRARY_PATH": str(folder)}


def older_nvjitlink(venv: Venv, folder: Path) -> dict[str, str]:
    """The nvJitLink of another CUDA under the name of this one, on LD_LIBRARY_PATH."""
    name = "libnvJitLink.so.13"
    (folder / name).write_bytes(
        compiled(name, (), ("__nvJitLinkComplete_12_4",), version="libnvJitLink.so.12")
    )
    return {"LD_LIBRARY_PATH": str(folder)}


def nccl_of_another_cuda(venv: Venv, folder: Path) -> None:
    """The wheel of NCCL for CUDA 12 is installed over that for CUDA 13, under the same file name."""
    venv.register("nvidia_nccl_cu12", "2.27.3")
    venv.release("nvidia_nccl_cu12", NCCL, compiled("libnccl.so.2", (), ("ncclCommInitRank", "ncclSend")))


def wheels_of_an_older_torch(venv: Venv, folder: Path) -> None:
    """Two wheels for CUDA 12 lie beside those for CUDA 13, in folders of their own."""
    for name, release in (("nvidia_cublas_cu12", "12.8.4.1"), ("nvidia_cufft_cu12", "11.3.3.83")):
        venv.register(name, release)


def unregistered_runtime(venv: Venv, folder: Path) -> None:
    """The wheel of the runtime is uninstalled."""
    venv.remove(CUDART, "nvidia_cuda_runtime-*.dist-info")


def then(*breaks: Break) -> Break:
    """One after the other."""

    def apply(venv: Venv, folder: Path) -> dict[str, str]:
        return {name: value for one in breaks for name, value in (one(venv, folder) or {}).items()}

    return apply


OVERRIDE = broken("bitsandbytes/override-variable-wrong", options=QUICK)
CORRUPT = broken("bitsandbytes/native-library-corrupt", options=QUICK)
NOT_WHOLE = broken("python/files-missing-or-altered", options=QUICK)
MISSING = broken("cuda/libraries-missing", options=QUICK)
UNMET = impaired("python/requirement-unsatisfied")

CASES = {
    "intact": Case("nothing: the libraries of a CUDA build as they should be", QUICK_HEALTHY),
    "variable_118": Case("BNB_CUDA_VERSION=118", OVERRIDE, variable("BNB_CUDA_VERSION", "118")),
    "variable_128": Case("BNB_CUDA_VERSION=128", OVERRIDE, variable("BNB_CUDA_VERSION", "128")),
    "variable_999": Case("BNB_CUDA_VERSION=999", OVERRIDE, variable("BNB_CUDA_VERSION", "999")),
    "variable_abc": Case("BNB_CUDA_VERSION=abc", OVERRIDE, variable("BNB_CUDA_VERSION", "abc")),
    "foreign_runtime": Case(
        "nothing: a foreign libcudart.so.13 on LD_LIBRARY_PATH, which RPATH outdoes",
        QUICK_HEALTHY,
        foreign_runtime,
    ),
    "exact_library_deleted": Case(
        "nothing: bitsandbytes without its library for CUDA 13.0, for which that for 13.2 stands in",
        QUICK_HEALTHY,
        without(BNB),
    ),
    "library_empty": Case("the library of bitsandbytes has no bytes", CORRUPT, holding(BNB, b"")),
    "library_text": Case("the library of bitsandbytes is a text", CORRUPT, holding(BNB, b"<html>" * 99)),
    "library_cut": Case("the library of bitsandbytes has 2,000,000 bytes", CORRUPT, cut(BNB, 2_000_000)),
    "library_cut_early": Case("the library of bitsandbytes has 1,000 bytes", CORRUPT, cut(BNB, 1000)),
    "library_for_arm": Case(
        "the library of bitsandbytes is for aarch64", CORRUPT, overwritten(BNB, lambda whole: 18, b"\xb7\0")
    ),
    "library_garbled": Case(
        "names in the library of bitsandbytes are overwritten by rubbish",
        CORRUPT,
        overwritten(BNB, lambda whole: whole.index(b"libcudart.so.13\0"), b"\xff\xfe\x01\x9c" * 4),
    ),
    "runtime_file_deleted": Case(
        "libcudart.so.13 is deleted", NOT_WHOLE if HAS_SYSTEM else MISSING, without(CUDART)
    ),
    "runtime_uninstalled": Case(
        "the wheel of the CUDA runtime is uninstalled", UNMET if HAS_SYSTEM else MISSING, unregistered_runtime
    ),
    "runtime_deleted_and_foreign": Case(
        "libcudart.so.13 is deleted, and a foreign one is on LD_LIBRARY_PATH",
        broken("cuda/libraries-shadowed", options=QUICK),
        then(without(CUDART), foreign_runtime),
    ),
    "runtime_deleted_and_system_s": Case(
        "libcudart.so.13 is deleted, and the system's toolkit is on LD_LIBRARY_PATH",
        NOT_WHOLE if HAS_SYSTEM else MISSING,
        then(without(CUDART), variable("LD_LIBRARY_PATH", str(SYSTEM_CUDA))),
    ),
    "cublas_deleted": Case(
        "libcublas.so.13 is deleted", broken("cuda/libraries-missing"), without(f"{CUDA}/libcublas.so.13")
    ),
    "cublaslt_deleted": Case("libcublasLt.so.13 is deleted", MISSING, without(f"{CUDA}/libcublasLt.so.13")),
    "cudnn_deleted": Case("libcudnn.so.9 is deleted", MISSING, without(CUDNN)),
    "nvjitlink_deleted": Case(
        "libnvJitLink.so.13 is deleted", MISSING, without(f"{CUDA}/libnvJitLink.so.13")
    ),
    "nccl_deleted": Case("libnccl.so.2 is deleted", MISSING, without(NCCL)),
    "nvjitlink_of_another_cuda": Case(
        "an older libnvJitLink.so.13 is on LD_LIBRARY_PATH",
        broken("cuda/nvjitlink-shadowed"),
        older_nvjitlink,
    ),
    "nccl_of_another_cuda": Case(
        "the wheel of NCCL for CUDA 12 is installed over that for CUDA 13",
        broken("cuda/nccl-conflict", options=QUICK),
        nccl_of_another_cuda,
    ),
    "wheels_of_an_older_torch": Case(
        "nothing: wheels for CUDA 12 are left beside those for CUDA 13",
        QUICK_HEALTHY,
        wheels_of_an_older_torch,
    ),
    "runtime_cut": Case(
        "libcudart.so.13 has 100,000 bytes", broken("torch/native-library-corrupt"), cut(CUDART, 100_000)
    ),
    "torch_cuda_cut": Case(
        "libtorch_cuda.so has 3,000 bytes",
        broken("python/files-missing-or-altered"),
        cut("torch/lib/libtorch_cuda.so", 3000),
    ),
}


def known(name: str, case: Case) -> None:
    """Make a case an environment of the zoo."""

    def build(lab: Lab) -> Target:
        return case.made(lab)

    build.__name__, build.__doc__ = f"linking_{name}", case.fault
    environment(case.expected)(build)


if shutil.which("cc") and shutil.which("nm"):
    for _name, _case in CASES.items():
        known(_name, _case)


@environment(QUICK_HEALTHY)
def linking_variable_beside_a_cpu_build(lab: Lab) -> Target:
    """nothing: BNB_CUDA_VERSION=118 beside a CPU build of torch, where nobody reads it."""
    return Target(lab.copy().python, variables={"BNB_CUDA_VERSION": "118"})
