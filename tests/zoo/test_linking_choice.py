"""Our rule of bitsandbytes' choice, held against its own code of each release, run as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from linking.choices import CASES, RELEASES, Case, choice_of
from releases import index

from doctor.linking.choice import override_variable

CHILD = Path(__file__).with_name("selection_child.py")
SOURCES = ("cextension.py", "cuda_specs.py", "consts.py", "cuda_setup/")
pytestmark = pytest.mark.environments


@pytest.fixture(scope="session", params=RELEASES)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the modules of one release that choose, and an empty ``__init__`` before them."""
    release: str = request.param
    folder = tmp_path_factory.mktemp("bnb") / release
    wheels = [one for one in index.files("bitsandbytes") if one.name.startswith(f"bitsandbytes-{release}-")]
    wheel = next(one for one in wheels if one.name.endswith(("x86_64.whl", "any.whl")))
    with index.archive(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(tuple(f"bitsandbytes/{source}" for source in SOURCES)):
                archive.extract(name, folder)
    (folder / "bitsandbytes" / "__init__.py").write_text("")
    return folder


def real_choice(folder: Path, case: Case, release: str) -> dict[str, str | None]:
    """What the release opened, and what it said."""
    package = folder / "bitsandbytes"
    for old in package.glob("libbitsandbytes*"):
        old.unlink()
    for name in case.files:
        (package / name).write_text("")
    variable = override_variable(release, case.hip)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("BNB_")}
    if case.override is not None:
        variables[variable] = case.override
    asked = json.dumps({"folder": str(folder), "case": case._asdict()})
    command = [sys.executable, "-B", str(CHILD)]
    done = subprocess.run(
        command, input=asked, env=variables, capture_output=True, text=True, timeout=60, check=True
    )
    told: dict[str, str | None] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("name", CASES)
def test_our_choice_is_the_release_s_own(package: Path, name: str) -> None:
    case, release = CASES[name], package.name
    real = real_choice(package, case, release)
    ours = choice_of(release, case)
    assert ours is not None
    assert (ours.library if ours.is_there else None) == real["library"]
    said = (real["said"] or "").replace(f"{package}/bitsandbytes/", "")
    assert ours.error in said
    if not ours.error and real["library"] is None:
        assert said == ""
