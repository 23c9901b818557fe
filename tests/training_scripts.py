"""Training scripts as people write them, and the versions of two days."""

from __future__ import annotations

import healthy

from doctor.facts import Facts
from doctor.readers.script import read_script

TODAY = {
    "torch": "2.13.0",
    "transformers": "5.24.0",
    "peft": "0.21.2",
    "accelerate": "1.15.0",
    "trl": "1.16.0",
    "bitsandbytes": "0.50.2",
    "datasets": "5.2.0",
}
EARLY_2024 = {
    "torch": "2.2.1",
    "transformers": "4.38.2",
    "peft": "0.9.0",
    "accelerate": "0.27.2",
    "trl": "0.7.11",
    "bitsandbytes": "0.42.0",
    "datasets": "2.18.0",
}

QLORA_2024 = """\
import torch
from datasets import load_dataset
from peft import LoraConfig, prepare_model_for_kbit_training
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    TrainingArguments,
)
from trl import SFTTrainer

MODEL = "mistralai/Mistral-7B-v0.1"
dataset = load_dataset("timdettmers/openassistant-guanaco", split="train")

bnb_config = BitsAndBytesConfig(
    load_in_4bit=True,
    bnb_4bit_quant_type="nf4",
    bnb_4bit_compute_dtype=torch.bfloat16,
    bnb_4bit_use_double_quant=True,
)
model = AutoModelForCausalLM.from_pretrained(
    MODEL,
    quantization_config=bnb_config,
    device_map="auto",
    use_flash_attention_2=True,
    trust_remote_code=True,
)
model.config.use_cache = False
model = prepare_model_for_kbit_training(model)

tokenizer = AutoTokenizer.from_pretrained(MODEL, trust_remote_code=True)
tokenizer.pad_token = tokenizer.eos_token

peft_config = LoraConfig(
    r=16,
    lora_alpha=32,
    lora_dropout=0.05,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
    bias="none",
    task_type="CAUSAL_LM",
)
training_args = TrainingArguments(
    output_dir="./results",
    num_train_epochs=1,
    per_device_train_batch_size=4,
    gradient_accumulation_steps=4,
    gradient_checkpointing=True,
    optim="paged_adamw_32bit",
    evaluation_strategy="no",
    save_strategy="epoch",
    learning_rate=2e-4,
    bf16=True,
    group_by_length=True,
    warmup_ratio=0.03,
    lr_scheduler_type="constant",
)
trainer = SFTTrainer(
    model=model,
    train_dataset=dataset,
    peft_config=peft_config,
    dataset_text_field="text",
    max_seq_length=512,
    tokenizer=tokenizer,
    args=training_args,
    packing=False,
)
trainer.train()
trainer.model.save_pretrained("adapter")
"""

LORA_TODAY = """\
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained(
    "Qwen/Qwen3-8B",
    dtype="bfloat16",
    quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype="bfloat16"),
)
trainer = SFTTrainer(
    model=model,
    args=SFTConfig(output_dir="out", max_length=1024, packing=True, eval_strategy="no", warmup_steps=0.03),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    processing_class=AutoTokenizer.from_pretrained("Qwen/Qwen3-8B"),
    peft_config=LoraConfig(r=16, target_modules="all-linear", use_dora=False, task_type="CAUSAL_LM"),
)
trainer.train()
"""


def of_script(text: str, versions: dict[str, str] = TODAY, name: str = "train.py") -> Facts:
    """A script held against versions, on a machine of which nothing else is known."""
    absent = dict.fromkeys(healthy.VERSIONS)
    packages = healthy.packages(**{**absent, **versions})
    return Facts(script=read_script(text, name), packages=packages)
