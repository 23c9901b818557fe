"""What of a report may be published: facts by a positive list of fields, and nothing that is not on it.

A field that is added tomorrow stays out until it is named here. Left out are free text of other people's
programs (what an interpreter or a library prints, names of processes, the kernel's log), what would know
this machine again (hashes of UUIDs), where a package came from, and all that a file or a paste says.
Numbers stay: no one is known by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, get_origin

import msgspec

from doctor import facts as fact_types
from doctor import hardware, native
from doctor.facts import Facts
from doctor.findings import Report
from doctor.redact import walk

WITHHELD = "(withheld)"
SHORTEST = 6  # characters of a withheld text that is looked for in what the findings say
BEGINNING = 60  # characters by which a longer one is known, since findings quote it cut

_FIELDS = {
    Facts: "system environment driver_signs driver gpus accelerators interpreter packages files torch"
    " bitsandbytes linkage toolkits compiling cuda_driver torch_runtime bitsandbytes_runtime trial hashes"
    " reading gaps",
    fact_types.Gap: "about kind reason",
    fact_types.System: "os name kernel arch libc cpu cpu_count ram_total_bytes ram_available_bytes"
    " disk_free_bytes shared_memory_bytes container wsl",
    fact_types.Interpreter: "executable version implementation prefix base_prefix kind site_folders user_site"
    " externally_managed has_pip writable",
    fact_types.Package: "name version installer requires_python requires modules editable source_gone",
    fact_types.Packages: "installed duplicates shadows overlaps unregistered leftovers is_partial absent",
    fact_types.Duplicate: "package versions locations",
    fact_types.Shadow: "module path entry",
    fact_types.Overlap: "package rival rival_is_there",
    fact_types.FileCheck: "checked hashed faults without_record",
    fact_types.FileFault: "package version missing altered missing_count altered_count truncated",
    fact_types.TorchBuild: "version cuda_version hip_version variant xpu_version",
    fact_types.BitsandbytesBuild: "version libraries expected override",
    fact_types.TorchRuntime: "version file cuda_version hip_version arch_list cuda_available device_count"
    " cuda_error devices capabilities bf16 objects",
    fact_types.BitsandbytesRuntime: "version file library mapped handle objects",
    fact_types.Trial: "device runs",
    fact_types.Reading: "runs",
    fact_types.StageRun: "stage outcome seconds peak_bytes failure blocked_by proofs",
    fact_types.Failure: "kind chain signal modules frames deadline_s",
    fact_types.Proof: "name holds seen wanted",
    hardware.Driver: "version cuda_version source disagreement",
    hardware.DriverSigns: "nvml_error nvml_code smi_error kernel_version kernel_flavor bus_gpus bus modules"
    " nodes libraries off_path lost xids fabric_manager slurm jetson",
    hardware.PciDevice: "address vendor device kind kernel_driver power_state",
    hardware.DeviceNode: "path usable",
    hardware.LostGpu: "index error code",
    hardware.Xid: "address code count",
    hardware.Gpu: "index name compute_capability memory_total_bytes memory_free_bytes shares_memory"
    " memory_reserved_bytes pci_address processes mig_mode mig_instances ecc_enabled ecc_uncorrected"
    " remapped_rows remapping_pending remapping_failed retired_pages retirement_pending throttle persistence"
    " compute_mode pcie_width pcie_width_max pcie_generation pcie_generation_max nvlinks peers display",
    hardware.GpuProcess: "memory_bytes kind",
    hardware.MigInstance: "name memory_total_bytes memory_free_bytes",
    hardware.CudaDriver: "library init_code init_error version devices failure refused",
    hardware.CudaDevice: "ordinal name compute_capability memory_total_bytes integrated",
    hardware.Accelerator: "vendor name architecture kernel_driver runtime integrated memory_total_bytes"
    " usable",
    hardware.Toolkit: "path version found_by has_compiler is_used",
    native.Linkage: "libraries choice",
    native.LibraryChoice: "library because is_there asked error",
    native.NativeLibrary: "package path dependencies fault glibc libstdcxx architectures undefined",
    native.Dependency: "name path by asked_by fault shadowed",
    native.Compiling: "compiler python_header libcuda_link ptxas ptxas_version triton cache_folder"
    " cache_fault cache_free_bytes hub_cache_folder hub_cache_free_bytes shared_memory_free_bytes"
    " memory_lock_bytes open_files rdma_devices",
}
TOLD: dict[type, frozenset[str]] = {kind: frozenset(names.split()) for kind, names in _FIELDS.items()}

# Of the variables that a check reads: those that decide what is loaded, found or seen.
TOLD_VARIABLES = frozenset(
    """
    APPTAINER_NV BNB_CUDA_VERSION BNB_ROCM_VERSION CC CONDA_DEFAULT_ENV CONDA_OVERRIDE_CUDA CONDA_PREFIX
    CUBLAS_WORKSPACE_CONFIG CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_ORDER CUDA_DISABLE_P2P
    CUDA_DISABLE_PTX_JIT CUDA_FORCE_PTX_JIT CUDA_HOME CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_PATH
    CUDA_VISIBLE_DEVICES CXX GPU_DEVICE_ORDINAL HF_DATASETS_OFFLINE HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE
    HIP_VISIBLE_DEVICES HSA_OVERRIDE_GFX_VERSION LANG LC_ALL LD_AUDIT LD_LIBRARY_PATH LD_PRELOAD MAX_JOBS
    NCCL_DEBUG NCCL_IB_DISABLE NCCL_P2P_DISABLE NCCL_SHM_DISABLE NVIDIA_DISABLE_REQUIRE
    NVIDIA_DRIVER_CAPABILITIES NVIDIA_TF32_OVERRIDE NVIDIA_VISIBLE_DEVICES OMP_NUM_THREADS
    ONEAPI_DEVICE_SELECTOR PYTHONHOME PYTHONNOUSERSITE PYTHONOPTIMIZE PYTHONPATH PYTHONSAFEPATH
    PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF PYTORCH_ENABLE_MPS_FALLBACK PYTORCH_HIP_ALLOC_CONF
    PYTORCH_NVML_BASED_CUDA_CHECK PYTORCH_ROCM_ARCH ROCM_HOME ROCM_PATH ROCR_VISIBLE_DEVICES SINGULARITY_NV
    TOKENIZERS_PARALLELISM TORCH_CUDA_ARCH_LIST TRANSFORMERS_OFFLINE TRITON_CACHE_DIR TRITON_LIBCUDA_PATH
    TRITON_PTXAS_PATH USE_FLAX USE_TF USE_TORCH VIRTUAL_ENV ZE_AFFINITY_MASK
    """.split()
)


class _Field(NamedTuple):
    name: str
    is_told: bool
    is_ours: bool  # its values are words of the schema
    default: Any


def disclosed(report: Report) -> Report:
    """The report with the facts that may be published.

    Of a machine, findings and gaps do not say either what the others hold. Of a file or a paste, findings
    quote what is wrong there, which whoever publishes the report has at hand.
    """
    told = told_of(report.facts)
    is_machine = report.subject.kind in ("live", "node")
    secret = _spoken(report, list(_untold(report.facts)), told) if is_machine else set()
    report = msgspec.structs.replace(report, facts=msgspec.convert(told, Facts))
    if not secret:
        return report
    pattern = re.compile("|".join(_quoted(text) for text in sorted(secret, key=len, reverse=True)))
    return walk(report, lambda text: pattern.sub(WITHHELD, text))


def told_of(value: Any) -> Any:
    """A fact as JSON knows it, without what may not be told and what is as it always is.

    A field that every fact of its kind must have and that may not be told stays, with nothing in it.
    """
    if isinstance(value, (tuple, list)):
        return [told_of(item) for item in value]
    if isinstance(value, Mapping):
        return {key: told_of(item) for key, item in value.items()}
    if not isinstance(value, msgspec.Struct):
        return value
    told = {}
    for field in _fields(type(value)):
        item = _of_field(field.name, getattr(value, field.name))
        if field.is_told and item != field.default:
            told[field.name] = told_of(item)
        elif not field.is_told and field.default is msgspec.NODEFAULT:
            told[field.name] = item if field.is_ours else _nothing(item)
    return told


def _of_field(name: str, item: Any) -> Any:
    """The environment is told by its own list, of variables."""
    if name != "environment" or item is None:
        return item
    return {variable: value for variable, value in item.items() if variable in TOLD_VARIABLES}


def _nothing(item: Any) -> Any:
    """The emptiest value of the same type."""
    return (
        type(item)() if isinstance(item, (str, bool, int, float)) else () if isinstance(item, tuple) else None
    )


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    told = TOLD.get(kind, frozenset())
    return tuple(
        _Field(
            field.name,
            field.name in told,
            get_origin(field.type) is Literal,
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(kind)
    )


def _untold(value: Any, is_told: bool = True) -> Iterator[str]:
    """Every text in fields that may not be told."""
    if isinstance(value, str) and not is_told:
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _untold(item, is_told)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _untold(key, is_told)
            yield from _untold(item, is_told)
    elif isinstance(value, msgspec.Struct):
        for field in _fields(type(value)):
            item = getattr(value, field.name)
            if field.name == "environment" and item:
                yield from (text for name, text in item.items() if name not in TOLD_VARIABLES)
            elif not field.is_ours:
                yield from _untold(item, is_told and field.is_told)


def _spoken(report: Report, untold: list[str], told: Any) -> set[str]:
    """The lines of untold texts that findings, gaps or questions repeat, and no told fact says too."""
    said: list[str] = []

    def hear(text: str) -> str:
        said.append(text)
        return text

    walk((report.findings, report.gaps, report.questions, report.subject), hear)
    spoken, known = "\n".join(said), "\n".join(_strings(told))
    lines = {line.strip() for text in untold for line in text.splitlines()}
    return {
        line
        for line in lines
        if len(line) >= SHORTEST and line[:BEGINNING] in spoken and line[:BEGINNING] not in known
    }


def _strings(told: Any) -> Iterator[str]:
    if isinstance(told, str):
        yield told
    elif isinstance(told, list):
        for item in told:
            yield from _strings(item)
    elif isinstance(told, dict):
        for key, item in told.items():
            yield key
            yield from _strings(item)


def _quoted(line: str) -> str:
    return re.escape(line[:BEGINNING]) + (r"[^\n]*" if len(line) > BEGINNING else "")
