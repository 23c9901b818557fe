"""What is struck out beforehand: nothing that a set could have, and all that no set can."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from doctor.matrix.resolver import Machine, Solution, Wish, solve
from doctor.matrix.resolver.catalog import catalog
from doctor.matrix.resolver.domains import Domains, numbers
from doctor.matrix.resolver.solving import root_needs
from doctor.proposal import SET

MACHINE = Machine()


def domains(*pins: str) -> Domains:
    known = catalog(MACHINE, "warnings")
    wish = Wish(tuple(Requirement(pin) for pin in pins), SET)
    return Domains(known, root_needs(known, wish, {}), frozenset())


@pytest.mark.parametrize("pins", [(), ("peft==0.17.1",), ("transformers==4.40.2",), ("numpy<2", "trl<1")])
def test_no_pick_of_a_set_is_struck_out(pins: tuple[str, ...]) -> None:
    found = solve([Requirement(pin) for pin in pins], MACHINE, extra_packages=SET, use_rows=True)
    assert isinstance(found, Solution)
    left = domains(*pins)
    assert left.empty == ""
    for name, version in found.pins.items():
        shelf = left.known.shelf(name)
        assert any(left.of(name) >> number & 1 for number in shelf.numbers(version)), name


def test_what_a_pin_excludes_is_struck_out_with_the_need_that_did_it() -> None:
    left = domains("peft==0.17.1")
    shelf = left.known.shelf("transformers")
    versions = [shelf.item(number).release.version for number in numbers(left.of("transformers"))]
    assert versions[0] == "4.57.6" and not any(version.startswith("5.") for version in versions)


def test_nothing_is_left_where_pins_contradict() -> None:
    assert domains("peft==0.17.1", "transformers==5.24.0").empty in ("peft", "transformers")
    assert domains("peft==0.17.99").empty == "peft"


def test_the_outcome_does_not_depend_on_the_order_of_sets() -> None:
    one, other = domains("trl==0.26.0", "pyarrow==14.0.1"), domains("trl==0.26.0", "pyarrow==14.0.1")
    assert (one.empty, one.left, one.struck) == (other.empty, other.left, other.struck)


def test_numbers_of_a_mask() -> None:
    assert list(numbers(0b10111)) == [4, 2, 1]  # bit 0 is absence
