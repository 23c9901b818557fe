"""Release tables: their form, what they inherit from line to line, and which wheels fit which machine."""

from __future__ import annotations

import msgspec
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.matrix.releases import (
    Release,
    Wheels,
    admits,
    decode,
    release,
    releases_of,
    spelt_out,
)
from doctor.matrix.rows import FOLDER, reviewed

TABLES = sorted(file.stem for file in (FOLDER / "releases").glob("*.json"))


def test_a_line_inherits_what_it_leaves_out_and_never_a_yank() -> None:
    text = b"""[
{"version":"1.0","uploaded":"2023-01-01","requires_python":">=3.8","adds":["b","c"],"wheels":[[]],"sdist":true},
{"version":"1.1","uploaded":"2023-02-01","yanked":true},
{"version":"1.2","uploaded":"2023-03-01","adds":["a"],"drops":["b"],"sdist":false}
]"""
    first, second, third = spelt_out(decode(text))
    assert second == msgspec.structs.replace(first, version="1.1", uploaded="2023-02-01", yanked=True)
    assert (third.requires_python, third.sdist, third.yanked) == (">=3.8", False, False)
    assert (first.requires, third.requires, third.wheels) == (("b", "c"), ("a", "c"), (Wheels(),))


def test_a_key_that_the_form_does_not_know_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="sha256"):
        decode(b'[{"version":"1.0","uploaded":"","sha256":"0"}]')


@pytest.mark.parametrize("asked", ["2.13.0", "2.13.0+cpu", "2.13", " 2.13.0+cu130"])
def test_a_release_is_found_by_its_public_version(asked: str) -> None:
    found = release("torch", asked)
    assert found is not None
    assert found.version == "2.13.0"


def test_a_post_release_is_one_of_its_own() -> None:
    found = release("bitsandbytes", "0.41.2.post2")
    assert found is not None
    assert found.version == "0.41.2.post2"


@pytest.mark.parametrize(("package", "version"), [("torch", "99.0"), ("torch", "new"), ("leftpad", "1.0")])
def test_what_the_tables_lack_is_none(package: str, version: str) -> None:
    assert release(package, version) is None


def test_a_package_is_found_by_any_spelling_and_an_unknown_one_has_no_releases() -> None:
    assert releases_of("Huggingface_Hub") == releases_of("huggingface-hub") != ()
    assert releases_of("leftpad") == ()
    assert releases_of("../reviewed") == ()


@pytest.mark.parametrize(
    ("package", "version", "python", "os", "arch", "floor", "has_wheel"),
    [
        ("tokenizers", "0.13.3", "3.11", "linux", "x86_64", "2.31", True),
        ("tokenizers", "0.13.3", "3.12", "linux", "x86_64", "2.31", False),  # built from source with Rust
        ("tokenizers", "0.22.0", "3.14", "linux", "x86_64", "2.31", True),  # stable ABI
        ("tokenizers", "0.22.0", "3.13t", "linux", "x86_64", "2.31", False),
        ("torch", "2.8.0", "3.13", "linux", "x86_64", "2.28", True),
        ("torch", "2.8.0", "3.13", "linux", "x86_64", "2.17", False),
        ("torch", "2.8.0", "3.13t", "linux", "x86_64", "", True),
        ("torch", "2.8.0", "3.14", "linux", "x86_64", "", False),
        ("torch", "2.9.0", "3.14", "linux", "AMD64", "", True),
        ("torch", "2.2.0", "3.11", "darwin", "x86_64", "", True),
        ("torch", "2.3.0", "3.11", "darwin", "x86_64", "", False),
        ("torch", "2.3.0", "3.11", "darwin", "arm64", "13.0", True),
        ("torch", "2.3.0", "3.11", "win32", "x86_64", "", True),
        ("peft", "0.17.1", "3.14", "win32", "aarch64", "", True),  # pure Python
        ("flash-attn", "2.8.3", "3.11", "linux", "x86_64", "", False),
        ("bitsandbytes", "0.45.0", "3.12", "linux", "aarch64", "", False),
        ("bitsandbytes", "0.46.0", "3.12", "linux", "aarch64", "2.35", True),
    ],
)
def test_a_wheel_for_a_machine(
    package: str, version: str, python: str, os: str, arch: str, floor: str, has_wheel: bool
) -> None:
    found = release(package, version)
    assert found is not None
    assert found.has_wheel(python, os, arch, floor) is has_wheel


@pytest.mark.parametrize(
    ("known", "python", "fits"),
    [
        ("3.9", "3.9", True),
        ("3.9", "3.10", False),
        ("3.9+", "3.10", True),
        ("3.10+", "3.9", False),
        ("3.9+", "3.13t", False),
        ("3.13t", "3.13t", True),
        ("3.13", "3.13t", False),
        ("3+", "3.13t", True),
    ],
)
def test_a_python_and_a_tag(known: str, python: str, fits: bool) -> None:
    assert admits(known, python) is fits


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_ascending_and_of_requirements_that_parse(name: str) -> None:
    table = releases_of(name)
    versions = [Version(known.version) for known in table]
    assert versions == sorted(set(versions))
    assert {len(known.uploaded) for known in table} == {10}
    for known in {*table}:
        SpecifierSet(known.requires_python)
    for text in {text for known in table for text in known.requires}:
        Requirement(text)
    assert all(known.wheels or known.sdist for known in table)


def test_every_reviewed_package_has_a_table_that_reaches_the_review() -> None:
    for name, version in reviewed()["packages"].items():
        assert release(name, version) is not None, name


def test_the_tables_stay_small() -> None:
    assert sum((FOLDER / "releases" / f"{name}.json").stat().st_size for name in TABLES) < 800_000


def test_a_release_can_be_a_key() -> None:
    assert len({*releases_of("torch")}) == len(releases_of("torch"))
    assert isinstance(releases_of("torch")[0], Release)
