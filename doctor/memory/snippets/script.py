"""A whole training script of a plan: the model, the adapter, the data, the trainer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from doctor.memory.allocator_setting import against_pieces
from doctor.memory.plan import Plan
from doctor.memory.settling import settled
from doctor.memory.snippets.arguments import arguments_class, trainer_arguments, training_arguments
from doctor.memory.snippets.code import Call, assigned, imported, quoted
from doctor.memory.snippets.loop import bare_loop
from doctor.versions import Interval


def script(model: str, plan: Plan, versions: Mapping[str, str]) -> str:
    """The script; what it trains on is a file of one text a line, to be replaced."""
    blocks = [*_setting(plan, versions), _imports(plan, versions), _model(model, plan, versions)]
    if plan.loop == "bare":
        blocks += [*_adapter(plan, versions), bare_loop(plan)]
    else:
        blocks += [*_adapter(plan, versions), _training(plan, versions)]
    return "\n\n".join(blocks) + "\n"


def _setting(plan: Plan, versions: Mapping[str, str]) -> Iterator[str]:
    if plan.expandable_segments:
        name, _, value = against_pieces(versions.get("torch", "")).partition("=")
        yield f'import os\n\nos.environ["{name}"] = "{value}"  # before torch is imported'


def _imports(plan: Plan, versions: Mapping[str, str]) -> str:
    transformers = {"AutoModelForCausalLM", "AutoTokenizer"}
    lines = ["import torch", imported("datasets", ["load_dataset"])]
    if plan.method != "full":
        lines.append(imported("peft", _of_peft(plan, versions)))
    if plan.method == "qlora":
        transformers.add("BitsAndBytesConfig")
    if plan.loop == "trainer":
        transformers |= {"DataCollatorForLanguageModeling", "Trainer"}
    if plan.loop != "bare" and arguments_class(plan, versions) == "TrainingArguments":
        transformers.add("TrainingArguments")
    lines.append(imported("transformers", transformers))
    if plan.loop == "sft":
        lines.append(imported("trl", {"SFTTrainer", arguments_class(plan, versions)} - {"TrainingArguments"}))
    return "\n".join(lines)


def _of_peft(plan: Plan, versions: Mapping[str, str]) -> set[str]:
    names = {"LoraConfig" if plan.adapter is None else "PeftConfig"}
    if wraps_itself(plan, versions):
        names.add("get_peft_model")
    if casts(plan, versions):
        names.add("prepare_model_for_kbit_training")
    return names


def _usual(plan: Plan, versions: Mapping[str, str]) -> Plan:
    """The plan as these versions carry it out of themselves."""
    return settled(msgspec.structs.replace(plan, kbit_upcast=None), versions)


def casts(plan: Plan, versions: Mapping[str, str]) -> bool:
    """Must the script itself call prepare_model_for_kbit_training?"""
    by_itself = plan.loop == "sft" and bool(_usual(plan, versions).kbit_upcast)
    return plan.method == "qlora" and bool(plan.kbit_upcast) and not by_itself


def wraps_itself(plan: Plan, versions: Mapping[str, str]) -> bool:
    """Must the script wrap the model? SFTTrainer does, unless it would cast what is to stay."""
    if plan.method == "full":
        return False
    unwanted = plan.method == "qlora" and not plan.kbit_upcast and bool(_usual(plan, versions).kbit_upcast)
    return plan.loop != "sft" or unwanted


def _model(model: str, plan: Plan, versions: Mapping[str, str]) -> str:
    lines = [f"name = {quoted(model)}"]
    arguments: dict[str, str] = {}
    if plan.method == "qlora":
        lines.append(assigned("quantization", _quantization(plan)))
        arguments["quantization_config"] = "quantization"
        arguments["device_map"] = '{"": 0}'
    named = "dtype" if takes_dtype(versions) else "torch_dtype"
    arguments |= {named: f"torch.{plan.dtype}", "attn_implementation": f'"{plan.attention}"'}
    lines.append(assigned("model", Call("AutoModelForCausalLM.from_pretrained", arguments, "name")))
    lines.append("tokenizer = AutoTokenizer.from_pretrained(name)")
    lines.append("tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token")
    return "\n".join(lines)


def takes_dtype(versions: Mapping[str, str]) -> bool:
    """Has from_pretrained the argument dtype? It was torch_dtype before transformers 4.56."""
    from doctor.matrix.api import replacement

    row = replacement("transformers.PreTrainedModel.from_pretrained", "torch_dtype")
    return row is not None and Interval(row.since).contains(versions.get("transformers", ""))


def _quantization(plan: Plan) -> Call:
    return Call(
        "BitsAndBytesConfig",
        {
            "load_in_4bit": "True",
            "bnb_4bit_quant_type": '"nf4"',
            "bnb_4bit_use_double_quant": str(plan.double_quant),
            "bnb_4bit_compute_dtype": f"torch.{plan.dtype}",
        },
    )


def _adapter(plan: Plan, versions: Mapping[str, str]) -> Iterator[str]:
    if plan.method == "full":
        return
    lines = []
    if casts(plan, versions):
        lines.append("model = prepare_model_for_kbit_training(model)")
    if plan.adapter is not None:
        lines.append('adapter = PeftConfig.from_pretrained("path/to/adapter")')
    else:
        lines.append(assigned("adapter", Call("LoraConfig", _lora(plan))))
    if wraps_itself(plan, versions):
        lines.append("model = get_peft_model(model, adapter)")
        if plan.gradient_checkpointing and plan.reentrant and plan.loop != "bare":
            lines.append("model.enable_input_require_grads()  # reentrant checkpoints need it")
    yield "\n".join(lines)


def _lora(plan: Plan) -> dict[str, str]:
    found: dict[str, Any] = {"r": plan.rank, "lora_alpha": 2 * plan.rank, "lora_dropout": plan.lora_dropout}
    if plan.target_modules == ("all-linear",):
        found["target_modules"] = '"all-linear"'
    elif plan.target_modules:
        found["target_modules"] = _listed(plan.target_modules)
    if plan.modules_to_save:
        found["modules_to_save"] = _listed(plan.modules_to_save)
    if plan.dora:
        found["use_dora"] = True
    return {name: str(value) for name, value in found.items()} | {"task_type": '"CAUSAL_LM"'}


def _listed(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _training(plan: Plan, versions: Mapping[str, str]) -> str:
    rows = 'load_dataset("json", data_files="train.jsonl", split="train")  # rows of {"text": ...}'
    lines = [f"rows = {rows}"]
    given = {"model": "model", "args": "arguments", "train_dataset": "rows"}
    if plan.loop == "trainer":
        lines += [
            "rows = rows.map(",
            f'    lambda row: tokenizer(row["text"], truncation=True, max_length={plan.sequence_length}),',
            "    remove_columns=rows.column_names,",
            ")",
        ]
        given["data_collator"] = "DataCollatorForLanguageModeling(tokenizer, mlm=False)"
    elif not wraps_itself(plan, versions) and plan.method != "full":
        given["peft_config"] = "adapter"
    given |= trainer_arguments(plan, versions)
    lines.append(assigned("arguments", training_arguments(plan, versions)))
    lines.append(assigned("trainer", Call("SFTTrainer" if plan.loop == "sft" else "Trainer", given)))
    return "\n".join([*lines, *_adapter_for_the_scaler(plan), "trainer.train()"])


def _adapter_for_the_scaler(plan: Plan) -> Iterator[str]:
    """SFTTrainer makes adapters of quantised models bfloat16, whose gradients the scaler of fp16 refuses."""
    if plan.loop == "sft" and plan.method == "qlora" and plan.dtype == "float16":
        yield "for parameter in trainer.model.parameters():"
        yield "    if parameter.requires_grad:"
        yield "        parameter.data = parameter.data.float()  # fp16 scales no bfloat16 gradients"
