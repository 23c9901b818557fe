"""The survey, run for real in environments whose distributions are written by hand."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from doctor.collectors import Collected

from .throwaway import Environment, install, metadata, survey

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """An empty environment; the working folder is empty too."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return Environment(tmp_path / "env")


def section(answer: Collected, name: str) -> dict[str, Any]:
    found = answer.section(name)
    assert found is not None, answer.trouble
    return dict(found)


def found(answer: Collected) -> dict[str, Mapping[str, Any]]:
    return {one["name"]: one for one in section(answer, "packages")["found"]}


def faults(answer: Collected) -> dict[str, Mapping[str, Any]]:
    return {fault["package"]: fault for fault in section(answer, "files")["faults"]}


def shadows(answer: Collected) -> list[tuple[str, str, str]]:
    rows = section(answer, "shadows")["shadows"]
    return [(row["module"], row["path"], row["entry"]) for row in rows]


# -- the interpreter


def test_the_interpreter_describes_itself(environment: Environment) -> None:
    told = section(environment.survey(), "interpreter")
    assert told["executable"] == str(environment.python)
    assert told["version"] == ".".join(map(str, sys.version_info[:3]))
    assert told["implementation"] == "CPython"
    assert (told["prefix"], told["kind"]) == (str(environment.folder), "venv")
    assert told["base_prefix"] == sys.base_prefix
    assert told["site_folders"] == [str(environment.site)]
    assert (told["user_site"], told["externally_managed"]) == (None, False)
    assert (told["has_pip"], told["writable"]) == (False, True)


def test_pip_is_seen_where_it_is(environment: Environment) -> None:
    (environment.site / "pip").mkdir()
    assert section(environment.survey(), "interpreter")["has_pip"] is True


def test_a_conda_environment_is_known_by_its_own_folder(environment: Environment) -> None:
    (environment.folder / "conda-meta").mkdir()
    assert section(environment.survey(), "interpreter")["kind"] == "conda"


def test_a_whole_environment_has_no_faults(environment: Environment) -> None:
    environment.install("torch", "2.13.0+cpu")
    environment.install("peft", "0.21.2", requires=["torch>=1.13.0"])
    for hashes in (False, True):
        answer = environment.survey(hashes=hashes)
        assert answer.completed.code == 0 and answer.noise == "" and answer.completed.stderr == ""
        assert faults(answer) == {} and shadows(answer) == []
        assert section(answer, "files")["checked"] == 4
        assert section(answer, "files")["hashed"] == (2 if hashes else 0)
        assert section(answer, "files")["without_record"] == []
        assert section(answer, "packages")["leftovers"] == []


# -- metadata


def test_what_metadata_says(environment: Environment) -> None:
    needs = ["torch>=1.13.0", 'numpy; python_version >= "3.9"', 'pytest; extra == "test"']
    environment.install("PEFT", "0.21.2", requires=needs, installer="uv")
    [package] = found(environment.survey()).values()
    assert {key: package[key] for key in ("name", "version", "location", "installer", "fault", "origin")} == {
        "name": "peft",
        "version": "0.21.2",
        "location": str(environment.site),
        "installer": "uv",
        "fault": "",
        "origin": "",
    }
    assert package["requires"] == needs[:2]
    assert package["requires_python"] == ">=3.8"
    assert package["editable"] is False


@pytest.mark.parametrize("name", ["Huggingface_Hub", "huggingface.hub", "HUGGINGFACE--HUB"])
def test_names_have_one_spelling(environment: Environment, name: str) -> None:
    info = environment.install("huggingface_hub", "1.2.0")
    (info / "METADATA").write_bytes(metadata(name, "1.2.0"))
    assert list(found(environment.survey())) == ["huggingface-hub"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "its METADATA cannot be read: No such file or directory"),
        (b"", "its METADATA names no name"),
        (b"\x00\xff\xfe" + b"\x80" * 300, "its METADATA is not text"),
        (b"Name: peft\n\nVersion: 9", "its METADATA names no version"),
        (b"Version: 0.21.2\n", "its METADATA names no name"),
        (b"\x00" * 500, "its METADATA names no name"),
    ],
    ids=["gone", "empty", "bytes", "no version", "no name", "zeros"],
)
def test_metadata_that_cannot_be_read(environment: Environment, text: bytes | None, fault: str) -> None:
    info = environment.install("peft", "0.21.2")
    environment.install("trl", "1.0")
    if text is None:
        (info / "METADATA").unlink()
    else:
        (info / "METADATA").write_bytes(text)
    packages = found(environment.survey())
    assert packages["peft"]["fault"] == fault
    assert packages["peft"]["version"] == "0.21.2"  # its folder says so
    assert packages["trl"]["fault"] == ""


