"""What is to be trained, and how: the words of every estimate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doctor.fact import Fact

Method = Literal["lora", "qlora", "full"]
Loop = Literal["bare", "trainer", "sft"]
Attention = Literal["eager", "sdpa", "flash_attention_2"]
Dtype = Literal["bfloat16", "float16", "float32"]
Sharding = Literal["none", "zero2", "zero3", "fsdp"]
Offload = Literal["none", "optimizer", "parameters"]

# transformers' names, each for what torch, bitsandbytes or transformers takes by it.
OPTIMIZERS = (
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_8bit",
    "paged_adamw_32bit",
    "paged_adamw_8bit",
    "adafactor",
    "lion_32bit",
    "lion_8bit",
    "paged_lion_8bit",
    "sgd",
)


class Plan(Fact, frozen=True, kw_only=True):
    """One fine-tune on one device, unless ``gpus`` says otherwise.

    None stands for what the installed versions do by themselves: it is settled before anything is estimated
    (``settling.settled``), so that an estimate's plan carries no None but ``adapter``.
    """

    method: Method = "qlora"
    rank: int = 16
    # PEFT's words: "all-linear", or the ends of module names; () is PEFT's own choice for the architecture.
    target_modules: tuple[str, ...] = ("all-linear",)
    modules_to_save: tuple[str, ...] = ()  # trained in full beside the adapter: "embed_tokens", "lm_head"
    lora_dropout: float = 0.05
    dora: bool = False
    adapter: Mapping[str, Any] | None = None  # an adapter_config.json as it is; it replaces the five above
    batch_size: int = 4  # sequences that one device holds at once
    accumulation: int = 1  # micro-batches a step
    sequence_length: int = 2048  # tokens, every one real
    padded: bool = False  # a mask of padding is among the inputs
    gradient_checkpointing: bool = True
    optimizer: str = "adamw_torch"
    attention: Attention = "sdpa"
    dtype: Dtype = "bfloat16"  # of the weights that are not quantised
    double_quant: bool = True
    kbit_upcast: bool | None = None  # prepare_model_for_kbit_training: what is not quantised becomes float32
    loop: Loop = "trainer"
    fused_loss: bool | None = None  # logits are never there as a whole: TRL >= 1.7, Liger, Unsloth
    adapter_dtype: Dtype | None = None  # of the LoRA weights
    reentrant: bool | None = None  # checkpoints are torch's reentrant ones
    expandable_segments: bool = False  # PYTORCH_ALLOC_CONF
    gpus: int = 1
    sharding: Sharding = "none"
    offload: Offload = "none"

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch."""
        return self.batch_size * self.sequence_length


def patterned(plan: Plan, pattern: str) -> Plan:
    """The plan with the targets that a pattern of PEFT's names, as an adapter_config.json has them."""
    adapter = {
        "peft_type": "LORA",
        "r": plan.rank,
        "lora_dropout": plan.lora_dropout,
        "use_dora": plan.dora,
        "modules_to_save": list(plan.modules_to_save) or None,
        "target_modules": pattern,
    }
    found: Plan = msgspec.structs.replace(plan, adapter=adapter)
    return found


class Asked(Fact, frozen=True, kw_only=True):
    """A plan as a file or a script states it, and what it left to be assumed."""

    model: str = ""  # "Qwen/Qwen3-8B", "./llama"; "" where it is not said
    plan: Plan
    stated: tuple[str, ...] = ()  # the fields that the file itself decides
    assumed: tuple[str, ...] = ()  # sentences
