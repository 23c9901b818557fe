"""The wheel, really built: small, whole, its rows those of the working tree, which it does without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from sandboxes import CannotBuild, Venv, find_python, make_venv, run, uv

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
    assert wheel.stat().st_size < 5_000_000


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


SHARED = (
    "share/man/man1/lora-doctor.1",
    "share/bash-completion/completions/lora-doctor",
    "share/zsh/site-functions/_lora-doctor",
    "share/fish/vendor_completions.d/lora-doctor.fish",
)
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
EXAMPLE = ROOT / "tests" / "plugins" / "example_plugin"


class Installed:
    """The wheel in an environment of its own, asked from a folder of its own."""

    def __init__(self, folder: Path, wheel: Path, python: Path) -> None:
        self.venv: Venv = make_venv(folder / "venv", python)
        self.folder = folder / "elsewhere"
        self.folder.mkdir()
        self.add(wheel)

    def add(self, wheel: Path) -> None:
        """Install one wheel and what it needs."""
        run(uv(), "pip", "install", "--quiet", "--python", self.venv.python, wheel)

    def says(self, *words: str, code: int = 0, **variables: str) -> str:
        """What a command prints; no name of the checkout may help it."""
        kept = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
        }
        done = subprocess.run(
            [self.venv.folder / "bin" / "lora-doctor", *words],
            cwd=self.folder,
            env={**kept, **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module", params=PYTHONS)
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """The wheel on one supported Python of this machine."""
    try:
        python = find_python(request.param)
    except CannotBuild as error:
        pytest.skip(str(error))
    yield Installed(tmp_path_factory.mktemp("installed"), wheel, python)


@pytest.mark.environments
def test_installed_it_answers_without_the_checkout(installed: Installed) -> None:
    (installed.folder / "requirements.txt").write_text("peft==0.17.1\ntransformers==5.24.0\n")
    assert installed.says("--version").startswith("lora-doctor ")
    assert "check" in installed.says("--help")
    report = json.loads(
        installed.says("check", "--quick", "--python", str(installed.venv.python), "--format", "json", code=1)
    )
    assert report["primary"] == "python/stack-missing"
    assert "HybridCache" in installed.says("explain", "peft/too-old-for-transformers")
    assert "peft/too-old-for-transformers" in installed.says("lint", "requirements.txt", code=1)
    assert "torch" in installed.says("resolve", "--os", "linux", "--gpu", "T4", "--driver", "535.104.05")
    assert "weights" in installed.says("fit", "llama-3.1-8b", "--gpu", "T4", "--estimator", "formula", code=0)
    assert "_lora_doctor" in installed.says("completion", "bash")
    assert [name for name in SHARED if not (installed.venv.folder / name).is_file()] == []


@pytest.mark.environments
def test_a_plugin_of_another_package_is_asked(wheel: Path, tmp_path: Path) -> None:
    """The worked example of docs/plugins.md: a wheel, beside the doctor's."""
    here = Installed(tmp_path, wheel, Path(sys.executable))
    (plugin,) = WheelBuilder(str(EXAMPLE)).build(directory=str(tmp_path), versions=["standard"])
    here.add(Path(plugin))
    words = ("check", "--python", str(here.venv.python), "--format", "json")
    report = json.loads(here.says(*words, code=1, ACME_SCRATCH=str(tmp_path)))
    seen = report["facts"]["extra"]["scratch"]
    assert seen["writable"] and seen["free_bytes"] > 0
    found = {one["id"] for one in report["findings"]}
    assert ("acme/scratch-full" in found) == (seen["free_bytes"] < 2 << 30)
    report = json.loads(here.says(*words, code=1, ACME_SCRATCH=str(tmp_path / "absent")))
    assert [gap["kind"] for gap in report["gaps"] if gap["about"] == "extra.scratch"] == ["not-applicable"]
    assert "scratch disk has no room" in here.says("explain", "acme/scratch-full")
