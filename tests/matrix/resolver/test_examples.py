"""Machines and pins whose set is known beforehand, from the makers' tables and not from the program."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from doctor.matrix.resolver import Conflict, Machine, Solution, Wish, because, blame, solve
from doctor.proposal import SET


def found(machine: Machine, *pins: str) -> Solution:
    solution = solve(requirements(*pins), machine, extra_packages=SET, use_rows=True)
    assert isinstance(solution, Solution), solution
    return solution


def refused(machine: Machine, *pins: str) -> tuple[str, ...]:
    solution = solve(requirements(*pins), machine, extra_packages=SET, use_rows=True)
    assert isinstance(solution, Conflict), solution
    return solution.reasons


def requirements(*pins: str) -> list[Requirement]:
    return [Requirement(pin) for pin in pins]


def words(machine: Machine) -> str:
    return " ".join((machine.arch, machine.driver, *machine.capabilities))


def told(machine: Machine, solution: Solution, *pins: str) -> list[str]:
    return list(because(machine, Wish(tuple(requirements(*pins)), SET), solution))


@pytest.mark.parametrize(
    ("machine", "torch", "variant", "reason"),
    [
        # 450.80.02 is the first driver of CUDA 11, 525.60.13 of CUDA 12; torch 2.7 was the last with cu118.
        (Machine(driver="470.256.02"), "2.7.1", "cu118", "driver 470.256.02 runs no CUDA newer than 11"),
        # CUDA 13 asks for 580. torch 2.13 is the newest release whose cu126 is known to be published.
        (Machine(driver="535.104.05", capabilities=("7.5",)), "2.13.0", "cu126", "no CUDA newer than 12"),
        # sm_120 came with CUDA 12.8; torch has no cu128 after 2.11, and 570 runs nothing of CUDA 13.
        (Machine(driver="570.26", capabilities=("12.0",)), "2.11.0", "cu128", "compute capability 12.0"),
        # CUDA 13 dropped Volta and Pascal, whatever the driver; cu128 has no sm_70 after 2.10, and cu126 has.
        (Machine(driver="580.95.05", capabilities=("7.0",)), "2.13.0", "cu126", "compute capability 7.0"),
        (Machine(driver="535.104.05", capabilities=("6.0",)), "2.13.0", "cu126", "compute capability 6.0"),
        # GH200: the plain wheels for aarch64 are CUDA builds from 2.11 on, and cu126 has sm_90 there.
        (Machine(driver="580.95.05", capabilities=("9.0",), arch="aarch64"), "2.15.0", "cu132", "newest"),
        (
            Machine(driver="550.54.15", capabilities=("9.0",), arch="aarch64"),
            "2.13.0",
            "cu126",
            "newer than 12",
        ),
        # Jetson Thor is sm_110 since CUDA 13.
        (Machine(driver="580.95.05", capabilities=("11.0",), arch="aarch64"), "2.15.0", "cu132", "newest"),
        # From CUDA 13.2 on the code of other GPUs of compute capability 8 runs on Jetson Orin too.
        (Machine(driver="580.95.05", capabilities=("8.7",), arch="aarch64"), "2.15.0", "cu132", "newest"),
        # Two GPUs: cu128 of 2.8 to 2.10 has both sm_70 and sm_120.
        (Machine(driver="570.26", capabilities=("7.0", "12.0")), "2.10.0", "cu128", "7.0, 12.0"),
    ],
    ids=lambda value: words(value) if isinstance(value, Machine) else str(value),
)
def test_the_build_of_torch(machine: Machine, torch: str, variant: str, reason: str) -> None:
    solution = found(machine)
    assert (solution.pins["torch"], solution.torch_variant) == (torch, variant)
    first, *_ = told(machine, solution)
    assert first.startswith(f"torch {torch} ({variant}): ") and reason in first


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        # RTX 50 came with branch 570; branch 580 is the last for Volta, 470 for Kepler.
        (Machine(driver="560.28.03", capabilities=("12.0",)), "is older than GPUs of"),
        (Machine(driver="595.45.04", capabilities=("7.0",)), "no longer drives GPUs of"),
        (Machine(driver="535.104.05", capabilities=("3.7",)), "no longer drives GPUs of"),
    ],
    ids=lambda value: words(value) if isinstance(value, Machine) else str(value),
)
def test_a_driver_that_does_not_drive_the_gpu_is_the_reason(machine: Machine, reason: str) -> None:
    assert any(reason in one for one in refused(machine)), refused(machine)


def test_a_new_gpu_without_a_known_driver_gets_the_newest_build_and_the_driver_is_told() -> None:
    machine = Machine(capabilities=("12.0",))
    solution = found(machine)
    assert (solution.pins["torch"], solution.torch_variant) == ("2.15.0", "cu132")
    assert told(machine, solution)[0] == "torch 2.15.0 (cu132): CUDA 13 needs NVIDIA driver 580 or newer"


def test_a_wished_cuda_is_taken() -> None:
    assert found(Machine(torch_cuda="12.8")).torch_variant == "cu128"


def test_a_k80_has_no_set() -> None:
    """sm_37 was in cu118 up to torch 2.6, and in no wheel of bitsandbytes."""
    machine = Machine(driver="470.256.02", capabilities=("3.7",))
    reasons = refused(machine)
    assert reasons[0].startswith("torch 2.6.0 (cu118) is the newest build that runs with driver 470.256.02")
    assert any(
        "no wheel of bitsandbytes" in reason and "compute capability 3.7" in reason for reason in reasons
    )
    assert blame([], machine, extra_packages=SET)[1] == ()  # there is no pin to drop


def test_jetson_orin_with_cuda_12_has_no_set() -> None:
    reasons = refused(Machine(driver="540.4.0", capabilities=("8.7",), arch="aarch64"))
    assert "torch built for CUDA 12.6 has no code for compute capability 8.7" in reasons
    assert "torch built for CUDA 13.0, 13.2 needs a newer driver than 540.4.0" in reasons
    assert any("JetPack" in reason for reason in reasons)


def test_a_driver_before_cuda_11_has_no_set() -> None:
    assert any("newer driver than 390.157" in reason for reason in refused(Machine(driver="390.157")))


def test_python_3_9_ends_with_the_last_releases_that_took_it() -> None:
    pins = found(Machine(python="3.9")).pins
    assert {name: pins[name] for name in SET} == {
        "torch": "2.8.0",
        "transformers": "4.57.6",
        "peft": "0.17.1",
        "accelerate": "1.10.1",
        "trl": "0.24.0",
        "bitsandbytes": "0.48.2",
        "datasets": "4.5.0",
    }
    # hub 1.8 still takes Python 3.9, but transformers 4 refuses it when it is imported.
    assert (pins["huggingface-hub"], pins["tokenizers"], pins["numpy"]) == ("0.36.2", "0.22.2", "2.0.2")


def test_python_3_14_needs_torch_2_9_or_newer() -> None:
    assert found(Machine(python="3.14")).pins["torch"] == "2.15.0"
    reasons = refused(Machine(python="3.14"), "torch==2.8.0")
    assert "torch 2.8.0 has no wheel for Python 3.14 on linux x86_64" in reasons


def test_peft_0_17_holds_transformers_below_5() -> None:
    """It imports HybridCache, which left transformers in 5.0; 4.57 in turn takes no hub of 1.0."""
    solution = found(Machine(), "peft==0.17.1")
    pins = solution.pins
    assert (pins["peft"], pins["transformers"], pins["huggingface-hub"]) == ("0.17.1", "4.57.6", "0.36.2")
    reasons = {sentence.split(":")[0]: sentence for sentence in told(Machine(), solution, "peft==0.17.1")}
    newest = found(Machine()).pins
    assert "HybridCache" in reasons[f"transformers 4.57.6, not {newest['transformers']}"]
    assert reasons[f"peft 0.17.1, not {newest['peft']}"].endswith("peft==0.17.1 is asked for")


def test_transformers_5_24_pinned() -> None:
    pins = found(Machine(), "transformers==5.24.0").pins
    assert pins["transformers"] == "5.24.0"
    assert pins["huggingface-hub"].startswith("2.") and pins["tokenizers"].startswith("0.23.")
    assert "transformers 5.24.0 needs Python >=3.11.0, not 3.10" in refused(
        Machine(python="3.10"), "transformers==5.24.0"
    )


def test_windows_takes_the_builds_of_linux() -> None:
    """CUDA 12 starts with 527.41 there. Triton is no requirement of torch on Windows."""
    solution = found(Machine(os="win32", driver="528.33", capabilities=("8.6",)))
    assert (solution.pins["torch"], solution.torch_variant) == ("2.13.0", "cu126")
    assert "triton" not in solution.pins
    old = found(Machine(os="win32", driver="516.31", capabilities=("8.6",)))
    assert (old.pins["torch"], old.torch_variant) == ("2.7.1", "cu118")


def test_macos_has_bitsandbytes_from_0_49_on_apple_silicon_alone() -> None:
    machine = Machine(os="darwin", arch="aarch64")
    assert found(machine).torch_variant == "cpu"
    assert found(machine, "bitsandbytes<0.50").pins["bitsandbytes"].startswith("0.49.")
    assert refused(machine, "bitsandbytes<0.49")
    # Python 3.9 ends with 0.48, which has nothing for macOS: a set without it trains unquantized.
    without = found(Machine(os="darwin", arch="aarch64", python="3.9"))
    assert "bitsandbytes" not in without.pins and "bitsandbytes" in without.left_out


def test_macos_on_intel_ends_with_torch_2_2() -> None:
    solution = found(Machine(os="darwin", arch="x86_64"))
    assert solution.pins["torch"] == "2.2.2"
    assert solution.pins["numpy"].startswith("1.")  # torch 2.2 was built for NumPy 1
    assert "bitsandbytes" not in solution.pins


def test_pyarrow_gives_way_to_numpy_1() -> None:
    """No metadata says that pyarrow 26 needs NumPy 2."""
    pins = found(Machine(), "numpy<2").pins
    assert pins["numpy"] == "1.26.4"
    assert int(pins["pyarrow"].split(".")[0]) < 26


def test_a_cpu_set_has_no_triton() -> None:
    assert "triton" not in found(Machine()).pins
    assert "triton" in found(Machine(driver="580.95.05")).pins
