"""Plans out of training scripts: what they say, and what their libraries take where they are silent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_scripts import EARLY_2024, LORA_TODAY, QLORA_2024, TODAY

from doctor.memory.plan import Asked, Plan
from doctor.memory.scripted import of_script
from doctor.memory.validity import PlanInvalid
from doctor.readers.script import read_script

TRAINER = """\
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf"{loading})
{prepare}
{adapt}
trainer = Trainer(model=model, args=TrainingArguments("out"{arguments}), train_dataset=data)
trainer.train()
"""
SFT = """\
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    "Qwen/Qwen3-8B", args=SFTConfig("out"{arguments}), train_dataset=data{further}
)
"""
UNSLOTH = """\
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/Llama-3.1-8B", max_seq_length=4096)
model = FastLanguageModel.get_peft_model(model, r=32, use_gradient_checkpointing="unsloth")
trainer = SFTTrainer(
    model=model, train_dataset=data, args=SFTConfig(per_device_train_batch_size=2, optim="adamw_8bit")
)
"""


def asked(text: str, versions: dict[str, str] = TODAY) -> Asked:
    return of_script(read_script(text, "train.py"), versions)


def trainer(*, loading: str = "", prepare: str = "", adapt: str = "", arguments: str = "") -> str:
    return TRAINER.format(loading=loading, prepare=prepare, adapt=adapt, arguments=arguments)


def sft(arguments: str = "", further: str = "") -> str:
    return SFT.format(arguments=arguments, further=further)


def test_a_qlora_script_of_2024_is_read_whole() -> None:
    found = asked(QLORA_2024, EARLY_2024)
    assert found.model == "mistralai/Mistral-7B-v0.1"
    assert found.assumed == ()
    assert found.plan == Plan(
        method="qlora",
        rank=16,
        target_modules=("q_proj", "k_proj", "v_proj", "o_proj"),
        lora_dropout=0.05,
        batch_size=4,
        accumulation=4,
        sequence_length=512,
        gradient_checkpointing=True,
        optimizer="paged_adamw_32bit",
        attention="flash_attention_2",
        dtype="bfloat16",
        double_quant=True,
        kbit_upcast=None,  # it prepares the model, and TRL 0.7.11 takes that back
        loop="sft",
    )


def test_what_a_script_leaves_out_is_its_libraries_own_and_told() -> None:
    found = asked(LORA_TODAY)
    assert (found.plan.batch_size, found.plan.optimizer) == (8, "adamw_torch_fused")
    assert (found.plan.sequence_length, found.plan.double_quant, found.plan.lora_dropout) == (
        1024,
        False,
        0.0,
    )
    assert len(found.assumed) == 3 and "sequence_length" in found.stated
    assert "Gradient checkpointing is on, SFTConfig's default in TRL 1.16.0." in found.assumed


@pytest.mark.parametrize(
    ("text", "versions", "fields"),
    [
        (trainer(), TODAY, {"method": "full", "loop": "trainer", "dtype": "bfloat16", "batch_size": 8}),
        (trainer(), EARLY_2024, {"dtype": "float32", "optimizer": "adamw_torch"}),
        (trainer(arguments=", gradient_checkpointing=True"), TODAY, {"gradient_checkpointing": True}),
        (trainer(arguments=", activation_checkpointing=True"), TODAY, {"gradient_checkpointing": True}),
        (trainer(prepare="model.gradient_checkpointing_enable()"), TODAY, {"gradient_checkpointing": True}),
        (trainer(loading=", torch_dtype=torch.float32"), TODAY, {"dtype": "float32"}),
        (trainer(loading=', dtype="auto"'), EARLY_2024, {"dtype": "bfloat16"}),
        (trainer(loading=', attn_implementation="eager"'), TODAY, {"attention": "eager"}),
        (trainer(adapt="model = get_peft_model(model, LoraConfig())"), TODAY, {"method": "lora", "rank": 8}),
        (
            trainer(
                adapt="model = get_peft_model(model, LoraConfig(r=4, use_dora=True, modules_to_save=['x']))"
            ),
            TODAY,
            {"rank": 4, "dora": True, "modules_to_save": ("x",), "target_modules": ()},
        ),
        (
            trainer(
                loading=", load_in_4bit=True",
                prepare="model = prepare_model_for_kbit_training(model)",
                adapt="model = get_peft_model(model, LoraConfig(target_modules='all-linear'))",
            ),
            EARLY_2024,
            {
                "method": "qlora",
                "kbit_upcast": True,
                "gradient_checkpointing": True,
                "dtype": "float16",
                "target_modules": ("all-linear",),
            },
        ),
        (
            trainer(
                loading=", quantization_config=BitsAndBytesConfig(load_in_4bit=True)",
                adapt="model = get_peft_model(model, LoraConfig())",
            ),
            TODAY,
            {"method": "qlora", "kbit_upcast": False, "double_quant": False},
        ),
        (
            trainer(
                prepare="model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)"
            ),
            TODAY,
            {"gradient_checkpointing": False},
        ),
        (sft(), TODAY, {"method": "full", "dtype": "float32", "gradient_checkpointing": True}),
        (sft(), {**TODAY, "trl": "0.21.0"}, {"gradient_checkpointing": False}),
        (sft(", max_length=512, bf16=True, use_liger_kernel=True"), TODAY, {"fused_loss": True}),
        (sft(further=", peft_config=LoraConfig(r=2)"), TODAY, {"method": "lora", "rank": 2}),
        (sft(", model_init_kwargs={'dtype': 'bfloat16'}"), TODAY, {"dtype": "bfloat16"}),
        (sft(", gradient_checkpointing_kwargs={'use_reentrant': True}"), TODAY, {"reentrant": True}),
        (sft(", optim='adamw_bnb_8bit'"), TODAY, {"optimizer": "adamw_8bit"}),
        (
            UNSLOTH,
            TODAY,
            {
                "method": "qlora",
                "rank": 32,
                "sequence_length": 4096,
                "fused_loss": True,
                "kbit_upcast": False,
                "gradient_checkpointing": True,
                "optimizer": "adamw_8bit",
            },
        ),
    ],
)
def test_a_field_is_read(text: str, versions: dict[str, str], fields: dict[str, Any]) -> None:
    plan = asked(text, versions).plan
    assert {field: getattr(plan, field) for field in fields} == fields


def test_a_pattern_of_targets_is_kept_as_peft_has_it() -> None:
    plan = asked(sft(further=", peft_config=LoraConfig(r=2, target_modules='.*_proj')")).plan
    assert plan.adapter and (plan.adapter["target_modules"], plan.adapter["r"]) == (".*_proj", 2)


def test_a_class_of_the_script_s_own_is_the_trainer_beneath() -> None:
    text = trainer().replace("\nmodel =", "\nclass Mine(Trainer):\n    pass\n\nmodel =", 1)
    assert asked(text.replace("= Trainer(", "= Mine(")).plan.loop == "trainer"


def test_a_loop_of_one_s_own_is_known_by_its_adapter_and_its_optimizer() -> None:
    text = (
        "import bitsandbytes as bnb\n"
        "from peft import LoraConfig, get_peft_model\n"
        "from transformers import AutoModelForCausalLM\n"
        "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"
        "model = get_peft_model(model, LoraConfig(r=4))\n"
        "optimizer = bnb.optim.PagedAdamW8bit(model.parameters())\n"
    )
    found = asked(text)
    assert (found.model, found.plan.loop, found.plan.optimizer) == ("gpt2", "bare", "paged_adamw_8bit")
    assert "The batch size is not said: 4 is taken." in found.assumed


@pytest.mark.parametrize(
    ("argument", "field"),
    [
        ("per_device_train_batch_size=int(sys.argv[1])", "batch size"),
        ("gradient_checkpointing=args.checkpointing", "gradient checkpointing"),
    ],
)
def test_what_cannot_be_followed_is_told_and_not_guessed(argument: str, field: str) -> None:
    found = asked(trainer(arguments=f", {argument}"))
    assert f"The {field} of the call in line 8 could not be followed." in found.assumed
    assert len([one for one in found.assumed if field in one.lower()]) == 2  # and what is taken in its place


OPTIONS = {
    "argparse": (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('-b', '--batch-size', type=int, default=3)\nargs = parser.parse_args()\n",
        "args.batch_size",
    ),
    "a dataclass": (
        "@dataclass\nclass Options:\n    batch_size: int = field(default=3)\n"
        "(args,) = HfArgumentParser(Options).parse_args_into_dataclasses()\n",
        "args.batch_size",
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_the_script_is_at_its_default_and_that_is_told(name: str) -> None:
    head, word = OPTIONS[name]
    found = asked(head + trainer(arguments=f", per_device_train_batch_size={word}"))
    assert found.plan.batch_size == 3
    assert "Options of the script are left at its own defaults: batch_size 3." in found.assumed


def test_a_parameter_of_a_function_that_nothing_calls_is_at_its_default() -> None:
    body = "".join(
        f"    {line}\n" for line in trainer(arguments=", per_device_train_batch_size=size").split("\n")
    )
    found = asked(f"import fire\ndef train(size: int = 5, *, other=1):\n{body}\nfire.Fire(train)\n")
    assert found.plan.batch_size == 5


def test_two_defaults_of_one_name_are_none() -> None:
    head, word = OPTIONS["argparse"]
    text = head + "parser.add_argument('--batch-size', default=4)\n"
    found = asked(text + trainer(arguments=f", per_device_train_batch_size={word}"))
    assert found.plan.batch_size == 8


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("tokenizer(texts, truncation=True, max_length=512)\n", 512),
        ("LENGTH = 256\ntokenizer(texts, truncation=True, max_length=LENGTH)\n", 256),
        ("tok(a, truncation=True, max_length=128)\ntok(b, truncation=True, max_length=384)\n", 384),
        ("tokenizer(texts, max_length=512)\n", 2048),
        ("tokenizer(texts, truncation=True, max_length=f(1))\n", 2048),
    ],
)
def test_a_trainer_without_a_length_has_that_to_which_texts_are_cut(text: str, length: int) -> None:
    found = asked(trainer() + text)
    assert found.plan.sequence_length == length
    assert any(f"{length}" in one and "equence" in one for one in found.assumed)


def test_a_model_that_is_not_said_plainly_has_no_name() -> None:
    assert asked(sft().replace('"Qwen/Qwen3-8B"', "sys.argv[1]")).model == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("print('hello')\n", "no model is trained"),
        (
            "from transformers import AutoModelForCausalLM\n"
            "model = AutoModelForCausalLM.from_pretrained('gpt2')\nmodel.generate()\n",
            "no model is trained",
        ),
        ("from trl import DPOTrainer\nDPOTrainer(model='gpt2').train()\n", "DPOTrainer"),
        (trainer(loading=", load_in_8bit=True"), "8 bits"),
        (
            "from peft import IA3Config\n" + sft(further=", peft_config=IA3Config()"),
            "IA3Config",
        ),
        (trainer(loading=", torch_dtype=torch.float16"), "float16"),
        (sft(", optim='muon'"), "muon"),
    ],
)
def test_what_is_not_estimated_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanInvalid, match=message) as refused:
        asked(text)
    assert refused.value.hint


ARGUMENT = st.sampled_from(
    (
        *("per_device_train_batch_size", "max_length", "optim", "gradient_checkpointing", "bf16"),
        *("gradient_accumulation_steps", "model_init_kwargs", "gradient_checkpointing_kwargs"),
    )
)
VALUE = st.sampled_from(
    ["1", "-1", "0", "None", "'x'", "[1]", "{}", "{'a': x}", "f(1)", "1.5", "True", "float('nan')", "10**99"]
)


@given(st.dictionaries(ARGUMENT, VALUE, max_size=4))
def test_whatever_an_argument_is_a_plan_comes_out_or_a_reason(arguments: dict[str, str]) -> None:
    text = sft("".join(f", {name}={value}" for name, value in arguments.items()))
    try:
        found = asked(text)
    except PlanInvalid as error:
        assert str(error) and error.hint
    else:
        assert found.plan.batch_size >= 1 and found.plan.sequence_length >= 1
