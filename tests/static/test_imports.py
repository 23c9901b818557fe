"""What is imported, what is missing, and whose fault it is."""

from __future__ import annotations

import pytest

from doctor.static.outcomes import Passed
from tests.static.packages import bare, event, outcome, package

TRANSFORMERS = package("transformers", root="Cache = 1", utils__root="", utils__versions="import re")


def test_a_missing_name_is_told_with_its_chain() -> None:
    peft = package("peft", root="from .model import M", model="\nfrom transformers import HybridCache")
    found = event("import peft", peft, TRANSFORMERS)
    assert (found.kind, found.consumer, found.provider) == ("missing-name", "peft", "transformers")
    assert (found.module, found.symbol) == ("transformers", "HybridCache")
    assert found.message == "cannot import name 'HybridCache' from 'transformers'"
    assert (found.exception, found.where) == ("ImportError", "peft/model.py:2")
    assert found.chain == ("__main__", "peft", "peft.model")


def test_what_is_there_is_found() -> None:
    peft = package(
        "peft",
        root="""
            from transformers import Cache as C, utils
            import transformers.utils.versions as versions
            from transformers.utils.versions import re
            transformers = versions
            from . import inner
            from .inner import *
            inner.one, one
        """,
        inner="one = 1",
    )
    assert outcome("import peft; peft.C; peft.inner.one; peft.one", peft, TRANSFORMERS) == Passed()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import nowhere.inside", "No module named 'nowhere'"),
        ("import transformers.gone", "No module named 'transformers.gone'"),
        (
            "import transformers.utils.versions.gone",
            "No module named 'transformers.utils.versions.gone'; 'transformers.utils.versions' is not a package",
        ),
    ],
)
def test_a_missing_module_is_told_in_the_words_of_python(program: str, message: str) -> None:
    found = event(program, TRANSFORMERS)
    assert (found.exception, found.kind, found.message) == ("ModuleNotFoundError", "missing-module", message)


def test_a_missing_attribute_of_a_module() -> None:
    found = event("import transformers\ntransformers.gone", TRANSFORMERS)
    assert (found.kind, found.where) == ("missing-attribute", "program:2")
    assert found.message == "module 'transformers' has no attribute 'gone'"


@pytest.mark.parametrize(
    ("guard", "believed"),
    [
        ("False", False),
        ("True", True),
        ("os.environ.get('NOWHERE')", False),
        ("'TRANSFORMERS_VERBOSITY' in os.environ", True),
        ("importlib.util.find_spec('flash_attn') is not None", False),
        ("importlib.util.find_spec('safetensors') is not None", True),
        ("version.parse(importlib.metadata.version('transformers')) >= version.parse('4.50')", False),
        ("version.parse(importlib.metadata.version('transformers')) < version.parse('4.50')", True),
        ("sys.version_info >= (3, 8) and sys.platform != 'win32'", True),
        ("typing.TYPE_CHECKING", False),
        ("TYPE_CHECKING", False),  # imported by name
        ("safetensors.anything()", False),  # nobody knows: not believed
        ("not safetensors.anything()", False),
    ],
)
def test_an_import_counts_only_where_its_guard_certainly_holds(guard: str, believed: bool) -> None:
    peft = package(
        "peft",
        root=f"""
            import importlib, importlib.metadata, importlib.util, os, sys, typing
            from typing import TYPE_CHECKING
            from packaging import version
            import safetensors
            if {guard}:
                from transformers import gone
        """,
    )
    transformers = package("transformers", "4.49.0")
    found = outcome("import peft", peft, transformers, bare("safetensors"), bare("packaging"))
    assert (found != Passed()) is believed


@pytest.mark.parametrize(
    ("handler", "caught"),
    [
        ("ImportError", True),
        ("Exception", True),
        ("(KeyError, ImportError)", True),
        ("ModuleNotFoundError", False),
        ("ValueError", False),
        ("", True),
    ],
)
def test_handlers_catch_by_class(handler: str, caught: bool) -> None:
    peft = package(
        "peft",
        root=f"""
            try:
                from transformers import gone
            except {handler}:
                gone = None
            finally:
                ended = True
        """,
    )
    assert (outcome("import peft; peft.ended", peft, TRANSFORMERS) == Passed()) is caught


