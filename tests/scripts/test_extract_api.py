"""The api tables, extracted from ten-line packages: names, classes and callables, release by release."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import extract_api
import msgspec
import pytest
from api.merge import line, listing
from api.modules import read_module
from api.release import Release
from hypothesis import given
from hypothesis import strategies as st

from doctor.matrix.api_table import Table, exists, words_at

Files = Mapping[str, str]
Make = Callable[[Files], extract_api.Found]


@pytest.fixture
def extracted(tmp_path: Path) -> Make:
    """Extracts a package `trl` from the sources of its modules."""
    return lambda files: extract_api.Extraction(Release(archive(tmp_path, "0.1", files), "trl")).run()


def archive(folder: Path, version: str, files: Files) -> Path:
    path = folder / f"trl-{version}.zip"
    with zipfile.ZipFile(path, "w") as target:
        for name, text in files.items():
            target.writestr(f"trl/{name}", text)
    return path


LAZY = """
_import_structure = {"trainer": ["SFTTrainer"], "core": ["set_seed"]}
try:
    if not is_diffusers_available():
        raise OptionalDependencyNotAvailable()
except OptionalDependencyNotAvailable:
    _import_structure["dummies"] = ["Dummy"]
else:
    _import_structure["trainer"].extend(["DDPOTrainer"])
    _import_structure.setdefault("extras", [])
    _import_structure["extras"] += ["BestOfN"]
if TYPE_CHECKING:
    from .nothing import OnlyForTypes
else:
    import sys
    sys.modules[__name__] = _LazyModule(__name__, "", _import_structure, extra_objects={"__version__": "1"})
