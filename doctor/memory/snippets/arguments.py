"""TrainingArguments or SFTConfig of a plan, with the names that a release takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doctor.matrix.api import signature
from doctor.memory.plan import Plan
from doctor.memory.settling import settled
from doctor.memory.snippets.code import Call

SFT, TRAINING = "trl.SFTConfig", "transformers.TrainingArguments"
# Of a run that is to be kept: by convention, and nothing of it changes the memory.
LEARNING_RATES = {"full": "1e-5", "lora": "2e-4", "qlora": "2e-4"}


def arguments_class(plan: Plan, versions: Mapping[str, str]) -> str:
    """ "SFTConfig" or "TrainingArguments"; releases of TRL before 0.9 have only the latter."""
    return "SFTConfig" if plan.loop == "sft" and signature(SFT, versions) else "TrainingArguments"


def takes(plan: Plan, versions: Mapping[str, str], name: str) -> bool:
    """Does the class of arguments take a name in these versions? What is not known is not used."""
    owner = SFT if arguments_class(plan, versions) == "SFTConfig" else TRAINING
    known = signature(owner, versions)
    return known is not None and known.accepts(name) is True


def training_arguments(plan: Plan, versions: Mapping[str, str]) -> Call:
    """The call that makes the arguments."""
    found: dict[str, str] = {
        "output_dir": '"out"',
        "per_device_train_batch_size": str(plan.batch_size),
        "gradient_accumulation_steps": str(plan.accumulation),
        **checkpointing(plan, versions),
        "optim": f'"{plan.optimizer}"',
        **precision(plan),
        "learning_rate": LEARNING_RATES[plan.method],
        "lr_scheduler_type": '"cosine"',
        **warmup(plan, versions),
        "num_train_epochs": "1",
        "logging_steps": "10",
        "save_strategy": '"epoch"',
        "report_to": '"none"',
        **(length(plan, versions) if plan.loop == "sft" else {}),
        **fused_loss(plan, versions),
    }
    return Call(arguments_class(plan, versions), found)


def checkpointing(plan: Plan, versions: Mapping[str, str]) -> dict[str, str]:
    """Gradient checkpointing by a release's own name for it, and of which kind where that can be told."""
    name = "activation_checkpointing"  # its name since transformers 5.23
    name = name if takes(plan, versions, name) else "gradient_checkpointing"
    found = {name: str(plan.gradient_checkpointing)}
    if plan.gradient_checkpointing and takes(plan, versions, f"{name}_kwargs"):
        found[f"{name}_kwargs"] = f'{{"use_reentrant": {bool(plan.reentrant)}}}'
    return found


def precision(plan: Plan) -> dict[str, str]:
    """Mixed precision in the plan's own type; SFTConfig takes bfloat16 where neither flag is given."""
    whole = {"bf16": "False"} if plan.loop == "sft" else {}
    return {"bfloat16": {"bf16": "True"}, "float16": {"fp16": "True"}}.get(plan.dtype, whole)


def warmup(plan: Plan, versions: Mapping[str, str]) -> dict[str, str]:
    """Three steps in a hundred; since transformers 5 a share is given as warmup_steps."""
    return {"warmup_ratio" if takes(plan, versions, "warmup_ratio") else "warmup_steps": "0.03"}


def length(plan: Plan, versions: Mapping[str, str]) -> dict[str, str]:
    """The longest sequence, by the name that SFTConfig has for it."""
    names = ("max_length", "max_seq_length")
    known = [name for name in names if takes(plan, versions, name)]
    return {known[0]: str(plan.sequence_length)} if known else {}


def fused_loss(plan: Plan, versions: Mapping[str, str]) -> dict[str, str]:
    """What makes the loss as the plan has it, where the release's own way is another one."""
    usual = settled(msgspec.structs.replace(plan, fused_loss=None), versions).fused_loss
    if plan.fused_loss == usual:
        return {}
    if not plan.fused_loss:
        return {"loss_type": '"nll"'} if takes(plan, versions, "loss_type") else {}
    if plan.loop == "sft" and takes(plan, versions, "loss_type"):
        return {"loss_type": '"chunked_nll"'}
    for name in ("use_liger_kernel", "use_liger"):
        if takes(plan, versions, name):
            return {name: "True"}  # pip install liger-kernel
    return {}


def trainer_arguments(plan: Plan, versions: Mapping[str, str]) -> dict[str, Any]:
    """What the trainer itself is given beside model, arguments and data."""
    owner = "trl.SFTTrainer" if plan.loop == "sft" else "transformers.Trainer"
    known = signature(owner, versions)
    has_new = known is None or known.accepts("processing_class") is not False
    found = {"processing_class" if has_new else "tokenizer": "tokenizer"}
    if plan.loop == "sft" and known and not length(plan, versions) and known.accepts("max_seq_length"):
        found["max_seq_length"] = str(plan.sequence_length)
    return found
