"""What is followed through a script: names, objects, dictionaries, functions, guards; the rest is unknown."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.readers.script import ScriptUnreadable, read_script
from doctor.script import Argument, Call, Script

HEAD = """
import trl as t
import transformers
from functools import partial
from transformers import AutoModelForCausalLM, TrainingArguments, HfArgumentParser
from trl import SFTTrainer as S, SFTConfig
from peft import get_peft_model, LoraConfig, prepare_model_for_kbit_training
"""


def read(body: str) -> Script:
    return read_script(HEAD + body, "train.py")


def only(body: str, name: str) -> Call:
    """The one call of a callable."""
    [call] = [call for call in read(body).calls if call.callable == name]
    return call


def names(call: Call) -> dict[str, Argument]:
    return {one.name: one for one in call.arguments if one.name}


@pytest.mark.parametrize(
    "body",
    [
        "S(tokenizer=1)",
        "t.SFTTrainer(tokenizer=1)",
        "T = S\nT(tokenizer=1)",
        "from trl.trainer.sft_trainer import SFTTrainer\nt.SFTTrainer(tokenizer=1)",
        "def f():\n    import trl\n    trl.SFTTrainer(tokenizer=1)",
        "class A:\n    def f(self):\n        self.trainer = S(tokenizer=1)",
        "getattr(t, 'SFTTrainer')(tokenizer=1)",
        "import importlib\nimportlib.import_module('trl').SFTTrainer(tokenizer=1)",
        "make = lambda: S(tokenizer=1)",
        "[S(tokenizer=1) for _ in x]",
        "with a as b:\n    S(tokenizer=1)",
        "for i in x:\n    S(tokenizer=1)",
        "async def f():\n    await g(S(tokenizer=1))",
        "match x:\n    case 1:\n        S(tokenizer=1)",
        "x = {'a': S(tokenizer=1)}",
    ],
)
def test_a_call_is_found_wherever_it_stands(body: str) -> None:
    call = only(body, "trl.SFTTrainer")
    assert [one.name for one in call.arguments] == ["tokenizer"]
    assert not call.guarded and not call.unfollowed


@pytest.mark.parametrize(
    "body",
    [
        "kw = {'packing': True}\nS(**kw)",
        "kw = dict(packing=True)\nS(**kw)",
        "kw = {}\nkw['packing'] = True\nS(**kw)",
        "kw = {}\nkw.update(packing=True)\nS(**kw)",
        "kw = {}\nkw.update({'packing': True})\nS(**kw)",
        "kw = {}\nkw.setdefault('packing', True)\nS(**kw)",
        "S(**{'packing': True})",
        "S(**dict(packing=True))",
        "base = {'packing': True}\nS(**{**base})",
        "base = {'packing': True}\nS(**(base | {}))",
        "KW = {'packing': True}\ndef f():\n    S(**KW)",
        "CONF = {'trainer': {'packing': True}}\nS(**CONF['trainer'])",
        "def f(kw={'packing': True}):\n    S(**kw)\nf({'packing': True})",
        "def make():\n    return {'packing': True}\nS(**make())",
        "class C:\n    kw = {'packing': True}\nS(**C.kw)",
        "class C:\n    def __init__(self):\n        self.kw = {'packing': True}\n"
        "    def f(self):\n        S(**self.kw)",
        "def train(**kw):\n    S(**kw)\ntrain(packing=True)",
        "S2 = partial(S, packing=True)\nS2()",
    ],
)
def test_a_dictionary_is_followed_to_its_call(body: str) -> None:
    calls = [call for call in read(body).calls if call.callable == "trl.SFTTrainer"]
    assert all("packing" in names(call) for call in calls) and calls
    assert not any(names(call)["packing"].guarded for call in calls)


@pytest.mark.parametrize(
    "body",
    [
        "kw = {'packing': True}\nkw.pop('packing')\nS(**kw)",
        "kw = {'packing': True}\ndel kw['packing']\nS(**kw)",
        "kw = {'packing': True}\nkw = {}\nS(**kw)",
        "if False:\n    S(packing=True)\nS()",
        "def f():\n    return\n    S(packing=True)\nS()",
        "kw = {'packing': True}\nkw = {k: v for k, v in kw.items() if k in known}\nS(**kw)",
        "kw = clean({'packing': True})\nS(**kw)",
    ],
)
def test_what_is_taken_away_does_not_arrive(body: str) -> None:
    assert "packing" not in names(only(body, "trl.SFTTrainer"))


def test_what_cannot_be_followed_is_said_to_be_so() -> None:
    assert only("S(**load())", "trl.SFTTrainer").unfollowed
    assert only("S(*load())", "trl.SFTTrainer").unfollowed
    assert only("S(**{name: 1})", "trl.SFTTrainer").unfollowed
    assert not only("S(**{'a': load()})", "trl.SFTTrainer").unfollowed


def test_an_entry_of_one_branch_is_conditional() -> None:
    given = names(only("kw = {'a': 1}\nif flag:\n    kw['b'] = 2\nS(**kw)", "trl.SFTTrainer"))
    assert (given["a"].conditional, given["b"].conditional) == (False, True)


@pytest.mark.parametrize(
    "body",
    [
        "if transformers.__version__ >= '5':\n    pass\nelse:\n    S(tokenizer=1)",
        "from packaging import version\n"
        "if version.parse(t.__version__) < version.parse('1'):\n    S(tokenizer=1)",
        "import inspect\np = inspect.signature(S.__init__).parameters\n"
        "if 'tokenizer' in p:\n    S(tokenizer=1)",
        "import inspect\ndef has(n):\n    return n in inspect.signature(S).parameters\n"
        "if has('x'):\n    S(tokenizer=1)",
        "try:\n    S(tokenizer=1)\nexcept TypeError:\n    S(processing_class=1)",
        "try:\n    x = S(tokenizer=1)\nexcept Exception:\n    x = S(processing_class=1)",
        "from importlib.metadata import version\nif version('trl') < '1':\n    S(tokenizer=1)",
        "import inspect\ndef f():\n    if 'a' in inspect.signature(S).parameters:\n        return S()\n"
        "    return S(tokenizer=1)",
        "if hasattr(t, 'SFTConfig'):\n    S(tokenizer=1)",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    S(tokenizer=1)",
    ],
)
def test_a_call_behind_a_test_of_versions_is_guarded(body: str) -> None:
    calls = [call for call in read(body).calls if "tokenizer" in names(call)]
    assert calls and all(call.guarded for call in calls)


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    S(tokenizer=1)\nexcept ValueError:\n    pass",
        "try:\n    S(tokenizer=1)\nexcept TypeError:\n    raise",
        "try:\n    S(tokenizer=1)\nexcept Exception as e:\n    print(e)",
        "import torch\nif torch.__version__ >= '2':\n    S(tokenizer=1)",
        "if args.flag:\n    S(tokenizer=1)",
        "if hasattr(args, 'flag'):\n    S(tokenizer=1)",
        "if t.__version__ < '1':\n    raise SystemExit\nS(tokenizer=1)",
    ],
)
def test_a_call_behind_anything_else_is_not(body: str) -> None:
    assert not only(body, "trl.SFTTrainer").guarded


def test_a_dictionary_filled_by_signature_is_guarded_entry_by_entry() -> None:
    body = """
