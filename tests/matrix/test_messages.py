"""Every fault that only its words tell of: its form holds, and its page is one that helps."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from doctor.diagnosis import all_rules
from doctor.facts import Facts, Interpreter
from doctor.matrix.messages import Message, complaints, load_messages, message_rules, read_messages, rule_of
from doctor.matrix.rows import FOLDER, MatrixInvalid
from doctor.paste import Topic

MESSAGES = load_messages()
each = pytest.mark.parametrize("message", MESSAGES, ids=[message.id for message in MESSAGES])
GROUPS = {topic.replace(" ", "_") for topic in get_args(Topic)} | {"driver_cuda_number"}
OTHERS = {rule.id for rule in all_rules()}


def test_the_rows_are_found() -> None:
    assert len(MESSAGES) > 70 and len(message_rules()) == len(MESSAGES)


def test_an_id_is_told_once() -> None:
    assert [id for id, times in Counter(message.id for message in MESSAGES).items() if times > 1] == []


@each
def test_a_row_is_valid(message: Message) -> None:
    assert list(complaints(message)) == []


@each
def test_a_symptom_means_one_thing(message: Message) -> None:
    assert len(set(message.symptoms)) == len(message.symptoms)
    for symptom in message.symptoms:
        assert len(symptom) >= 10 and symptom == symptom.strip(), symptom
        assert not symptom.startswith("re:^"), "a line may have anything before it"


@each
def test_what_a_pattern_names_is_a_fact(message: Message) -> None:
    named = {name for symptom in message.symptoms for name in re.findall(r"\(\?P<(\w+)>", symptom)}
    assert {name for name in named if not name.startswith("v_")} <= GROUPS


@each
def test_no_pattern_runs_away(message: Message) -> None:
    """Every quantifier is bounded: a line may be hostile and megabytes long."""
    for symptom in message.symptoms:
        if symptom.startswith("re:"):
            pattern = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", symptom[3:])
            assert not re.search(r"[x.)][*+]", pattern), symptom


@each
def test_a_page_says_what_to_do(message: Message) -> None:
    page = rule_of(message).page
    first, *parts = page.split("\n\n")
    headings = [part.split(":")[0] for part in parts]
    order = ["Why", "See", "Fix", "Verify", "Tried in vain", "References"]
    assert headings == [one for one in order if one in headings] and {"Why", "Fix"} <= {*headings}
    assert not first.endswith(".") and len(message.why) > 30
    assert message.fix, "whoever is told of a fault is told of a way out"


@each
def test_references_can_be_opened(message: Message) -> None:
    assert all(reference.startswith("https://") for reference in message.references)


@each
def test_a_cure_is_in_the_words_of_the_target(message: Message) -> None:
    python = Interpreter(
        executable="/env/bin/python",
        version="3.11.7",
        implementation="CPython",
        prefix="/env",
        base_prefix="/usr",
        kind="venv",
        site_folders=(),
        user_site=None,
        externally_managed=False,
        has_pip=True,
        writable=True,
        noise="",
    )
    fixes = (rule_of(message).cure or (lambda facts: ()))(Facts(interpreter=python))
    assert len(fixes) == len(message.fix)
    for cure, fix in zip(message.fix, fixes, strict=True):
        if cure.install or cure.uninstall:
            assert fix.commands[0][0] == "/env/bin/python"


@each
def test_a_fault_of_the_users_own_changes_no_environment_first(message: Message) -> None:
    if message.id.startswith(("script/", "workload/")):
        assert message.fix[0].scope in ("script", "setting", "hardware") or message.fix[0].set


def test_an_id_that_rules_have_too_is_told_of_a_package_or_of_python() -> None:
    """Rows of the matrix and rules of machines judge facts; here stand the words of the same fault."""
    shared = {message.id for message in MESSAGES} & OTHERS
    assert not [id for id in shared if id.startswith(("script/", "workload/"))]


def test_a_file_with_a_row_that_is_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text('[[message]]\nid = "script/odd"\nseverity = "bad"\n')
    with pytest.raises(MatrixInvalid, match="odd.toml: script/odd"):
        list(read_messages(file))


def test_every_file_has_a_line_that_says_what_it_holds() -> None:
    for file in (FOLDER / "messages").glob("*.toml"):
        assert file.read_text(encoding="utf-8").startswith("# "), file.name
