"""A row that was reproduced, and its record in the matrix."""

from __future__ import annotations

import datetime
import sys
from typing import Any

import pytest

from doctor.matrix.rows import FOLDER, load_rows

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts lock files as POSIX does")
if sys.platform != "win32":
    from reproduce import Side, judge, pins_of, with_run, with_runs

DAY = datetime.date(2026, 12, 24)
ROW = next(row for row in load_rows() if row.row == "hybrid-cache-removed")
OK = dict.fromkeys(ROW.breaks, "ok")
BROKEN = dict.fromkeys(ROW.breaks, "ImportError: cannot import name 'HybridCache'")
FILE = """# Why these rows.

[[incompatibility]]
row = "first"
checked = 2026-01-01
healthy = { peft = "0.18.0" }

[incompatibility.reproduced]
bad = ["peft 0.17.1"]
good = [
    "peft 0.18.0",
    "peft 0.19.0",
]

# The second's own comment.
[[incompatibility]]
row = "second"
checked = 2026-01-01
"""


def test_pins_as_they_are_typed() -> None:
    assert pins_of("peft==0.17.1  transformers==5.24.0") == {"peft": "0.17.1", "transformers": "5.24.0"}


@pytest.mark.parametrize(
    ("bad", "good", "right"),
    [
        (BROKEN, OK, True),
        (OK, OK, False),
        (BROKEN, BROKEN, False),
        ({**BROKEN, "lora-step": "ok"}, OK, False),
        (BROKEN, {**OK, "lora-step": "AssertionError: no"}, True),
        (BROKEN, dict.fromkeys(ROW.breaks, "AssertionError: no"), False),
        (BROKEN, {**OK, "sft-step": BROKEN["sft-step"] + " from 'transformers' again"}, False),
        ({"lora-step": "died of signal 7"}, OK, True),
        ({}, OK, False),
        ({"import-torch": "ImportError: no"}, {"import-torch": "ok"}, False),
    ],
)
def test_reproduced_is_what_fails_on_the_bad_side_alone(
    bad: dict[str, str], good: dict[str, str], right: bool
) -> None:
    judgement = judge(ROW, Side({"peft": "0.17.1"}, bad), Side({"peft": "0.18.0"}, good))
    assert judgement.is_reproduced is right


def test_a_stage_that_fails_for_a_reason_of_its_own_shows_nothing() -> None:
    good = {**OK, "qlora-step": "RuntimeError: No GPU found"}
    judgement = judge(ROW, Side({}, {**BROKEN, "qlora-step": good["qlora-step"]}), Side({}, good))
    assert judgement.unshown == ("qlora-step",)
    assert set(judgement.shown) == {*ROW.breaks} - {"qlora-step"}


def runs(text: str, number: int) -> Any:
    return tomllib.loads(text)["incompatibility"][number]["reproduced"]


def test_a_pair_joins_the_runs_of_its_row_alone() -> None:
    text = with_runs(FILE, "first", "peft 0.16.0", "peft 0.18.0", DAY)
    assert runs(text, 0) == {"bad": ["peft 0.16.0", "peft 0.17.1"], "good": ["peft 0.18.0", "peft 0.19.0"]}
    days = [row["checked"] for row in tomllib.loads(text)["incompatibility"]]
    assert days == [DAY, datetime.date(2026, 1, 1)]
    assert text.partition("# The second's")[2] == FILE.partition("# The second's")[2]


def test_a_row_that_was_never_run_gets_its_table() -> None:
    text = with_runs(FILE, "second", "trl 1.0", "trl 1.1", DAY)
    assert runs(text, 1) == {"bad": ["trl 1.0"], "good": ["trl 1.1"]}


def test_a_comment_stays_with_the_row_that_it_stands_above() -> None:
    bare = FILE.replace(FILE[FILE.index("[incompatibility.reproduced]") : FILE.index("# The second's")], "")
    text = with_runs(bare, "first", "trl 1.0", "trl 1.1", DAY)
    assert runs(text, 0) == {"bad": ["trl 1.0"], "good": ["trl 1.1"]}
    assert text.endswith(FILE[FILE.index("# The second's") :])


def test_a_row_that_is_not_there() -> None:
    with pytest.raises(ValueError):
        with_runs(FILE, "third", "a 1", "a 2", DAY)


def test_a_list_breaks_where_a_line_ends() -> None:
    long = with_run('bad = ["' + "x" * 60 + '"]', "y" * 60)
    assert len(long.splitlines()) == 4 and len(tomllib.loads(long)["bad"]) == 2


def test_every_row_of_the_matrix_takes_a_record() -> None:
    for file in sorted((FOLDER / "incompatibilities").glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        for number, row in enumerate(tomllib.loads(text)["incompatibility"]):
            recorded = with_runs(text, row["row"], "peft 0.0", "peft 9.9", DAY)
            assert (
                "peft 0.0" in runs(recorded, number)["bad"] and "peft 9.9" in runs(recorded, number)["good"]
            )