def test_a_circle_passes_where_python_lets_it_and_fails_where_it_does_not() -> None:
    harmless = package("peft", root="from . import a", a="from . import b", b="import peft.a")
    assert outcome("import peft", harmless) == Passed()
    found = event("import peft", package("peft", root="from . import a\nx = 1", a="from peft import x"))
    assert found.message == (
        "cannot import name 'x' from partially initialized module 'peft' (most likely due to a circular import)"
    )


def test_a_module_that_failed_is_tried_again() -> None:
    trl = package("trl", root="", a="from transformers import gone")
    program = "try:\n    import trl.a\nexcept ImportError:\n    import trl.a"
    assert event(program, trl, TRANSFORMERS).symbol == "gone"


def test_the_first_cause_of_a_wrapped_error_is_told_and_what_is_seen_too() -> None:
    trl = package(
        "trl",
        root="""
            try:
                from transformers import gone
            except ImportError as error:
                raise RuntimeError(f"trl cannot start: {error}") from error
        """,
    )
    found = event("import trl", trl, TRANSFORMERS)
    assert (found.kind, found.symbol, found.exception) == ("missing-name", "gone", "ImportError")
    assert (found.surface_exception, found.surface) == (
        "RuntimeError",
        "trl cannot start: cannot import name 'gone' from 'transformers'",
    )


def test_annotations_count_unless_they_are_postponed() -> None:
    body = (
        "import transformers\ndef f(x: transformers.gone) -> None: pass\nclass C:\n    y: transformers.gone\n"
    )
    assert event("import trl", package("trl", root=body), TRANSFORMERS).symbol == "gone"
    later = package("trl", root="from __future__ import annotations\n" + body)
    assert outcome("import trl", later, TRANSFORMERS) == Passed()


def test_native_modules_and_opaque_packages_answer_to_everything() -> None:
    tokenizers = package("tokenizers", root="from .native import Tokenizer; Tokenizer.anything")
    tree = tokenizers.tree
    assert tree is not None
    tree.texts["tokenizers/native.abi3.so"] = ""  # type: ignore[attr-defined]
    tree.folders["tokenizers"].add("native.abi3.so")  # type: ignore[attr-defined]
    assert outcome("import tokenizers, yaml.x; from yaml.y import z", tokenizers, bare("yaml")) == Passed()


def test_of_shallow_packages_the_names_are_read() -> None:
    pyarrow = package(
        "pyarrow",
        "26.0.1",
        root="""
            from pyarrow.lib import Table
            from .more import *
            def __getattr__(name): raise AttributeError(name)
        """,
        more="from . import lib\nif lib.anything:\n    ExtensionType = 1\nraise RuntimeError('never run')",
        lib="Table = 1",
    )
    static = package("fsspec", root="import pyarrow\nfor A, B in (): C: int = 1\nwith open('x') as D: pass")
    program = "from fsspec import A, B, C, D\nimport pyarrow; pyarrow.anything; from pyarrow.more import ExtensionType"
    assert outcome(program, pyarrow, static) == Passed()
    assert event("from fsspec import E", static).message == "cannot import name 'E' from 'fsspec'"
    found = event("import pyarrow.more as more; more.PyExtensionType", pyarrow)
    assert (found.provider, found.symbol) == ("pyarrow", "PyExtensionType")


def test_numpy_fills_itself() -> None:
    numpy = package("numpy", "2.4.6", root="a = 1")
    assert outcome("import numpy as np; np.whatever", numpy) == Passed()
    assert outcome("from numpy import __version__ as v; v == '2.4.6' or v.gone", numpy) == Passed()


def test_what_left_the_library_is_missing() -> None:
    trl = package("trl", root="import distutils.version")
    assert outcome("import trl", trl, python="3.11") == Passed()
    assert event("import trl", trl, python="3.12").message == "No module named 'distutils'"
    assert outcome("import trl", trl, bare("setuptools"), python="3.12") == Passed()
