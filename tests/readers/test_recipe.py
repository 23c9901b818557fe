"""YAML recipes of LLaMA-Factory and axolotl."""

from __future__ import annotations

import healthy
import pytest

from doctor.diagnosis import judge
from doctor.facts import Facts
from doctor.readers import Unreadable
from doctor.readers.recipe import read_recipe
from doctor.rules import code_rules

LLAMA_FACTORY = """\
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
finetuning_type: lora
lora_target: all
overwrite_output_dir: true
optim: adamw_torch
warmup_ratio: 0.1
lr_scheduler_type: cosine
bf16: true
"""
AXOLOTL = """\
base_model: NousResearch/Llama-2-7b-hf
load_in_4bit: true
adapter: qlora
optimizer: paged_adamw_32bit
lr_scheduler: cosine
bf16: auto
datasets:
  - path: mhenrichsen/alpaca_2k_test
"""
[GPU] = healthy.FACTS.gpus or ()
RULES = tuple(rule for rule in code_rules() if "script" in rule.needs)


def said(text: str, capability: str = "8.9") -> list[tuple[str, str]]:
    gpus = (healthy.but(GPU, compute_capability=capability),)
    facts = Facts(script=read_recipe(text, "r.yaml"), packages=healthy.packages(), gpus=gpus)
    return [(one.id, one.evidence[0].where) for one in judge(facts, RULES)[0]]


@pytest.mark.parametrize("text", [LLAMA_FACTORY, AXOLOTL])
def test_a_recipe_that_is_well(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "capability", "finding"),
    [
        (LLAMA_FACTORY, "7.5", ("gpu/bf16-unsupported", "r.yaml:9")),
        (AXOLOTL.replace("auto", "true"), "7.0", ("gpu/bf16-unsupported", "r.yaml:6")),
        (LLAMA_FACTORY.replace("adamw_torch", "adamw_hf"), "8.0", ("script/wrong-value", "r.yaml:6")),
        (AXOLOTL.replace("paged_adamw_32bit", "adamw_hf"), "8.0", ("script/wrong-value", "r.yaml:4")),
        (
            LLAMA_FACTORY.replace("finetuning_type: lora", "finetuning_type: full\nquantization_bit: 4"),
            "8.0",
            ("script/quantized-model-without-adapters", "r.yaml:3"),
        ),
    ],
)
def test_what_is_certain_is_said(text: str, capability: str, finding: tuple[str, str]) -> None:
    assert said(text, capability) == [finding]


@pytest.mark.parametrize(
    "change",
    [
        ("optimizer: paged_adamw_32bit", "optimizer: muon"),
        ("optimizer: paged_adamw_32bit", "optimizer: [a]"),
        ("lr_scheduler: cosine", "lr_scheduler: rex"),
        ("bf16: auto", "bf16: full"),
    ],
)
def test_what_is_axolotls_own_is_left_to_it(change: tuple[str, str]) -> None:
    assert said(AXOLOTL.replace(*change), "7.5") == []


@pytest.mark.parametrize("text", ["", "a: 1", "- 1", "a: [", "name: train\njobs: {}\n", "&a [*a]"])
def test_what_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_recipe(text, "r.yaml")
