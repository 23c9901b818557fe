"""Cures where only words tell of a fault: with nothing known, and with what a paste may tell."""

from __future__ import annotations

import healthy
import pytest

from doctor.facts import Driver, Facts, TorchBuild
from doctor.rules import Rule, code_rules
from doctor.rules.cures_by_words import cuda_torch, driver_or_torch, newer_driver_alone, torchvision_of_torch
from doctor.rules.machine_cures_by_words import start_fabric_manager, wsl_libraries

CURED = {rule.id: rule for rule in code_rules(scripts=False) if rule.cure}
assert healthy.FACTS.system
MAC = Facts(system=healthy.but(healthy.FACTS.system, os="darwin"))
CUDA_13 = TorchBuild(version="2.9.1+cu130", cuda_version="13.0", hip_version=None, variant="cu130")
DRIVER_550 = Driver(version="550.90.07", cuda_version="12.4", source="stated")


@pytest.mark.parametrize("rule", CURED.values(), ids=list(CURED))
@pytest.mark.parametrize("facts", [Facts(), healthy.FACTS, MAC], ids=["nothing", "a machine", "a Mac"])
def test_a_cure_is_one_or_two_ways_out_whatever_is_known(rule: Rule, facts: Facts) -> None:
    assert rule.cure
    fixes = rule.cure(facts)
    assert 1 <= len(fixes) <= 2 and all(fix.title for fix in fixes)
    assert not any(command[0] == "pip" for fix in fixes for command in fix.commands)


def test_a_cpu_build_is_exchanged_for_one_of_an_index_with_a_word_on_the_driver() -> None:
    [fix] = cuda_torch(Facts())
    assert "driver" in fix.title and "https://download.pytorch.org/whl/cu126" in fix.commands[-1]


def test_a_mac_is_told_of_no_cuda_build() -> None:
    assert [fix.scope for fix in cuda_torch(MAC)] == ["script"]


def test_an_old_driver_gets_a_torch_that_it_runs_and_then_a_newer_driver() -> None:
    torch, driver = driver_or_torch(Facts(driver=DRIVER_550, torch=CUDA_13))
    assert "torch==2.9.1+cu128" in torch.commands[0] and "580" in driver.title


def test_ptx_asks_for_the_driver_of_its_own_cuda() -> None:
    torch = healthy.but(CUDA_13, cuda_version="12.8", variant="cu128")
    assert "570" in newer_driver_alone(Facts(driver=DRIVER_550, torch=torch))[0].title
    assert "as new as" in newer_driver_alone(Facts())[0].title


def test_fabric_manager_is_of_the_driver() -> None:
    assert start_fabric_manager(Facts(driver=DRIVER_550))[1].commands[0][-1] == "nvidia-fabricmanager-550"
    assert start_fabric_manager(Facts())[1].commands == ()


def test_what_the_loader_looks_through_is_kept() -> None:
    [fix, _] = wsl_libraries(Facts(environment={"LD_LIBRARY_PATH": "/opt/lib"}))
    assert fix.commands == (("export", "LD_LIBRARY_PATH=/usr/lib/wsl/lib:/opt/lib"),)


def test_torchvision_goes_with_torch() -> None:
    assert "torchvision" in torchvision_of_torch(Facts())[0].commands[0]
    assert "torchvision==0.28.*" in torchvision_of_torch(healthy.FACTS)[0].commands[-1]
