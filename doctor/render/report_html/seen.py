"""What stands behind a subject's one line: its values by name, as far as they were seen."""

from __future__ import annotations

from collections.abc import Callable

from doctor.facts import Facts, Gpu
from doctor.render.describe import TRAINING_LIBRARIES, gib, listed, plural
from doctor.render.markdown_blocks import measured

Rows = list[tuple[str, str]]


def rows(title: str, facts: Facts) -> Rows:
    """The values of one subject; what is not known or says nothing is left out."""
    told = _OF_TITLE[title](facts) if title in _OF_TITLE else []
    return [(name, value) for name, value in told if value]


def _system(facts: Facts) -> Rows:
    seen = facts.system
    if not seen:
        return []
    shared = "" if seen.shared_memory_bytes is None else gib(seen.shared_memory_bytes)
    return [
        ("name", seen.name),
        ("kernel", seen.kernel),
        ("architecture", seen.arch),
        ("C library", seen.libc or ""),
        ("processor", f"{seen.cpu}, {plural(seen.cpu_count, 'CPU')}"),
        ("memory", f"{gib(seen.ram_total_bytes)}, {gib(seen.ram_available_bytes)} available"),
        ("disk free", gib(seen.disk_free_bytes)),
        ("/dev/shm", shared),
        ("container", seen.container or ""),
    ]


def _driver(facts: Facts) -> Rows:
    seen, cuda = facts.driver, facts.cuda_driver
    if not seen:
        return []
    witnesses = [(f"{name} says", version) for name, version in seen.disagreement.items()]
    return [
        ("version", seen.version),
        ("newest CUDA it offers", seen.cuda_version or ""),
        ("told by", seen.source),
        *witnesses,
        ("libcuda", cuda.library if cuda else ""),
    ]


def _gpu(facts: Facts) -> Rows:
    others = [
        (one.name, ", ".join(filter(None, (one.architecture, one.runtime))))
        for one in facts.accelerators or ()
    ]
    return [(f"GPU {one.index}", _card(one)) for one in facts.gpus or ()] + others


def _card(gpu: Gpu) -> str:
    parts = [
        gpu.name,
        f"compute capability {gpu.compute_capability or 'unknown'}",
        f"PCIe {gpu.pcie_generation} x{gpu.pcie_width}" if gpu.pcie_generation and gpu.pcie_width else "",
        plural(gpu.nvlinks, "NVLink") if gpu.nvlinks else "",
        "ECC on" if gpu.ecc_enabled else "",
        f"slowed by {listed(gpu.throttle)}" if gpu.throttle else "",
    ]
    return ", ".join(filter(None, parts))


def _interpreter(facts: Facts) -> Rows:
    seen = facts.interpreter
    if not seen:
        return []
    return [
        ("path", seen.executable),
        ("environment", seen.prefix),
        ("made from", seen.base_prefix if seen.base_prefix != seen.prefix else ""),
        ("packages in", ", ".join(seen.site_folders)),
        ("pip", "installed" if seen.has_pip else "not installed"),
        ("writable", "yes" if seen.writable else "no"),
    ]


def _packages(facts: Facts) -> Rows:
    seen = facts.packages
    if not seen:
        return []
    return [
        ("installed", str(len(seen.installed))),
        ("registered twice", ", ".join(one.package for one in seen.duplicates)),
        ("shadowed", ", ".join(f"{one.module} by {one.path}" for one in seen.shadows)),
        ("left over", ", ".join(seen.leftovers)),
    ]


def _torch(facts: Facts) -> Rows:
    build, seen = facts.torch, facts.torch_runtime
    told = (
        [("version", build.version), ("build", build.variant), ("CUDA", build.cuda_version or "")]
        if build
        else []
    )
    if seen:
        told += [
            ("GPU code", ", ".join(seen.arch_list)),
            ("sees", ", ".join(seen.devices)),
            ("bfloat16", {True: "yes", False: "only emulated", None: ""}[seen.bf16]),
            ("imported from", seen.file),
        ]
    return told


def _bitsandbytes(facts: Facts) -> Rows:
    build, seen = facts.bitsandbytes, facts.bitsandbytes_runtime
    told = [("loads", seen.library or "no native library"), ("imported from", seen.file)] if seen else []
    if build:
        told = [("version", build.version), ("should load", build.expected or ""), *told]
        told += [("override", build.override or ""), ("ships", ", ".join(build.libraries))]
    return told


def _native(facts: Facts) -> Rows:
    seen = facts.linkage
    if not seen:
        return []
    libraries = [
        (
            one.package,
            ", ".join(filter(None, (one.path.rpartition("/")[2], one.glibc and f"glibc {one.glibc}"))),
        )
        for one in seen.libraries
    ]
    return [*libraries, ("bitsandbytes chooses so because", seen.choice.because if seen.choice else "")]


def _cuda(facts: Facts) -> Rows:
    return [(one.path, f"CUDA {one.version or 'unknown'}") for one in facts.toolkits or ()]


def _compiling(facts: Facts) -> Rows:
    seen = facts.compiling
    if not seen:
        return []
    return [
        ("C compiler", seen.compiler),
        ("Python.h", seen.python_header),
        ("libcuda for the linker", seen.libcuda_link),
        ("ptxas", seen.ptxas),
        ("triton", seen.triton),
    ]


def _training(facts: Facts) -> Rows:
    return [(name, facts.version_of(name) or "") for name in TRAINING_LIBRARIES]


def _trial(facts: Facts) -> Rows:
    runs = facts.trial.runs if facts.trial else ()
    return [(run.stage, ", ".join(filter(None, (run.outcome, measured(run)[0])))) for run in runs]


_OF_TITLE: dict[str, Callable[[Facts], Rows]] = {
    "system": _system,
    "driver": _driver,
    "gpu": _gpu,
    "interpreter": _interpreter,
    "packages": _packages,
    "torch": _torch,
    "bitsandbytes": _bitsandbytes,
    "native libraries": _native,
    "cuda versions": _cuda,
    "compiling": _compiling,
    "training libraries": _training,
    "smoke test": _trial,
}
