"""The wheel, really built: small, whole, and its rows are those of the working tree."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from doctor.matrix import rows
from doctor.matrix.rows import FOLDER, load_rows, read_toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = FOLDER.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "unpacked")
    return Path(built)


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 3_000_000


@pytest.mark.parametrize("package", ["doctor", "compat_matrix"])
def test_it_holds_every_file_of_the_packages(wheel: Path, package: str) -> None:
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / package).rglob("*")
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.parts)
    }
    with zipfile.ZipFile(wheel) as archive:
        assert files - set(archive.namelist()) == set()


def test_its_json_says_what_the_toml_says(wheel: Path) -> None:
    sources = sorted((wheel.parent / "unpacked" / "compat_matrix").rglob("*.toml"))
    assert len(sources) > 15
    for source in sources:
        assert source.with_suffix(".json").is_file(), source.name
        document = tomllib.loads(source.read_text(encoding="utf-8"))
        assert plain(read_toml(source)) == plain(document)


def plain(value: object) -> object:
    """Days as text; all else as it is."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def test_its_rows_are_those_of_the_working_tree(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = load_rows()
    monkeypatch.setattr(rows, "FOLDER", wheel.parent / "unpacked" / "compat_matrix")
    assert load_rows.__wrapped__() == here != ()


def test_building_leaves_the_working_tree_as_it_was(wheel: Path) -> None:
    assert [path for path in FOLDER.rglob("*.toml") if path.with_suffix(".json").exists()] == []
