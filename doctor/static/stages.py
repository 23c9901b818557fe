"""The programs of the stages: what a user of a small LoRA fine-tune writes, with each release's own names.

They are interpreted, never run. Data, tokenizer and loss are left out where they are not looked at.
"""

from __future__ import annotations

from typing import Literal

StaticStage = Literal[
    "import-transformers",
    "import-accelerate",
    "import-peft",
    "import-bitsandbytes",
    "import-trl",
    "lora-step",
    "trainer-step",
    "sft-step",
]

_MODEL = """
from transformers import LlamaConfig, LlamaForCausalLM
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=128,
))
"""
_LORA = 'LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")'

PROGRAMS: dict[StaticStage, str] = {
    "import-transformers": """
from transformers import Trainer, TrainingArguments, AutoModelForCausalLM, BitsAndBytesConfig
from transformers import LlamaConfig, LlamaForCausalLM
""",
    "import-accelerate": "from accelerate import Accelerator",
    "import-peft": """
import peft
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training, PeftModel
""",
    "import-bitsandbytes": """
import bitsandbytes
bitsandbytes.nn.Linear4bit
""",
    "import-trl": "from trl import SFTTrainer",
    "lora-step": f"""
import torch
from peft import LoraConfig, get_peft_model
{_MODEL}
model = get_peft_model(model, {_LORA})
ids = torch.randint(0, 128, (2, 16))
model.forward(input_ids=ids, labels=ids)
model.save_pretrained("adapter")
""",
    "trainer-step": f"""
import inspect
import torch
from transformers import Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
{_MODEL}
known = inspect.signature(TrainingArguments.__init__).parameters
settings = dict(output_dir="out", max_steps=1, per_device_train_batch_size=2, report_to=[],
                save_strategy="no", logging_steps=1)
if "use_cpu" in known:
    settings["use_cpu"] = True
model = get_peft_model(model, {_LORA})
data = torch.arange(16)
Trainer(model=model, args=TrainingArguments(**settings), train_dataset=data).train()
""",
    "sft-step": f"""
import inspect
import torch
from transformers import PreTrainedTokenizerFast
import tokenizers
from datasets import Dataset
from trl import SFTTrainer
from peft import LoraConfig
tokenizer = torch.unknown_tokenizer()
data = torch.arange(16)
try:
    from trl import SFTConfig as Config
except ImportError:
    from transformers import TrainingArguments as Config
known = inspect.signature(Config.__init__).parameters
settings = dict(output_dir="out", max_steps=1, per_device_train_batch_size=2, report_to=[],
                save_strategy="no")
if "use_cpu" in known:
    settings["use_cpu"] = True
for name, value in (("bf16", False), ("gradient_checkpointing", False), ("dataset_text_field", "text")):
    if name in known:
        settings[name] = value
for name in ("max_seq_length", "max_length"):
    if name in known:
        settings[name] = 32
taken = inspect.signature(SFTTrainer.__init__).parameters
further = dict()
if "processing_class" in taken:
    further["processing_class"] = tokenizer
elif "tokenizer" in taken:
    further["tokenizer"] = tokenizer
if "dataset_text_field" in taken and "dataset_text_field" not in known:
    further["dataset_text_field"] = "text"
if "max_seq_length" in taken and "max_seq_length" not in known:
    further["max_seq_length"] = 32
{_MODEL}
trainer = SFTTrainer(model=model, args=Config(**settings), train_dataset=data, peft_config={_LORA}, **further)
trainer.train()
""",
}
ALL: tuple[StaticStage, ...] = tuple(PROGRAMS)
