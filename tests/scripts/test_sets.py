"""The set of a release's own time, from what the release tables declare."""

from __future__ import annotations

import pytest
from compute.sets import Unsolvable, complete, day_of, names_declared, on_the_shelf, reference, requirements
from packaging.version import Version


@pytest.mark.parametrize(
    ("package", "version"), [("transformers", "4.36.2"), ("trl", "0.11.4"), ("peft", "0.18.0")]
)
def test_a_reference_set_is_of_its_day_and_at_peace(package: str, version: str) -> None:
    chosen = reference(package, version)
    assert chosen[package] == version
    assert all(day_of(name, one) <= day_of(package, version) for name, one in chosen.items())
    for name, one in chosen.items():
        for other, specifier in requirements(name, one).items():
            assert other not in chosen or specifier.contains(chosen[other], prereleases=True), (name, other)


def test_the_newest_of_a_day_is_taken() -> None:
    shelf = on_the_shelf("accelerate", "2024-09-01")
    assert shelf[0] == "0.33.0"
    assert list(shelf) == sorted(shelf, key=Version, reverse=True)


def test_two_releases_that_are_given_are_not_held_against_each_other() -> None:
    chosen = complete({"transformers": "4.40.2", "tokenizers": "0.21.4"}, "2025-08-01")
    assert (chosen["transformers"], chosen["tokenizers"]) == ("4.40.2", "0.21.4")


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(Unsolvable):
        complete({"transformers": "5.0.0"}, "2024-01-01")  # no huggingface-hub 1.x yet


def test_packages_that_are_declared_are_known_by_name() -> None:
    assert {"tqdm", "pyyaml", "requests", "xxhash"} <= names_declared()