import inspect
kw = {'a': 1}
if 'tokenizer' in inspect.signature(S).parameters:
    kw['tokenizer'] = 1
else:
    kw['processing_class'] = 1
S(**kw)
"""
    given = names(only(body, "trl.SFTTrainer"))
    assert [given[name].guarded for name in ("a", "tokenizer", "processing_class")] == [False, True, True]


def test_keys_taken_away_in_a_loop_may_all_be_gone() -> None:
    body = "kw = {'packing': True}\nfor k in list(kw):\n    if k not in known:\n        kw.pop(k)\nS(**kw)"
    assert names(only(body, "trl.SFTTrainer"))["packing"].guarded


@pytest.mark.parametrize(
    ("body", "guarded"),
    [
        ("try:\n    from trl import Gone\nexcept ImportError:\n    Gone = None", True),
        ("try:\n    from trl import Gone\nexcept:\n    pass", True),
        ("try:\n    from trl import Gone\nexcept ImportError:\n    raise", False),
        ("try:\n    from trl import Gone\nexcept ImportError as e:\n    raise SystemExit(1) from e", False),
        ("try:\n    from trl import Gone\nexcept ImportError:\n    import sys\n    sys.exit(1)", False),
        ("try:\n    from trl import Gone\nexcept ValueError:\n    pass", False),
        ("if t.__version__ < '1':\n    from trl import Gone", True),
        ("def f():\n    from trl import Gone", False),
    ],
)
def test_an_import_is_guarded_where_its_failure_is_caught(body: str, guarded: bool) -> None:
    [one] = [one for one in read(body).imports if one.name == "Gone"]
    assert one.guarded is guarded


def test_a_model_is_followed_from_loading_to_training() -> None:
    body = """
def load():
    model = AutoModelForCausalLM.from_pretrained('x', load_in_4bit=True)
    model = prepare_model_for_kbit_training(model)
    return get_peft_model(model, LoraConfig(r=8)), 1
model, tok = load()
S(model=model)
"""
    script = read(body)
    given = next(call for call in script.calls if call.callable == "trl.SFTTrainer").argument("model")
    assert given is not None
    [made] = given.value.made
    assert made.type == "peft.PeftModel" and given.value.complete
    wrap = next(call for call in script.calls if call.number == made.call)
    assert [one.type for one in wrap.arguments[0].value.made] == ["transformers.AutoModelForCausalLM"]


def test_methods_are_those_of_the_object() -> None:
    body = """