def test_metadata_with_line_ends_of_windows(environment: Environment) -> None:
    info = environment.install("peft", "0.21.2")
    (info / "METADATA").write_bytes(metadata("peft", "0.21.2").replace(b"\n", b"\r\n"))
    assert found(environment.survey())["peft"]["fault"] == ""


def test_metadata_with_a_very_long_description(environment: Environment) -> None:
    info = environment.install("peft", "0.21.2")
    head = metadata("peft", "0.21.2")
    head += b" " * (1 - len(head) % 2)  # so that a character lies across the end of the first MiB
    (info / "METADATA").write_bytes(head + "é".encode() * (1 << 20))
    assert found(environment.survey())["peft"]["fault"] == ""


def test_an_egg_is_a_distribution_too(environment: Environment) -> None:
    folder = environment.site / "trl-0.9.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_bytes(metadata("trl", "0.9"))
    (environment.site / "Accelerate-0.3.egg-info").write_bytes(metadata("accelerate", "0.3"))
    answer = environment.survey()
    assert {name: one["version"] for name, one in found(answer).items()} == {
        "accelerate": "0.3",
        "trl": "0.9",
    }
    assert section(answer, "files")["without_record"] == ["accelerate", "trl"]


@pytest.mark.parametrize(
    ("direct_url", "origin", "editable"),
    [
        ({"url": "file:///src/peft", "dir_info": {"editable": True}}, "file:///src/peft", True),
        ({"url": "file:///src/peft", "dir_info": {}}, "file:///src/peft", False),
        (
            {"url": "https://github.com/huggingface/peft", "vcs_info": {"vcs": "git", "commit_id": "abc123"}},
            "git+https://github.com/huggingface/peft@abc123",
            False,
        ),
        ({"url": "https://example.org/peft.whl", "archive_info": {}}, "https://example.org/peft.whl", False),
        ([], "", False),
        ({"vcs_info": 3}, "", False),
    ],
)
def test_where_a_package_came_from(
    environment: Environment, direct_url: Any, origin: str, editable: bool
) -> None:
    environment.install("peft", direct_url=direct_url)
    package = found(environment.survey())["peft"]
    assert (package["origin"], package["editable"]) == (origin, editable)


