"""Faults of training scripts, and what comes near them."""

from __future__ import annotations

import json
import re
from typing import Any

import healthy
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_scripts import EARLY_2024, LORA_TODAY, QLORA_2024, TODAY, of_script

from doctor.diagnosis import all_rules, judge, machine_rules
from doctor.facts import Facts
from doctor.findings import Finding
from doctor.rules import code_rules

from .judging import case

RULES = tuple(rule for rule in code_rules() if "script" in rule.needs)
[GPU] = healthy.FACTS.gpus or ()


def findings(facts: Facts) -> list[Finding]:
    return judge(facts, [rule for rule in RULES if "gpus" not in rule.needs or facts.gpus is not None])[0]


def said(text: str, versions: dict[str, str] = TODAY) -> dict[str, list[str]]:
    """Titles by id."""
    found: dict[str, list[str]] = {}
    for one in findings(of_script(text, versions)):
        found.setdefault(one.id, []).append(one.title)
    return found


def refused(text: str, versions: dict[str, str] = TODAY) -> set[tuple[str, str]]:
    """Callable and argument of every finding about an argument."""
    pattern = re.compile(r"^(\S+) of \S+ \S+ does not take (\w+)")
    titles = [title for all in said(text, versions).values() for title in all]
    return {match.groups() for title in titles if (match := pattern.match(title))}  # type: ignore[misc]


def with_gpu(text: str, capability: str) -> Facts:
    gpu = healthy.but(GPU, name="Tesla T4", compute_capability=capability)
    return msgspec.structs.replace(of_script(text), gpus=(gpu,))


HEAD = """
import torch, transformers, trl
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from trl import SFTConfig, SFTTrainer, DPOTrainer
"""
FOUR_BIT = (
    HEAD + "config = BitsAndBytesConfig(load_in_4bit=True)\n"
    "model = AutoModelForCausalLM.from_pretrained('m', quantization_config=config)\n"
)
WRAPPED = HEAD + "model = get_peft_model(AutoModelForCausalLM.from_pretrained('m'), LoraConfig(r=8))\n"
OLD_TRL = {**TODAY, "transformers": "4.40.2", "trl": "0.8.6"}

