"""Modules that import when asked: transformers', trl's, huggingface_hub's ways."""

from __future__ import annotations

import pytest

from doctor.static.outcomes import Passed
from doctor.static.world import Distribution
from tests.static.packages import bare, event, outcome, package

# As in transformers 4.x; newer releases let the error pass, and turn some into ModuleNotFoundError.
LAZY = """
import importlib, os
from itertools import chain
from types import ModuleType

class OptionalDependencyNotAvailable(BaseException):
    pass

class _LazyModule(ModuleType):
    def __init__(self, name, module_file, import_structure, module_spec=None, extra_objects=None):
        super().__init__(name)
        self._modules = set(import_structure.keys())
        self._class_to_module = {}
        for key, values in import_structure.items():
            for value in values:
                self._class_to_module[value] = key
        self.__all__ = list(import_structure.keys()) + list(chain(*import_structure.values()))
        self.__file__ = module_file
        self._objects = {} if extra_objects is None else extra_objects
        self._name = name

    def __dir__(self):
        return list(super().__dir__()) + self.__all__

    def __getattr__(self, name):
        if name in self._objects:
            return self._objects[name]
        if name in self._modules:
            value = self._get_module(name)
        elif name in self._class_to_module.keys():
            value = getattr(self._get_module(self._class_to_module[name]), name)
        else:
            raise AttributeError(f"module {self.__name__} has no attribute {name}")
        setattr(self, name, value)
        return value

    def _get_module(self, module_name):
        try:
            return importlib.import_module("." + module_name, self.__name__)
        except Exception as e:
            raise RuntimeError(
                f"Failed to import {self.__name__}.{module_name} because of the following error:\\n{e}"
            ) from e
"""
PLAIN = LAZY.replace("raise RuntimeError(", "raise e\n            RuntimeError(").replace(") from e", ")")
ROOT = """
from typing import TYPE_CHECKING
import sys
from .lazy import _LazyModule, OptionalDependencyNotAvailable
from . import dummies
__version__ = "4.36.0"
_import_structure = {"trainer": ["Trainer"], "models.llama": ["Llama"], "broken": ["Broken"], "absent": ["Absent"]}
try:
    if not is_available("torch"):
        raise OptionalDependencyNotAvailable()
except NameError:
    pass
try:
    import tensorflow
except ImportError:
    _import_structure["dummies"] = [name for name in dir(dummies) if not name.startswith("_")]
else:
    _import_structure["modeling_tf"] = ["TFModel"]
_import_structure["trainer"].append("TrainingArguments")
if TYPE_CHECKING:
    from .nowhere import Trainer
else:
    sys.modules[__name__] = _LazyModule(
        __name__, globals()["__file__"], _import_structure, extra_objects={"__version__": __version__}
    )
"""


def transformers(root: str = ROOT, lazy: str = LAZY, **files: str) -> Distribution:
    usual = {
        "dummies": "class TFModel: pass",
        "trainer": "class Trainer: pass\nclass TrainingArguments: pass",
        "models__root": "",
        "models__llama": "Llama = 1",
        "absent": "",
        "broken": "import transformers.lazy\nfrom huggingface_hub import gone",
    }
    return package("transformers", "4.36.0", root=root, lazy=lazy, **{**usual, **files})


HUB = package("huggingface-hub", root="")


def test_names_of_an_import_structure_are_there() -> None:
    program = """
        from transformers import Trainer, TrainingArguments, Llama, TFModel, __version__
        from transformers.models.llama import Llama as L
        import transformers.trainer
        transformers.trainer.Trainer
        dir(transformers)
    """
    assert outcome(program, transformers()) == Passed()


def test_names_that_are_not_in_it_are_missing() -> None:
    found = event("from transformers import HybridCache", transformers())
    assert found.message == "cannot import name 'HybridCache' from 'transformers'"
    assert (found.kind, found.provider, found.surface) == ("missing-name", "transformers", found.message)


def test_an_error_inside_is_wrapped_as_the_release_does_it() -> None:
    found = event("from transformers import Broken", transformers(), HUB)
    assert (found.consumer, found.provider, found.symbol) == ("transformers", "huggingface-hub", "gone")
    assert found.where == "transformers/broken.py:2"
    assert found.surface.startswith(
        "Failed to import transformers.broken because of the following error:\ncannot"
    )
    found = event("from transformers import Broken", transformers(lazy=PLAIN), HUB)
    assert (found.surface_exception, found.surface) == ("ImportError", found.message)


def test_a_name_that_its_own_module_lost_is_missing() -> None:
    found = event("from transformers import Absent", transformers())
    assert (found.kind, found.message) == ("missing-name", "cannot import name 'Absent' from 'transformers'")


def test_an_attribute_error_inside_makes_python_blame_an_innocent_name() -> None:
    """``from m import x`` swallows AttributeError, so the user reads that x is missing."""
    inside = {"trainer": "import pyarrow\nclass X(pyarrow.PyExtensionType): pass\nTrainer = 1"}
    found = event(
        "from transformers import Trainer",
        transformers(lazy=PLAIN, **inside),
        package("pyarrow", root="x = 1"),
    )
    assert (found.kind, found.provider, found.symbol) == ("missing-attribute", "pyarrow", "PyExtensionType")
    assert found.message == "module 'pyarrow' has no attribute 'PyExtensionType'"
    assert found.surface == "cannot import name 'Trainer' from 'transformers'"


