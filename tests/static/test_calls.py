"""Calls held against signatures, and how sure one must be before a clash is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.static.outcomes import Failed, Passed
from doctor.static.run import run_program
from doctor.static.world import World
from tests.static.packages import bare, event, outcome, package

ACCELERATE = package(
    "accelerate",
    root="""
        class Accelerator:
            def __init__(self, split_batches=False, *, cpu=None):
                self.cpu = cpu
            def unwrap_model(self, model, keep_fp32_wrapper=True):
                return model
            @classmethod
            def make(cls, **kwargs):
                return cls(**kwargs)
            @staticmethod
            def plain(a, b):
                return a
    """,
)
TORCH = bare("torch")


def test_a_keyword_that_is_gone() -> None:
    transformers = package(
        "transformers",
        root="""
            from accelerate import Accelerator
            class Trainer:
                def __init__(self):
                    settings = {"cpu": True}
                    settings["dispatch_batches"] = None
                    self.accelerator = Accelerator(**settings)
        """,
    )
    found = event("from transformers import Trainer\nTrainer()", transformers, ACCELERATE, deep=True)
    assert (found.kind, found.consumer, found.provider) == (
        "unexpected-keyword",
        "transformers",
        "accelerate",
    )
    assert found.symbol == "Accelerator.__init__(dispatch_batches)"
    assert found.message == "Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'"
    assert found.where == "transformers/__init__.py:7"
    assert found.chain == ("__main__", "transformers")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("Accelerator()", ""),
        ("Accelerator().unwrap_model(1, keep_fp32_wrapper=False)", ""),
        (
            "Accelerator().unwrap_model(1, keep_torch_compile=False)",
            "Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'",
        ),
        (
            "Accelerator().unwrap_model()",
            "Accelerator.unwrap_model() missing 1 required positional argument: 'model'",
        ),
        ("Accelerator.make(gone=1)", "Accelerator.__init__() got an unexpected keyword argument 'gone'"),
        ("Accelerator.plain(1)", "Accelerator.plain() missing 1 required positional argument: 'b'"),
        ("Accelerator.unwrap_model(Accelerator(), 1)", ""),
        (
            "functools.partial(Accelerator().unwrap_model, gone=1)(2)",
            "Accelerator.unwrap_model() got an unexpected",
        ),
        ("Accelerator(**unknown.settings())", ""),
        ("Accelerator(gone=1, **unknown.settings())", "Accelerator.__init__() got an unexpected"),
        ("Accelerator().unwrap_model(*unknown.settings())", ""),
        ("(lambda a, b=2: a)(b=1)", "<lambda>() missing 1 required positional argument: 'a'"),
    ],
)
def test_signatures(call: str, message: str) -> None:
    program = f"import functools, unknown\nfrom accelerate import Accelerator\n{call}"
    found = outcome(program, ACCELERATE, bare("unknown"), deep=True)
    if message:
        assert isinstance(found, Failed) and found.event.message.startswith(message)
    else:
        assert found == Passed()


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str]:
    """A function's parameters, and a call's arguments."""
    names = draw(st.permutations("abcd"))
    plain, only = names[: draw(st.integers(0, 3))], names[3:][: draw(st.integers(0, 1))]
    first = draw(st.integers(0, len(plain)))
    parameters = [name if index < first else f"{name}=0" for index, name in enumerate(plain)]
    rest = draw(st.sampled_from(["", "*rest"]))
    parameters += [rest] if rest else ["*"] if only else []
    parameters += [name if draw(st.booleans()) else f"{name}=0" for name in only]
    parameters += draw(st.sampled_from([[], ["**further"]]))
    positional = draw(st.integers(0, 4))
    free = [name for name in "abcde" if name not in plain[:positional]]
    keywords = draw(st.lists(st.sampled_from(free), unique=True, max_size=3))
    arguments = ["1"] * positional + [f"{name}=1" for name in keywords]
    return ", ".join(parameters), ", ".join(arguments)


@given(calls())
def test_a_clash_is_told_exactly_where_and_as_python_tells_it(call: tuple[str, str]) -> None:
    parameters, arguments = call
    program = f"def f({parameters}):\n    pass\nf({arguments})"
    try:
        exec(program, {})
        truth = ""
    except TypeError as error:
        truth = str(error)
    found = run_program(World(()), program)
    assert (found.event.message if isinstance(found, Failed) else "") == truth


def test_fields_of_dataclasses_are_parameters() -> None:
    trl = package(
        "trl",
        root="""
            from dataclasses import dataclass, field
            from typing import ClassVar
            @dataclass
            class Arguments:
                output_dir: str = "out"
                shared: ClassVar[int] = 1
                tags: list = field(default_factory=list)
            @dataclass
            class Config(Arguments):
                max_length: int = 1024
                def __post_init__(self):
                    self.doubled = 2 * self.max_length
        """,
    )
    program = "from trl import Config\nc = Config('here', max_length=4)\n"
    assert (
        outcome(f"{program}if c.doubled != 8 or c.tags or c.output_dir != 'here': c()", trl, deep=True)
        == Passed()
    )
    found = event("from trl import Config\nConfig(max_seq_length=4)", trl, deep=True)
    assert found.message == "Config.__init__() got an unexpected keyword argument 'max_seq_length'"
    assert event("from trl import Config\nConfig(shared=4)", trl, deep=True).symbol == "Config(shared)"


def test_the_signature_is_looked_at_as_inspect_does() -> None:
    program = """
        import inspect
        from dataclasses import dataclass
        from accelerate import Accelerator
        @dataclass
        class Config:
            length: int = 1
        def f(a, *, b): pass
        if "cpu" not in inspect.signature(Accelerator.__init__).parameters: gone.a
        if "gone" in inspect.signature(Accelerator).parameters.keys(): import gone
        if "length" not in inspect.signature(Config.__init__).parameters: import gone
        if "b" not in inspect.signature(f).parameters: import gone
        if "a" in inspect.signature(f).parameters: import found
    """
    assert event(program, ACCELERATE, deep=True).message == "No module named 'found'"


def test_super_stops_at_a_base_that_is_not_interpreted() -> None:
    peft = package(
        "peft",
        root="""
            import torch
            class Layer:
                def __init__(self, base_layer): pass
            class Linear4bit(torch.nn.Module, Layer):
                def __init__(self):
                    super().__init__()
            class Direct(Layer):
                def __init__(self):
                    super().__init__()
        """,
    )
    assert outcome("import peft; peft.Linear4bit()", peft, TORCH, deep=True) == Passed()
    assert event("import peft; peft.Direct()", peft, TORCH, deep=True).kind == "missing-argument"


UNKNOWN_TEST = "torch.cuda.get_device_name().startswith('NVIDIA')"


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ("Accelerator(gone=1)", True),
        (f"if {UNKNOWN_TEST}: Accelerator(gone=1)", False),
        (f"if {UNKNOWN_TEST}: pass\nelse: Accelerator(gone=1)", False),
        (f"{UNKNOWN_TEST} and Accelerator(gone=1)", False),
        (f"1 if {UNKNOWN_TEST} else Accelerator(gone=1)", False),
        # What was put in where that was in doubt is not passed for certain.
        (f"d = {{}}\nif {UNKNOWN_TEST}: d['gone'] = 1\nAccelerator(**d)", False),
        (f"d = dict()\nif {UNKNOWN_TEST}: d.update(gone=1)\nAccelerator(**d)", False),
        ("d = dict()\nd.update(gone=1)\nAccelerator(**d)", True),
        ("d = dict(gone=1)\nd.pop('gone')\nAccelerator(**d)", False),
        ("d = dict(gone=1)\ndel d['gone']\nAccelerator(**d)", False),
        (f"d = dict(gone=1)\nif {UNKNOWN_TEST}: d.pop('gone')\nAccelerator(**d)", False),
        # A branch in doubt that returns leaves the rest in doubt; one that raises does not.
        (f"def f():\n    if {UNKNOWN_TEST}: return\n    Accelerator(gone=1)\nf()", False),
        (f"def f():\n    if {UNKNOWN_TEST}: raise ValueError\n    Accelerator(gone=1)\nf()", True),
        # A callee's own state is as certain as it ever is.
        ("def f():\n    d = []\n    d.append(1)\n    if d: Accelerator(gone=1)\nf()", True),
        (f"failed = []\nif {UNKNOWN_TEST}: failed.append('x')\nif failed: Accelerator(gone=1)", False),
        ("failed = []\nfailed.append('x')\nif failed: Accelerator(gone=1)", True),
        # A ValueError of a library's own may come of a value that is not as computed.
        ("def f(): raise ValueError('too small')\nf()", False),
        ("def f(): raise ImportError('accelerate>=1.1 is needed')\nf()", True),
        ("def f(): raise ValueError\ntry: f()\nexcept ValueError: Accelerator(gone=1)", True),
        ("for batch in torch.load('x'): Accelerator(gone=1)", True),
        # A turn, or a loop, that may have been left; what follows it is as certain as before.
        (f"for i in (1, 2):\n    if {UNKNOWN_TEST}: continue\n    Accelerator(gone=1)", False),
        (f"for i in (1, 2):\n    if i == 1 and {UNKNOWN_TEST}: continue\n    Accelerator(gone=i == 2)", True),
        (f"for i in (1, 2):\n    if {UNKNOWN_TEST}: break\n    Accelerator(gone=1)", False),
        (f"for i in (1, 2):\n    if {UNKNOWN_TEST}: break\nAccelerator(gone=1)", True),
        (f"for i in torch.load('x'):\n    if {UNKNOWN_TEST}: continue\n    Accelerator(gone=1)", False),
        (f"while True:\n    if {UNKNOWN_TEST}: break\nAccelerator(gone=1)", True),
        (
            f"for i in (1,):\n    try:\n        if {UNKNOWN_TEST}: continue\n    except KeyError: pass\n"
            "    Accelerator(gone=1)",
            False,
        ),
        ("while torch.load('x'): Accelerator(gone=1)", True),
        (
            "x = None\nif "
            + UNKNOWN_TEST
            + ": x = Accelerator()\nif x is not None: x.unwrap_model(1, gone=2)",
            False,
        ),
        ("x = None\nif " + UNKNOWN_TEST + ": x = Accelerator()\nx.unwrap_model(1, gone=2)", True),
    ],
)
def test_only_what_is_certain_is_believed(body: str, fails: bool) -> None:
    program = f"import torch\nfrom accelerate import Accelerator\n{body}"
    found = outcome(program, ACCELERATE, TORCH, deep=True)
    assert isinstance(found, Failed) is fails, found


def test_an_optimizer_of_torch_has_no_train() -> None:
    accelerate = package(
        "accelerate",
        root="""
            import torch
            class AcceleratedOptimizer:
                def __init__(self, optimizer): self.optimizer = optimizer
                def train(self): return self.optimizer.train()
            def prepare(thing):
                if isinstance(thing, torch.nn.Module): return thing
                return AcceleratedOptimizer(thing) if isinstance(thing, torch.optim.Optimizer) else thing
        """,
    )
    program = """
        import torch, accelerate
        optimizer = accelerate.prepare(torch.optim.AdamW([], lr=1e-4))
        optimizer.optimizer.step()
        if hasattr(optimizer, "train") and callable(optimizer.train):
            optimizer.train()
    """
    found = event(program, accelerate, TORCH, deep=True)
    assert found.message == "'AdamW' object has no attribute 'train'"
    assert (found.kind, found.consumer, found.provider) == ("missing-attribute", "accelerate", "torch")
