"""What a user's own first script does: import the libraries, 4-bit LoRA steps, two steps of SFTTrainer.

The yardstick of ``bench.py``: the same work as the trial of ``lora-doctor check``, with no proof of anything.
"""

import os
import sys

os.environ.update(
    HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1", WANDB_DISABLED="true"
)

import accelerate  # noqa: F401  (the fifth library, which the others import as well)
import bitsandbytes
import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    BitsAndBytesConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from trl import SFTConfig, SFTTrainer

FOLDER = sys.argv[1]
BASE, ADAPTER = os.path.join(FOLDER, "base"), os.path.join(FOLDER, "adapter")


def load():
    """The tiny base model in 4 bits."""
    quantisation = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.float32,
    )
    return AutoModelForCausalLM.from_pretrained(
        BASE, quantization_config=quantisation, device_map={"": "cpu"}
    )


config = LlamaConfig(
    vocab_size=512,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=128,
)
LlamaForCausalLM(config).save_pretrained(BASE)
lora = LoraConfig(r=64, target_modules="all-linear", task_type="CAUSAL_LM")
model = get_peft_model(prepare_model_for_kbit_training(load()), lora)
optimizer = bitsandbytes.optim.AdamW8bit([p for p in model.parameters() if p.requires_grad], lr=1e-2)
ids = torch.randint(0, 512, (2, 16))
for _ in range(4):
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained(ADAPTER)
PeftModel.from_pretrained(load(), ADAPTER)(input_ids=ids)

words = Tokenizer(models.WordLevel({"<pad>": 0, "<unk>": 1, "<eos>": 2, "hello": 3}, unk_token="<unk>"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>"
)
arguments = SFTConfig(
    output_dir=os.path.join(FOLDER, "sft"),
    max_steps=2,
    per_device_train_batch_size=2,
    report_to=[],
    save_strategy="no",
    use_cpu=True,
    bf16=False,
    max_length=32,
)
data = Dataset.from_dict({"text": ["hello hello hello hello"] * 4})
SFTTrainer(
    model=load(), args=arguments, train_dataset=data, processing_class=tokenizer, peft_config=lora
).train()
