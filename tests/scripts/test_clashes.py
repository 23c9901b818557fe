"""From outcomes of pairs to clashes: every evaluated pair is predicted as it was evaluated."""

from __future__ import annotations

from typing import Any

from compute.clashes import Grid, clashes_of, edge, faults_of, with_followers
from compute.evaluation import Failure
from compute.sweep import of_any_release
from hypothesis import given
from hypothesis import strategies as st

from doctor.matrix.computed import Clash
from doctor.matrix.rows import Remedy
from doctor.versions import Interval

CONSUMERS = ("0.9", "0.10", "0.11", "0.11.1")
PROVIDERS = ("4.9", "4.10", "4.10.2", "5.0", "5.1")


def failure(symbol: str, kind: str = "missing-name", message: str = "") -> Failure:
    return Failure(
        consumer="peft",
        provider="transformers",
        kind=kind,
        module="transformers",
        symbol=symbol,
        message=message or f"cannot import name '{symbol}' from 'transformers'",
        where="peft/peft_model.py:37",
        chain=("__main__", "transformers.trainer", "peft", "peft.peft_model"),
    )


VERDICTS = st.one_of(
    st.just({"import-peft": None, "lora-step": None}),
    st.sampled_from(["Cache", "HybridCache"]).map(lambda name: {"import-peft": failure(name)}),
    st.just({"import-peft": None, "lora-step": failure("Cache")}),
)
CELLS = st.tuples(st.integers(0, len(CONSUMERS) - 1), st.integers(0, len(PROVIDERS) - 1))


def grid(cells: dict[tuple[int, int], Any]) -> Grid:
    return Grid("peft", "transformers", CONSUMERS, PROVIDERS, cells)


def bites(clash: Clash, consumer: str, provider: str) -> bool:
    return Interval(*clash.consumers).contains(consumer) and Interval(*clash.providers).contains(provider)


@given(cells=st.dictionaries(CELLS, VERDICTS))
def test_an_evaluated_pair_is_predicted_as_it_was_evaluated(cells: dict[tuple[int, int], Any]) -> None:
    clashes = list(clashes_of(grid(cells)))
    for (row, column), verdict in cells.items():
        told = [one for one in clashes if bites(one, CONSUMERS[row], PROVIDERS[column])]
        failed = {stage: found.message for stage, found in verdict.items() if found}
        assert {one.message for one in told} == set(failed.values())
        assert len(told) == len(failed)
        for one in told:
            assert set(failed) <= set(one.breaks)
            assert not {stage for stage, found in verdict.items() if found is None} & set(one.breaks)


@given(cells=st.dictionaries(CELLS, VERDICTS))
def test_the_first_way_out_leads_out(cells: dict[tuple[int, int], Any]) -> None:
    clashes = list(clashes_of(grid(cells)))
    for clash in clashes:
        for remedy in clash.fix[:1]:
            consumer, provider = after(clash, remedy)
            assert not any(bites(one, consumer, provider) for one in clashes)


def after(clash: Clash, remedy: Remedy) -> tuple[str, str]:
    """The bad pair of a clash with the release that a remedy leads to."""
    packages = {"peft": (clash.consumers, CONSUMERS), "transformers": (clash.providers, PROVIDERS)}
    pair = dict(zip(packages, clash.bad, strict=True))
    package = remedy.upgrade or remedy.downgrade or (remedy.install or "").partition("=")[0].rstrip(">")
    bounds, releases = packages[package]
    if remedy.upgrade:
        pair[package] = bounds[1] or ""
    elif remedy.downgrade:
        pair[package] = releases[releases.index(bounds[0]) - 1]
    else:
        pair[package] = (remedy.install or "").rpartition("=")[2]
    return pair["peft"], pair["transformers"]


def test_a_symbol_that_goes_is_one_clash_with_both_ways_out() -> None:
    whole = {(row, column): {"import-peft": None} for row in range(4) for column in range(5)}
    gone = {(row, column): {"import-peft": failure("HybridCache")} for row in (1, 2) for column in (3, 4)}
    [clash] = clashes_of(grid({**whole, **gone}))
    assert (clash.consumers, clash.providers) == (("0.10", "0.11.1"), ("5.0", None))
    assert (clash.bad, clash.good) == (("0.11", "5.1"), ("0.11.1", "5.1"))
    assert clash.fix == (Remedy(upgrade="peft"), Remedy(downgrade="transformers"))
    assert clash.chain == ("transformers.trainer", "peft", "peft.peft_model")
    assert clash.file == "peft/peft_model.py"


def test_what_nothing_older_has_is_bad_from_the_beginning() -> None:
    cells = {(0, column): {"import-peft": failure("Cache") if column < 2 else None} for column in range(5)}
    [clash] = clashes_of(grid(cells))
    assert clash.providers == ("0", "4.10.2")


def test_a_withdrawn_release_goes_with_its_minor() -> None:
    assert edge("transformers", ("4.51.3", "4.52.1"), 1) == "4.52.0"
    assert edge("transformers", ("4.51.2", "4.51.3"), 1) == "4.51.3"
    assert edge("transformers", ("4.51.3",), 1) is None


def test_the_release_that_was_found_is_no_part_of_the_message() -> None:
    found = failure("", "refused", "transformers>=4.10.2 is required, but found transformers==4.10")
    told = of_any_release(found, "4.10")
    assert told.message == "transformers>=4.10.2 is required, but found transformers=="
    cells: dict[tuple[int, int], Any] = {(0, 4): {"import-peft": None}, (0, 0): {"import-peft": told}}
    [clash] = clashes_of(grid({**cells, (0, 1): {"import-peft": told}}))
    assert (clash.kind, clash.symbol) == ("version", "transformers>=4.10.2")


def test_a_stage_of_a_third_package_is_left_to_its_own_pairs() -> None:
    verdict: dict[str, Any] = {"import-accelerate": failure("Cache"), "import-peft": failure("Cache")}
    [fault] = faults_of(verdict, ("peft", "transformers"))
    assert "import-accelerate" not in fault.breaks
    [fault] = faults_of(verdict, ("transformers", "accelerate"))
    assert "import-accelerate" in fault.breaks


def test_where_another_fault_hides_the_pair_nothing_is_called_a_way_out() -> None:
    cells: dict[tuple[int, int], Any] = {
        (0, 0): {"import-peft": failure("Cache")},
        (0, 2): {"import-peft": None},
    }
    [clash] = clashes_of(grid({**cells, (0, 1): {"import-accelerate": None}}))
    assert clash.fix == (Remedy(install="transformers>=4.10.2"),)


def test_a_stage_that_holds_a_broken_one_breaks_unless_it_was_seen_to_pass() -> None:
    assert with_followers({"trainer-step"}, set()) == ("trainer-step", "sft-step")
    assert with_followers({"lora-step"}, {"trainer-step"}) == ("lora-step", "qlora-step")
    assert with_followers({"import-trl"}, set()) == ("import-trl", "sft-step")
