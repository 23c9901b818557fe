"""environment.yml, conda's names and match specifications."""

from __future__ import annotations

import pytest

from doctor.readers import Unreadable
from doctor.readers.conda_names import of_match_spec, split_spec

from .reading import lines, pairs, wanted


def test_an_environment_with_a_list_for_pip() -> None:
    found = wanted(
        """\
name: train
channels: [pytorch, nvidia]
dependencies:
  - python=3.10
  - pytorch=2.3
  - pytorch-cuda=12.1
  - conda-forge::numpy=1.26.4=py310_0
  - cudatoolkit
  - pip:
      - peft==0.17.1
      - --extra-index-url https://example.org/simple
      - transformers>=4.36  # newest
""",
        "environment.yml",
    )
    assert pairs(found) == [
        ("torch", "==2.3.*"),
        ("numpy", "==1.26.4"),
        ("peft", "==0.17.1"),
        ("transformers", ">=4.36"),
    ]
    assert lines(found) == {"torch": 5, "numpy": 7, "peft": 10, "transformers": 12}
    assert (found.python, found.torch_cuda) == ("==3.10.*", "12.1")
    assert found.index_urls == ("https://example.org/simple",)


@pytest.mark.parametrize(
    ("spec", "name", "bounds"),
    [
        ("numpy", "numpy", ""),
        ("numpy=1.26", "numpy", "==1.26.*"),
        ("numpy==1.26.4", "numpy", "==1.26.4"),
        ("numpy=1.26.4=py311_0", "numpy", "==1.26.4"),
        ("numpy>=1.22,<2", "numpy", ">=1.22,<2"),
        ("numpy >=1.22, <2", "numpy", ">=1.22,<2"),
        ("numpy 1.26.*", "numpy", "==1.26.*"),
        ("pytorch::pytorch[version='>=2']", "pytorch", ""),
    ],
)
def test_match_specifications(spec: str, name: str, bounds: str) -> None:
    assert split_spec(spec) == (name, bounds)


@pytest.mark.parametrize(
    "spec", ["cudatoolkit=11.8", "mkl", "libblas=3.9.0=1_mkl", "_openmp_mutex", "python=3.11"]
)
def test_what_is_no_python_package(spec: str) -> None:
    assert of_match_spec(spec) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dependencies: &x [peft]\nother: *x\n", "line 2 holds a YAML alias"),
        ("dependencies: [", "it is no YAML"),
        ("dependencies: " + "[" * 2000, "nested too deeply"),
        ("\n".join(f"k{n}: {'v' * 100}" for n in range(4000)), "larger than"),
    ],
)
def test_yaml_that_is_not_read(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        wanted(text, "environment.yml")


def test_tags_make_no_objects(tmp_path: object) -> None:
    text = f'dependencies:\n  - !!python/object/apply:os.mkdir ["{tmp_path}/made"]\n  - numpy\n'
    assert pairs(wanted(text, "environment.yml")) == [("numpy", "")]
