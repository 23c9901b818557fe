"""CUDA toolkits wherever installers put them, and which of them torch would build with."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from fakes import HUNG, emits
from healthy import SITE, survey

from doctor.facts import Toolkit
from doctor.probes import Looks, toolkits

NONE = {"libraries": {}, "files": {}, "leads": {}, "programs": {}, "env": {}}
JSON = '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "nvcc": {"version": "12.4.131"}}'


def found(**scripted: Any) -> list[Toolkit]:
    return list(toolkits.probe(Looks(healthy.host(**{**NONE, **scripted}), healthy.TARGET)))


def toolkit(path: str, version: str | None, found_by: Any, **fields: Any) -> Toolkit:
    return Toolkit(**{"path": path, "version": version, "found_by": found_by, "has_compiler": True, **fields})


def test_a_machine_without() -> None:
    assert found() == []
    assert found(files={"/usr/local/cuda/README": "", "/usr/local/bin/x": ""}) == []


def test_links_are_one_toolkit_and_torch_takes_the_plain_one() -> None:
    files = {
        "/usr/local/cuda/bin/nvcc": "",
        "/usr/local/cuda-12/bin/nvcc": "",
        "/usr/local/cuda-12.4/bin/nvcc": "",
        "/usr/local/cuda-12.4/version.json": JSON,
        "/usr/local/cuda-11.8/bin/nvcc": "",
    }
    leads = dict.fromkeys(("/usr/local/cuda", "/usr/local/cuda-12"), "/usr/local/cuda-12.4")
    assert found(files=files, leads=leads) == [
        toolkit("/usr/local/cuda-12.4", "12.4", "folder", is_used=True),
        toolkit("/usr/local/cuda-11.8", "11.8", "folder"),
    ]


def test_a_variable_goes_before_the_path_and_the_path_before_the_plain_folder() -> None:
    files = {f"{path}/bin/nvcc": "" for path in ("/opt/cuda-12.8", "/sw/cuda-12.6", "/usr/local/cuda")}
    on_path = {"nvcc": "/sw/cuda-12.6/bin/nvcc"}
    both = found(files=files, programs=on_path, env={"CUDA_HOME": "/opt/cuda-12.8/"})
    assert [(one.path, one.found_by, one.is_used) for one in both] == [
        ("/opt/cuda-12.8", "CUDA_HOME", True),
        ("/sw/cuda-12.6", "PATH", False),
        ("/usr/local/cuda", "folder", False),
    ]
    assert [one.path for one in found(files=files, programs=on_path) if one.is_used] == ["/sw/cuda-12.6"]
    assert [one.path for one in found(files=files) if one.is_used] == ["/usr/local/cuda"]
    second = found(files=files, env={"CUDA_HOME": "", "CUDA_PATH": "/opt/cuda-12.8"})
    assert [one.path for one in second if one.is_used] == ["/opt/cuda-12.8"]


def test_a_variable_that_names_nothing_is_told_and_is_what_torch_takes() -> None:
    [one, _] = found(env={"CUDA_HOME": "/gone/cuda-12.1"}, files={"/usr/local/cuda/bin/nvcc": ""})
    assert one == toolkit("/gone/cuda-12.1", None, "CUDA_HOME", has_compiler=False, is_used=True)


def test_a_runtime_without_a_compiler() -> None:
    [one] = found(files={"/usr/local/cuda-12.4/version.json": JSON})
    assert (one.version, one.has_compiler, one.is_used) == ("12.4", False, False)


def test_the_nvcc_of_debian_lies_among_all_other_programs() -> None:
    files = {"/usr/bin/nvcc": "", "/usr/lib/x86_64-linux-gnu/libcudart.so.11.8.89": ""}
    assert found(programs={"nvcc": "/usr/bin/nvcc"}, files=files) == [
        toolkit("/usr", "11.8", "PATH", is_used=True)
    ]


def test_a_link_among_other_programs_tells_the_release_it_leads_to_and_torch_takes_its_folder() -> None:
    link, real = "/usr/local/bin/nvcc", "/usr/local/cuda-12.4/bin/nvcc"
    told = found(programs={"nvcc": link}, files={link: "", real: ""}, leads={link: real})
    assert [(one.path, one.version, one.is_used) for one in told] == [
        ("/usr/local", "12.4", True),
        ("/usr/local/cuda-12.4", "12.4", False),
    ]


def test_a_script_in_place_of_the_compiler_tells_what_it_starts() -> None:
    script = '#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n'
    [one] = found(programs={"nvcc": "/usr/local/bin/nvcc"}, files={"/usr/local/bin/nvcc": script})
    assert (one.path, one.version, one.is_used) == ("/usr/local", "13.0", True)


def test_a_toolkit_of_conda_in_the_target() -> None:
    files = {"/env/bin/nvcc": "", "/env/conda-meta/cuda-nvcc-12.6.85-hcdd1206_0.json": ""}
    assert found(files=files) == [toolkit("/env", "12.6", "environment")]
    active = found(files=files, programs={"nvcc": "/env/bin/nvcc"})
    assert active == [toolkit("/env", "12.6", "environment", is_used=True)]


@pytest.mark.parametrize(
    ("folder", "record", "version"),
    [
        ("nvidia/cuda_nvcc", "nvidia_cuda_nvcc_cu12-12.9.86.dist-info", "12.9"),
        ("nvidia/cu13", "nvidia_cuda_nvcc-13.0.88.dist-info", "13.0"),
    ],
)
def test_a_compiler_of_pip_in_the_target(folder: str, record: str, version: str) -> None:
    files = {f"{SITE}/{folder}/bin/nvcc": "", f"{SITE}/{record}/METADATA": ""}
    assert found(files=files) == [toolkit(f"{SITE}/{folder}", version, "environment")]


def test_an_interpreter_that_does_not_answer_hides_no_toolkit_of_the_machine() -> None:
    files = {"/usr/local/cuda/bin/nvcc": "", "/usr/local/cuda/version.txt": "CUDA Version 10.2.89\n"}
    assert [one.version for one in found(files=files, survey=HUNG)] == ["10.2"]


def test_windows() -> None:
    root = toolkits.WINDOWS_ROOT
    files = {f"{root}/v12.4/bin/nvcc.exe": "", f"{root}/v11.8/bin/nvcc.exe": ""}
    told = found(os="win32", files=files, nvml=emits(healthy.NVML))
    assert [(one.version, one.is_used) for one in told] == [("11.8", True), ("12.4", False)]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cuda": 1}', '{"cuda": {"version": null}}', "[" * 99999, "\x00"]
)
def test_garbage_for_a_version_is_no_version(text: str) -> None:
    files = {"/opt/it/bin/nvcc": "", "/opt/it/version.json": text, "/opt/it/version.txt": text}
    [one] = found(files=files, env={"CUDA_HOME": "/opt/it"})
    assert one.version is None


def test_a_survey_of_another_form_is_survived() -> None:
    assert found(survey=emits(*survey(interpreter={"prefix": None, "site_folders": []}))) == []
