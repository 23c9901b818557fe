"""A plan as LLaMA-Factory's YAML.

The keys are those of its hparams, which the examples of every release since 0.8 use:
https://github.com/hiyouga/LLaMA-Factory/tree/main/src/llamafactory/hparams
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.memory.plan import Plan

ATTENTION = {"eager": "disabled", "sdpa": "sdpa", "flash_attention_2": "fa2"}


def yaml(model: str, plan: Plan) -> str:
    """The file for ``llamafactory-cli train``; dataset and template are to be replaced."""
    import yaml as library

    blocks = [
        {"model_name_or_path": model, "flash_attn": ATTENTION[plan.attention], **_quantised(plan)},
        {"stage": "sft", "do_train": True, **_tuning(plan)},
        {"dataset": "alpaca_en_demo", "template": "default", "cutoff_len": plan.sequence_length},
        _training(plan),
    ]
    head = "# dataset and template are yours to choose. LLaMA-Factory trains by a trainer of its own.\n"
    return head + "\n".join(library.safe_dump(block, sort_keys=False, width=120) for block in blocks)


def _quantised(plan: Plan) -> Mapping[str, Any]:
    if plan.method != "qlora":
        return {}
    return {"quantization_bit": 4, "quantization_type": "nf4", "double_quantization": plan.double_quant}


def _tuning(plan: Plan) -> Mapping[str, Any]:
    if plan.method == "full":
        return {"finetuning_type": "full"}
    targets = "all" if plan.target_modules == ("all-linear",) else ",".join(plan.target_modules)
    found: dict[str, Any] = {
        "finetuning_type": "lora",
        "lora_rank": plan.rank,
        "lora_alpha": 2 * plan.rank,
        "lora_dropout": plan.lora_dropout,
        "lora_target": targets or "all",
    }
    if plan.modules_to_save:
        found["additional_target"] = ",".join(plan.modules_to_save)
    if plan.dora:
        found["use_dora"] = True
    return found


def _training(plan: Plan) -> Mapping[str, Any]:
    return {
        "output_dir": "out",
        "per_device_train_batch_size": plan.batch_size,
        "gradient_accumulation_steps": plan.accumulation,
        "disable_gradient_checkpointing": not plan.gradient_checkpointing,
        "use_reentrant_gc": bool(plan.reentrant),
        "enable_liger_kernel": bool(plan.fused_loss),
        "optim": plan.optimizer,
        **{"bfloat16": {"bf16": True}, "float16": {"fp16": True}}.get(plan.dtype, {}),
        "learning_rate": 1.0e-5 if plan.method == "full" else 2.0e-4,
        "lr_scheduler_type": "cosine",
        "num_train_epochs": 1,
    }
