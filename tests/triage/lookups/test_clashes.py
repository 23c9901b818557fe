"""The law: every computed clash, printed as Python prints it, is told as the clash that it is."""

from __future__ import annotations

import pytest

from doctor.matrix.computed import Clash, id_of, sweeps
from tests.triage.lookups.pastes import case_of, library_frame, suspicions

CLASHES = [clash for sweep in sweeps() for clash in sweep.clashes]
STALE = "python/stale-or-other-environment"


def label(clash: Clash) -> str:
    return f"{clash.consumer} {clash.bad[0]}, {clash.provider} {clash.bad[1]}: {clash.symbol}"


def printed(clash: Clash) -> str:
    """The message as Python prints it."""
    kinds = {"name": "ImportError", "module": "ModuleNotFoundError", "attribute": "AttributeError"}
    kind = kinds.get(clash.kind, "TypeError" if clash.kind == "keyword" else "ImportError")
    found = clash.bad[1] if clash.message.endswith("==") else ""
    return f"{kind}: {clash.message}{found}"


def told(clash: Clash, pair: tuple[str, str]) -> list[str]:
    versions = {clash.consumer: pair[0], clash.provider: pair[1]}
    case = case_of(printed(clash), versions, (library_frame(clash.file),))
    return [one.finding.id for one in suspicions(case)]


@pytest.mark.parametrize("clash", CLASHES, ids=label)
def test_a_computed_clash_is_told_by_its_id(clash: Clash) -> None:
    assert told(clash, clash.bad) == [id_of(clash)]


@pytest.mark.parametrize("clash", CLASHES, ids=label)
def test_beside_versions_that_go_together_its_message_means_that_something_else_ran(clash: Clash) -> None:
    assert told(clash, clash.good) == [STALE]


@pytest.mark.parametrize("clash", CLASHES, ids=label)
def test_without_versions_its_id_is_among_the_possible_ones(clash: Clash) -> None:
    case = case_of(printed(clash), {}, (library_frame(clash.file),))
    found = suspicions(case)
    assert id_of(clash) in [one.finding.id for one in found]
    assert len(found) == 1 or all(one.finding.confidence == "possible" and one.question for one in found)
