"""Every fact type: the dictionary of the domain.

Facts hold what was seen, as plain values; what it means is decided in ``rules``. A field of
:class:`Facts` is None exactly when one :class:`Gap` says why it could not be had; ``reading``,
``workload``, ``script`` and ``paste`` are there only where a command asks for them. Units are in the
names: ``_bytes``, ``_s``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from doctor.fact import Fact as Fact
from doctor.hardware import Accelerator as Accelerator
from doctor.hardware import CudaDevice as CudaDevice
from doctor.hardware import CudaDriver as CudaDriver
from doctor.hardware import DeviceNode as DeviceNode
from doctor.hardware import Driver as Driver
from doctor.hardware import DriverSigns as DriverSigns
from doctor.hardware import Gpu as Gpu
from doctor.hardware import GpuProcess as GpuProcess
from doctor.hardware import LostGpu as LostGpu
from doctor.hardware import MigInstance as MigInstance
from doctor.hardware import PciDevice as PciDevice
from doctor.hardware import Toolkit as Toolkit
from doctor.hardware import Xid as Xid
from doctor.native import Compiling as Compiling
from doctor.native import Linkage as Linkage
from doctor.paste import Paste
from doctor.script import Script
from doctor.wanted import Wanted
from doctor.workload import Workload as Workload

Stage = Literal[
    "install",
    "import-torch",
    "import-transformers",
    "import-peft",
    "import-accelerate",
    "import-bitsandbytes",
    "import-trl",
    "import-flash-attn",
    "see-gpu",
    "load-4bit",
    "lora-step",
    "qlora-step",
    "trainer-step",
    "sft-step",
    "save-load",
    "multi-gpu",
]


class Gap(Fact, frozen=True, kw_only=True):
    """A fact that could not be had: which one, in which of three ways, and why."""

    about: str
    kind: Literal["failed", "not-asked", "not-applicable"]
    reason: str


class System(Fact, frozen=True, kw_only=True):
    """The machine below the interpreter."""

    os: str  # "linux", "darwin", "win32"
    name: str  # "Debian GNU/Linux 12 (bookworm)"
    kernel: str
    arch: str  # "x86_64", "aarch64", "arm64"
    libc: str | None  # "glibc 2.36"; None where the system has none that is versioned
    cpu: str
    cpu_count: int
    ram_total_bytes: int
    ram_available_bytes: int
    disk_free_bytes: int  # of the temporary folder, where the trial saves its model
    shared_memory_bytes: int | None  # size of /dev/shm; None where the system has none
    container: str | None  # "docker", "podman", "kubernetes", "apptainer", "systemd-nspawn"; None outside one
    wsl: bool


class Interpreter(Fact, frozen=True, kw_only=True):
    """The target: the Python that trains."""

    executable: str
    version: str  # "3.11.7"
    implementation: str  # "CPython"
    prefix: str
    base_prefix: str
    kind: Literal["venv", "conda", "system", "stated"]  # stated: no interpreter, only its version is known
    site_folders: tuple[str, ...]
    user_site: str | None  # None where Python leaves it out
    externally_managed: bool
    has_pip: bool
    writable: bool  # may this user install into it
    noise: str  # what the interpreter prints before it runs anything


class Package(Fact, frozen=True, kw_only=True):
    """One installed distribution, read from its metadata and not imported."""

    name: str  # normalised: "huggingface-hub"
    version: str  # "" where its metadata does not say, or says two things
    location: str  # the folder that holds its dist-info
    installer: str  # "pip", "uv", "conda"; "" where it is not recorded
    requires: tuple[str, ...] = ()  # PEP 508, those of extras left out
    requires_python: str = ""
    modules: tuple[str, ...] = ()  # top-level import names
    editable: bool = False
    origin: str = ""  # VCS or URL it was installed from
    fault: str = ""  # why its metadata cannot be read; "" where it can
    source_gone: bool = False  # editable, and the folder of its sources is no longer there


class FileFault(Fact, frozen=True, kw_only=True):
    """Files of one distribution that are not as its RECORD says."""

    package: str
    version: str
    missing: tuple[str, ...] = ()  # a few of them by name, relative to the site folder
    altered: tuple[str, ...] = ()  # another size, or another hash
    missing_count: int = 0
    altered_count: int = 0
    truncated: tuple[str, ...] = ()  # shared objects shorter than recorded: loading one may kill


class FileCheck(Fact, frozen=True, kw_only=True):
    """Installed code held against RECORD: by size, or by the hash of its shared objects as well."""

    checked: int  # files
    hashed: int  # shared objects whose SHA-256 was computed
    faults: tuple[FileFault, ...] = ()
    without_record: tuple[str, ...] = ()  # packages that could not be held against anything


class Duplicate(Fact, frozen=True, kw_only=True):
    """One distribution registered twice."""

    package: str
    versions: tuple[str, ...]
    locations: tuple[str, ...]  # the paths of the dist-info folders, in the order of the versions


class Shadow(Fact, frozen=True, kw_only=True):
    """A file or folder that is imported in place of an installed package."""

    module: str
    path: str
    entry: Literal["working folder", "PYTHONPATH", "user site"]


class Overlap(Fact, frozen=True, kw_only=True):
    """Two distributions that hold the same files: what is imported is a mixture of both."""

    package: str  # of the stack
    rival: str
    rival_is_there: bool  # the rival's files were written last


class Packages(Fact, frozen=True, kw_only=True):
    """All that is installed in the target, or that an installer would take for what a file asks for."""

    installed: Mapping[str, Package]
    duplicates: tuple[Duplicate, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    unregistered: tuple[str, ...] = ()  # of the stack: importable, with no metadata that says so
    leftovers: tuple[str, ...] = ()  # "~ransformers": the rest of an interrupted uninstall
    wanted: Wanted | None = None  # the file that was read; None where the packages were found installed
    conflicts: tuple[str, ...] = ()  # why no installer can satisfy that file, as sentences
    is_partial: bool = False  # of a file or a report: more is installed than is told here
    absent: tuple[str, ...] = ()  # of a report: what it says is not installed


class TorchBuild(Fact, frozen=True, kw_only=True):
    """torch as its files describe it, nothing imported."""

    version: str  # "2.13.0+cpu"
    cuda_version: str | None  # torch's CUDA: "12.6"; None for a CPU build
    hip_version: str | None
    variant: str  # "cpu", "cu126", "rocm6.4", "xpu", "unknown"
    xpu_version: str | None = None  # of a build for Intel GPUs: "20250101"


class BitsandbytesBuild(Fact, frozen=True, kw_only=True):
    """bitsandbytes as its files describe it, nothing imported."""

    version: str
    libraries: tuple[str, ...]  # file names: "libbitsandbytes_cuda126.so"
    expected: str | None  # what it should choose here; None where that cannot be told
    override: str | None  # BNB_CUDA_VERSION, or what takes its place for ROCm


class TorchRuntime(Fact, frozen=True, kw_only=True):
    """torch as it answers once imported."""

    version: str
    file: str
    cuda_version: str | None
    hip_version: str | None
    arch_list: tuple[str, ...]  # ("sm_80", "sm_90", "compute_90"); empty for a CPU build
    cuda_available: bool | None = None  # None where the look for GPUs did not end
    device_count: int | None = None
    cuda_error: str = ""  # what torch.cuda.init said; "" where it was content or not asked
    devices: tuple[str, ...] = ()  # names in CUDA order
    capabilities: tuple[str, ...] = ()  # "8.9" in CUDA order
    bf16: bool | None = None  # bfloat16 without emulation on cuda:0; None without a GPU
    objects: tuple[str, ...] = ()  # paths of the native libraries that the import mapped


class BitsandbytesRuntime(Fact, frozen=True, kw_only=True):
    """bitsandbytes as it answers once imported."""

    version: str
    file: str
    library: str | None  # file name of the object that is mapped; None: none, by fallback
    mapped: tuple[str, ...]  # CUDA libraries mapped beside it
    handle: str  # the class that stands for the library: an error mock means there is none
    objects: tuple[str, ...] = ()  # paths of all native libraries mapped once it was imported


class Proof(Fact, frozen=True, kw_only=True):
    """One claim of the trial that was measured."""

    name: str  # "nf4-error-band"
    holds: bool
    seen: str
    wanted: str


class Failure(Fact, frozen=True, kw_only=True):
    """How a stage failed, in the words of what failed."""

    kind: Literal["raised", "died", "hung"]
    # From the first cause to the exception that surfaced: ("ImportError", "cannot import ...")
    chain: tuple[tuple[str, str], ...] = ()
    signal: str = ""  # "SIGBUS", where the process was killed
    modules: tuple[str, ...] = ()  # top-level modules on the stack, innermost last
    frames: tuple[str, ...] = ()  # the innermost frames, "file:line in function"
    deadline_s: float = 0.0


class StageRun(Fact, frozen=True, kw_only=True):
    """One stage of the trial as it went."""

    stage: Stage
    outcome: Literal["ok", "failed", "blocked"]
    seconds: float = 0.0
    peak_bytes: int = 0  # of the process, at the end of the stage
    failure: Failure | None = None
    blocked_by: str = ""  # the stage that had to pass first
    proofs: tuple[Proof, ...] = ()
    noise: str = ""  # what the libraries printed meanwhile


class Trial(Fact, frozen=True, kw_only=True):
    """The import tests and the 4-bit LoRA run, stage by stage, and what they showed."""

    device: str | None  # "cuda:0", "cpu"; None where it did not come so far
    runs: tuple[StageRun, ...]

    def run_of(self, stage: str) -> StageRun | None:
        """The run of one stage, None where it was not tried."""
        return next((run for run in self.runs if run.stage == stage), None)


class Reading(Fact, frozen=True, kw_only=True):
    """What the sources of the installed packages say would happen at each stage; nothing was imported.

    ``ok`` means that nothing definite stands against the stage, ``blocked`` that the sources do not tell.
    """

    runs: tuple[StageRun, ...]

    def run_of(self, stage: str) -> StageRun | None:
        """What they say of one stage, None where it was not followed."""
        return next((run for run in self.runs if run.stage == stage), None)


class Facts(Fact, frozen=True, kw_only=True):
    """All that is known of one environment, in the order in which it is found out."""

    system: System | None = None
    environment: Mapping[str, str] | None = None  # variables of an allow-list
    driver_signs: DriverSigns | None = None
    driver: Driver | None = None
    gpus: tuple[Gpu, ...] | None = None
    accelerators: tuple[Accelerator, ...] | None = None
    interpreter: Interpreter | None = None
    packages: Packages | None = None
    files: FileCheck | None = None
    torch: TorchBuild | None = None
    bitsandbytes: BitsandbytesBuild | None = None
    linkage: Linkage | None = None
    toolkits: tuple[Toolkit, ...] | None = None
    compiling: Compiling | None = None
    cuda_driver: CudaDriver | None = None  # libcuda takes long to start many GPUs
    torch_runtime: TorchRuntime | None = None
    bitsandbytes_runtime: BitsandbytesRuntime | None = None
    trial: Trial | None = None
    hashes: FileCheck | None = None
    reading: Reading | None = None  # of `check --static` alone
    workload: Workload | None = None  # of `check --plan` alone
    script: Script | None = None  # of `lint` alone: what is held against the packages
    paste: Paste | None = None  # of `triage` alone: what is said, and where
    extra: Mapping[str, Any] = {}  # what probes of other packages saw, by their names
    gaps: tuple[Gap, ...] = ()

    def has(self, need: str) -> bool:
        """Is a field there, or "extra.NAME", the fact of another package's probe?"""
        outer, dot, inner = need.partition(".")
        return inner in self.extra if dot and outer == "extra" else getattr(self, need) is not None

    def version_of(self, package: str) -> str | None:
        """The installed version of a distribution, None where it is absent or not known."""
        found = self.packages.installed.get(package) if self.packages else None
        return found.version if found and found.version else None
