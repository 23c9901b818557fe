"""Steps in the words of each installer. Those of uv, poetry and pdm were run as they stand here."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import PYTHON, but, facts
from msgspec import toml

from doctor.facts import Facts
from doctor.treatment.languages import language_of, lasting, worded
from doctor.treatment.languages.conda import has, spec
from doctor.treatment.languages.sources import source_name
from doctor.treatment.plan import Command, Language, Step
from doctor.wanted import Requirement, Wanted
from treatment.targets import ANEW, CONDA, CU126, GONE, PEFT, PIP, TORCH, UV, made_by, step

PYTHON_PIP = (PYTHON, "-m", "pip")
UV_PIP = ("uv", "pip", "install", "--python", PYTHON)
IN_CONDA = ("conda", "install", "-y", "-p", "/env", "-c", "conda-forge")
HUB = "huggingface-hub>=0.30,<1"


def told(one: Step, target: Facts, language: Language, **given: Any) -> tuple[Command, ...]:
    return worded(one, target, language, **given).commands


@pytest.mark.parametrize(
    ("one", "command"),
    [
        (TORCH, (*PYTHON_PIP, "install", "torch==2.6.0+cu126", "--index-url", CU126)),
        (PEFT, (*PYTHON_PIP, "install", "peft==0.18.0", HUB)),
        (ANEW, (*PYTHON_PIP, "install", "--force-reinstall", "--no-deps", "bitsandbytes==0.46.0")),
        (GONE, (*PYTHON_PIP, "uninstall", "-y", "torch-xla")),
    ],
)
def test_pip(one: Step, command: Command) -> None:
    assert told(one, PIP, "pip") == (command,)


@pytest.mark.parametrize(
    ("one", "command"),
    [
        (TORCH, (*UV_PIP, "torch==2.6.0+cu126", "--index-url", CU126)),
        (PEFT, (*UV_PIP, "peft==0.18.0", HUB)),
        (ANEW, (*UV_PIP, "--reinstall-package", "bitsandbytes", "--no-deps", "bitsandbytes==0.46.0")),
        (GONE, ("uv", "pip", "uninstall", "--python", PYTHON, "torch-xla")),
    ],
)
def test_uv(one: Step, command: Command) -> None:
    assert told(one, UV, "uv") == (command,)


@pytest.mark.parametrize(
    ("one", "command"),
    [
        (TORCH, (*IN_CONDA, 'pytorch[version="==2.6.0",build="cuda*"]')),
        (PEFT, (*IN_CONDA, "peft==0.18.0", "huggingface_hub>=0.30,<1")),
        (ANEW, (*IN_CONDA, "--force-reinstall", "bitsandbytes==0.46.0")),
        (step("remove", "torch"), ("conda", "remove", "-y", "-p", "/env", "pytorch")),
    ],
)
def test_conda_has_other_names_and_builds(one: Step, command: Command) -> None:
    assert told(one, CONDA, "conda") == (command,)


def test_a_target_without_pip_gets_it_first() -> None:
    assert told(PEFT, UV, "pip")[0] == (PYTHON, "-m", "ensurepip")


@pytest.mark.parametrize("language", ["pip", "uv", "conda"])
def test_each_package_is_changed_by_what_put_it_there(language: Language) -> None:
    mixed = made_by("conda", kind="conda", others={"peft": "pip", "trl": "pip"})
    asked = step("install", "torch==2.6.0+cu126", "peft==0.18.0", index_url=CU126)
    first, second = told(asked, mixed, language)
    assert first == (*IN_CONDA, 'pytorch[version="==2.6.0",build="cuda*"]')
    start = UV_PIP if language == "uv" else (*PYTHON_PIP, "install")
    assert second == (*start, "peft==0.18.0", "--index-url", CU126)


@pytest.mark.parametrize(("owner", "program"), [("conda", "conda"), ("pip", PYTHON)])
def test_a_newcomer_follows_the_libraries_that_are_there(owner: str, program: str) -> None:
    stack = dict.fromkeys(("torch", "bitsandbytes", "transformers", "accelerate", "peft", "trl"), owner)
    [command] = told(step("install", "einops"), made_by("conda", kind="conda", others=stack), "conda")
    assert command[0] == program


@pytest.mark.parametrize(
    ("requirement", "index_url", "known"),
    [
        ("peft==0.18.0", "", True),
        ("torch==2.6.0+cu126", CU126, True),
        ("torch==2.6.0", "https://download.pytorch.org/whl/rocm6.2", False),
        ("nvidia-cublas-cu12==12.6.4.1", "", False),
        ("peft @ git+https://github.com/huggingface/peft", "", False),
    ],
)
def test_what_conda_forge_has(requirement: str, index_url: str, known: bool) -> None:
    assert has(requirement, index_url) is known


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("torch", "pytorch"),
        ("torch==2.6.0+cpu", 'pytorch[version="==2.6.0",build="cpu*"]'),
        ("torch>=2.4,<3", "pytorch>=2.4,<3"),
        ("transformers[torch]>=4.50 ; python_version < '3.13'", "transformers>=4.50"),
        ("unsloth-zoo == 2025.3.1", "unsloth_zoo==2025.3.1"),
    ],
)
def test_a_requirement_as_conda_writes_it(requirement: str, words: str) -> None:
    assert spec(requirement) == words


def test_mamba_and_micromamba_say_the_same() -> None:
    assert told(PEFT, CONDA, "mamba")[0][:2] == ("mamba", "install")
    assert told(PEFT, CONDA, "mamba", programs=("micromamba",))[0][:2] == ("micromamba", "install")
    assert told(PEFT, CONDA, "pip", programs=("mamba",))[0][:2] == ("mamba", "install")


def test_wheels_in_a_conda_environment_are_uvs_where_uv_put_them_there() -> None:
    stack = dict.fromkeys(healthy.VERSIONS, "uv")
    mixed = made_by("conda", kind="conda", others=stack)
    assert told(step("install", "peft==0.18.0"), mixed, "conda")[0][:2] == ("uv", "pip")
    assert told(step("install", "peft==0.18.0"), mixed, "conda", programs=("conda",))[0][0] == PYTHON


def test_poetry() -> None:
    name = "pytorch-cu126"
    assert told(TORCH, PIP, "poetry") == (
        ("poetry", "source", "add", "--priority=explicit", name, CU126),
        ("poetry", "add", "--source", name, "torch==2.6.0+cu126"),
    )
    assert told(PEFT, PIP, "poetry") == (("poetry", "add", "peft==0.18.0", HUB),)
    assert told(ANEW, PIP, "poetry") == told(ANEW, PIP, "pip")


def test_pdm_is_told_of_the_index_in_the_projects_file() -> None:
    said = worded(TORCH, PIP, "pdm")
    assert said.commands == (("pdm", "add", "torch==2.6.0+cu126"),)
    assert said.place == "pyproject.toml"
    [source] = toml.decode("\n".join(said.lines))["tool"]["pdm"]["source"]
    assert source == {"name": "pytorch-cu126", "url": CU126, "include_packages": ["torch"]}
    assert told(GONE, PIP, "pdm") == told(GONE, PIP, "pip")


def test_pixi_asks_conda_forge_and_pypi_apart() -> None:
    mixed = made_by("conda", kind="conda", others={"peft": "uv"})
    asked = step("install", "torch==2.6.0+cu126", "peft==0.18.0")
    assert told(asked, mixed, "pixi") == (
        ("pixi", "add", 'pytorch[version="==2.6.0",build="cuda*"]'),
        ("pixi", "add", "--pypi", "peft==0.18.0"),
    )
    assert told(ANEW, mixed, "pixi") == (("pixi", "reinstall", "bitsandbytes"),)
    gone = step("remove", "torch", "peft")
    assert told(gone, mixed, "pixi") == (
        ("pixi", "remove", "pytorch"),
        ("pixi", "remove", "--pypi", "peft"),
    )


def test_pixi_is_told_of_an_index_of_wheels_in_its_file() -> None:
    wheels = made_by("uv", kind="conda")
    said = worded(TORCH, wheels, "pixi")
    assert (said.place, said.commands) == ("pixi.toml", (("pixi", "install"),))
    asked = toml.decode("\n".join(said.lines))["pypi-dependencies"]
    assert asked == {"torch": {"version": "==2.6.0+cu126", "index": CU126}}


@pytest.mark.parametrize("one", [TORCH, PEFT, ANEW, GONE])
def test_files_have_lines_and_no_commands(one: Step) -> None:
    for language in ("dockerfile", "requirements"):
        assert told(one, PIP, language) == ()


def test_a_dockerfile_outside_of_a_container_knows_python_alone() -> None:
    said = worded(TORCH, UV, "dockerfile")
    line = f"RUN python -m pip install --no-cache-dir torch==2.6.0+cu126 --index-url {CU126}"
    assert (said.lines, said.place) == ((line,), "Dockerfile")


def test_in_a_container_the_images_own_installer_speaks() -> None:
    def inside(target: Facts) -> Facts:
        return but(target, system=but(healthy.FACTS.system, container="docker"))

    [line] = worded(GONE, inside(UV), "dockerfile").lines
    assert line == f"RUN uv pip uninstall --python {PYTHON} torch-xla"
    [line] = worded(PEFT, inside(UV), "dockerfile").lines
    assert line.startswith(f"RUN uv pip install --no-cache --python {PYTHON} peft==0.18.0")
    [line] = worded(step("install", "peft"), inside(CONDA), "dockerfile").lines
    assert line == "RUN conda install -y -p /env -c conda-forge peft && conda clean -afy"


def test_a_word_with_a_line_break_reaches_no_shell_of_an_image() -> None:
    odd = made_by("pip", executable="/my\nenv/bin/python")
    inside = but(odd, system=but(healthy.FACTS.system, container="docker"))
    [line] = worded(step("install", "peft"), inside, "dockerfile").lines
    assert line == 'RUN ["/my\\nenv/bin/python", "-m", "pip", "install", "--no-cache-dir", "peft"]'


def test_a_requirements_file_says_what_gives_way() -> None:
    assert worded(TORCH, PIP, "requirements").lines == (
        f"--extra-index-url {CU126}",
        "torch==2.6.0+cu126  # in place of 2.13.0+cu130",
    )
    assert worded(GONE, PIP, "requirements").lines == ("# delete what asks for torch-xla",)
    said = worded(ANEW, PIP, "requirements")
    assert (said.lines, said.place) == ((), "")


def test_a_file_that_was_read_is_named_with_its_line() -> None:
    line = Requirement(name="peft", text="peft==0.17.1", file="req/train.txt", line=3)
    wanted = Wanted(file="req/train.txt", form="open", requirements=(line,))
    said = worded(PEFT, facts(packages=but(healthy.FACTS.packages, wanted=wanted)), "requirements")
    assert said.place == "req/train.txt"
    assert said.lines == ("peft==0.18.0  # in place of peft==0.17.1 (line 3)", HUB)


@pytest.mark.parametrize(
    ("target", "files", "programs", "language"),
    [
        (PIP, (), None, "pip"),
        (UV, (), None, "uv"),
        (UV, (), ("conda",), "pip"),
        (UV, (), ("uv",), "uv"),
        (CONDA, (), None, "conda"),
        (CONDA, (), ("conda", "mamba"), "mamba"),
        (CONDA, (), ("micromamba",), "mamba"),
        (made_by("pip", kind="conda"), (), None, "pip"),
        (UV, ("train.py", "uv.lock"), None, "uv"),
        (PIP, ("poetry.lock",), None, "poetry"),
        (PIP, ("pdm.lock",), None, "pdm"),
        (CONDA, ("pixi.toml",), None, "pixi"),
        (made_by("conda", kind="conda", prefix="/train/.pixi/envs/default"), (), None, "pixi"),
    ],
)
def test_the_targets_own_language(
    target: Facts, files: tuple[str, ...], programs: tuple[str, ...] | None, language: str
) -> None:
    assert language_of(target, files, programs) == language


@pytest.mark.parametrize("name", ["-r", "--index-url=https://evil", "", "peft\n--pre", "peft\x1b[2J", "~x"])
def test_what_is_no_package_is_not_said_to_an_installer(name: str) -> None:
    for language in ("pip", "uv", "conda", "poetry", "dockerfile", "requirements"):
        said = worded(step("remove", name), PIP, language)
        assert said.commands == said.lines == ()
        assert "no package" in said.said


DELETION = step("delete", paths=("/env/lib/peft-0.1.dist-info", "/env/lib/x.dist-info"))


def test_folders_are_deleted_in_the_words_of_the_system() -> None:
    assert told(DELETION, PIP, "uv") == (("rm", "-r", *DELETION.paths),)
    windows = but(PIP, system=but(healthy.FACTS.system, os="win32"))
    assert told(DELETION, windows, "pip")[1] == ("cmd", "/c", "rmdir", "/s", "/q", DELETION.paths[1])
    assert worded(DELETION, PIP, "dockerfile").lines == (f"RUN rm -r {' '.join(DELETION.paths)}",)
    assert told(DELETION, PIP, "requirements") == ()


def test_a_project_is_told_the_same_so_that_it_lasts() -> None:
    said = lasting((TORCH, PEFT, ANEW, GONE), PIP, ("uv.lock",))
    assert said is not None and said.kind == "hand" and not said.is_applied
    assert said.title == "Tell the uv project the same: the next uv sync would undo it"
    assert said.commands == (("uv", "add", "--no-sync", "torch==2.6.0+cu126", "peft==0.18.0", HUB),)
    assert said.lines[-1] == "# delete torch-xla where the project asks for it"
    uv = toml.decode("\n".join(said.lines))["tool"]["uv"]
    assert uv["index"] == [{"name": "pytorch-cu126", "url": CU126, "explicit": True}]
    assert uv["sources"] == {"torch": {"index": "pytorch-cu126"}}


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("poetry.lock", ("poetry", "add", "--lock", "peft==0.18.0", HUB)),
        ("pdm.lock", ("pdm", "add", "--no-sync", "peft==0.18.0", HUB)),
        ("pixi.lock", ("pixi", "add", "--pypi", "peft==0.18.0", HUB)),
    ],
)
def test_every_project_is_told_by_its_own_tool(file: str, command: Command) -> None:
    said = lasting((PEFT,), made_by("uv", kind="conda"), ("train.py", file))
    assert said is not None and said.commands == (command,)


@pytest.mark.parametrize(("steps", "files"), [((PEFT,), ("train.py",)), ((ANEW,), ("uv.lock",))])
def test_without_a_project_or_a_change_nothing_is_told(
    steps: tuple[Step, ...], files: tuple[str, ...]
) -> None:
    assert lasting(steps, PIP, files) is None


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (CU126, "pytorch-cu126"),
        ("https://mirror.example/whl/cu126/", "wheels-cu126"),
        ("https://mirror.example", "wheels"),
        ("https://download.pytorch.org/whl/rocm6.2", "pytorch-rocm6-2"),
    ],
)
def test_an_index_has_a_name(url: str, name: str) -> None:
    assert source_name(url) == name
