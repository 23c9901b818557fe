from __future__ import annotations

import msgspec
import pytest

from doctor.facts import (
    BitsandbytesRuntime,
    CudaDriver,
    Driver,
    Facts,
    Failure,
    Gap,
    Proof,
    Stage,
    StageRun,
    Trial,
)
from doctor.findings import Evidence, Finding
from doctor.render import describe
from doctor.render.lines import LINES, OF_CUDA, is_settled, lines_of, mark, subject_line, title_of
from doctor.render.verdict import verdict

from .machines import (
    CPU_FACTS,
    GIB,
    IMPORTS,
    INTERPRETER,
    SMOKE,
    SYSTEM,
    blocked,
    gpu_workstation,
    packages,
    report,
)

LINE = {line.title: line for line in LINES}
replace = msgspec.structs.replace


def finding(id: str, severity: str = "error", breaks: tuple[str, ...] = ()) -> Finding:
    return Finding(id=id, severity=severity, confidence="confirmed", title=id, breaks=breaks)  # type: ignore[arg-type]


def test_subjects_in_order() -> None:
    assert list(LINE) == [
        *("system", "driver", "gpu", "interpreter", "packages", "torch", "bitsandbytes", "native libraries"),
        *("cuda versions", "compiling", "training libraries", "smoke test"),
    ]


def test_what_is_of_cuda_is_told_where_there_is_something_of_cuda() -> None:
    assert [line.title for line in lines_of(CPU_FACTS)] == [title for title in LINE if title not in OF_CUDA]
    assert [line.title for line in lines_of(gpu_workstation().facts)] == list(LINE)
    assert lines_of(replace(CPU_FACTS, torch=gpu_workstation().facts.torch)) == LINES


def test_every_field_is_one_of_facts() -> None:
    assert {field for line in LINES for field in line.fields} <= set(Facts.__struct_fields__)


@pytest.mark.parametrize(
    ("id", "title"),
    [
        ("system/glibc-too-old", "system"),
        ("driver/not-installed", "driver"),
        ("gpu/hardware-fault", "gpu"),
        ("rocm/gfx-not-in-build", "gpu"),
        ("python/module-shadowed", "interpreter"),
        ("python/interpreter-does-not-start", "interpreter"),
        ("python/files-missing-or-altered", "packages"),
        ("numpy/abi-mismatch", "packages"),
        ("torch/cpu-only-build", "torch"),
        ("cuda/mixed-majors", "native libraries"),
        ("triton/python-headers-missing", "compiling"),
        ("bitsandbytes/too-old", "bitsandbytes"),
        ("peft/too-old", "training libraries"),
        ("flash-attn/too-old", "training libraries"),
        ("doctor/rule-crashed", None),
        ("script/removed-argument", None),
        ("workload/does-not-fit", "plan"),
    ],
)
def test_title_of_a_finding(id: str, title: str | None) -> None:
    assert title_of(finding(id)) == title


@pytest.mark.parametrize(
    ("breaks", "title"),
    [
        (("import-torch", "lora-step"), "torch"),
        (("import-bitsandbytes",), "bitsandbytes"),
        (("import-peft",), "training libraries"),
        (("see-gpu",), "gpu"),
        (("qlora-step",), "smoke test"),
        ((), "smoke test"),
    ],
)
def test_a_failed_stage_belongs_to_its_library_or_the_smoke_test(breaks: tuple[str, ...], title: str) -> None:
    assert title_of(finding("smoke/stage-failed", breaks=breaks)) == title


@pytest.mark.parametrize(("severity", "word"), [("error", "FAIL"), ("warning", "warn"), ("note", "note")])
def test_mark_is_the_gravest_of_its_findings(severity: str, word: str) -> None:
    findings = [finding("torch/cpu-only-build", severity), finding("torch/mkl-mismatch", "note")]
    assert mark(LINE["torch"], CPU_FACTS, findings) == word
    assert mark(LINE["system"], CPU_FACTS, findings) == "ok"


def test_a_symptom_marks_its_own_line() -> None:
    cause = replace(finding("peft/too-old"), symptoms=(finding("smoke/stage-failed", breaks=("lora-step",)),))
    assert mark(LINE["smoke test"], CPU_FACTS, [cause]) == "FAIL"


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.title)
def test_nothing_seen_is_never_ok(line: object) -> None:
    told = subject_line(line, Facts(), [])  # type: ignore[arg-type]
    assert (told.mark, told.text) == ("?", "not seen")


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.title)
def test_a_gap_gives_its_reason_and_is_never_ok(line: object) -> None:
    assert hasattr(line, "fields")
    for field in line.fields:
        gap = Gap(about=field, kind="failed", reason="the moon is full")
        told = subject_line(line, replace(CPU_FACTS, **{field: None, "gaps": (gap,)}), [])  # type: ignore[arg-type]
        assert told.mark == "?"
        assert "the moon is full" in told.text


