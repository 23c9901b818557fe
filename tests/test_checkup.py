"""Gathering: every field of Facts is a fact or a gap, whatever the machine answers."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import healthy
import pytest
from fakes import HUNG, NOT_STARTED, FakeHost, emits, ended
from healthy import NVML, STAGES, survey

from doctor.checkup import FIELDS, gather
from doctor.facts import Facts, Gap
from doctor.host import Host, LocalHost
from doctor.probes import Looks

REFUSED = emits({"section": "nvml", "error": "Driver Not Loaded", "code": 9})
DIED = ended(stderr="Fatal Python error: init_fs_encoding\nno encodings", code=1)
MACHINES: dict[str, Callable[[], FakeHost]] = {
    "healthy": healthy.host,
    "no GPU": lambda: healthy.host(libraries={}, programs={}, files={}),
    "the interpreter does not start": lambda: healthy.host(survey=NOT_STARTED),
    "the interpreter dies": lambda: healthy.host(survey=DIED),
    "the interpreter hangs": lambda: healthy.host(survey=HUNG),
    "the survey breaks off after the interpreter": lambda: healthy.host(survey=emits(survey()[0], code=1)),
    "nothing is installed": lambda: healthy.host(
        survey=emits(
            *survey(
                packages={"found": [], "closure": []},
                files={"modules": {}, "checked": 0},
                builds={"torch": None, "bitsandbytes": None},
            )
        )
    ),
    "NVML hangs": lambda: healthy.host(nvml=HUNG),
    "nvidia-smi hangs": lambda: healthy.host(nvml=REFUSED, smi=HUNG, rows=HUNG),
    "a GPU is lost": lambda: healthy.host(
        nvml=emits({**NVML, "gpus": [{"index": 0, "error": "GPU is lost", "code": 15}]})
    ),
    "torch cannot be imported": lambda: healthy.host(
        trial=emits(
            healthy.started("import-torch"),
            healthy.finished("import-torch", "raised", failure={"chain": [["OSError", "libtorch.so"]]}),
        )
    ),
    "the trial's children die without a word": lambda: healthy.host(trial=ended(code=-9)),
    "the hashes hang": lambda: healthy.host(hashes=HUNG),
    "the survey answers in another form": lambda: healthy.host(
        survey=emits({"section": "interpreter"}, {"section": "packages", "found": []}, {"section": "builds"})
    ),
}


def gathered(host: FakeHost, quick: bool = False) -> Facts:
    looks = Looks(host, healthy.TARGET)
    looks.quick = quick
    return gather(looks)


def test_the_healthy_machine_yields_the_healthy_facts() -> None:
    facts = gathered(healthy.host())
    for field in FIELDS:
        assert getattr(facts, field) == getattr(healthy.FACTS, field), field
    assert facts.gaps == ()


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_field_is_none_exactly_when_one_gap_names_it(name: str, quick: bool) -> None:
    facts = gathered(MACHINES[name](), quick)
    unknown = sorted(field for field in FIELDS if getattr(facts, field) is None)
    assert sorted(gap.about for gap in facts.gaps) == unknown
    assert all(gap.reason.strip() for gap in facts.gaps)


@pytest.mark.parametrize("name", sorted(set(MACHINES) - {"healthy"}))
def test_the_machines_of_this_file_differ_from_the_healthy_one(name: str) -> None:
    assert gathered(MACHINES[name]()) != healthy.FACTS


def test_a_quick_look_starts_no_trial_and_computes_no_hashes() -> None:
    host = healthy.host()
    facts = gathered(host, quick=True)
    not_asked = {gap.about for gap in facts.gaps if gap.kind == "not-asked"}
    assert not_asked == {
        *("cuda_driver", "trial", "torch_runtime", "bitsandbytes_runtime", "hashes"),
    }
    assert not host.commands(healthy.PYTHON, "-", "trial")
    assert not host.commands(sys.executable, "-", "libcuda")
    assert not host.commands(healthy.PYTHON, "-", "hashes")
    assert len(host.commands(healthy.PYTHON, "-", "survey")) == 1


def test_each_child_is_started_once_though_many_probes_ask() -> None:
    host = healthy.host()
    gathered(host)
    assert len(host.calls) == 8  # survey, hashes, trial, NVML, libcuda, ptxas, and nvidia-smi twice


def test_a_probe_that_fails_leaves_a_gap_and_the_next_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(looks: Looks) -> None:
        raise KeyError("of our own making")

    monkeypatch.setattr("doctor.probes.driver.probe", fail)
    facts = gathered(healthy.host())
    [gap] = facts.gaps
    assert (gap.about, gap.kind) == ("driver", "failed")
    assert "KeyError" in gap.reason
    assert facts.gpus == healthy.FACTS.gpus


def test_each_field_is_told_as_soon_as_it_is_known() -> None:
    told: list[Facts] = []
    looks = Looks(healthy.host(), healthy.TARGET)
    gather(looks, told.append)
    assert len(told) == len(FIELDS)
    for number, field in enumerate(FIELDS):
        assert getattr(told[number], field) is not None
        assert all(getattr(told[number], later) is None for later in FIELDS[number + 1 :])


def test_the_driver_is_asked_once_for_several_targets() -> None:
    host = healthy.host()
    first = Looks(host, healthy.TARGET)
    second = Looks(host, healthy.TARGET, driver_of=first)
    facts = [gather(looks) for looks in (first, second)]
    assert facts == [healthy.FACTS, healthy.FACTS]
    assert len(host.commands(healthy.SMI)) == 2
    assert len(host.commands(healthy.PYTHON, "-", "survey")) == 2


def test_every_stage_of_the_healthy_trial_is_asked_for_in_one_child() -> None:
    host = healthy.host()
    gathered(host)
    [call] = host.commands(healthy.PYTHON, "-", "trial")
    assert tuple(call.config["stages"]) == STAGES


@pytest.mark.parametrize("kind", [LocalHost, FakeHost])
def test_hosts_keep_to_the_protocol(kind: type) -> None:
    host: Host = kind()
    methods = [name for name in vars(Host) if not name.startswith("_") and callable(getattr(Host, name))]
    assert "run" in methods and "close" in methods
    for name in methods:
        assert parameters(getattr(host, name)) == parameters(getattr(Host, name))[1:]
    assert host.env is not None and host.os


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default) for one in found]


def test_an_unscripted_command_fails_the_test() -> None:
    with pytest.raises(pytest.fail.Exception, match="nobody scripted"):
        FakeHost().run(["rm"], patience=None)  # type: ignore[arg-type]


def test_gaps_are_facts_of_three_kinds() -> None:
    assert Gap.__struct_fields__ == ("about", "kind", "reason")