STRUCTURE = """
import sys
from pathlib import Path
from .lazy import _LazyModule, define_import_structure
import_structure = define_import_structure(Path(__file__).parent / "models", prefix="models")
import_structure[frozenset({})].update({"trainer": {"Trainer"}})
sys.modules[__name__] = _LazyModule(__name__, __file__, import_structure)
"""
# As in transformers 5.x, shortened: what needs a package that is not there becomes a placeholder.
LAZY_STRUCTURE = (
    LAZY.replace(
        "        self._modules = set(import_structure.keys())",
        """        flat, self._missing = {}, {}
        for backends, modules in import_structure.items():
            missing = [backend for backend in backends if importlib.util.find_spec(backend) is None]
            for key, values in modules.items():
                flat[key] = values
                for value in values:
                    if missing:
                        self._missing[value] = missing
        import_structure = flat
        self._modules = set(import_structure.keys())""",
    )
    .replace(
        "        if name in self._objects:",
        """        if name in self._missing:
            missing = self._missing[name]
            class Placeholder:
                def __init__(self):
                    raise ImportError(f"{name} requires {missing[0]}")
            return Placeholder
        if name in self._objects:""",
    )
    .replace("import importlib,", "import importlib, importlib.util,")
) + "\ndef define_import_structure(path, prefix=None):\n    return open(path)\n"


def test_the_structure_that_transformers_reads_from_its_files() -> None:
    library = transformers(
        STRUCTURE,
        LAZY_STRUCTURE,
        models__llama__root="",
        models__llama__configuration_llama='__all__ = ["LlamaConfig"]\nLlamaConfig = 1',
        models__llama__modeling_llama='__all__ = [\n    "LlamaModel",\n]\nclass LlamaModel: pass',
        models__llama__tokenization_llama='@requires(backends=("x",))\nclass LlamaTokenizer: pass\nrequires = print',
    )
    program = "from transformers import Trainer, LlamaConfig, LlamaModel\nLlamaModel()"
    assert outcome(program, library, bare("torch")) == Passed()
    assert event(program, library).message == "LlamaModel requires torch"
    assert event("from transformers import LlamaForCausalLM", library, bare("torch")).kind == "missing-name"
    assert outcome("import transformers.models.llama.modeling_llama", library) == Passed()


ATTACH = """
import importlib, sys

def _attach(package_name, submodules=None, submod_attrs=None):
    submodules = set() if submodules is None else set(submodules)
    attr_to_modules = {attr: mod for mod, attrs in (submod_attrs or {}).items() for attr in attrs}
    def __getattr__(name):
        if name in submodules:
            return importlib.import_module(f"{package_name}.{name}")
        elif name in attr_to_modules:
            submod = importlib.import_module(f"{package_name}.{attr_to_modules[name]}")
            attr = getattr(submod, name)
            if name == attr_to_modules[name]:
                sys.modules[package_name].__dict__[name] = attr
            return attr
        else:
            raise AttributeError(f"No {package_name} attribute {name}")
    def __dir__():
        return sorted(attr_to_modules)
    return __getattr__, __dir__, list(attr_to_modules)

__getattr__, __dir__, __all__ = _attach(__name__, ["inner"], {"hf_api": ["HfApi", "lost"], "model": ["model"]})
"""


def test_attached_names() -> None:
    hub = package("huggingface-hub", root=ATTACH, hf_api="HfApi = 1", inner="x = 1", model="model = 2")
    assert outcome("from huggingface_hub import HfApi, inner, model; model.bit_length()", hub) == Passed()
    for lost in ("lost", "never"):
        found = event(f"from huggingface_hub import {lost}", hub)
        assert found.message == f"cannot import name '{lost}' from 'huggingface_hub'"


@pytest.mark.parametrize(("name", "there"), [("old", True), ("gone", False)])
def test_a_module_with_getattr(name: str, there: bool) -> None:
    hub = package(
        "huggingface-hub",
        root="""
            def __getattr__(name):
                if name == "old":
                    from .new import new
                    return new
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        """,
        new="new = 1",
    )
    assert (outcome(f"from huggingface_hub import {name}", hub) == Passed()) is there


def test_old_module_names_that_a_finder_serves() -> None:
    root = """
        import sys, importlib.machinery
        class Finder:
            def __init__(self, resolve): self.resolve = resolve
            def find_spec(self, fullname, path=None, target=None):
                if self.resolve(fullname) is None:
                    return None
                return importlib.machinery.ModuleSpec(fullname, self)
        sys.meta_path.append(Finder(lambda name: "new" if name.endswith("old") else None))
    """
    library = package("transformers", root=root)
    assert outcome("from transformers.old import anything", library) == Passed()
    assert event("import transformers.other", library).kind == "missing-module"


def test_lazy_modules_may_ask_one_another_however_deep() -> None:
    """Each import starts afresh: asking a lazy module from within its own answer is no recursion without end."""
    chain = {
        f"step{index}": f"from transformers import Name{index + 1}\nName{index} = 1" for index in range(6)
    }
    structure = {f"step{index}": [f"Name{index}"] for index in range(6)}
    root = ROOT.replace('"trainer": ["Trainer"]', f'"trainer": ["Trainer"], **{structure!r}')
    library = transformers(root, **chain, step6="")
    found = event("from transformers import Name0", library)
    assert (found.symbol, found.where) == ("Name6", "transformers/step5.py:1")
