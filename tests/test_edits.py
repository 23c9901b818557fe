"""Fixes for files: the line to change, and to what."""

from __future__ import annotations

import pytest

from doctor.edits import ask_for, drop
from doctor.wanted import Requirement, Wanted


def wanted(*lines: tuple[str, str, int], file: str = "r.txt", form: str = "open") -> Wanted:
    """A file; each line as name, text and number, where 0 stands for a line of an included file."""
    return Wanted(
        file=file,
        form=form,  # type: ignore[arg-type]
        requirements=tuple(
            Requirement(name=name, text=text, file=file if line else "base.txt", line=line or 9)
            for name, text, line in lines
        ),
    )


def test_a_line_is_changed_and_what_no_line_names_is_added() -> None:
    fix = ask_for(wanted(("peft", "peft==0.17.1", 3)), "Upgrade", ("peft>=0.18.0", "numpy<2"))
    assert fix.title == "Upgrade: change peft==0.17.1 to peft>=0.18.0 in line 3, add numpy<2"
    assert (fix.commands, fix.scope, fix.verified) == ((), "environment", None)


def test_a_line_of_an_included_file_is_named_with_it() -> None:
    fix = ask_for(wanted(("peft", "peft", 0)), "Upgrade", ("peft>=0.18.0",), ("--index-url", "https://x.org"))
    assert fix.title == "Upgrade: change peft to peft>=0.18.0 in line 9 of base.txt, from https://x.org"


def test_a_constraint_is_not_taken_for_the_wish() -> None:
    both = wanted(("peft", "peft<1", 1), ("peft", "peft==0.17.1", 2))
    limit, wish = both.requirements
    given = Wanted(
        file="r.txt",
        form="open",
        requirements=(
            Requirement(name="peft", text=limit.text, file="r.txt", line=1, is_constraint=True),
            wish,
        ),
    )
    assert "in line 2" in ask_for(given, "Upgrade", ("peft>=0.18.0",)).title


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("a/uv.lock", ("uv", "lock", "--upgrade-package", "peft")),
        ("poetry.lock", ("poetry", "update", "peft")),
        ("pylock.toml", None),
    ],
)
def test_locks_are_made_anew(file: str, command: tuple[str, ...] | None) -> None:
    fix = ask_for(wanted(("peft", "peft==0.17.1", 3), file=file, form="locked"), "Upgrade", ("peft>=0.18.0",))
    assert "lock anew" in fix.title and "line 3" not in fix.title
    assert fix.commands == ((command,) if command else ())


def test_a_list_of_what_is_installed_is_no_file_to_edit() -> None:
    fix = ask_for(wanted(("peft", "peft==0.17.1", 3), form="installed"), "Upgrade", ("peft>=0.18.0",))
    assert fix.title == "Upgrade: install peft>=0.18.0 there"


def test_lines_are_deleted() -> None:
    assert drop(wanted(("torchao", "torchao", 4)), "Leave torchao out", ("torchao",)).title == (
        "Leave torchao out: delete line 4"
    )
    assert drop(wanted(), "Leave torchao out", ("torchao",)).title == "Leave torchao out"


def test_a_url_is_cut() -> None:
    fix = ask_for(wanted(("peft", "https://x.org/" + "a" * 200, 3)), "Upgrade", ("peft>=0.18.0",))
    assert len(fix.title) < 140
