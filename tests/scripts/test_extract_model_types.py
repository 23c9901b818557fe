"""Model types are read out of the sources in every form in which they were written down."""

from __future__ import annotations

import ast
import zipfile
from pathlib import Path

import extract_model_types
from packaging.version import Version

FORMS = """
CONFIG_MAPPING_NAMES = OrderedDict([("albert", "AlbertConfig"), ("bart", "BartConfig")])
CONFIG_MAPPING_NAMES.update({"mimi_decoder": "MimiConfig"})
CONFIG_MAPPING_NAMES = OrderedDict(**{"gpt-sw3": "GPT2Config"}, **CONFIG_MAPPING_NAMES)
CONFIG_MAPPING_NAMES: dict[str, str] = {"clip": "CLIPConfig"}
MODEL_NAMES_MAPPING = OrderedDict([("other", "Other")])
OTHER.update({"nothing": "Nothing"})
"""


def test_every_form_is_read() -> None:
    found = set(extract_model_types.keys(ast.parse(FORMS)))
    assert found == {"albert", "bart", "mimi_decoder", "gpt-sw3", "clip"}


def test_a_zip_is_read_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "transformers-5.6.0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(extract_model_types.FILES[0], "raise SystemExit\n" + FORMS)
        archive.writestr(extract_model_types.FILES[1], 'CONFIG_MAPPING_NAMES = OrderedDict([("bert", "B")])')
    assert {"bert", "albert"} <= set(extract_model_types.model_types(path))


def test_a_line_says_from_when_to_when() -> None:
    known = {
        Version("4.28.0"): frozenset({"old", "bert"}),
        Version("4.29.0"): frozenset({"bert", "new"}),
        Version("4.30.0"): frozenset({"bert"}),
    }
    assert list(extract_model_types.lines(known)) == [
        '"bert" = { introduced = "0" }\n',
        '"new" = { introduced = "4.29.0", fixed = "4.30.0" }\n',
        '"old" = { introduced = "0", fixed = "4.29.0" }\n',
    ]
