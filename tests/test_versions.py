"""The version traps, each by name, and what must hold of every version."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from packaging.version import Version

from doctor.versions import Interval, comparable


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("2.6.0", "2.6.0"),
        ("2.6.0+cu124", "2.6.0"),
        ("2.6.0+cpu", "2.6.0"),
        ("2.5.1+rocm6.2", "2.5.1"),
        ("2.6.0a0+ecf3bae40a.nv25.01", "2.6.0"),
        ("2.5.0a0+872d972e41.nv24.8", "2.5.0"),
        ("2.6.0a0+git5a8c1e0", "2.6.0a0"),  # somebody's own build is what it says
        ("0.45.1.dev0", "0.45.1.dev0"),
        ("5.0.0rc1", "5.0.0rc1"),
        ("1.0.post1", "1.0.post1"),
        (" 4.57.6\n", "4.57.6"),
        ("v1.2", "1.2"),
        ("1!2.0", "1!2.0"),
    ],
)
def test_the_release_by_which_a_version_is_ordered(text: str, release: str) -> None:
    assert comparable(text) == Version(release)


@pytest.mark.parametrize("text", ["", "unknown", "2.6.x", "git+https://example.org", "1.0-", "==1.0", None])
def test_what_is_no_version_is_not_comparable(text: str) -> None:
    assert comparable(text) is None


HALF_OPEN = Interval("0.16.0", fixed="0.18.0")
UP_TO = Interval(last_affected="0.44.1")
FROM_5 = Interval("5.0.0")


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        (
            HALF_OPEN,
            ["0.16.0", "0.16.0+cu1", "0.17.1", "0.17.99.post1"],
            ["0.15.9", "0.18.0", "0.18.0+x", "1.0"],
        ),
        (UP_TO, ["0", "0.44.1", "0.44.1+local", "0.43.0.dev0"], ["0.44.2", "0.45.0", "0.44.1.post1"]),
        (FROM_5, ["5.0.0", "5.24.0", "5.0.0.dev0", "5.0.0rc3"], ["4.57.6", "4.99.0rc1"]),
        (Interval(fixed="0.45.1"), ["0.45.0", "0.45.1.dev0"], ["0.45.1", "0.45.2.dev0"]),
        (Interval("2.6"), ["2.6.0a0+ecf3bae40a.nv25.01", "2.6.0+cu124"], ["2.5.1+cu124"]),
        (Interval(fixed="2.6"), ["2.5.0a0+872d972e41.nv24.8"], ["2.6.0a0+ecf3bae40a.nv25.01"]),
        (Interval(), ["0", "0.0.1.dev3", "99"], []),
    ],
)
def test_membership(interval: Interval, inside: list[str], outside: list[str]) -> None:
    assert [text for text in inside if not interval.contains(text)] == []
    assert [text for text in outside if interval.contains(text)] == []


@pytest.mark.parametrize("interval", [Interval(), HALF_OPEN, UP_TO, FROM_5])
@pytest.mark.parametrize("text", ["", "unknown", "main"])
def test_what_is_no_version_lies_nowhere(interval: Interval, text: str) -> None:
    assert not interval.contains(text)
    assert not interval.is_sure(text)


def test_an_interval_whose_lower_bound_is_no_version_holds_nothing() -> None:
    assert not Interval("from the start").contains("1.0")


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("0.17.1", True),
        ("0.18.0", True),
        ("0.18.0.dev0", False),  # may hold the repair
        ("0.16.0rc1", False),  # may lack what 0.16 introduced
        ("0.17.0.dev0", True),  # no bound is near
        ("0.16.0a0+abcdef.nv25.01", True),  # a container build counts as its release
    ],
)
def test_how_sure_membership_is(text: str, sure: bool) -> None:
    assert HALF_OPEN.is_sure(text) is sure


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (HALF_OPEN, "0.16.0 to below 0.18.0"),
        (Interval(fixed="0.32"), "below 0.32"),
        (FROM_5, "5.0.0 and above"),
        (UP_TO, "up to 0.44.1"),
        (Interval("0.40", last_affected="0.44.1"), "0.40 to 0.44.1"),
        (Interval(), "any"),
    ],
)
def test_an_interval_in_words(interval: Interval, words: str) -> None:
    assert str(interval) == words


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (HALF_OPEN, "below 0.16.0, or 0.18.0 or newer"),
        (Interval(fixed="0.32"), "0.32 or newer"),
        (FROM_5, "below 5.0.0"),
        (UP_TO, "newer than 0.44.1"),
        (Interval(), "none"),
    ],
)
def test_what_lies_outside_in_words(interval: Interval, words: str) -> None:
    assert interval.outside == words


numbers = st.integers(min_value=0, max_value=12)
releases = st.lists(numbers, min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
pre = st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["a", "b", "rc"]), numbers))
post = st.one_of(st.just(""), numbers.map(".post{}".format))
dev = st.one_of(st.just(""), numbers.map(".dev{}".format))
local = st.sampled_from(["", "+cu124", "+cpu", "+rocm6.2", "+ecf3bae40a.nv25.01"])
public = st.builds("{}{}{}{}".format, releases, pre, post, dev)
versions = st.builds("{}{}".format, public, local)


def order(text: str) -> Version:
    version = comparable(text)
    assert version is not None
    return version


@given(st.one_of(st.text(), versions))
def test_any_text_is_a_version_or_none(text: str) -> None:
    assert comparable(text) is None or isinstance(comparable(text), Version)


@given(versions, versions, versions)
def test_the_order_is_total_and_transitive(first: str, second: str, third: str) -> None:
    a, b, c = order(first), order(second), order(third)
    assert (a < b) + (a == b) + (a > b) == 1
    assert not (a <= b <= c) or a <= c


@given(public, st.sampled_from(["+cu124", "+cpu", "+rocm6.2", "+abc.1"]))
def test_a_local_label_changes_no_order(version: str, label: str) -> None:
    assert order(version + label) == order(version)


@given(versions)
def test_an_ordered_version_is_ordered_as_itself(version: str) -> None:
    assert order(str(order(version))) == order(version)


@given(versions, releases, releases)
def test_below_and_from_a_bound_part_the_releases(version: str, bound: str, other: str) -> None:
    below, above = Interval(fixed=bound).contains(version), Interval(bound).contains(version)
    assert below or above
    if below and above:  # a pre-release of the bound itself stands on both sides, and neither is sure
        assert order(version).is_prerelease and order(version) < Version(bound)
        assert not Interval(bound).is_sure(version) and not Interval(fixed=bound).is_sure(version)


@given(versions, public)
def test_up_to_a_release_and_above_it_part_all_versions(version: str, bound: str) -> None:
    assert Interval(last_affected=bound).contains(version) == (order(version) <= order(bound))


@given(st.lists(versions, min_size=3, max_size=3), public, st.one_of(st.none(), public))
def test_what_lies_between_two_members_is_a_member(texts: list[str], low: str, high: str | None) -> None:
    first, middle, last = sorted(texts, key=order)
    interval = Interval(low, fixed=high)
    assume(interval.contains(first) and interval.contains(last))
    assert interval.contains(middle)


@given(versions, public, public)
def test_a_later_repair_loses_no_member(version: str, one: str, other: str) -> None:
    sooner, later = sorted((one, other), key=order)
    assert not Interval(fixed=sooner).contains(version) or Interval(fixed=later).contains(version)


@given(versions, releases, releases)
def test_an_earlier_introduction_loses_no_member(version: str, one: str, other: str) -> None:
    sooner, later = sorted((one, other), key=order)
    assert not Interval(later).contains(version) or Interval(sooner).contains(version)


bounds = st.one_of(st.none(), st.text(max_size=8), versions)


@given(st.one_of(st.text(max_size=8), versions), bounds, bounds, st.text(max_size=8))
def test_an_interval_of_anything_can_be_asked_and_told(
    low: str, fixed: str | None, last: str | None, text: str
) -> None:
    interval = Interval(low, fixed, last)
    assert str(interval)
    assert interval.contains(text) in (True, False)
    assert not interval.contains("no version")


@given(versions, versions)
def test_final_releases_are_always_sure(version: str, bound: str) -> None:
    assume(not order(version).is_prerelease)
    assert Interval(bound).is_sure(version)