HITS = {
    "an argument that was renamed": case(
        "script/removed-argument",
        "error",
        of_script(HEAD + "SFTTrainer(model, processing=1) if 0 else SFTTrainer('m', tokenizer=tok)"),
        "SFTTrainer of trl 1.16.0 does not take tokenizer; trl 0.16.0 removed it",
        seen=("SFTTrainer: tokenizer=tok -> processing_class",),
    ),
    "an argument of tomorrow": case(
        "script/argument-not-yet",
        "error",
        of_script(HEAD + "LoraConfig(r=8, trainable_token_indices=[1])", {**TODAY, "peft": "0.14.0"}),
        "LoraConfig of peft 0.14.0 does not take trainable_token_indices yet; peft 0.15.0 is the first",
    ),
    "an argument that never was": case(
        "script/unknown-argument",
        "error",
        of_script(HEAD + "LoraConfig(r=8, lora_dropuot=0.1)"),
        "LoraConfig of peft 0.21.2 does not take lora_dropuot",
        seen=("lora_dropuot=0.1 -> lora_dropout",),
    ),
    "an argument that is swallowed": case(
        "script/ignored-argument",
        "warning",
        of_script(HEAD + "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_double_quant=True)"),
        "BitsAndBytesConfig takes bnb_4bit_double_quant and ignores it; bnb_4bit_use_double_quant",
    ),
    "too much by position": case(
        "script/too-many-arguments",
        "error",
        of_script(HEAD + "get_peft_model(m, c, 'default', False, True, False, 7, 8, 9)"),
        "get_peft_model of peft 0.21.2 takes",
    ),
    "a name that is gone": case(
        "script/removed-symbol",
        "error",
        of_script("from peft import prepare_model_for_int8_training"),
        "peft 0.21.2 no longer has peft.prepare_model_for_int8_training; peft 0.10.0 removed it",
    ),
    "a name of tomorrow": case(
        "script/symbol-not-yet",
        "error",
        of_script("from trl import SFTConfig", EARLY_2024),
        "trl 0.7.11 does not have trl.SFTConfig yet; trl 0.9.2 is the first that does",
    ),
    "a name that never was": case(
        "script/unknown-symbol",
        "error",
        of_script("from trl import SFTrainer"),
        "trl 1.16.0 has no trl.SFTrainer",
    ),
    "a value that raises": case(
        "script/wrong-value",
        "error",
        of_script(HEAD + "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype='bf16')"),
        'BitsAndBytesConfig does not take bnb_4bit_compute_dtype="bf16"',
        seen=('"bfloat16"', "AttributeError"),
    ),
    "two sets of adapters": case(
        "script/adapters-twice",
        "error",
        of_script(WRAPPED + "SFTTrainer(model=model, peft_config=LoraConfig(r=8))"),
        "SFTTrainer of trl 1.16.0 refuses peft_config beside a model that has adapters already",
        seen=("trl: 1.16.0 -> below 0.27.0",),
    ),
    "quantised and bare": case(
        "script/quantized-model-without-adapters",
        "error",
        of_script(FOUR_BIT + "Trainer(model=model, args=TrainingArguments('o'))"),
        "Trainer is to train a model loaded by load_in_4bit, and nothing gives it adapters",
    ),
    "quantised and moved": case(
        "script/quantized-model-moved",
        "error",
        of_script(FOUR_BIT + "model.to('cuda')", EARLY_2024),
        "A model loaded by load_in_4bit is asked to .to(), which transformers 4.38.2 refuses",
        beside=("script/symbol-not-yet",),
    ),
    "quantised twice": case(
        "script/quantization-config-conflict",
        "error",
        of_script(HEAD + "BitsAndBytesConfig(load_in_4bit=True, load_in_8bit=True)"),
        "BitsAndBytesConfig is given both",
    ),
    "plain arguments for DPO": case(
        "script/plain-training-arguments",
        "error",
        of_script(HEAD + "args = TrainingArguments('o')\nDPOTrainer(model='m', args=args)"),
        "DPOTrainer of trl 1.16.0 needs a DPOConfig, and args is a TrainingArguments",
    ),
    "checkpointing over frozen inputs": case(
        "script/inputs-do-not-require-grad",
        "error",
        of_script(
            WRAPPED.replace("SFTConfig, ", "")
            + "Trainer(model=model, args=TrainingArguments('o', gradient_checkpointing=True))",
            OLD_TRL,
        ),
        "gradient_checkpointing=True over a model with adapters",
    ),
    "an override of yesterday": case(
        "script/override-lacks-argument",
        "error",
        of_script(
            HEAD
            + "class Mine(Trainer):\n    def compute_loss(self, model, inputs, return_outputs=False): ..."
        ),
        "Mine.compute_loss has no num_items_in_batch, which Trainer of transformers 5.24.0 gives it",
        seen=("(self, model, inputs, return_outputs) -> num_items_in_batch=None",),
    ),
    "bf16 on a T4": case(
        "gpu/bf16-unsupported",
        "error",
        with_gpu(HEAD + "TrainingArguments('o', bf16=True)", "7.5"),
        "TrainingArguments asks for bf16, which Tesla T4, compute capability 7.5, lacks",
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    id, severity, facts, title, wanted = HITS[name]
    found = findings(facts)
    assert {one.id for one in found} == {id, *wanted.get("beside", ())}
    finding = next(one for one in found if one.id == id and title in one.title)
    assert finding.severity == severity
    assert finding.title[-1] not in ".!?" and "\n" not in finding.title
    assert finding.fixes and all(fix.scope == "script" for fix in finding.fixes)
    assert any(one.where.startswith("train.py:") for one in finding.evidence)
    seen = " | ".join(f"{one.subject}: {one.seen} -> {one.wanted}" for one in finding.evidence)
    assert all(words in seen for words in wanted.get("seen", ())), seen


MISSES: dict[str, Any] = {
    "a field that a dataclass declares anew": (
        HEAD + "class Mine(TrainingArguments):\n    evaluation_strategy: str = 'no'\n"
        "Mine('o', evaluation_strategy='no')"
    ),
    "an argument that the script's own class takes": (
        HEAD + "class Mine(SFTTrainer):\n    def __init__(self, *a, tokenizer=None, **k):\n"
        "        super().__init__(*a, **k)\n"
        "Mine('m', tokenizer=1)"
    ),
    "a caught TypeError": HEAD
    + "try:\n    SFTTrainer('m', tokenizer=1)\nexcept TypeError:\n    SFTTrainer('m')",
    "a test of the version": HEAD + "if trl.__version__ < '0.12':\n    SFTTrainer('m', tokenizer=1)",
    "a version that is kept in a variable": HEAD
    + "new = int(trl.__version__.split('.')[0]) >= 1\nif not new:\n    SFTTrainer('m', tokenizer=1)",
    "fields that are kept in a variable": HEAD
    + "fields = {name for name in SFTConfig.__dataclass_fields__}\n"
    "if 'max_seq_length' in fields:\n    SFTConfig('o', max_seq_length=1)",
    "a suppressed ImportError": (
        "from contextlib import suppress\nwith suppress(ImportError):\n    from trl import setup_chat_format"
    ),
    "a suppressed TypeError": HEAD
    + "import contextlib\nwith contextlib.suppress(TypeError):\n    SFTTrainer('m', tokenizer=1)",
    "an import that may fail": (
        "try:\n    from trl import setup_chat_format\nexcept ImportError:\n    setup_chat_format = None"
    ),
    "arguments that cannot be followed": HEAD + "SFTTrainer('m', **load())",
    "a model that is wrapped": FOUR_BIT + "model = get_peft_model(model, LoraConfig())\nTrainer(model=model)",
    "a model with peft_config": FOUR_BIT + "SFTTrainer(model=model, peft_config=LoraConfig())",
    "a model with native adapters": FOUR_BIT + "model.add_adapter(LoraConfig())\nTrainer(model=model)",
    "a model of unknown origin": HEAD + "def go(model):\n    Trainer(model=model)\n    model.to('cuda')",
    "a 4-bit model moved today": FOUR_BIT + "model.to('cuda')",
    "a config that SFTTrainer turns into its own": HEAD + "SFTTrainer('m', args=TrainingArguments('o'))",
    "a wrapped model alone": WRAPPED + "SFTTrainer(model=model)",
    "a base model beside its config": (
        HEAD + "model = AutoModelForCausalLM.from_pretrained('m')\n"
        "peft_model = get_peft_model(model, LoraConfig())\n"
        "SFTTrainer(model=model, peft_config=LoraConfig())"
    ),
    "checkpointing today": WRAPPED
    + "Trainer(model=model, args=TrainingArguments('o', gradient_checkpointing=True))",
    "an override with room": HEAD
    + "class Mine(Trainer):\n    def compute_loss(self, model, inputs, **kwargs): ...",
    "an override of another class": "class Mine:\n    def compute_loss(self, model, inputs): ...",
    "a value that is a variable": HEAD + "BitsAndBytesConfig(bnb_4bit_compute_dtype=args.dtype)",
    "a library that is not in question": "from unknown import SFTTrainer\nSFTTrainer(tokenizer=1)",
    "a module that a library imports by another name": (
        "from transformers import logging\nimport transformers\n"
        "logging.set_verbosity_error()\ntransformers.logging.set_verbosity_error()"
    ),
    "a method taken from its class": (
        "from trl import GRPOTrainer\nGRPOTrainer.get_high_entropy_mask(trainer, entropies, mask, 0.8)"
    ),
    "a script of today": LORA_TODAY,
}


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert said(MISSES[name]) == {}


def test_a_model_that_is_quantised_for_some_callers_alone_may_be_moved() -> None:
    text = (
        HEAD + "def load(device, **kwargs):\n"
        "    model = AutoModelForCausalLM.from_pretrained('m', **kwargs)\n"
        "    return model.to('cuda') if device else model\n"
        "load('cuda')\nload(None, load_in_4bit=True)"
    )
    assert "script/quantized-model-moved" not in said(text, EARLY_2024)


@pytest.mark.parametrize("name", ["ORPOConfig", "setup_chat_format"])
def test_a_name_of_tomorrow_is_not_replaced_by_one_of_the_day_after(name: str) -> None:
    [finding] = findings(of_script(f"from trl import {name}", {**EARLY_2024, "trl": "0.7.2"}))
    assert finding.fixes[0].title.startswith("Upgrade to trl 0.")


def test_a_switch_that_is_off_is_left_out() -> None:
    [finding] = findings(of_script(HEAD + "AutoModelForCausalLM.from_pretrained('m', load_in_8bit=False)"))
    assert finding.fixes[0].title == "Leave load_in_8bit out"


def test_bf16_by_default_is_a_warning() -> None:
    [one] = findings(with_gpu(HEAD + "SFTConfig('o')", "7.5"))
    assert (one.severity, one.title.split(",")[0]) == (
        "warning",
        "SFTConfig takes bf16 unless told otherwise",
    )
    assert findings(with_gpu(HEAD + "SFTConfig('o', fp16=True)", "7.5")) == []
    assert findings(with_gpu(HEAD + "SFTConfig('o', **load())", "7.5")) == []


@pytest.mark.parametrize("capability", ["8.0", "8.9", "12.0"])
def test_bf16_on_a_gpu_that_has_it(capability: str) -> None:
    assert findings(with_gpu(HEAD + "TrainingArguments('o', bf16=True)", capability)) == []


def test_the_qlora_script_of_early_2024_is_clean_under_the_stack_of_its_day() -> None:
    assert said(QLORA_2024, EARLY_2024) == {}


def test_the_qlora_script_of_early_2024_under_the_stack_of_today() -> None:
    assert refused(QLORA_2024) == {
        ("AutoModelForCausalLM.from_pretrained", "use_flash_attention_2"),
        ("TrainingArguments", "evaluation_strategy"),
        ("TrainingArguments", "group_by_length"),
        ("TrainingArguments", "warmup_ratio"),
        ("SFTTrainer", "dataset_text_field"),
        ("SFTTrainer", "max_seq_length"),
        ("SFTTrainer", "tokenizer"),
        ("SFTTrainer", "packing"),
    }
    assert set(said(QLORA_2024)) == {"script/removed-argument"}


def test_each_finding_says_where_and_what_to_write() -> None:
    found = {
        one.title.split("does not take ")[1].split(";")[0]: one for one in findings(of_script(QLORA_2024))
    }
    lines = QLORA_2024.splitlines()
    for name, one in found.items():
        line = int(one.evidence[0].where.rpartition(":")[2])
        assert name in lines[line - 1]
        assert one.confidence == "confirmed"
    fixes = {name: one.fixes[0].title for name, one in found.items()}
    assert fixes["tokenizer"] == "Write processing_class in place of tokenizer"
    assert fixes["max_seq_length"] == "Give max_length to SFTConfig (it was max_seq_length)"
    assert fixes["packing"] == "Give packing to SFTConfig"
    assert fixes["evaluation_strategy"] == "Write eval_strategy in place of evaluation_strategy"
    assert "train_sampling_strategy" in fixes["group_by_length"]
    assert "warmup_steps" in fixes["warmup_ratio"]


def notebook(text: str) -> str:
    cells = [{"cell_type": "code", "source": part} for part in text.split("\n\n")]
    return json.dumps({"cells": [{"cell_type": "code", "source": "!pip install -q trl"}, *cells]})


VARIANTS = {
    "a notebook": (notebook(QLORA_2024), "train.ipynb"),
    "aliases": (
        QLORA_2024.replace("from trl import SFTTrainer", "import trl as t").replace(
            "SFTTrainer(", "t.SFTTrainer("
        ),
        "train.py",
    ),
    "a renamed import": (
        QLORA_2024.replace("    TrainingArguments,", "    TrainingArguments as TA,").replace(
            "= TrainingArguments(", "= TA("
        ),
        "train.py",
    ),
    "a dictionary": (
        QLORA_2024.replace("trainer = SFTTrainer(", "options = dict(").replace(
            "trainer.train()", "trainer = SFTTrainer(**options)\ntrainer.train()"
        ),
        "train.py",
    ),
    "a subclass": (
        QLORA_2024.replace("MODEL =", "class Mine(SFTTrainer):\n    pass\nMODEL =").replace(
            "trainer = SFTTrainer(", "trainer = Mine("
        ),
        "train.py",
    ),
    "a function": (
        "def main():\n" + "\n".join("    " + line for line in QLORA_2024.splitlines()) + "\nmain()\n",
        "train.py",
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_script_written_otherwise_has_the_same_faults(name: str) -> None:
    text, file = VARIANTS[name]
    facts = of_script(text, name=file)
    titles = sorted(one.title for one in findings(facts))
    assert titles == sorted(one.title for one in findings(of_script(QLORA_2024)))


@pytest.mark.parametrize(
    ("name", "refuses"),
    [
        ("LlamaForCausalLM", True),
        ("Idefics3ForConditionalGeneration", True),
        ("GPT2LMHeadModel", True),
        ("TFBertModel", False),
        ("AutoTokenizer", False),
        ("AutoConfig", False),
    ],
)
def test_every_model_is_loaded_alike(name: str, refuses: bool) -> None:
    text = f"import transformers\ntransformers.{name}.from_pretrained('m', load_in_8bit=True)"
    assert bool(refused(text)) is refuses


def test_one_finding_for_an_argument_that_is_given_twice() -> None:
    [one] = findings(of_script(HEAD + "SFTTrainer('m', tokenizer=1)\nSFTTrainer('n', tokenizer=2)"))
    assert [evidence.where for evidence in one.evidence if evidence.where] == ["train.py:6", "train.py:7"]


def test_an_argument_given_on_one_path_is_likely() -> None:
    [one] = findings(of_script(HEAD + "kw = {}\nif flag:\n    kw['tokenizer'] = 1\nSFTTrainer('m', **kw)"))
    assert one.confidence == "likely"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("if model_type == 'x':\n    from trl import PPOTrainer", "warning"),
        ("if a:\n    import trl\nelse:\n    from trl import PPOTrainer\nfrom trl import PPOTrainer", "error"),
        ("if __name__ == '__main__':\n    from trl import PPOTrainer", "error"),
        ("if a:\n    pass\ndef f():\n    from trl import PPOTrainer", "error"),
    ],
)
def test_an_import_on_one_path_is_a_warning(text: str, severity: str) -> None:
    [one] = findings(of_script(text))
    assert (one.id, one.severity) == ("script/removed-symbol", severity)


def test_where_unsloth_replaces_the_class_it_is_possible_only() -> None:
    [one] = findings(of_script("import unsloth\nfrom trl import SFTTrainer\nSFTTrainer('m', tokenizer=1)"))
    assert one.confidence == "possible" and "unsloth" in one.title


def test_in_an_excerpt_two_adapters_are_possible() -> None:
    [one] = findings(of_script(HEAD + "get_peft_model(a, b)\nSFTTrainer(model=c, peft_config=d)"))
    assert (one.id, one.confidence) == ("script/adapters-twice", "possible")


@pytest.mark.parametrize("missing", ["trl", "transformers", "peft"])
def test_a_library_without_a_version_is_not_judged(missing: str) -> None:
    versions = {name: version for name, version in TODAY.items() if name != missing}
    facts = of_script(QLORA_2024, versions)
    assert not any(missing in one.title for one in findings(facts) if one.id == "script/removed-symbol")


def test_a_machine_without_a_script_is_not_asked_about_one() -> None:
    assert not any("script" in rule.needs for rule in machine_rules())
    assert {rule.id for rule in RULES} <= {rule.id for rule in all_rules()}


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["model", "args", "tokenizer", "packing", "peft_config", "bogus"]), st.none()
    )
)
def test_an_argument_is_refused_alike_in_a_dictionary(arguments: dict[str, None]) -> None:
    direct = HEAD + f"SFTTrainer({', '.join(f'{name}=None' for name in arguments)})"
    assert refused(direct) == refused(HEAD + f"kw = {arguments!r}\nSFTTrainer(**kw)")