def test_an_answer_that_there_is_no_gpu_is_not_ok() -> None:
    told = subject_line(LINE["gpu"], replace(CPU_FACTS, gpus=()), [])
    assert (told.mark, told.text) == ("?", "none seen")


def test_a_failed_stage_fails_its_line_without_any_finding() -> None:
    runs = (*IMPORTS[:6], StageRun(stage="import-trl", outcome="failed"), *SMOKE)
    facts = replace(CPU_FACTS, trial=Trial(device="cpu", runs=runs))
    assert mark(LINE["training libraries"], facts, []) == "FAIL"


def test_a_stage_that_cannot_be_tried_here_is_open_and_no_failure() -> None:
    runs = (*IMPORTS, StageRun(stage="load-4bit", outcome="failed"))
    facts = replace(CPU_FACTS, trial=Trial(device="cpu", runs=runs))
    seen = (Evidence("load-4bit", "No GPU found", "a GPU"),)
    note = replace(finding("bitsandbytes/quantises-on-gpu-only", "note"), evidence=seen)
    assert mark(LINE["smoke test"], facts, [note]) == "?"
    assert mark(LINE["smoke test"], facts, [replace(note, id="smoke/wrong-result")]) == "FAIL"
    found = report(facts, "healthy", [note])
    assert verdict(found).endswith("since none is seen here; the smoke test.")


def test_a_blocked_stage_leaves_the_smoke_test_open() -> None:
    facts = replace(
        CPU_FACTS,
        trial=Trial(device="cpu", runs=(*SMOKE[:2], *blocked("load-4bit is not there", "qlora-step"))),
    )
    told = subject_line(LINE["smoke test"], facts, [])
    assert told.mark == "?"
    assert told.text.endswith("; qlora-step not run: load-4bit is not there")


def test_what_is_blocked_by_the_blocked_names_the_first_obstacle() -> None:
    died = Failure(kind="died", signal="SIGBUS")
    stages: tuple[Stage, ...] = ("import-transformers", "import-peft")
    failed = [StageRun(stage=stage, outcome="failed", failure=died) for stage in stages]
    rest = (*blocked("import-transformers", "load-4bit"), *blocked("load-4bit", "qlora-step"))
    rest += (*blocked("qlora-step", "save-load"), *blocked("trl is not installed", "sft-step"))
    facts = replace(CPU_FACTS, trial=Trial(device="cpu", runs=(*failed, *rest)))
    told = "not run: import-transformers failed and trl is not installed"
    assert subject_line(LINE["smoke test"], facts, []).text == told
    assert describe.training_libraries(facts).endswith("; import-transformers and import-peft died of SIGBUS")


def test_a_library_that_nobody_installed_does_not_open_the_smoke_test() -> None:
    runs = (*SMOKE[:4], *blocked("trl is not installed", "sft-step"))
    told = subject_line(LINE["smoke test"], replace(CPU_FACTS, trial=Trial(device="cpu", runs=runs)), [])
    assert told.mark == "ok"
    assert told.text.endswith("; sft-step not run: trl is not installed")


def test_a_trial_without_a_smoke_stage_is_open() -> None:
    facts = replace(CPU_FACTS, trial=Trial(device=None, runs=IMPORTS))
    assert mark(LINE["smoke test"], facts, []) == "?"


def test_a_proof_that_does_not_hold_warns() -> None:
    flawed = replace(SMOKE[0], proofs=(Proof(name="p", holds=False, seen="1", wanted="0"),))
    told = subject_line(LINE["smoke test"], replace(CPU_FACTS, trial=Trial(device="cpu", runs=(flawed,))), [])
    assert told.mark == "warn"
    assert "1 of 1 proofs does not hold" in told.text


def test_settled_once_each_field_is_there_or_missing() -> None:
    facts = Facts(torch=CPU_FACTS.torch)
    assert not is_settled(LINE["torch"], facts)
    gap = Gap(about="torch_runtime", kind="not-asked", reason="import-torch is left out by --quick")
    assert is_settled(LINE["torch"], replace(facts, gaps=(gap,)))
    assert is_settled(LINE["torch"], CPU_FACTS)


def test_driver() -> None:
    seen = Driver(version="550.54.15", cuda_version="12.4", source="nvml")
    assert describe.driver(Facts(driver=seen)) == "550.54.15, offers CUDA 12.4"
    assert describe.driver(Facts(driver=replace(seen, cuda_version=None))) == "550.54.15"
    differ = replace(seen, disagreement={"nvml": "550.54.15", "kernel": "535.104.05"})
    assert describe.driver(Facts(driver=differ)).endswith("; nvml says 550.54.15, kernel says 535.104.05")


