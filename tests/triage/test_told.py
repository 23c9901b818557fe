"""Which statement is believed, and which contradict each other."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.paste import Form, Statement, Topic
from doctor.triage.told import Told, agree, contradictions


def said(topic: Topic, value: str, name: str = "", form: Form = "prose", line: int = 1) -> Statement:
    return Statement(topic=topic, value=value, name=name, form=form, line=line)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2.3", "2.3.0", True),
        ("2.3.0", "2.3.0+cu121", True),
        ("2.3", "2.3.1", True),
        ("3.10", "3.10.12", True),
        ("535", "535.104.05", True),
        ("12.1", "12.1.105", True),
        ("2.3.0+cu121", "2.3.0+cpu", False),
        ("2.3.0", "2.4.0", False),
        ("4.45.0.dev0", "4.45.0", False),
        ("4.45", "4.45.0.dev0", False),
        ("3.1", "3.10", False),
        ("12.1", "none", False),
        ("yes", "yes", True),
    ],
)
def test_a_version_that_is_rounded_says_the_same(one: str, other: str, same: bool) -> None:
    assert agree(one, other) is same
    assert agree(other, one) is same


def test_what_a_program_prints_is_believed_before_what_people_write() -> None:
    told = Told((said("package", "2.4.0", "torch"), said("package", "2.3.0", "torch", "package list", 9)))
    assert told.best("package", "torch") == "2.3.0"


def test_the_fullest_form_of_what_is_believed_is_taken() -> None:
    told = Told(
        (
            said("package", "2.3.0", "torch", "package list"),
            said("package", "2.3.0+cu121", "torch"),
            said("package", "2.4.1+cu124", "torch"),
        )
    )
    assert told.best("package", "torch") == "2.3.0+cu121"
    assert told.best("package", "peft") == ""


def test_a_path_is_believed_last() -> None:
    told = Told((said("python", "3.10", form="traceback"), said("python", "3.11", form="prose", line=7)))
    assert told.best("python") == "3.11"
    assert Told(told.statements[:1]).best("python") == "3.10"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (said("package", "2.3.0", "torch", "package list"), said("package", "2.4.0", "torch", "error text")),
        (said("python", "3.11"), said("python", "3.10", form="traceback")),
        (said("driver", "535.104.05", form="nvidia-smi"), said("driver", "470.42", line=9)),
        (said("package", "2.3.0+cu121", "torch"), said("torch cuda", "11.8")),
        (said("torch cuda", "12.1", form="commands"), said("torch cuda", "none", line=3)),
        (said("gpu", "Tesla T4", "0", "nvidia-smi"), said("torch sees gpu", "no", form="collect_env")),
    ],
)
def test_a_contradiction_is_found_whatever_comes_first(first: Statement, second: Statement) -> None:
    for statements in ((first, second), (second, first)):
        (found,) = contradictions(statements)
        assert {found.first, found.second} == {first, second}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (said("package", "2.3", "torch"), said("package", "2.3.0+cu121", "torch", "collect_env")),
        (said("package", "2.3", "torch"), said("package", "0.18", "torchvision")),
        (
            said("driver", "545.46", form="nvidia-smi", line=3),
            said("driver", "546.80", form="nvidia-smi", line=3),
        ),
        (said("driver cuda", "12.4"), said("torch cuda", "11.8")),
        (said("toolkit", "12.4"), said("torch cuda", "11.8")),
        (said("package", "2.3.0+cu121", "torch"), said("torch cuda", "12.1")),
        (said("os", "darwin"), said("os", "linux", form="traceback")),
        (said("gpu", "Tesla T4"), said("gpu", "A100", "1")),
        (said("package", "2.3.0", "torch"), said("package", "2.4.0", "torch", line=9)),
        (said("package", "", "torch"), said("package", "2.3.0", "torch")),
        (said("gpu", "Tesla T4", form="prose"), said("torch sees gpu", "no")),
    ],
)
def test_these_go_together(first: Statement, second: Statement) -> None:
    assert contradictions((first, second)) == ()


def test_windows_below_wsl_is_no_contradiction() -> None:
    systems = (said("os", "win32", form="issue form"), said("os", "linux", line=2))
    assert len(contradictions(systems)) == 1
    assert contradictions((*systems, said("wsl", "yes"))) == ()


STATEMENTS = st.lists(
    st.builds(
        Statement,
        topic=st.sampled_from(get_args(Topic)),
        value=st.sampled_from(
            ["2.3", "2.3.0", "2.3.0+cu121", "12.1", "none", "yes", "no", "", "x", "٣.1", "²"]
        ),
        name=st.sampled_from(["", "torch", "0", "1"]),
        form=st.sampled_from(get_args(Form)),
        line=st.integers(1, 9),
    ),
    max_size=12,
)


@given(STATEMENTS, st.randoms())
def test_the_order_of_statements_changes_nothing(statements: list[Statement], random: object) -> None:
    mixed = list(statements)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert contradictions(mixed) == contradictions(statements)
    for topic in get_args(Topic):
        assert Told(tuple(mixed)).best(topic) == Told(tuple(statements)).best(topic)
