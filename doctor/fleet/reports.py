"""What of a node's report is compared, read from its JSON and from nothing else of it.

The whole report takes ten times as long to read; a field that is not compared is skipped, not checked.
"""

from __future__ import annotations

import msgspec

from doctor.findings import Severity, Verdict

SCHEMA = 1


class Named(msgspec.Struct, frozen=True):
    """A finding by its name."""

    id: str
    severity: Severity
    title: str


class About(msgspec.Struct, frozen=True):
    """What a report is about."""

    kind: str
    name: str


class Unseen(msgspec.Struct, frozen=True):
    """A fact that the node could not see."""

    about: str
    kind: str
    reason: str


class System(msgspec.Struct, frozen=True):
    """The machine below the interpreter."""

    os: str
    name: str
    kernel: str
    arch: str
    libc: str | None
    cpu: str
    cpu_count: int
    ram_total_bytes: int
    container: str | None
    wsl: bool
    shared_memory_bytes: int | None = None


class Lost(msgspec.Struct, frozen=True):
    """A GPU that gives no answer."""

    index: int
    error: str


class Xid(msgspec.Struct, frozen=True):
    """An error in the kernel's log."""

    code: int


class Signs(msgspec.Struct, frozen=True):
    """What the witnesses of a driver said."""

    nvml_error: str = ""
    kernel_version: str = ""
    kernel_flavor: str = ""
    bus_gpus: int = 0
    lost: tuple[Lost, ...] = ()
    xids: tuple[Xid, ...] = ()
    fabric_manager: str = ""


class Driver(msgspec.Struct, frozen=True):
    """The NVIDIA driver."""

    version: str
    cuda_version: str | None


class Gpu(msgspec.Struct, frozen=True):
    """One GPU."""

    index: int
    name: str
    compute_capability: str | None
    memory_total_bytes: int | None
    uuid_hash: str = ""
    mig_mode: bool | None = None
    ecc_enabled: bool | None = None
    ecc_uncorrected: int | None = None
    remapping_pending: bool = False
    remapping_failed: bool = False
    compute_mode: str = ""
    pcie_width: int | None = None
    nvlinks: int | None = None


class Interpreter(msgspec.Struct, frozen=True):
    """The Python that trains."""

    version: str
    kind: str
    executable: str
    prefix: str = ""


class Package(msgspec.Struct, frozen=True):
    """An installed distribution."""

    version: str


class Packages(msgspec.Struct, frozen=True):
    """All that is installed."""

    installed: dict[str, Package]


class FileFault(msgspec.Struct, frozen=True):
    """A package whose files are not as recorded."""

    package: str


class Files(msgspec.Struct, frozen=True):
    """Installed code held against what was recorded of it."""

    faults: tuple[FileFault, ...] = ()


class Torch(msgspec.Struct, frozen=True):
    """torch as its files describe it."""

    version: str
    cuda_version: str | None
    variant: str = ""


class Dependency(msgspec.Struct, frozen=True):
    """A shared object and what the loader takes for it."""

    name: str
    path: str = ""
    fault: str = ""


class Library(msgspec.Struct, frozen=True):
    """A native library of a package."""

    package: str
    dependencies: tuple[Dependency, ...] = ()
    fault: str = ""


class Choice(msgspec.Struct, frozen=True):
    """The library that bitsandbytes selects."""

    library: str


class Linkage(msgspec.Struct, frozen=True):
    """What the loader will take."""

    libraries: tuple[Library, ...] = ()
    choice: Choice | None = None


class Compiling(msgspec.Struct, frozen=True):
    """Limits that training meets."""

    memory_lock_bytes: int | None = None
    open_files: int | None = None
    rdma_devices: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """One stage of the trial."""

    stage: str
    outcome: str
    seconds: float = 0.0


class Trial(msgspec.Struct, frozen=True):
    """The trial, stage by stage."""

    device: str | None
    runs: tuple[Run, ...] = ()


class Facts(msgspec.Struct, frozen=True):
    """The facts that are compared."""

    system: System | None = None
    environment: dict[str, str] | None = None
    driver_signs: Signs | None = None
    driver: Driver | None = None
    gpus: tuple[Gpu, ...] | None = None
    interpreter: Interpreter | None = None
    packages: Packages | None = None
    files: Files | None = None
    torch: Torch | None = None
    linkage: Linkage | None = None
    compiling: Compiling | None = None
    trial: Trial | None = None
    gaps: tuple[Unseen, ...] = ()


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A report of ``check``."""

    schema: int
    subject: About
    verdict: Verdict
    primary: str | None = None
    findings: tuple[Named, ...] = ()
    gaps: tuple[Unseen, ...] = ()
    facts: Facts


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One JSON object of a stream: a report, or what a launcher says of a node and its report."""

    schema: int | None = None
    node: str = ""
    rank: int | None = None
    local_rank: int | None = None
    report: Told | None = None
    failure: str = ""  # why there is no report
    expected: tuple[str, ...] = ()  # the nodes that were asked
    collective: msgspec.Raw = msgspec.Raw(b"null")
    subject: About | None = None
    verdict: Verdict | None = None
    primary: str | None = None
    findings: tuple[Named, ...] = ()
    gaps: tuple[Unseen, ...] = ()
    facts: Facts | None = None

    @property
    def told(self) -> Told | None:
        """The report, bare or in its envelope; None where there is none."""
        if self.report or not (self.subject and self.verdict and self.facts):
            return self.report
        return Told(
            schema=self.schema or 0,
            subject=self.subject,
            verdict=self.verdict,
            primary=self.primary,
            findings=self.findings,
            gaps=self.gaps,
            facts=self.facts,
        )


class _Head(msgspec.Struct):
    schema: int


_read = msgspec.json.Decoder(Document).decode


def read(data: bytes) -> Document:
    """One JSON object. A ValueError says what is wrong with it."""
    try:
        return _read(data)
    except RecursionError:
        raise ValueError("its report is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise ValueError(schema_fault(data) or f"its report is not as it must be: {error}") from None
    except ValueError as error:
        is_cut = "truncated" in str(error)
        raise ValueError(
            "its report is cut off before the end" if is_cut else f"its report is no JSON: {error}"
        ) from None


def schema_fault(data: bytes) -> str:
    """What is said of a report of another schema, which may well have other fields; else ""."""
    try:
        schema = msgspec.json.decode(data, type=_Head).schema
    except (ValueError, RecursionError):
        return ""
    return "" if schema == SCHEMA else of_another(schema)


def of_another(schema: int) -> str:
    """The words for a report of a schema that this doctor does not know."""
    return f"its report has schema {schema}; this lora-doctor reads schema {SCHEMA}"


def fault(told: Told) -> str:
    """Why a report that can be read is not to be believed, or is none of a machine; "" where it is."""
    if told.schema != SCHEMA:
        return of_another(told.schema)
    if told.subject.kind not in ("live", "node", "report"):
        return f"its report is one of {told.subject.kind}, not of a machine"
    errors = [one.id for one in told.findings if one.severity == "error"]
    of_environment = [id for id in errors if not id.startswith(("script/", "workload/"))]
    if of_environment and told.verdict in ("healthy", "impaired"):
        return f"its report contradicts itself: it says {told.verdict} and has the error {of_environment[0]}"
    if told.verdict == "broken" and not of_environment:
        return "its report contradicts itself: it says broken and names no error"
    if told.primary and told.primary not in {one.id for one in told.findings}:
        return f"its report contradicts itself: its primary finding, {told.primary}, is none of its findings"
    return ""