def test_a_driver_whose_libcuda_does_not_serve() -> None:
    seen = Driver(version="550.54.15", cuda_version="12.4", source="nvml")
    refused = CudaDriver(library="libcuda.so", init_code=802, init_error="CUDA_ERROR_SYSTEM_NOT_READY")
    dead = CudaDriver(library="libcuda.so", failure="killed by SIGSEGV")
    well = CudaDriver(library="libcuda.so", init_code=0)
    assert [describe.driver(Facts(driver=seen, cuda_driver=one)) for one in (refused, dead, well)] == [
        "550.54.15, offers CUDA 12.4; CUDA does not start (error 802)",
        "550.54.15, offers CUDA 12.4; libcuda killed by SIGSEGV",
        "550.54.15, offers CUDA 12.4",
    ]


def test_gpus_of_a_kind_are_told_once() -> None:
    gpus = gpu_workstation().facts.gpus
    assert gpus is not None
    assert describe.gpu(Facts(gpus=gpus[:1])) == "NVIDIA GeForce RTX 4090, 24.0 GiB, compute capability 8.9"
    other = replace(gpus[0], name="NVIDIA T400", memory_total_bytes=4 * GIB, compute_capability=None)
    told = describe.gpu(Facts(gpus=(*gpus, other)))
    assert told == (
        "2 x NVIDIA GeForce RTX 4090, 24.0 GiB, compute capability 8.9; "
        "NVIDIA T400, 4.0 GiB, compute capability unknown"
    )


def test_interpreter_remarks() -> None:
    odd = replace(
        INTERPRETER, kind="system", has_pip=False, externally_managed=True, writable=False, user_site="~/x"
    )
    assert describe.interpreter(Facts(interpreter=odd)) == (
        "CPython 3.11.9, the system's own Python, without pip, externally managed, not writable,"
        " user site in use"
    )


def test_system_in_a_container_of_wsl() -> None:
    told = describe.system(
        Facts(system=replace(SYSTEM, container="docker", wsl=True, libc=None, cpu_count=1))
    )
    assert told.startswith("Debian GNU/Linux 12 (bookworm), x86_64, 1 CPU, 23.5 GiB memory, ")
    assert told.endswith(" disk free, in docker, WSL")


def test_packages_without_hashes_says_by_size() -> None:
    assert (
        describe.packages(replace(CPU_FACTS, hashes=None)) == "7 installed, 15602 files as recorded by size"
    )


@pytest.mark.parametrize(
    ("variant", "cuda", "hip", "text"),
    [
        ("cpu", None, None, "a CPU-only build"),
        ("cu126", "12.6", None, "built for CUDA 12.6"),
        ("rocm6.4", None, "6.4", "built for ROCm 6.4"),
        ("unknown", None, None, "of an unknown build"),
    ],
)
def test_torch_build(variant: str, cuda: str | None, hip: str | None, text: str) -> None:
    assert CPU_FACTS.torch is not None
    build = replace(CPU_FACTS.torch, variant=variant, cuda_version=cuda, hip_version=hip)
    assert describe.torch(replace(CPU_FACTS, torch=build)).startswith(f"2.13.0+cpu, {text}")


def test_torch_that_sees_no_gpu_says_so() -> None:
    facts = gpu_workstation().facts
    assert facts.torch_runtime is not None
    blind = replace(facts.torch_runtime, cuda_available=False, device_count=0)
    assert describe.torch(replace(facts, torch_runtime=blind)).endswith(", sees no GPU")
    unknown = replace(facts.torch_runtime, cuda_available=None, device_count=None)
    assert describe.torch(replace(facts, torch_runtime=unknown)).endswith(", not known whether it sees a GPU")


def test_bitsandbytes_without_a_library_says_so() -> None:
    runtime = BitsandbytesRuntime(
        version="0.50.2", file="", library=None, mapped=(), handle="ErrorHandlerMockBNBNativeLibrary"
    )
    assert (
        describe.bitsandbytes(replace(CPU_FACTS, bitsandbytes_runtime=runtime))
        == "0.50.2, loads no native library"
    )


def test_an_absent_training_library_is_named() -> None:
    installed = {name: one for name, one in packages().installed.items() if name != "trl"}
    facts = replace(CPU_FACTS, packages=replace(packages(), installed=installed))
    assert describe.training_libraries(facts) == (
        "transformers 5.24.0, accelerate 1.15.0, peft 0.21.2, no trl: imported in 5.2 s"
    )


def test_a_hang_and_a_death_are_named() -> None:
    run = StageRun(stage="import-peft", outcome="failed", failure=Failure(kind="hung", deadline_s=20.0))
    assert describe.failure(run) == "import-peft hung for 20 s"
    run = replace(run, failure=Failure(kind="died", signal="SIGSEGV"))
    assert describe.failure(run) == "import-peft died of SIGSEGV"
