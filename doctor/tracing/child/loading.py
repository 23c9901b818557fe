"""Loading: the weights reach the device, what is prepared is cast, the adapter is made."""


def natural(name):
    """Names in the order in which checkpoints are read: digits as numbers."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in name.split(".")]


def load(life, model, prefix, plan, notes, template):
    """Births of all weights; those that are quantised pass by in 16 bits."""
    tensors = dict(list(model.named_parameters()) + list(model.named_buffers()))
    if plan["method"] == "qlora" and (5, 0) <= release_of("transformers") < (5, 4):
        notes.append(
            "transformers 5.0 to 5.3 read weights faster than they are quantised: loading may take more"
        )
    with life.during("load", part="weights"):
        warm_up(life, model, prefix, plan, template)
        for name in sorted(tensors, key=natural):
            tensor, life.layer = tensors[name], layer_index(name, prefix)
            state = getattr(tensor, "quant_state", None)
            if state is None:
                life.follow(tensor, "load", layer=life.layer)
                continue
            in_16_bits = life.born(2 * state.shape.numel(), "overhead", "load", life.layer)
            for part in [tensor] + state_tensors(state):
                life.follow(part, "load", layer=life.layer)
            life.died(in_16_bits)


def warm_up(life, model, prefix, plan, template):
    """What transformers takes at once before it loads, and gives back (``caching_allocator_warmup``)."""
    from transformers import modeling_utils

    if not hasattr(modeling_utils, "caching_allocator_warmup"):
        return
    sizes = [(name, warm_up_bytes(tensor, plan)) for name, tensor in model.named_parameters()]
    sizes += [(name, warm_up_bytes(tensor, plan)) for name, tensor in model.named_buffers()]
    of_layer = sum(size for name, size in sizes if layer_index(name, prefix) == template)
    life.passing(int(sum(size for _, size in sizes)), "caching_allocator_warmup", int(of_layer))


def warm_up_bytes(tensor, plan):
    """Of one weight: to 4.52 its 16 bits, then half of them where quantised, from 5.0 what will be there."""
    if release_of("transformers") >= (5, 0) or plan["method"] != "qlora":
        return tensor.numel() * tensor.element_size()
    in_16_bits = 2 * real_parameters(tensor)
    return in_16_bits if release_of("transformers") < (4, 53) else in_16_bits / 2


def prepare(life, model, plan, checkpointing):
    """``prepare_model_for_kbit_training``, the real one."""
    import inspect

    from peft import prepare_model_for_kbit_training

    with life.during("load", part="weights"):
        model = prepare_model_for_kbit_training(
            model,
            use_gradient_checkpointing=plan["gradient_checkpointing"],
            gradient_checkpointing_kwargs=checkpointing,
        )
        if "auto_clear_cache" in inspect.signature(prepare_model_for_kbit_training).parameters:
            life.empty_cache()
    return model


def adapted(life, model, prefix, plan, notes):
    """The model with its adapter, by the real PEFT."""
    config = adapter_config(plan)
    try:
        model = with_adapter(model, config)
    except ValueError as error:
        if "ParamWrapper" not in str(error) or "dropout" not in str(error):
            raise
        notes.append("PEFT takes no lora_dropout on the experts of this model, so 0 was traced")
        config.lora_dropout = 0.0
        model = with_adapter(model, config)
    cast_adapter(model, plan)
    # What PEFT makes on the way is made on the host; the adapter comes to the device as it is.
    life.phase = "load"
    for name, parameter in model.named_parameters():
        life.follow(parameter, "adapter", part="adapter", layer=layer_index(name, prefix))
    return model


def with_adapter(model, config):
    """The model that PEFT makes, on ``meta`` too; adapters that draw numbers draw them on the host."""
    import inspect

    from peft import get_peft_model

    if str(getattr(config.peft_type, "value", config.peft_type)) not in ("LORA", "ADALORA"):
        return get_peft_model(model, config).to("meta")
    can_skip = "low_cpu_mem_usage" in inspect.signature(get_peft_model).parameters
    with torch.device("meta"):
        return get_peft_model(model, config, **({"low_cpu_mem_usage": True} if can_skip else {}))


def cast_adapter(model, plan):
    """Bring the adapter to the type in which the loop trains it."""
    low = getattr(torch, plan["adapter_dtype"])
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.is_floating_point():
            parameter.data = parameter.data.to(low)


def adapter_config(plan):
    """PEFT's own config object of a plan."""
    from peft import LoraConfig, PeftConfig

    if plan.get("adapter"):
        values = {name: value for name, value in plan["adapter"].items() if value is not None}
        values["inference_mode"] = False
        return PeftConfig.from_peft_type(**values)
    targets = list(plan["target_modules"])
    return LoraConfig(
        r=plan["rank"],
        lora_alpha=2 * plan["rank"],
        target_modules="all-linear" if targets == ["all-linear"] else targets or None,
        modules_to_save=list(plan["modules_to_save"]) or None,
        lora_dropout=plan["lora_dropout"],
        task_type="CAUSAL_LM",
        **({"use_dora": True} if plan["dora"] else {}),
    )
