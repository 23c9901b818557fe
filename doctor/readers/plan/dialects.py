"""Whose file it is, and what its tool takes where the file says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from doctor.readers.plan.settings import Settings

OF_QUANTISED = ("double_quant", "kbit_upcast")
OF_ADAPTERS = ("rank", "target_modules", "lora_dropout")


class Dialect(NamedTuple):
    """A tool that reads such files."""

    name: str
    marks: tuple[str, ...]  # names that no other has
    defaults: Mapping[str, Any]  # fields of a plan

    def told(self, left_out: Mapping[str, Any], method: str) -> tuple[str, ...]:
        """One sentence on what the file left to the tool and counts; none where that is nothing."""
        method = method or left_out.get("method", "")
        idle = {"lora": OF_QUANTISED, "full": OF_QUANTISED + OF_ADAPTERS}.get(method, ())
        counting = {field: value for field, value in left_out.items() if field not in idle}
        if not counting:
            return ()
        listed = ", ".join(f"{field.replace('_', ' ')} {_shown(value)}" for field, value in counting.items())
        return (f"Not in the file, so as {self.name} has it: {listed}.",)


# src/llamafactory/hparams/{finetuning,model,data}_args.py: defaults. src/llamafactory/model/adapter.py: what
# is trained becomes float32, and nothing calls prepare_model_for_kbit_training.
LLAMA_FACTORY = Dialect(
    "LLaMA-Factory",
    ("finetuning_type", "cutoff_len", "quantization_bit", "lora_target", "template"),
    {
        "method": "lora",
        "rank": 8,
        "target_modules": ("all-linear",),
        "lora_dropout": 0.0,
        "batch_size": 8,
        "sequence_length": 2048,
        "gradient_checkpointing": True,
        "double_quant": True,
        "kbit_upcast": False,
        "reentrant": True,
        "loop": "trainer",
    },
)
# src/axolotl/utils/schemas: defaults. src/axolotl/monkeypatch/peft/utils.py: prepare_model_for_kbit_training
# does not cast all; src/axolotl/loaders/model.py takes embeddings and norms back to the model's dtype.
AXOLOTL = Dialect(
    "axolotl",
    ("base_model", "micro_batch_size", "sequence_len", "sample_packing"),
    {
        "method": "full",
        "lora_dropout": 0.0,
        "target_modules": (),
        "batch_size": 1,
        "sequence_length": 512,
        "gradient_checkpointing": False,
        "optimizer": "adamw_torch_fused",
        "double_quant": True,
        "kbit_upcast": False,
        "loop": "trainer",
    },
)
# trl/trainer/model_config.py: what `trl sft --config` takes of a model and its adapter.
TRL = Dialect(
    "TRL",
    ("use_peft", "dataset_text_field", "lora_target_modules", "packing", "assistant_only_loss"),
    {
        "method": "full",
        "target_modules": (),
        "batch_size": 8,
        "sequence_length": 1024,
        "double_quant": False,
        "loop": "sft",
    },
)
OWN = Dialect("lora-doctor fit", (), {})


def dialect_of(settings: Settings) -> Dialect:
    """The tool whose names the file uses most; our own where it uses no other's."""
    found = max((AXOLOTL, LLAMA_FACTORY, TRL), key=lambda one: sum(mark in settings for mark in one.marks))
    return found if any(mark in settings for mark in found.marks) else OWN


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(value) or "as PEFT chooses" if isinstance(value, tuple) else str(value)
