"""The comparison of what was said with what happened, and its record."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts lock files as POSIX does")
if sys.platform != "win32":
    from verify_matrix import README, Cell, Tally, broken_stages, cells, disagreement, recorded, tally

ERROR = "ImportError: no"


def finding(severity: str, confidence: str, *breaks: str) -> dict[str, object]:
    return {"severity": severity, "confidence": confidence, "breaks": list(breaks)}


def test_only_errors_that_are_more_than_possible_say_that_a_stage_breaks() -> None:
    findings = [
        finding("error", "likely", "import-peft", "lora-step"),
        finding("error", "confirmed", "sft-step"),
        finding("error", "possible", "import-trl"),
        finding("warning", "confirmed", "trainer-step"),
    ]
    assert broken_stages({"findings": findings}) == {"import-peft", "lora-step", "sft-step"}


def test_a_stage_that_was_not_tried_counts_nowhere() -> None:
    lines = [{"id": "a", "outcome": {"import-peft": "ok", "lora-step": ERROR}}, {"id": "b", "outcome": {}}]
    found = list(cells(lines, [{"import-peft", "import-trl"}, {"lora-step"}]))
    assert found == [Cell("a", "import-peft", "ok", True), Cell("a", "lora-step", ERROR, False)]


def test_the_four_cases() -> None:
    def cell(outcome: str, said: bool) -> Cell:
        return Cell("a", "lora-step", outcome, said)

    judged = [cell("ok", False)] * 5 + [cell("ok", True)] + [cell(ERROR, False)] * 2 + [cell(ERROR, True)] * 3
    counts = tally(judged)
    assert counts == Tally(right=8, total=11, broken=5, said=4, found=3)
    assert (counts.precision, counts.recall) == (0.75, 0.6)
    assert str(counts) == "stages right 8/11 = 72.7%; precision 75.0%, recall 60.0% of 5 broken"


def test_nothing_said_of_nothing_broken_is_right() -> None:
    counts = tally([Cell("a", "lora-step", "ok", False)])
    assert (counts.share, counts.precision, counts.recall) == (1, 1, 1)


@given(st.lists(st.builds(Cell, st.just("a"), st.just("s"), st.sampled_from(["ok", ERROR]), st.booleans())))
def test_shares_are_shares(judged: list[Cell]) -> None:
    counts = tally(judged)
    assert all(0 <= share <= 1 for share in (counts.share, counts.precision, counts.recall))
    assert counts.right == counts.total - (counts.broken - counts.found) - (counts.said - counts.found)


def test_a_disagreement_names_the_error_and_the_versions() -> None:
    line = disagreement(Cell("7-001", "lora-step", ERROR, False), {"peft": "0.7.1", "trl": "0.9.6"})
    assert line == "MISSED 7-001 lora-step: ImportError: no  [peft==0.7.1 trl==0.9.6]"
    assert disagreement(Cell("7-001", "lora-step", "ok", True), {}).startswith("FALSE ")


def test_the_readme_has_room_for_the_result_and_keeps_the_rest() -> None:
    text = README.read_text(encoding="utf-8")
    once = recorded(text, "one result")
    assert recorded(once, "another") == recorded(text, "another")
    assert "\none result\n" in once and len(once.splitlines()) <= len(text.splitlines()) + 1
    with pytest.raises(ValueError):
        recorded("no block", "result")
