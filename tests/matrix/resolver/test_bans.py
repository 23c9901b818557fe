"""Rows as bans: which items of which packages must not be together."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from doctor.matrix.resolver import Machine
from doctor.matrix.resolver.bans import ban_of, without_library
from doctor.matrix.resolver.catalog import Catalog
from doctor.matrix.resolver.shelf import ABSENT
from doctor.matrix.rows import Row, Term

GPU = Machine(driver="580.95.05", capabilities=("8.6",))


def row(when: dict[str, Term]) -> Row:
    texts: dict[str, Any] = {
        "row": "one",
        "id": "peft/one",
        "severity": "error",
        "why": "",
        "basis": "computed",
    }
    return Row(
        title="peft {peft} breaks with transformers {transformers}",
        breaks=(),
        when=when,
        references=(),
        checked=datetime.date(2026, 11, 29),
        example={},
        **texts,
    )


def masks(when: dict[str, Term], machine: Machine = GPU) -> dict[str, int] | None:
    known = Catalog(machine, "declared" if machine is None else "errors")
    ban = ban_of(row(when), machine, known.shelf)
    return dict(ban.masks) if ban else None


@pytest.mark.parametrize(
    ("subject", "term", "hit"),
    [
        ("driver", Term(fixed="580"), False),
        ("driver", Term(introduced="580"), True),
        ("os", Term(one_of=("win32",)), False),
        ("os", Term(one_of=("linux", "win32")), True),
        ("python", Term(introduced="3.12"), False),
        ("gpu.compute-capability", Term(fixed="9.0"), True),
        ("glibc", Term(fixed="2.17"), False),  # not known, so it holds for nothing
    ],
)
def test_terms_of_the_machine_are_answered_at_once(subject: str, term: Term, hit: bool) -> None:
    found = masks({"peft": Term(fixed="0.18.0"), subject: term})
    assert (found is not None) is hit
    assert found is None or found.keys() == {"peft"}


def test_torch_and_its_cuda_are_terms_of_one_item() -> None:
    shelf = Catalog(GPU, "errors").shelf("torch")
    found = masks({"torch": Term(introduced="2.13"), "torch.cuda": Term(fixed="13.0")})
    assert found is not None
    hit = [shelf.item(number) for number in range(1, len(shelf.items) + 1) if found["torch"] >> number & 1]
    assert [(item.release.version, item.variant) for item in hit] == [("2.13.0", "cu126")]


def test_what_stands_on_no_shelf_cannot_be_hit() -> None:
    assert masks({"peft": Term(fixed="0.0.1")}) is None


def test_absence_is_a_bit() -> None:
    assert masks({"peft": Term(), "scipy": Term(absent=True)})["scipy"] == ABSENT  # type: ignore[index]


def test_the_sentence_names_what_is_known_and_else_the_releases_in_question() -> None:
    known = Catalog(GPU, "errors")
    when = {"peft": Term(introduced="0.16.0", fixed="0.18.0"), "transformers": Term(introduced="5.0.0")}
    ban = ban_of(row(when), GPU, known.shelf)
    assert ban is not None
    assert ban.sentence({"peft": "0.17.1"}) == "peft 0.17.1 breaks with transformers 5.0.0 and above"
    assert ban.sentence({}) == "peft 0.16.0 to below 0.18.0 breaks with transformers 5.0.0 and above"


def test_each_build_of_torch_excludes_what_ships_no_library_for_it() -> None:
    known = Catalog(GPU, "errors")
    shelf = known.shelf("bitsandbytes")
    bans = {ban.title.rpartition("CUDA ")[2].split()[0]: ban for ban in without_library(GPU, known.shelf)}
    silent = bans["13.2"].masks["bitsandbytes"]
    goes = [item.release.version for number, item in enumerate(shelf.items, 1) if not silent >> number & 1]
    assert goes == ["0.50.0", "0.50.1", "0.50.2"]
