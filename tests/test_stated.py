"""A machine that is described."""

from __future__ import annotations

import pytest

from doctor.stated import Stated, StatementInvalid


def test_what_is_said_is_known_and_the_rest_is_a_gap() -> None:
    found = Stated(python="3.11", os="windows", arch="AMD64", driver="535.104.05", gpu="RTX 3060").facts()
    assert found.system and (found.system.os, found.system.arch) == ("win32", "x86_64")
    assert found.interpreter and (found.interpreter.version, found.interpreter.kind) == ("3.11", "stated")
    assert found.driver and (found.driver.version, found.driver.source) == ("535.104.05", "stated")
    [gpu] = found.gpus or ()
    assert gpu.compute_capability == "8.6" and gpu.memory_total_bytes
    assert found.gaps == ()


def test_nothing_said() -> None:
    found = Stated().facts()
    assert (found.interpreter, found.driver, found.gpus) == (None, None, None)
    assert [(gap.about, gap.kind) for gap in found.gaps] == [("gpus", "not-asked")]


@pytest.mark.parametrize(
    ("text", "size"), [("12GiB", 12 << 30), ("24 GB", 24 << 30), ("512MiB", 512 << 20), ("8", 8 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    [gpu] = Stated(compute_capability="8.9", gpu_memory=text).facts().gpus or ()
    assert (gpu.memory_total_bytes, gpu.compute_capability) == (size, "8.9")


def test_a_capability_outweighs_a_name() -> None:
    [gpu] = Stated(gpu="an unknown GPU", compute_capability="12.0").facts().gpus or ()
    assert (gpu.name, gpu.compute_capability) == ("an unknown GPU", "12.0")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("python", "three"),
        ("os", "beos"),
        ("driver", "535;rm"),
        ("gpu", "Voodoo 2"),
        ("compute_capability", "sm_86"),
    ],
)
def test_what_cannot_be_true_is_refused(field: str, value: str) -> None:
    with pytest.raises(StatementInvalid, match=value):
        Stated(**{field: value}).facts()


def test_options_that_are_not_given() -> None:
    assert Stated.of("3.11", None, None, None, None, None, None, None) == Stated(python="3.11")
