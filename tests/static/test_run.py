"""The stages of a fine-tune over whole sets of packages."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from doctor.static.outcomes import Failed, Passed, Undecided
from doctor.static.run import run, run_program
from doctor.static.stages import ALL
from doctor.static.world import Cache, Distribution, TextTree, World
from tests.static.packages import bare, package

TRANSFORMERS = package(
    "transformers",
    root="""
        from dataclasses import dataclass
        from accelerate import Accelerator
        class LlamaConfig:
            def __init__(self, **kwargs): self.__dict__.update(kwargs)
        class LlamaForCausalLM:
            def __init__(self, config): self.config = config
            def forward(self, input_ids, labels=None): return {"loss": 0}
            def save_pretrained(self, folder): pass
        class PreTrainedTokenizerFast: pass
        class AutoModelForCausalLM: pass
        class BitsAndBytesConfig: pass
        @dataclass
        class TrainingArguments:
            output_dir: str
            max_steps: int = -1
            per_device_train_batch_size: int = 8
            report_to: list = None
            save_strategy: str = "steps"
            logging_steps: int = 500
            use_cpu: bool = False
        class Trainer:
            def __init__(self, model=None, args=None, train_dataset=None, processing_class=None):
                self.model, self.args = model, args
                self.accelerator = Accelerator()
            def train(self):
                model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
    """,
)
PEFT = package(
    "peft",
    root="""
        from transformers import LlamaForCausalLM
        class LoraConfig:
            def __init__(self, r=8, lora_alpha=8, target_modules=None, task_type=None): pass
        class PeftModel: pass
        def get_peft_model(model, config): return model
        def prepare_model_for_kbit_training(model): return model
    """,
)
TRL = package(
    "trl",
    root="""
        from dataclasses import dataclass
        from transformers import Trainer, TrainingArguments
        @dataclass
        class SFTConfig(TrainingArguments):
            max_length: int = 1024
        class SFTTrainer(Trainer):
            def __init__(self, model, args, train_dataset, processing_class=None, peft_config=None):
                super().__init__(model=model, args=args, train_dataset=train_dataset)
    """,
)
ACCELERATE = "class Accelerator:\n    def unwrap_model(self, model{}): return model"


def fleet(keywords: str = ", keep_torch_compile=True", *more: Distribution) -> World:
    accelerate = package("accelerate", root=ACCELERATE.format(keywords))
    around = [bare(name) for name in ("torch", "tokenizers")]
    datasets, bitsandbytes = (
        package("datasets", root="Dataset = 1"),
        package("bitsandbytes", nn="Linear4bit = 1"),
    )
    bits = package("bitsandbytes", root="from . import nn", nn="Linear4bit = 1")
    assert bitsandbytes.tree and bits.tree
    return World((TRANSFORMERS, PEFT, TRL, accelerate, datasets, bits, *around, *more))


def test_a_set_that_works_passes_every_stage() -> None:
    assert run(fleet()) == {stage: Passed() for stage in ALL}


def test_a_clash_in_the_training_loop_breaks_the_steps_alone() -> None:
    found = run(fleet(""))
    assert {stage for stage, outcome in found.items() if isinstance(outcome, Failed)} == {
        "trainer-step",
        "sft-step",
    }
    outcome = found["sft-step"]
    assert isinstance(outcome, Failed)
    assert (
        outcome.event.message
        == "Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'"
    )
    assert outcome.event.chain == ("__main__", "transformers")


def test_an_unrelated_package_changes_nothing() -> None:
    assert run(fleet("")) == run(fleet("", bare("unrelated"), package("pandas", root="raise ValueError")))


def test_a_set_is_judged_alike_with_a_cache_that_others_filled() -> None:
    cache = Cache()
    first = World(fleet("").distributions, cache=cache)
    second = World(fleet("").distributions, cache=cache)
    assert run(first) == run(second) == run(World(fleet("").distributions))


class Broken(TextTree):
    """A tree whose files cannot be read."""

    def read(self, path: str) -> str | None:
        raise OSError(path)

    def names(self, folder: str) -> Sequence[str]:
        return ["__init__.py"]


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\ud800", "if True:\nx"])
def test_what_cannot_be_parsed_is_not_blamed(text: str) -> None:
    world = World((Distribution("peft", "1", TextTree({"peft/__init__.py": text}), ("peft",)),))
    assert isinstance(run(world, ("import-peft",))["import-peft"], Undecided)


def test_what_cannot_be_read_is_not_blamed_and_the_next_stage_starts_afresh() -> None:
    broken = Distribution("accelerate", "1", Broken({}), ("accelerate",))
    world = World((broken, package("bitsandbytes", root="from . import nn", nn="Linear4bit = 1")))
    found = run(world, ("import-accelerate", "import-bitsandbytes"))
    assert isinstance(found["import-accelerate"], Undecided)
    assert found["import-bitsandbytes"] == Passed()


@pytest.mark.parametrize(
    "program",
    [
        "def f(): return f()\nf()",
        "def f(n): return f(n + 1) + f(n + 2)\nf(0)",
        "while True: pass",
        "x = [1]\nfor i in x: x.append(i)",
        "x = 'a' * 10 ** 9",
        "x = (1 << 40) ** (1 << 40)",
        "x = []\nx.append(x)\nstr(x); x == x; len(x)",
        "class A:\n    def __getattr__(self, name): return getattr(self, name)\nA().b",
        "def f():\n    for i in range(5000):\n        for j in range(5000): g = i\nf()",
        "import sys\nsys.modules[__name__] = None",
        "x = lambda: x()\nx()",
    ],
)
def test_every_program_ends(program: str) -> None:
    for deep in (True, False):
        assert not isinstance(run_program(World(()), program, deep=deep), Failed)