"""


def test_a_lazy_module_has_what_its_structure_has_and_nothing_else(extracted: Make) -> None:
    found = extracted({"__init__.py": LAZY, "trainer.py": "class SFTTrainer: pass"})
    names = "BestOfN DDPOTrainer SFTTrainer __version__ set_seed trainer/"
    assert found.modules["trl"] == names.split()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from .a import b as c, _d\nimport os\nx = 1\ndef f(): pass\nclass C: pass", "C _d c f x"),
        ("from .a import *", "one two"),  # what a names in __all__
        ("from .b import *", "a? one"),  # all that is public, and submodules if they were imported before
        ("if is_torch_available():\n    from .a import one\nelse:\n    two = 0", "one two?"),
        ("if sys.version_info > (3, 14):\n    x = 1\nelse:\n    x = 2\n    y = 3", "x y?"),
        ("try:\n    from .a import one\nexcept ImportError:\n    one = None", "one"),
        ("try:\n    from peft import one\nexcept ImportError:\n    two = 1", "one? two?"),
        ("try:\n    from peft import one\nexcept ImportError:\n    raise RuntimeError()", "one"),
        ("x = 1\ndel x\ny = 2", "y"),
        ("if TYPE_CHECKING:\n    from .a import one\nelse:\n    two = 1", "two"),
        ("for own in ():\n    pass", "own?"),
        (
            "def __getattr__(name):\n    if name == 'one':\n        return 1\n    raise AttributeError",
            "* one",
        ),
        ("globals()['x'] = 1", "*"),
        ("from torch import *", "*"),
        ("S = {'a': ['one']}\n__getattr__, _ = _attach(__name__, submod_attrs=S)", "S _ one"),
        ("S = {'a': ['one']}\n__getattr__ = anything(S)", "* S"),
    ],
)
def test_names_of_a_module(extracted: Make, text: str, names: str) -> None:
    other = {
        "a.py": "__all__ = ['one', 'two']\none = two = three = 1",
        "b/__init__.py": "one = _two = 1",
        "b/a.py": "",
    }
    found = extracted({"__init__.py": text, **other})
    assert [word for word in found.modules["trl"] if not word.endswith("/")] == sorted(names.split())


def test_names_from_elsewhere_are_kept_apart(extracted: Make) -> None:
    found = extracted(
        {"__init__.py": "import torch.nn as nn\nfrom typing import Any\nfrom peft import LoraConfig"}
    )
    assert found.modules["trl"] == ["LoraConfig"]
    assert found.foreign == {"nn", "Any"}


def test_a_structure_that_is_read_from_a_folder(extracted: Make) -> None:
    init = "import sys\nsys.modules[__name__] = _LazyModule(__name__, '', define_import_structure(__file__))"
    required = "@requires(backends=('torch',))\nclass Own:\n    pass\nclass Other: pass"
    files = {
        "__init__.py": init,
        "a.py": "__all__ = ['One']",
        "b/c.py": required,
        "convert_x.py": "__all__ = ['No']",
    }
    assert extracted(files).modules["trl"] == ["One", "Own", "a/", "b/", "convert_x/"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(a, b=1, *, c, d=2): ...", "a b= * c d="),
        ("def f(a, /, b, *args, c=1, **kwargs): ...", "a / b *args c= **kwargs"),
        ("def f(**kwargs):\n    kwargs.pop('a', None)\n    kwargs.pop('b')", "~a ~b **kwargs"),
        ("def f(**k):\n    names = ['a', 'b']\n    x = {n: k.pop(n) for n in names}", "~a ~b **k"),
        ("def f(**k):\n    for n in ['a']:\n        _ = k.pop(n, None)", "~a **k"),
        ("@deprecate_kwarg('old', '1.0', 'new')\ndef f(new): ...", "new ~old"),
        ("@deprecate_kwarg('old', version='1.0', new_name='new')\ndef f(new): ...", "new ~old"),
        ("@deprecate_kwarg('old', version='1.0')\ndef f(new): ...", "new"),  # it only warns
        ("@validate_hf_hub_args\ndef f(token=None): ...", "token= ~use_auth_token"),
        ("@validate_hf_hub_args\ndef f(x): ...", "x"),
        ("def f(x, **kwargs):\n    return super().f(x, **kwargs)", "x **kwargs >super"),
        ("def f(**kwargs):\n    kwargs = clean(kwargs)\n    return super().f(**kwargs)", "**kwargs"),
        ("async def f(a): ...", "a"),
    ],
)
def test_words_of_a_function(source: str, words: str) -> None:
    assert read_module(source, "trl", True).functions["f"] == words.split()


def test_the_first_parameter_of_a_method_is_bound() -> None:
    text = (
        "class C:\n    def __init__(self, a): ...\n    @staticmethod\n    def s(b): ...\n"
        "    @classmethod\n    def c(cls, d): ..."
    )
    methods = read_module(text, "trl", True).classes["C"].methods
    assert methods == {"__init__": ["a"], "s": ["b"], "c": ["d"]}


def test_fields_of_a_dataclass() -> None:
    text = (
        "@dataclass\nclass C:\n    a: int\n    b: int = 1\n    c: list = field(default_factory=list)\n"
        "    d: int = field(repr=False)\n    e: int = field(init=False, default=0)\n"
        "    f: ClassVar[int] = 1\n    g = 2"
    )
    assert read_module(text, "trl", True).classes["C"].fields == ". a b= c= d -e".split()


CLASSES = {
    "__init__.py": "from .trainer import SFTTrainer\nfrom .config import SFTConfig",
    "trainer/__init__.py": "from .sft_trainer import SFTTrainer",
    "trainer/base.py": "import torch\nclass Base(torch.nn.Module):\n    def train(self, resume=None): ...",
    "trainer/sft_trainer.py": (
        "from transformers import Trainer as T\nfrom .base import Base\n"
        "class SFTTrainer(T, Base):\n    def __init__(self, model, args=None): ...\n    def _own(self): ..."
    ),
    "config.py": (
        "import transformers\n@dataclass\n"
        "class SFTConfig(transformers.TrainingArguments):\n    packing: bool = False"
    ),
}


def test_classes_stand_under_the_shortest_name_and_bring_their_bases(extracted: Make) -> None:
    found = extracted(CLASSES)
    assert found.classes == {
        "trl.SFTTrainer": ["transformers.Trainer", "trl.trainer.base.Base"],
        "trl.trainer.base.Base": ["?"],
        "trl.SFTConfig": ["transformers.TrainingArguments"],
    }
    assert found.callables == {
        "trl.SFTTrainer": ["model", "args="],
        "trl.trainer.base.Base.train": ["resume="],
        "trl.SFTConfig": [".", "packing="],
    }
    assert found.names["trl.trainer.sft_trainer.SFTTrainer"] == "trl.SFTTrainer"


@pytest.mark.parametrize("head", ["@unheard_of\nclass A:", "class A(metaclass=Unheard):"])
def test_a_class_that_something_else_may_make_is_not_known(extracted: Make, head: str) -> None:
    found = extracted({"__init__.py": f"{head}\n    def f(self): ..."})
    assert found.classes["trl.A"] == ["?"]


def test_a_method_of_an_instance_is_a_function_of_the_module(extracted: Make) -> None:
    found = extracted({"__init__.py": "class Api:\n    def make(self, a): ...\napi = Api()\nmake = api.make"})
    assert found.callables["trl.make"] == ["a"]


@pytest.mark.parametrize("text", ["class A:\n  def f(self:", "x = \x00", ""])
def test_a_file_that_cannot_be_parsed_may_have_any_name(extracted: Make, text: str) -> None:
    found = extracted({"__init__.py": text, "good.py": "x = 1"})
    assert found.modules["trl"] == (["*", "good/"] if text else ["good/"])


def test_a_table_of_two_releases(tmp_path: Path) -> None:
    moved = {**CLASSES, "__init__.py": "", "config.py": "", "new/__init__.py": "class SFTConfig: ...\n"}
    archives = [("0.1", archive(tmp_path, "0.1", CLASSES)), ("0.2", archive(tmp_path, "0.2", moved))]
    text = "\n".join(extract_api.written(extract_api.table("trl", archives)))
    table = msgspec.json.decode(text, type=Table)
    assert table.releases == ("0.1", "0.2") and table.leans_on == ("transformers",)
    assert table.modules["trl"] == ": SFTConfig@:1 SFTTrainer@:1 config/ new/@1: trainer/"
    assert table.classes["trl.SFTConfig"] == ":1 transformers.TrainingArguments"
    assert table.aliases["trl.new.SFTConfig"] == "trl.new.SFTConfig"


WORDS = st.lists(st.sampled_from(["a", "b=", "c", "*", "**k", "~d"]), unique=True)


@given(st.lists(st.none() | WORDS, min_size=1, max_size=9).filter(any))
def test_a_line_gives_back_what_each_release_has(history: Sequence[list[str] | None]) -> None:
    made = line(list(history))
    for place, words in enumerate(history):
        assert exists(made, place) is (words is not None)
        if words is not None:
            assert list(words_at(made, place)) == words
            assert list(words_at(listing(list(history)), place)) == sorted(words)


def test_releases_are_ordered_as_versions(tmp_path: Path) -> None:
    for version in ("0.10.0", "0.9.2", "1.0.0"):
        archive(tmp_path, version, {})
    assert [version for version, _ in extract_api.archives_of("trl", tmp_path)] == [
        "0.9.2",
        "0.10.0",
        "1.0.0",
    ]


def test_what_went_is_named() -> None:
    lines = {"trl": ":3 A@:2 B@1: C@:1,2:", "trl.f": ": x@:1 y@:2"}
    assert list(extract_api.went({"modules": lines}, 2)) == ["  trl: A", "  trl.f: y"]
    assert list(extract_api.went({"modules": lines}, 1)) == ["  trl: C", "  trl.f: x"]


def test_a_second_run_says_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(extract_api, "OUT", tmp_path / "out")
    monkeypatch.setattr("sys.argv", ["extract_api.py", "--sources", str(tmp_path), "trl", "peft"])
    archive(tmp_path, "0.1", {"__init__.py": "def f(a, b): ..."})
    extract_api.main()
    archive(tmp_path, "0.2", {"__init__.py": "def f(a): ..."})
    extract_api.main()
    said = capsys.readouterr().out
    assert said == "trl: 1 releases, new: none\ntrl: 2 releases, new: 0.2\n0.2 went without\n  trl.f: b\n"
