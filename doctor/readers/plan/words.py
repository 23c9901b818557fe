"""The names that files use for the fields of a plan, and what their values mean."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from doctor.memory.validity import CHOICES, PlanInvalid, optimizer_named, spoken
from doctor.readers.plan.settings import Setting, Settings

Kind = Callable[[Setting], Any]
MODEL = ("model", "model_name_or_path", "base_model", "model_name", "model_id")
DTYPES = {
    "auto": "bfloat16",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "half": "float16",
    "float": "float32",
}
# All flash kernels keep the same tensors, and xformers is what torch's own memory-efficient kernel came from.
ATTENTION = {
    **dict.fromkeys(("fa2", "flash_attention_3", "kernels-community/vllm-flash-attn3"), "flash_attention_2"),
    **dict.fromkeys(("auto", "xformers"), "sdpa"),
    "disabled": "eager",
}
PATTERN = set("\\^$*+?()[]|{}")
NONE: Mapping[str, str] = {}
MOST_NAMES = 256  # modules of one list
MOST_CHARACTERS = 1000  # of a pattern


def whole(setting: Setting) -> int:
    """A whole number from 1 on."""
    value = setting.value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 31:
        raise setting.refuse(f"{_shown(value)} is no whole number from 1 on")
    return value


def share(setting: Setting) -> float:
    """A number from 0 to below 1."""
    value = setting.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise setting.refuse(f"{_shown(value)} is no number from 0 to below 1")
    return float(value)


def switch(setting: Setting) -> bool:
    """True or false; a word that turns something on in a way of its own is true."""
    if setting.value in ("unsloth", "offload", "offload_disk"):
        return True
    if not isinstance(setting.value, bool):
        raise setting.refuse(f"{_shown(setting.value)} is neither true nor false")
    return setting.value


def word(setting: Setting) -> str:
    """A word."""
    if not isinstance(setting.value, str) or not 0 < len(setting.value) <= 200:
        raise setting.refuse(f"{_shown(setting.value)} is no name")
    return setting.value


def names(setting: Setting) -> tuple[str, ...]:
    """Module names: a list of them, or one text with commas."""
    value = setting.value
    listed = value.split(",") if isinstance(value, str) else value
    is_list = isinstance(listed, list) and len(listed) <= MOST_NAMES
    if not is_list or not all(isinstance(one, str) for one in listed):
        raise setting.refuse("this is no list of module names")
    return tuple(one.strip() for one in listed if one.strip())


def targets(setting: Setting) -> tuple[str, ...] | str:
    """The same of an adapter's targets, or a pattern as text. LLaMA-Factory's "all" is "all-linear"."""
    value = setting.value
    if isinstance(value, str) and set(value) & PATTERN:
        return pattern(setting, value)
    found = names(setting)
    return ("all-linear",) if found == ("all",) else found


def pattern(setting: Setting, text: str) -> str:
    """A pattern that can be one."""
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise setting.refuse(f"{_shown(text)} is no pattern of module names: {error}") from error
    if len(text) > MOST_CHARACTERS:
        raise setting.refuse(f"a pattern of more than {MOST_CHARACTERS} characters is not followed")
    return text


def optimizer(setting: Setting) -> str:
    """The optimizer by any of transformers' names."""
    try:
        return optimizer_named(word(setting).rpartition(".")[2].lower())
    except PlanInvalid as error:
        raise setting.refuse(f"{error}: {error.hint}") from error


def one_of(field: str, further: Mapping[str, str] = NONE) -> Kind:
    """A word that a field may be, or one of further names for it."""

    def chosen(setting: Setting) -> str:
        name = word(setting).removeprefix("torch.")
        name = further.get(name, name)
        if name not in CHOICES[field]:
            raise setting.refuse(f"{spoken(field)} {name!r} is none of {', '.join(CHOICES[field])}")
        return name

    return chosen


# A field of the plan: by which names, ours first, and as what.
FIELDS: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "method": (one_of("method"), ("method",)),
    "rank": (whole, ("rank", "lora_r", "lora_rank", "r")),
    "target_modules": (targets, ("target_modules", "lora_target_modules", "lora_target")),
    "modules_to_save": (names, ("modules_to_save", "lora_modules_to_save", "additional_target")),
    "lora_dropout": (share, ("lora_dropout",)),
    "dora": (switch, ("dora", "use_dora", "peft_use_dora")),
    "batch_size": (whole, ("batch_size", "per_device_train_batch_size", "micro_batch_size")),
    "accumulation": (whole, ("accumulation", "gradient_accumulation_steps")),
    "sequence_length": (
        whole,
        ("sequence_length", "max_length", "max_seq_length", "cutoff_len", "sequence_len", "seq_length"),
    ),
    "padded": (switch, ("padded",)),
    "gradient_checkpointing": (switch, ("gradient_checkpointing", "activation_checkpointing")),
    "optimizer": (optimizer, ("optimizer", "optim")),
    "attention": (one_of("attention", ATTENTION), ("attention", "attn_implementation", "flash_attn")),
    "dtype": (one_of("dtype", DTYPES), ("dtype", "torch_dtype")),
    "double_quant": (
        switch,
        ("double_quant", "bnb_4bit_use_double_quant", "use_bnb_nested_quant", "double_quantization"),
    ),
    "kbit_upcast": (switch, ("kbit_upcast",)),
    "loop": (one_of("loop"), ("loop",)),
    "fused_loss": (
        switch,
        ("fused_loss", "use_liger_kernel", "enable_liger_kernel", "liger_fused_linear_cross_entropy"),
    ),
    "adapter_dtype": (one_of("dtype", DTYPES), ("adapter_dtype",)),
    "reentrant": (switch, ("reentrant", "use_reentrant_gc")),
    "expandable_segments": (switch, ("expandable_segments",)),
    "gpus": (whole, ("gpus", "num_processes", "nproc_per_node")),
    "sharding": (one_of("sharding"), ("sharding",)),
    "offload": (one_of("offload"), ("offload",)),
}
KNOWN = {name for _, names_of in FIELDS.values() for name in names_of} | {*MODEL, "adapter"}


