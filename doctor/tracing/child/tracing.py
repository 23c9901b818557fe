"""One plan after another: build, load, run, tell."""

CHUNK = 4000  # births or events in one message


def trace(plan, depth):
    """The life of one plan at a depth, told in pieces."""
    values, notes = with_depth(CONFIG["model"], depth), []
    mode = Autocast(getattr(torch, plan["dtype"])) if is_autocast(plan) else None
    model = build_model(values, plan, notes)
    prefix, layers = decoder_layers(model, depth)
    life = Life(text_part(values).get("vocab_size"))
    if plan["method"] == "qlora":
        quantise(model, plan)
    load(life, model, prefix, plan, notes, template_of(depth))
    model = trainable(life, model, prefix, plan, checkpointing_of(plan, mode), notes)
    watch_layers(life, layers)
    watch_modules(life, model, prefix)
    with cuda_kernels():
        run_steps(life, model, plan, mode)
    tell(life, depth, counts=counts(model, prefix, depth), notes=notes)


def template_of(depth):
    """The layer that stands for all that are not traced."""
    return max(depth - 3, 0)


def is_autocast(plan):
    """Trainer's bf16 and fp16 flags; a bare loop that wants autocast is written with one."""
    return plan["loop"] != "bare" and plan["dtype"] != "float32"


def trainable(life, model, prefix, plan, checkpointing, notes):
    """The model as the plan trains it."""
    if plan["method"] == "qlora" and plan["kbit_upcast"]:
        model = prepare(life, model, plan, checkpointing)
    elif plan["gradient_checkpointing"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=checkpointing)
        if plan["method"] != "full":
            model.enable_input_require_grads()
    return (model if plan["method"] == "full" else adapted(life, model, prefix, plan, notes)).train()


def real_parameters(parameter):
    """How many numbers a weight stands for: a quantised one has two in a byte."""
    state = getattr(parameter, "quant_state", None)
    return parameter.numel() if state is None else state.shape.numel()


def counts(model, prefix, depth):
    """Parameters, trainable and all of the base model, of the whole and of the layer that is repeated."""
    found = dict.fromkeys(("trainable", "total", "layer_trainable", "layer_total"), 0)
    for name, parameter in model.named_parameters():
        number = real_parameters(parameter)
        of_layer = layer_index(name, prefix) == template_of(depth)
        is_base = not any(word in name for word in ("lora_", "modules_to_save", "adapter"))
        for key, counted in (("trainable", parameter.requires_grad), ("total", is_base)):
            found[key] += number * counted
            found["layer_" + key] += number * (counted and of_layer)
    return found


def tell(life, depth, **rest):
    """Send what was followed, in pieces that fit a line."""
    for start in range(0, len(life.births), CHUNK):
        emit({"births": life.births[start : start + CHUNK]})
    for phase, step, layer, events in life.segments:
        for start in range(0, len(events), CHUNK):
            emit({"segment": [phase, step, layer, events[start : start + CHUNK]]})
    names = {"operations": list(life.operations), "modules": list(life.modules), "versions": versions()}
    emit({"traced": depth, **names, **rest})


def versions():
    """Of the libraries whose code was traced."""
    import sys

    names = ("torch", "transformers", "peft", "bitsandbytes", "trl")
    return {name: str(sys.modules[name].__version__) for name in names if name in sys.modules}


CONFIG_PLAN = {}


def main():
    import gc

    gc.disable()  # what is in no cycle dies at once, as in a run; when cycles are looked for is chance
    for plan, depth in CONFIG["runs"]:
        gc.collect()
        CONFIG_PLAN.clear()
        CONFIG_PLAN.update(plan)
        CONFIG_PLAN["flash_dtype"] = (
            getattr(torch, plan["dtype"]) if plan["attention"] == "flash_attention_2" else None
        )
        try:
            trace(plan, depth)
        except Exception as error:
            emit({"failed": type(error).__name__ + ": " + str(error)[:500]})


main()
