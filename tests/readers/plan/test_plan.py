"""plan.toml, and the YAML of training tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory.plan import Asked, Plan
from doctor.readers import Unreadable
from doctor.readers.plan import read

OWN = """\
model = "meta-llama/Llama-2-7b-hf"

[plan]
method = "qlora"
rank = 64
target_modules = ["q_proj", "v_proj"]
batch_size = 2
sequence_length = 4096
gradient_checkpointing = false
optimizer = "paged_adamw_8bit"
gpus = 2
sharding = "zero3"
"""
HUGGING_FACE = """\
model_name_or_path = "Qwen/Qwen3-8B"
load_in_4bit = true
use_bnb_nested_quant = true
use_peft = true
lora_r = 32
lora_target_modules = "all-linear"
per_device_train_batch_size = 1
gradient_accumulation_steps = 16
max_length = 1024
learning_rate = 2e-4
attn_implementation = "flash_attention_2"
optim = "adamw_bnb_8bit"
"""
LLAMA_FACTORY = """\
### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
quantization_bit: 4
### method
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
### dataset
dataset: identity
template: llama3
cutoff_len: 1024
### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
flash_attn: fa2
bf16: true
deepspeed: examples/deepspeed/ds_z3_config.json
"""
AXOLOTL = """\
base_model: NousResearch/Meta-Llama-3-8B
load_in_8bit: false
load_in_4bit: true
adapter: qlora
sequence_len: 4096
sample_packing: true
lora_r: 32
lora_dropout: 0.05
lora_target_linear: true
gradient_accumulation_steps: 4
micro_batch_size: 2
optimizer: paged_adamw_32bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
resume_from_checkpoint:
"""


def of(asked: Asked, *fields: str) -> tuple[Any, ...]:
    return tuple(getattr(asked.plan, field) for field in fields)


def test_our_own_names() -> None:
    asked = read(OWN, "plan.toml")
    assert (asked.model, asked.assumed) == ("meta-llama/Llama-2-7b-hf", ())
    assert asked.plan == Plan(
        method="qlora",
        rank=64,
        target_modules=("q_proj", "v_proj"),
        batch_size=2,
        sequence_length=4096,
        gradient_checkpointing=False,
        optimizer="paged_adamw_8bit",
        gpus=2,
        sharding="zero3",
    )
    assert set(asked.stated) >= {"rank", "gpus"} and "lora_dropout" not in asked.stated


def test_hugging_face_s_names() -> None:
    asked = read(HUGGING_FACE, "sft.toml")
    assert asked.model == "Qwen/Qwen3-8B"
    assert of(asked, "method", "rank", "double_quant", "target_modules") == (
        "qlora",
        32,
        True,
        ("all-linear",),
    )
    assert of(asked, "batch_size", "accumulation", "sequence_length") == (1, 16, 1024)
    assert of(asked, "attention", "optimizer", "loop") == ("flash_attention_2", "adamw_8bit", "sft")


def test_a_file_of_llamafactory() -> None:
    asked = read(LLAMA_FACTORY, "llama3_lora_sft.yaml")
    assert asked.model == "meta-llama/Meta-Llama-3-8B-Instruct"
    assert of(asked, "method", "rank", "target_modules", "lora_dropout") == ("qlora", 8, ("all-linear",), 0.0)
    assert of(asked, "batch_size", "accumulation", "sequence_length") == (1, 8, 1024)
    assert of(asked, "sharding", "attention", "kbit_upcast") == ("zero3", "flash_attention_2", False)
    [told] = asked.assumed
    assert "LLaMA-Factory" in told and "rank 8" in told and "gradient checkpointing on" in told


def test_what_llamafactory_trains_in_full_is_float32_unless_it_says_pure_bf16() -> None:
    full = LLAMA_FACTORY.replace("finetuning_type: lora", "finetuning_type: full").replace(
        "quantization_bit: 4", ""
    )
    assert read(full, "a.yaml").plan.dtype == "float32"
    assert read(full + "pure_bf16: true\n", "a.yaml").plan.dtype == "bfloat16"


def test_a_file_of_axolotl() -> None:
    asked = read(AXOLOTL, "qlora.yml")
    assert asked.model == "NousResearch/Meta-Llama-3-8B"
    assert of(asked, "method", "rank", "target_modules", "lora_dropout") == (
        "qlora",
        32,
        ("all-linear",),
        0.05,
    )
    assert of(asked, "batch_size", "accumulation", "sequence_length") == (2, 4, 4096)
    assert of(asked, "attention", "gradient_checkpointing", "dtype") == (
        "flash_attention_2",
        True,
        "bfloat16",
    )


def test_a_pattern_of_targets_is_kept_as_peft_has_it() -> None:
    asked = read(AXOLOTL + "lora_target_modules: 'model.layers.[\\d]+.self_attn.(q|k)_proj'\n", "qlora.yml")
    assert asked.plan.adapter == {
        "peft_type": "LORA",
        "r": 32,
        "lora_dropout": 0.05,
        "use_dora": False,
        "modules_to_save": None,
        "target_modules": r"model.layers.[\d]+.self_attn.(q|k)_proj",
    }


def test_defaults_that_do_not_count_are_not_told() -> None:
    asked = read("base_model: a/b\nmicro_batch_size: 1\nsequence_len: 512\n", "full.yaml")
    assert asked.plan.method == "full"
    assert not any(word in asked.assumed[0] for word in ("double quant", "rank", "dropout"))


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        ("", "plan.toml", "names nothing of a plan"),
        ("x = 1", "plan.toml", "names nothing of a plan"),
        ("= 1", "plan.toml", "it is no TOML"),
        ('model = "m"\nrank = 0\n', "plan.toml", "line 2: 0 is no whole number"),
        ('model = "m"\nrank = true\n', "plan.toml", "line 2: True is no whole number"),
        ('model = "m"\nbatch_size = 1e3\n', "plan.toml", "line 2: 1000.0 is no whole number"),
        ('model = "m"\nlora_dropout = nan\n', "plan.toml", "line 2: NaN is no number from 0"),
        ('model = "m"\nbatchsize = 4\n', "plan.toml", "line 2: 'batchsize' is not known; 'batch_size' is"),
        ('model = "m"\noptimizer = "adamw9"\n', "plan.toml", "line 2: the states of the optimizer 'adamw9'"),
        (
            'model = "m"\nmethod = "lora2"\n',
            "plan.toml",
            "line 2: method 'lora2' is none of lora, qlora, full",
        ),
        ('model = "m"\ngradient_checkpointing = "maybe"\n', "plan.toml", "line 2: 'maybe' is neither"),
        ("model = 7\n", "plan.toml", "line 1: 7 is no name"),
        ("- a\n- b\n", "plan.yaml", "no mapping"),
        ("model: [", "plan.yaml", "it is no YAML: line"),
        ("a: &a [1]\nb: *a\n", "plan.yaml", "alias"),
        ("model: m\nload_in_8bit: true\n", "plan.yaml", "line 2: weights in 4 bits"),
        ("stage: dpo\nfinetuning_type: lora\n", "plan.yaml", "line 1: dpo needs more"),
        ("model: m\nfinetuning_type: freeze\n", "plan.yaml", "line 2: freeze is not estimated"),
        ("base_model: m\nlora_target_modules: 'layers.(q_proj'\n", "plan.yaml", "is no pattern"),
        ("base_model: m\nlora_modules_to_save: 7\n", "plan.yaml", "line 2: this is no list of module names"),
        ("model: m\nmax_length: 2001-02-30\n", "plan.yaml", "line 2: the value cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text: str, name: str, complaint: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read(text, name)
    assert complaint in str(refused.value)


def test_the_example_of_the_docs_says_what_fit_takes_anyhow() -> None:
    text = (Path(__file__).parents[3] / "docs" / "plan.md").read_text(encoding="utf-8")
    asked = read(text.partition("```toml\n")[2].partition("```")[0], "plan.toml")
    said = {"accumulation": 4, "optimizer": "paged_adamw_8bit", "loop": "sft"}
    assert asked.model and asked.plan == msgspec.structs.replace(Plan(), **said)


def test_settings_without_meaning_for_memory_are_passed_over() -> None:
    assert (
        read('model = "m"\nlearning_rate = 1e-4\nper_device_eval_batch_size = 8\n', "plan.toml").model == "m"
    )


def test_a_file_of_a_million_settings_is_refused() -> None:
    with pytest.raises(Unreadable):
        read("".join(f"a{number}: 1\n" for number in range(5000)), "plan.yaml")


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
NAMES = st.sampled_from(
    [
        "model",
        "rank",
        "lora_r",
        "batch_size",
        "optim",
        "bf16",
        "adapter",
        "finetuning_type",
        "deepspeed",
        "fsdp",
    ]
)


@given(st.dictionaries(NAMES, SCALARS | st.lists(SCALARS, max_size=3), max_size=6))
def test_whatever_a_yaml_file_says_a_plan_comes_out_or_a_reason(settings: dict[str, Any]) -> None:
    import yaml

    try:
        asked = read(yaml.safe_dump(settings), "plan.yaml")
    except Unreadable as error:
        assert str(error)
    else:
        assert asked.plan.rank >= 1


@given(st.text(max_size=200), st.sampled_from(["plan.toml", "plan.yaml"]))
def test_rubbish_is_refused_or_read(text: str, name: str) -> None:
    try:
        read(text, name)
    except Unreadable as error:
        assert str(error)