def taken(settings: Settings) -> tuple[dict[str, Any], str]:
    """The fields that a file sets, and its word for the model. Raises :class:`~doctor.readers.Unreadable`."""
    _refuse_what_is_not_estimated(settings)
    found: dict[str, Any] = {}
    for field, (kind, spellings) in FIELDS.items():
        given = [settings[name] for name in spellings if settings.value(name) is not None]
        if given:
            found[field] = kind(given[0])
    for field, value in _in_other_words(settings):
        found.setdefault(field, value)
    model = next((word(settings[name]) for name in MODEL if settings.value(name) is not None), "")
    return found, model


def refuse_misspelt(settings: Settings) -> None:
    """A name of plan.toml that is nearly one that counts. Raises :class:`~doctor.readers.Unreadable`."""
    for name, setting in settings.items():
        near = get_close_matches(name, KNOWN, n=1, cutoff=0.85) if name not in KNOWN else []
        if near and near[0] not in settings and "eval" not in name:
            raise setting.refuse(f"{name!r} is not known; {near[0]!r} is")


def _in_other_words(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Fields that several settings decide together, or that tools switch by names of their own."""
    method = _method(settings)
    if method:
        yield "method", method
    adapter = settings.value("adapter")
    if isinstance(adapter, dict):
        yield "adapter", adapter
    if settings.value("lora_target_linear") is True:
        yield "target_modules", ("all-linear",)
    if settings.value("disable_gradient_checkpointing") is True:
        yield "gradient_checkpointing", False
    for name, implementation in (("flash_attention", "flash_attention_2"), ("sdp_attention", "sdpa")):
        if settings.value(name) is True:
            yield "attention", implementation
    if "unsloth" in (
        settings.value("gradient_checkpointing"),
        "unsloth" if settings.value("use_unsloth") else "",
    ):
        yield "fused_loss", True
    if method == "full" and settings.value("pure_bf16") is not True and "finetuning_type" in settings:
        yield "dtype", "float32"  # LLaMA-Factory casts what is trained
    for name in ("bf16", "fp16"):
        if settings.value(name) is True:
            yield "dtype", DTYPES[name]
    stage = _zero_stage(settings)
    if stage:
        yield "sharding", stage


def _method(settings: Settings) -> str:
    """From the adapter that is asked for, and the bits; "" where nothing tells."""
    kind = settings.value("finetuning_type") or settings.value("adapter")
    four = settings.value("load_in_4bit") is True or settings.value("quantization_bit") == 4
    if isinstance(kind, str):
        return "qlora" if four or kind == "qlora" else kind
    if settings.value("use_peft") is not None:
        return ("qlora" if four else "lora") if settings.value("use_peft") is True else "full"
    return "qlora" if four else ""


def _zero_stage(settings: Settings) -> str:
    """Sharding by the name of a DeepSpeed file, or by FSDP being asked for."""
    file = settings.value("deepspeed")
    if isinstance(file, str):
        return next((f"zero{stage}" for stage in "32" if f"z{stage}" in file or f"zero{stage}" in file), "")
    return "fsdp" if settings.value("fsdp") or settings.value("fsdp_config") else ""


def _refuse_what_is_not_estimated(settings: Settings) -> None:
    for name in ("load_in_8bit", "quantization_bit"):
        if settings.value(name) is True or settings.value(name) in (2, 3, 5, 6, 8):
            raise settings[name].refuse("weights in 4 bits and in 16 are estimated, no others")
    stage = settings.value("stage") or settings.value("rl")
    if isinstance(stage, str) and stage not in ("sft", "pt"):
        at = settings["stage" if settings.value("stage") else "rl"]
        raise at.refuse(f"{stage} needs more than one model's memory, which is not estimated")
    for name in ("finetuning_type", "adapter"):
        kind = settings.value(name)
        if isinstance(kind, str) and kind not in ("lora", "qlora", "full"):
            raise settings[name].refuse(f"{kind} is not estimated; lora, qlora and full are")


def _shown(value: Any) -> str:
    return "NaN" if isinstance(value, float) and math.isnan(value) else repr(value)[:60]
