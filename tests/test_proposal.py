"""Facts and pins become a set with its commands: which installer, which interpreter, what changes."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from packaging.requirements import Requirement

from doctor.facts import Facts, Gap
from doctor.proposal import SET, PinInvalid, pin, propose
from doctor.stated import Stated


def with_interpreter(facts: Facts, **changes: Any) -> Facts:
    return healthy.but(facts, interpreter=healthy.but(facts.interpreter, **changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("peft=0.17", "is no requirement"),
        ("", "is no requirement"),
        ("peft==0.17.1; nonsense", "is no requirement"),
        ("not-a-package==1", "not among the packages that are known here"),
        ("peft @ https://example.org/peft.whl", "names a file"),
        ("transformers==99.0", "not among the known releases of transformers"),
        ("transformers==5.0.0rc1", "not among the known releases"),
    ],
)
def test_pins_that_cannot_be_solved_for(text: str, message: str) -> None:
    with pytest.raises(PinInvalid, match=message) as caught:
        pin(text)
    assert caught.value.hint


def test_a_pin_has_the_name_of_the_index() -> None:
    assert str(pin("Huggingface_Hub>=0.30")) == "huggingface-hub>=0.30"


def test_a_set_for_a_seen_machine() -> None:
    found = propose(healthy.FACTS, [])
    assert found.pins.keys() >= set(SET)
    assert found.python == "3.11"
    assert found.machine.startswith("Python 3.11 on linux x86_64, driver 580.95.05, NVIDIA GeForce RTX 4090")
    torch, rest = found.commands
    assert torch[:4] == ("/env/bin/python", "-m", "pip", "install")
    assert torch[4] == f"torch=={found.pins['torch']}+{found.torch_variant}"
    assert torch[5:] == ("--index-url", found.index_url)
    assert {word.split("==")[0] for word in rest[4:]} == found.pins.keys() - {"torch"}
    assert found.installers["uv"][0][:5] == ("uv", "pip", "install", "--python", "/env/bin/python")
    assert found.verified is None


def test_what_changes_is_told_with_the_build() -> None:
    found = propose(healthy.FACTS, [Requirement("torch==2.13.0"), Requirement("peft==0.19.1")])
    assert found.torch_variant == "cu130" and "torch" not in found.changes
    assert found.changes["peft"] == healthy.VERSIONS["peft"]
    assert found.changes["tokenizers"] == ""  # not installed
    other = propose(healthy.FACTS, [Requirement("torch==2.13.0")], torch_cuda="12.6")
    assert other.changes["torch"] == "2.13.0+cu130"  # the same release for another CUDA


def test_the_closest_set_keeps_what_is_installed() -> None:
    found = propose(healthy.FACTS, [], stay_close=True)
    assert {name: found.pins[name] for name in SET if name != "torch"} == {
        name: version for name, version in healthy.VERSIONS.items() if name in SET and name != "torch"
    }
    assert f"{found.pins['torch']}+{found.torch_variant}" == healthy.VERSIONS["torch"]


def test_the_target_that_uv_made_is_answered_with_uv() -> None:
    assert healthy.FACTS.packages is not None
    made = {name: healthy.but(one, installer="uv") for name, one in healthy.FACTS.packages.installed.items()}
    facts = healthy.but(healthy.FACTS, packages=healthy.but(healthy.FACTS.packages, installed=made))
    assert propose(facts, []).commands[0][0] == "uv"


def test_an_interpreter_of_the_system_gets_an_environment() -> None:
    found = propose(with_interpreter(healthy.FACTS, externally_managed=True), [])
    made, torch, *_ = found.commands
    assert made == ("/env/bin/python", "-m", "venv", ".venv")
    assert torch[0].startswith(".venv")


def test_pip_is_brought_where_it_is_missing() -> None:
    found = propose(with_interpreter(healthy.FACTS, has_pip=False), [])
    assert found.installers["pip"][0] == ("/env/bin/python", "-m", "ensurepip")
    assert found.installers["uv"][0][0] == "uv"


def test_a_described_machine_names_no_interpreter() -> None:
    found = propose(Stated(python="3.12", os="linux", arch="x86_64").facts(), [])
    assert found.commands[0][:4] == ("python", "-m", "pip", "install")
    assert found.machine == "Python 3.12 on linux x86_64, CPU"
    assert found.changes == {}


def test_the_processor_comes_with_some_gpus() -> None:
    found = propose(Stated(os="linux", gpu="GH200", driver="580.95.05").facts(), [])
    assert "aarch64" in found.machine and found.torch_variant and found.torch_variant.startswith("cu13")


def test_no_set_says_why_and_what_to_drop() -> None:
    found = propose(healthy.FACTS, [Requirement("peft==0.17.1"), Requirement("transformers==5.24.0")])
    assert found.pins == {} and found.commands == () and found.torch_variant is None
    assert any("HybridCache" in reason for reason in found.because)
    assert len(found.ways_out) == 2


def test_a_driver_that_does_not_answer_is_not_passed_over() -> None:
    gap = Gap(about="driver", kind="failed", reason="Driver/library version mismatch")
    facts = healthy.but(healthy.FACTS, driver=None, gpus=None, gaps=(gap,))
    found = propose(facts, [])
    assert found.torch_variant == "cpu"
    assert "Driver/library version mismatch" in found.warnings[0]
