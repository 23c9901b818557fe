"""What the table says of releases, held against the releases of a real environment."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from doctor.memory.plan import Plan
from doctor.memory.settling import fact, settled

pytestmark = pytest.mark.environments

# Reads sources and dataclasses of what is installed; says what a run would find. No model is made.
PROGRAM = """
import dataclasses, importlib.metadata, inspect, json, re
import transformers, peft, trl
from transformers import modeling_utils, trainer
from transformers.models.gemma2 import modeling_gemma2
from trl.trainer import sft_trainer

def default(kind, name):
    return next(field.default for field in dataclasses.fields(kind) if field.name == name)

sft, loading = inspect.getsource(sft_trainer), inspect.getsource(modeling_utils)
names = ("torch", "transformers", "peft", "trl")
print(json.dumps({
    "versions": {name: importlib.metadata.version(name) for name in names},
    "calls_prepare": "prepare_model_for_kbit_training(" in sft,
    "tiles": "add_fused_lm_head(" in sft,
    "adapter_bfloat16": "param.data = param.data.to(torch.bfloat16)" in sft,
    "reentrant": 'checkpointing_kwargs = {"use_reentrant": True}' in loading,
    "not_reentrant": 'checkpointing_kwargs = {"use_reentrant": False}' in loading,
    "autocast": inspect.signature(peft.get_peft_model).parameters["autocast_adapter_dtype"].default,
    "gemma2_sdpa": modeling_gemma2.Gemma2ForCausalLM._supports_sdpa,
    "sft_checkpointing": default(trl.SFTConfig, "gradient_checkpointing"),
    "sft_length": default(trl.SFTConfig, "max_length"),
    "optimizer": default(transformers.TrainingArguments, "optim"),
    "batch": default(transformers.TrainingArguments, "per_device_train_batch_size"),
    "rank": peft.LoraConfig().r, "dropout": peft.LoraConfig().lora_dropout,
    "keeps_outputs": "return (loss, outputs) if return_outputs else loss" not in inspect.getsource(trainer),
    "by_name": re.search(r'kwargs.get\\("dtype", "(\\w+)"\\)', inspect.getsource(trl.trainer.utils)).group(1),
}))
"""


@pytest.fixture(scope="module")
def seen(base_python: str) -> dict[str, Any]:
    done = subprocess.run(
        [base_python, "-c", PROGRAM], capture_output=True, text=True, timeout=600, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_what_sft_trainer_does_with_a_quantised_model(seen: dict[str, Any]) -> None:
    done = settled(Plan(method="qlora", loop="sft"), seen["versions"])
    assert (done.kbit_upcast, done.fused_loss) == (seen["calls_prepare"], seen["tiles"])
    assert (done.adapter_dtype == "bfloat16") == seen["adapter_bfloat16"]


def test_what_peft_does_with_an_adapter(seen: dict[str, Any]) -> None:
    done = settled(Plan(method="lora", loop="trainer"), seen["versions"])
    assert (done.adapter_dtype == "float32") == seen["autocast"]
    assert (seen["rank"], seen["dropout"]) == (8, 0.0)


def test_how_transformers_checkpoints(seen: dict[str, Any]) -> None:
    done = settled(Plan(loop="trainer"), seen["versions"])
    assert (done.reentrant, not done.reentrant) == (seen["reentrant"], seen["not_reentrant"])


def test_which_attention_gemma_2_gets(seen: dict[str, Any]) -> None:
    done = settled(Plan(), seen["versions"], "gemma2")
    assert (done.attention == "sdpa") == seen["gemma2_sdpa"]


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ("gradient_checkpointing", "sft_checkpointing"),
        ("sequence_length", "sft_length"),
        ("batch_size", "batch"),
        ("optimizer", "optimizer"),
        ("dtype_by_name", "by_name"),
    ],
)
def test_defaults_that_a_script_leaves_out(about: str, name: str, seen: dict[str, Any]) -> None:
    row = fact(about, Plan(loop="sft"), seen["versions"])
    assert row is not None and row["value"] == seen[name]


def test_the_trainer_lets_go_of_the_outputs(seen: dict[str, Any]) -> None:
    assert not seen["keeps_outputs"]
