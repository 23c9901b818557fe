"""What a check would find after an install, by the tables of releases."""

from __future__ import annotations

import healthy
import msgspec
from healthy import facts, packages

from doctor.treatment.foreseeing import fault, foreseen, of_releases, outlook
from doctor.treatment.solving import Solved

ILL = facts(packages=packages(peft="0.17.1"), trial="nobody asked")
MOVED = Solved(("peft==0.18.0",), pins={"peft": "0.18.0", "transformers": "5.24.0"})


def test_a_release_that_cures() -> None:
    found = outlook(ILL, MOVED)
    assert {id for id, _ in found.before} == {"peft/too-old-for-transformers"}
    assert (found.after, found.new) == ((), ())


def test_a_release_that_breaks_another_is_foreseen() -> None:
    found = outlook(healthy.FACTS, Solved(("peft==0.17.1",), pins={"peft": "0.17.1"}))
    assert [one.id for one in found.new] == ["peft/too-old-for-transformers"]


def test_what_a_finding_explains_must_be_gone_as_well() -> None:
    ahead = outlook(healthy.FACTS, Solved(("peft==0.17.1",), pins={"peft": "0.17.1"}))
    (left,) = ahead.after
    over_it = msgspec.structs.replace(left, id="peft/another", symptoms=(left,))
    known = ahead._replace(before=frozenset({fault(left), fault(over_it)}))
    assert known.remains(over_it)
    assert not known._replace(after=()).remains(over_it)


def test_what_comes_along_is_there_and_what_is_taken_away_is_not() -> None:
    outcome = Solved(
        ("wandb>=0.16,!=0.17", "peft==0.18.0"),
        pins={"peft": "0.18.0", "rich": "15.0.0"},
        gone=frozenset({"triton"}),
    )
    after = foreseen(ILL, outcome).packages
    assert after is not None and "triton" not in after.installed
    versions = {name: after.installed[name].version for name in ("wandb", "rich", "peft", "transformers")}
    assert versions == {"wandb": "0.16", "rich": "15.0.0", "peft": "0.18.0", "transformers": "5.24.0"}


def test_another_build_of_torch() -> None:
    outcome = Solved(("torch==2.13.0+cu126",), torch_variant="cu126", pins={"torch": "2.13.0"})
    torch = foreseen(healthy.FACTS, outcome).torch
    assert torch and (torch.version, torch.cuda_version, torch.variant) == ("2.13.0+cu126", "12.6", "cu126")
    assert foreseen(healthy.FACTS, Solved()).torch == healthy.FACTS.torch


def test_what_only_the_files_of_now_tell_is_left_out() -> None:
    assert of_releases(healthy.FACTS).trial is None and of_releases(healthy.FACTS).linkage is None
    assert of_releases(healthy.FACTS).packages == healthy.FACTS.packages