@pytest.mark.parametrize("name", ["peft", "my peft 100%"])
def test_sources_that_were_moved_away(environment: Environment, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    environment.install("peft", direct_url={"url": folder.as_uri(), "dir_info": {"editable": True}})
    assert found(environment.survey())["peft"]["source_gone"] is False
    folder.rmdir()
    assert found(environment.survey())["peft"]["source_gone"] is True


def test_sources_that_are_not_needed_any_more(environment: Environment) -> None:
    environment.install("peft", direct_url={"url": "file:///nonexistent/peft", "dir_info": {}})
    assert found(environment.survey())["peft"]["source_gone"] is False


def test_the_files_of_an_editable_package_are_its_users_own(environment: Environment) -> None:
    info = environment.install("peft", direct_url={"url": "file:///src", "dir_info": {"editable": True}})
    shutil.rmtree(environment.site / "peft")
    answer = environment.survey()
    assert info.exists() and faults(answer) == {}
    assert section(answer, "files")["checked"] == 0


def test_two_registrations_of_one_package(environment: Environment) -> None:
    environment.install("peft", "0.17.0", files={"peft/gone.py": b""})
    environment.install("peft", "0.21.2")
    (environment.site / "peft" / "gone.py").unlink()
    answer = environment.survey()
    rows = section(answer, "packages")["found"]
    assert [(row["name"], row["version"]) for row in rows] == [("peft", "0.17.0"), ("peft", "0.21.2")]
    assert faults(answer) == {}  # the stale RECORD proves nothing


def test_what_an_interrupted_uninstall_left(environment: Environment) -> None:
    environment.install("peft")
    for name in ("~eft", "~ransformers-5.0.dist-info"):
        (environment.site / name).mkdir()
    packages = section(environment.survey(), "packages")
    assert packages["leftovers"] == ["~eft", "~ransformers-5.0.dist-info"]
    assert [one["name"] for one in packages["found"]] == ["peft"]


def test_what_is_required_of_an_extra_that_is_asked_for(environment: Environment) -> None:
    """As torch 2.13 takes NVIDIA's wheels by extras of cuda-toolkit."""
    system = platform.system()
    environment.install(
        "torch",
        requires=[
            f'cuda_toolkit[cublas, cudart]==13.0.3; platform_system == "{system}"',
            "optree[never]; python_version < '3'",
            "absent[more]",
        ],
    )
    of_extras = [
        "nvidia-cublas==13.1.*; (sys_platform == 'linux' or sys_platform == 'win32') and extra == 'cublas'",
        "nvidia-nvjitlink<14; extra == 'cublas'",
        "nvidia-nvjitlink<14; extra == 'cudart'",
        "nvidia-npp; extra == 'npp'",
    ]
    environment.install("cuda_toolkit", requires=["wheel", *of_extras])
    environment.install("optree", requires=["numpy; extra == 'never'"])
    for name in ("nvidia_cublas", "nvidia_nvjitlink", "nvidia_npp", "numpy"):
        environment.install(name)
    answer = environment.survey()
    assert found(answer)["cuda-toolkit"]["requires"] == [
        "wheel",
        "nvidia-cublas==13.1.*; (sys_platform == 'linux' or sys_platform == 'win32')",
        "nvidia-nvjitlink<14",
    ]
    assert found(answer)["optree"]["requires"] == []
    assert section(answer, "packages")["closure"] == [
        "cuda-toolkit",
        "nvidia-cublas",
        "nvidia-nvjitlink",
        "optree",
        "torch",
    ]


def test_the_stack_and_what_it_requires_is_looked_at(environment: Environment) -> None:
    environment.install("peft", requires=["Torch-Geometric[full] (>=1.0)", "absent>=1"])
    environment.install("torch_geometric", requires=["numpy<3"])
    environment.install("numpy", requires=["peft"])
    environment.install("pandas")
    answer = environment.survey()
    assert section(answer, "packages")["closure"] == ["numpy", "peft", "torch-geometric"]
    assert section(answer, "files")["modules"] == {
        "numpy": ["numpy"],
        "peft": ["peft"],
        "torch-geometric": ["torch_geometric"],
    }


# -- files


def test_a_missing_file(environment: Environment) -> None:
    environment.install("peft", "0.21.2")
    (environment.site / "peft" / "__init__.py").unlink()
    for hashes in (False, True):
        assert faults(environment.survey(hashes=hashes)) == {
            "peft": {
                "package": "peft",
                "version": "0.21.2",
                "missing": ["peft/__init__.py"],
                "altered": [],
                "missing_count": 1,
                "altered_count": 0,
                "truncated": [],
            }
        }


def test_a_missing_folder(environment: Environment) -> None:
    environment.install("bitsandbytes")
    shutil.rmtree(environment.site / "bitsandbytes" / "lib")
    assert faults(environment.survey())["bitsandbytes"]["missing"] == ["bitsandbytes/lib/libbitsandbytes.so"]


def test_a_truncated_library(environment: Environment) -> None:
    environment.install("bitsandbytes")
    library = environment.site / "bitsandbytes" / "lib" / "libbitsandbytes.so"
    os.truncate(library, 100)
    for hashes in (False, True):
        fault = faults(environment.survey(hashes=hashes))["bitsandbytes"]
        assert fault["truncated"] == fault["altered"] == ["bitsandbytes/lib/libbitsandbytes.so"]
        assert (fault["missing_count"], fault["altered_count"]) == (0, 1)


def test_a_library_that_grew(environment: Environment) -> None:
    environment.install("bitsandbytes")
    with (environment.site / "bitsandbytes" / "lib" / "libbitsandbytes.so").open("ab") as file:
        file.write(b"more")
    fault = faults(environment.survey())["bitsandbytes"]
    assert (fault["truncated"], fault["altered"]) == ([], ["bitsandbytes/lib/libbitsandbytes.so"])


def test_a_library_of_the_right_size_and_the_wrong_content(environment: Environment) -> None:
    environment.install("bitsandbytes")
    library = environment.site / "bitsandbytes" / "lib" / "libbitsandbytes.so"
    library.write_bytes(b"\0" * library.stat().st_size)
    assert faults(environment.survey()) == {}
    fault = faults(environment.survey(hashes=True))["bitsandbytes"]
    assert (fault["altered_count"], fault["truncated"]) == (1, [])


def test_python_code_of_another_size_is_seen_by_the_thorough_look(environment: Environment) -> None:
    environment.install("peft")
    (environment.site / "peft" / "__init__.py").write_bytes(b"")
    assert faults(environment.survey()) == {}
    assert faults(environment.survey(hashes=True))["peft"]["altered"] == ["peft/__init__.py"]


def test_code_that_lies_deep_is_seen_by_the_thorough_look(environment: Environment) -> None:
    deep = "peft/a/b/c/deep.py"
    environment.install("peft", files={"peft/__init__.py": b"", deep: b"1"})
    (environment.site / deep).unlink()
    assert faults(environment.survey()) == {}
    assert faults(environment.survey(hashes=True))["peft"]["missing"] == [deep]


def test_files_that_are_no_code_may_go(environment: Environment) -> None:
    environment.install("peft", files={"peft/__init__.py": b"", "peft/README.md": b"read", "peft/x.pyi": b""})
    (environment.site / "peft" / "README.md").unlink()
    (environment.site / "peft" / "x.pyi").unlink()
    assert faults(environment.survey(hashes=True)) == {}


@pytest.mark.parametrize("name", ["lib.so", "lib.so.13", "lib.so.12.4.1", "x.pyd", "x.dll", "x.dylib"])
def test_what_counts_as_native(environment: Environment, name: str) -> None:
    environment.install("torch", files={f"torch/{name}": b"0123456789"})
    os.truncate(environment.site / "torch" / name, 1)
    assert faults(environment.survey())["torch"]["truncated"] == [f"torch/{name}"]


def test_paths_that_record_quotes(environment: Environment) -> None:
    files = {"peft/a,b.py": b"1", 'peft/say "hi".py': b"2", "peft/é.so": b"333", "peft/plain.py": b""}
    environment.install("peft", files=files)
    answer = environment.survey(hashes=True)
    assert faults(answer) == {} and section(answer, "files")["checked"] == 4
    for path in files:
        (environment.site / path).unlink()
    assert sorted(faults(environment.survey())["peft"]["missing"]) == sorted(files)


def test_of_many_missing_files_native_ones_are_named_first(environment: Environment) -> None:
    files = {f"torch/a{n}.py": b"" for n in range(20)} | {"torch/lib/z.so": b"1234"}
    environment.install("torch", files=files)
    shutil.rmtree(environment.site / "torch")
    fault = faults(environment.survey())["torch"]
    assert fault["missing"] == [
        "torch/lib/z.so",
        "torch/a0.py",
        "torch/a1.py",
        "torch/a10.py",
        "torch/a11.py",
    ]
    assert fault["missing_count"] == 21


@pytest.mark.parametrize("text", [None, b"\xff\xfe\x00" * 50])
def test_a_package_without_a_record_is_told_and_not_called_whole(
    environment: Environment, text: bytes | None
) -> None:
    info = environment.install("peft", record=False)
    if text is not None:
        (info / "RECORD").write_bytes(text)
    files = section(environment.survey(), "files")
    assert (files["without_record"], files["checked"], files["faults"]) == (["peft"], 0, [])


def test_an_empty_record_proves_nothing(environment: Environment) -> None:
    info = environment.install("peft")
    (info / "RECORD").write_bytes(b"")
    assert section(environment.survey(), "files")["without_record"] == ["peft"]


@pytest.mark.parametrize(
    "line",
    [
        *(b"peft/x.py", b",,", b'"peft/x.py', b"a,b,c,d,e", b"", b'"",""', b"\0"),
        pytest.param(b'"' + b"x" * 200_000, id="a very long cell"),
    ],
)
def test_lines_of_record_that_make_no_sense_are_passed_over(environment: Environment, line: bytes) -> None:
    info = environment.install("peft")
    record = info / "RECORD"
    record.write_bytes(line + b"\n" + record.read_bytes())
    answer = environment.survey()
    assert section(answer, "builds") is not None
    assert section(answer, "files")["checked"] == 2


@pytest.mark.parametrize("installer", ["conda", "debian", "rpm"])
def test_those_who_rewrite_files_are_held_to_existence_alone(
    environment: Environment, installer: str
) -> None:
    environment.install("torch", installer=installer)
    (environment.site / "torch" / "lib" / "libtorch.so").write_bytes(b"\x7fELF with another prefix" * 30)
    (environment.site / "torch" / "__init__.py").write_bytes(b"another prefix")
    assert faults(environment.survey(hashes=True)) == {}
    (environment.site / "torch" / "__init__.py").unlink()
    assert faults(environment.survey())["torch"]["missing"] == ["torch/__init__.py"]


def test_an_environment_that_is_reached_by_two_names_is_still_checked(environment: Environment) -> None:
    """As on Fedora, where sys.path of a virtual environment has lib64, a link to lib, before lib."""
    environment.install("torch")
    (environment.site / "torch" / "__init__.py").unlink()
    alias = environment.folder / "lib64-of-fedora"
    alias.symlink_to(environment.site)
    (environment.site / "zz.pth").write_text(f"{alias}\n")
    answer = environment.survey()
    assert [one["location"] for one in section(answer, "packages")["found"]] == [str(environment.site)]
    assert list(faults(answer)) == ["torch"]


# -- shadows


def test_a_file_in_the_working_folder_hides_a_package(environment: Environment) -> None:
    environment.install("torch")
    environment.install("peft")
    here = Path.cwd()
    (here / "torch.py").write_text("")
    (here / "peft").mkdir()
    (here / "peft" / "__init__.py").touch()
    assert shadows(environment.survey()) == [
        ("peft", str(here / "peft" / "__init__.py"), "working folder"),
        ("torch", str(here / "torch.py"), "working folder"),
    ]


def test_what_hides_nothing(environment: Environment) -> None:
    environment.install("datasets")
    environment.install("trl", requires=["datasets"])
    here = Path.cwd()
    (here / "datasets" / "raw").mkdir(parents=True)  # a folder of data: the package goes before it
    (here / "peft.py").write_text("")  # not installed
    (here / "train.py").write_text("")
    (here / "trl.txt").write_text("")
    assert shadows(environment.survey()) == []


def test_a_safe_path_takes_the_working_folder_out(environment: Environment) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("PYTHONSAFEPATH came with 3.11")
    environment.install("torch")
    Path("torch.py").write_text("")
    assert shadows(environment.survey(env={"PYTHONSAFEPATH": "1"})) == []
    assert len(shadows(environment.survey())) == 1


@pytest.mark.parametrize(
    "name", ["json", "os", "re", "resource", "csv", "site", "platform", "hashlib", "random"]
)
def test_a_file_named_like_a_standard_module_is_told_and_does_no_harm(
    environment: Environment, name: str
) -> None:
    environment.install("torch")
    Path(f"{name}.py").write_text("raise RuntimeError('imported')")
    answer = environment.survey()
    assert shadows(answer) == [(name, str(Path.cwd() / f"{name}.py"), "working folder")]
    assert section(answer, "builds")["torch"]["version"] == "1.0"


def test_pythonpath_hides_a_package(environment: Environment, tmp_path: Path) -> None:
    environment.install("torch")
    old = tmp_path / "old"
    old.mkdir()
    (old / "torch.py").write_text("")
    answer = environment.survey(env={"PYTHONPATH": f"{os.pathsep}{old}{os.pathsep}{tmp_path / 'gone'}"})
    assert shadows(answer) == [("torch", str(old / "torch.py"), "PYTHONPATH")]


def test_pythonpath_hides_a_package_by_another_that_was_installed_there(
    environment: Environment, tmp_path: Path
) -> None:
    """As ``pip install --target`` leaves it; the same holds of packages in the user site."""
    environment.install("peft", "0.21.2")
    install(tmp_path / "old", "peft", "0.4.0")
    answer = environment.survey(env={"PYTHONPATH": str(tmp_path / "old")})
    assert [one["version"] for one in section(answer, "packages")["found"]] == ["0.4.0", "0.21.2"]
    assert shadows(answer) == [("peft", str(tmp_path / "old" / "peft" / "__init__.py"), "PYTHONPATH")]


def test_a_checkout_that_is_installed_editable_hides_nothing(environment: Environment) -> None:
    environment.install("torch")
    origin = f"file://{Path.cwd()}"
    environment.install("peft", direct_url={"url": origin, "dir_info": {"editable": True}})
    Path("torch.py").write_text("")  # whoever works in this checkout wants it so
    assert shadows(environment.survey()) == []


def test_a_folder_beside_an_editable_checkout_is_not_the_checkout(environment: Environment) -> None:
    environment.install("torch")
    origin = f"file://{str(Path.cwd())[:-1]}"
    environment.install("peft", direct_url={"url": origin, "dir_info": {"editable": True}})
    Path("torch.py").write_text("")
    assert len(shadows(environment.survey())) == 1


def test_a_library_that_is_there_and_registered_nowhere(environment: Environment) -> None:
    environment.install("torch", "2.13.0")
    info = environment.install("peft")
    environment.install("numpy")
    shutil.rmtree(info)
    (environment.site / "trl").mkdir()  # the rest of an uninstall: nothing in it
    assert section(environment.survey(), "shadows")["unregistered"] == ["peft"]


INIT = "bitsandbytes/__init__.py"


@pytest.mark.parametrize(
    ("there", "last"), [(b"ours", False), (b"of a fork", True), (b"edited by hand", False)]
)
def test_a_fork_that_holds_the_same_files(environment: Environment, there: bytes, last: bool) -> None:
    environment.install("bitsandbytes-windows", "0.37.5", files={INIT: b"of a fork"})
    environment.install("bitsandbytes", "0.50.2", files={INIT: b"ours"})
    (environment.site / INIT).write_bytes(there)
    assert section(environment.survey(), "shadows")["overlaps"] == [
        {"package": "bitsandbytes", "rival": "bitsandbytes-windows", "rival_is_there": last}
    ]


def test_a_like_name_is_no_overlap(environment: Environment) -> None:
    environment.install("torch-geometric", files={"torch_geometric/__init__.py": b""})
    environment.install("torch", files={"torch/__init__.py": b""})
    environment.install("peft-fork", files={"peft/__init__.py": b""})  # no peft beside it
    assert section(environment.survey(), "shadows")["overlaps"] == []


# -- builds


VERSION_PY = """\
from typing import Optional
__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda}
git_version = 'abc'
hip: Optional[str] = {hip}
"""


def torch(environment: Environment, version_py: str, version: str = "2.13.0") -> dict[str, Any]:
    environment.install("torch", version, files={"torch/version.py": version_py.encode()})
    return dict(section(environment.survey(), "builds")["torch"])


@pytest.mark.parametrize(
    ("version", "cuda", "hip"),
    [("2.13.0+cpu", "None", "None"), ("2.13.0+cu130", "'13.0'", "None"), ("2.5.1", "None", '"6.2.41133"')],
)
def test_the_build_of_torch(environment: Environment, version: str, cuda: str, hip: str) -> None:
    build = torch(environment, VERSION_PY.format(version=version, cuda=cuda, hip=hip))["build"]
    assert build == {
        "__version__": version,
        "cuda": None if cuda == "None" else cuda.strip("'"),
        "hip": None if hip == "None" else hip.strip('"'),
    }


@pytest.mark.parametrize("text", ["", "\0\1\2", "__version__ = broken(", "cuda"])
def test_a_version_file_that_says_nothing(environment: Environment, text: str) -> None:
    assert torch(environment, text) == {"version": "2.13.0", "build": {}, "fault": ""}


def test_a_torch_without_its_version_file(environment: Environment) -> None:
    environment.install("torch", "2.13.0")
    told = section(environment.survey(), "builds")["torch"]
    assert (told["version"], told["build"]) == ("2.13.0", None)
    assert "No such file" in told["fault"]


def test_the_libraries_of_bitsandbytes(environment: Environment) -> None:
    names = ["libbitsandbytes_cuda126.so", "libbitsandbytes_cpu.so", "__init__.py", "notes.so"]
    environment.install("bitsandbytes", "0.50.2", files={f"bitsandbytes/{name}": b"1" for name in names})
    assert section(environment.survey(), "builds")["bitsandbytes"] == {
        "version": "0.50.2",
        "build": ["libbitsandbytes_cpu.so", "libbitsandbytes_cuda126.so"],
        "fault": "",
    }


def test_what_is_absent_has_no_build(environment: Environment) -> None:
    builds = section(environment.survey(), "builds")
    assert (builds["torch"], builds["bitsandbytes"]) == (None, None)


# -- noise and other Pythons


def test_an_interpreter_that_prints_as_it_starts(environment: Environment) -> None:
    environment.install("torch")
    (environment.site / "banner.pth").write_text(
        "import sys; print('welcome'); sys.stderr.write('hello\\n')\n"
    )
    answer = environment.survey()
    # Of a virtual environment some releases of Python run every .pth file twice.
    assert set(answer.noise.split()) == {"welcome"}
    assert set(answer.completed.stderr.split()) == {"hello"}
    assert list(found(answer)) == ["torch"]


def test_an_interpreter_that_ends_before_it_runs_anything(environment: Environment) -> None:
    (environment.site / "sitecustomize.py").write_text(
        "import os; print('no licence', flush=True); os._exit(3)"
    )
    answer = environment.survey()
    assert answer.events == ()
    assert answer.trouble == "the interpreter ended with exit code 3: no licence"


def other_python(version: str) -> str:
    """Another interpreter of this machine, by pyenv's folder or by what is on PATH."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [str(path) for path in sorted(root.glob(f"versions/{version}.*/bin/python"))]
    candidates.append(shutil.which(f"python{version}") or "")
    for path in filter(None, candidates):  # what pyenv puts on PATH may stand for nothing
        if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    pytest.skip(f"no Python {version} is on this machine")


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13", "3.14"])
def test_other_pythons_are_surveyed(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = other_python(version)
    subprocess.run([python, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    [site] = tmp_path.glob("env/lib/python*/site-packages")
    install(site, "torch", "2.4.1", files={"torch/version.py": b"__version__ = '2.4.1'\ncuda = '12.1'\n"})
    install(site, "peft", "0.13.2", requires=["torch"])
    (site / "peft" / "__init__.py").unlink()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("peft.py").write_text("")
    answer = survey(str(tmp_path / "env" / "bin" / "python"), hashes=True)
    assert section(answer, "interpreter")["version"].startswith(f"{version}.")
    assert list(found(answer)) == ["peft", "torch"]
    assert list(faults(answer)) == ["peft"]
    assert [row[0] for row in shadows(answer)] == ["peft"]
    assert section(answer, "builds")["torch"]["build"] == {"__version__": "2.4.1", "cuda": "12.1"}
    assert answer.completed.stderr == "" and answer.completed.code == 0


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_a_python_that_is_too_old_says_so(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = other_python(version)
    monkeypatch.chdir(tmp_path)
    answer = survey(python)
    assert answer.events == ()
    assert answer.trouble.endswith(f"Python {version} is older than 3.8")