class A:
    def __init__(self):
        self.trainer = S(model=m)
    def go(self):
        self.trainer.train(resume_from_checkpoint=True)
t.SFTTrainer(1).save_model('o')
"""
    found = {call.callable for call in read(body).calls}
    assert {"trl.SFTTrainer.train", "trl.SFTTrainer.save_model"} <= found


def test_a_parser_makes_the_dataclasses_that_it_is_given() -> None:
    body = """
parser = HfArgumentParser((LoraConfig, TrainingArguments))
config, args = parser.parse_args_into_dataclasses()
S(args=args)
"""
    given = only(body, "trl.SFTTrainer").argument("args")
    assert given and [one.type for one in given.value.made] == ["transformers.TrainingArguments"]


def test_a_class_says_what_it_takes_and_hands_on() -> None:
    body = """
class Mine(S):
    def __init__(self, *args, extra=None, **kwargs):
        self.tok = kwargs.pop('tokenizer', None)
        super().__init__(*args, **kwargs)
class Fields(TrainingArguments):
    evaluation_strategy: str = 'no'
"""
    mine, fields = read(body).classes
    assert (mine.bases, mine.parameters, mine.forwards) == (
        ("trl.SFTTrainer",),
        ("self", "extra", "tokenizer"),
        True,
    )
    assert (fields.fields, fields.parameters) == (("evaluation_strategy",), None)


def test_super_is_the_base() -> None:
    body = (
        "class Mine(S):\n    def __init__(self, model):\n        super().__init__(model=model, tokenizer=1)"
    )
    call = only(body, "trl.SFTTrainer")
    assert [one.name for one in call.arguments] == ["model", "tokenizer"]


@pytest.mark.parametrize(
    ("value", "constants"),
    [
        ("True", (True,)),
        ("-1", (-1,)),
        ("1e-4", (1e-4,)),
        ("'a'", ("a",)),
        ("None", (None,)),
        ("'a' if x else 'b'", ("a", "b")),
    ],
)
def test_values_are_read(value: str, constants: tuple[object, ...]) -> None:
    given = only(f"v = {value}\nS(a=v)", "trl.SFTTrainer").argument("a")
    assert given and given.value.constants == constants and given.value.complete


def test_a_name_that_nothing_binds_is_told_apart_from_one_that_is_unknown() -> None:
    given = names(only("y = load()\nS(a=x, b=y)", "trl.SFTTrainer"))
    assert (given["a"].value.bound, given["b"].value.bound) == (False, True)


def test_attributes_of_modules_are_imports_too() -> None:
    found = [(one.module, one.name, one.form) for one in read("transformers.AdamW(lr=1)").imports]
    assert ("transformers", "AdamW", "attribute") in found


def test_a_star_import_lends_its_names() -> None:
    script = read_script("from trl import *\nSFTTrainer(tokenizer=1)", "a.py")
    assert [call.callable for call in script.calls] == ["trl.SFTTrainer"]


def test_places_are_those_of_the_source() -> None:
    call = only("é = 1; S(model=1,\n  tokenizer=2)", "trl.SFTTrainer")
    place = names(call)["tokenizer"].place
    assert (place.line, place.column, place.end_line, place.end_column) == (9, 2, 9, 13)


STATEMENTS = st.sampled_from(
    [
        "x = S(a=1)",
        "kw = {'a': 1}",
        "kw['b'] = x",
        "kw.update(c=1)",
        "del kw['a']",
        "S(**kw)",
        "x = f(x)",
        "def f(x, **kw):\n    return g(x, **kw)",
        "class A(S):\n    def g(self):\n        self.x = f(self)\n        return self.x",
        "for x in y:\n    continue",
        "while x:\n    break",
        "try:\n    x = A().g()\nexcept TypeError:\n    x = 1\nfinally:\n    y = 2",
        "if x:\n    y = 1\nelse:\n    raise x",
        "x, *y = x",
        "x = x if y else kw",
        "kw |= {'z': 1}",
        "f = lambda x: f(x)",
        "x = [y := 1, y]",
    ]
)


@settings(deadline=None)
@given(st.lists(STATEMENTS, max_size=14))
def test_any_mixture_is_followed_to_an_end(statements: list[str]) -> None:
    text = HEAD + "\n".join(statements)
    try:
        ast.parse(text)
    except SyntaxError:
        return
    script = read_script(text, "a.py")
    assert all(call.place.line > 1 for call in script.calls)


def test_a_deep_expression_is_refused_not_crashed() -> None:
    with pytest.raises(ScriptUnreadable, match="too deeply"):
        read_script("x = " + "a." * 30_000 + "b", "a.py")
