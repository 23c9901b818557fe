"""The plan applied to a model: the adapter, checkpointing, upcasts and the optimizer."""

import json
import os


def has_adapter():
    """Does the plan train an adapter rather than the model itself?"""
    return PLAN["method"] != "full"


def adapter_config():
    """The adapter as peft's own configuration."""
    from peft import LoraConfig, PeftConfig

    if PLAN["adapter"]:
        # Read back from a file, which is how peft passes over what a newer release has added.
        with open(os.path.join(CONFIG["folder"], "adapter_config.json"), "w") as file:
            json.dump(dict(PLAN["adapter"], base_model_name_or_path=None), file)
        return PeftConfig.from_pretrained(CONFIG["folder"])
    targets = list(PLAN["target_modules"])
    options = {"use_dora": True} if PLAN["dora"] else {}  # unknown to old releases
    return LoraConfig(
        r=PLAN["rank"],
        lora_alpha=2 * PLAN["rank"],
        lora_dropout=PLAN["lora_dropout"],
        bias="none",
        task_type="CAUSAL_LM",
        target_modules="all-linear" if targets == ["all-linear"] else targets or None,
        modules_to_save=list(PLAN["modules_to_save"]) or None,
        **options,
    )


def prepare(model):
    """What a script does to a base model before it puts the adapter on."""
    checkpointing = PLAN["gradient_checkpointing"]
    if PLAN["kbit_upcast"] and PLAN["method"] == "qlora":
        from peft import prepare_model_for_kbit_training

        options = accepted(prepare_model_for_kbit_training, checkpoint_options())
        return prepare_model_for_kbit_training(model, use_gradient_checkpointing=checkpointing, **options)
    if checkpointing:
        if has_adapter():
            model.enable_input_require_grads()
        if PLAN["loop"] == "bare":
            # Since 5.23 transformers calls it by the other name.
            enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
            enable(**accepted(enable, checkpoint_options()))
    return model


def checkpoint_options():
    """Which of the two ways of checkpointing, where the plan says it; under both names of transformers."""
    if PLAN["reentrant"] is None or not PLAN["gradient_checkpointing"]:
        return {}
    names = ("gradient_checkpointing_kwargs", "activation_checkpointing_kwargs")
    return {name: {"use_reentrant": PLAN["reentrant"]} for name in names}


def adapted(model):
    """The model with its adapter, where it has one."""
    if not has_adapter():
        return model
    from peft import get_peft_model

    # PEFT brings an adapter in 16 bits to float32 unless it is told not to.
    low = PLAN["adapter_dtype"] not in (None, "float32")
    options = accepted(get_peft_model, {"autocast_adapter_dtype": False}) if low else {}
    return get_peft_model(model, adapter_config(), **options)


def optimizer_of(model):
    """The optimizer of that name, by transformers' own table."""
    from transformers import Trainer, TrainingArguments

    arguments = arguments_of(TrainingArguments)
    kind, options = Trainer.get_optimizer_cls_and_kwargs(arguments)
    return kind([weight for weight in model.parameters() if weight.requires_grad], **options)


def mixed_precision():
    """What a trainer runs its forward in: the type of the plan."""
    return {"bf16": PLAN["dtype"] == "bfloat16", "fp16": PLAN["dtype"] == "float16"}


def arguments_of(kind, **wanted):
    """Arguments of a run of two steps that writes nothing but into our folder and reports to nobody."""
    on_cpu = CONFIG["device"] == "cpu"
    options = dict(
        output_dir=os.path.join(CONFIG["folder"], "run"),
        per_device_train_batch_size=PLAN["batch_size"],
        gradient_accumulation_steps=PLAN["accumulation"],
        gradient_checkpointing=PLAN["gradient_checkpointing"],
        activation_checkpointing=PLAN["gradient_checkpointing"],
        optim=PLAN["optimizer"],
        max_steps=STEPS,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=not on_cpu,
        use_cpu=on_cpu,
        **mixed_precision(),
        **checkpoint_options(),
        **wanted,
    )
    if PLAN["fused_loss"] and PLAN["loop"] == "trainer":
        options["use_liger_kernel"] = True
    arguments = kind(**accepted(kind, options))
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # a second GPU would bring DataParallel
    return arguments
