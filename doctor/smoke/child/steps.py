"""The training stages of the trial without a trainer: 4-bit load, LoRA, QLoRA, save and load."""

import math
import os

LEARNING_RATE = 1e-2
STEPS = 4
# Relative. In float32 2e-7 was seen; TF32, which NVIDIA's containers turn on, costs about 1e-3.
GRADIENT_TOLERANCES = {"torch.float32": 5e-3, "torch.float16": 1e-2, "torch.bfloat16": 3e-2}


def load_4bit(record):
    """Load the tiny model in 4 bits and hold bitsandbytes' arithmetic against float64."""
    device = training_device()
    record.details.update(device=device, compute_dtype=str(compute_dtype()))
    model = quantised_model()
    prove_packed(record, model)
    prove_nf4(record, device)
    prove_product(record, model)
    prove_native_library(record, device)
    return model


def lora_step(record):
    """One step of plain LoRA, nothing quantised."""
    import torch

    record.details.update(device=training_device())
    model = adapted_model(tiny_model().to(training_device()))
    optimizer = torch.optim.AdamW(adapter_weights(model, "lora_"), lr=LEARNING_RATE)
    model(**fixed_batch()).loss.backward()
    prove_gradients(record, model)
    optimizer.step()
    prove_adapter_moved(record, model)


def prove_gradients(record, model):
    """At the first step: every adapter weight has a finite gradient, and no lora_B a zero one.

    lora_A starts with a zero gradient, because lora_B starts at zero.
    """
    weights = adapter_weights(model, "lora_")
    finite = [weight for weight in weights if weight.grad is not None and weight.grad.isfinite().all()]
    record.prove_all("adapter-gradients-finite", finite, len(weights))
    halves = adapter_weights(model, "lora_B")
    pulled = [weight for weight in halves if weight.grad is not None and weight.grad.abs().sum() > 0]
    record.prove_all("adapter-gradients-nonzero", pulled, len(halves))


def prove_adapter_moved(record, model):
    """After a step no lora_B is zero any more."""
    halves = [weight.detach() for weight in adapter_weights(model, "lora_B")]
    moved = [weight for weight in halves if weight.isfinite().all() and weight.abs().sum() > 0]
    record.prove_all("adapter-moves", moved, len(halves))


def qlora_step(record):
    """Four steps of QLoRA on one batch, in bitsandbytes' 8-bit optimizer where it works."""
    model = adapted_model(prepared_model(need("load-4bit", quantised_model)))
    record.details.update(device=training_device())
    prove_layers(record, model)
    before = packed_bytes(model)
    optimizer = eight_bit_optimizer(record, adapter_weights(model, "lora_"))
    losses = train_steps(record, model, optimizer)
    record.details.update(losses=losses)
    prove_optimizer_state(record, optimizer)
    seen = " to ".join("%.4f" % loss for loss in (losses[0], losses[-1]))
    record.prove("loss-falls", losses[-1] < losses[0], seen, "a lower loss after %d steps" % (STEPS - 1))
    same = [name for name, packed in packed_bytes(model).items() if packed.equal(before[name])]
    record.prove_all("base-weights-unchanged", same, len(before))
    prove_evaluation(record)
    return model


def prove_layers(record, model):
    """The adapters stand on peft's own 4-bit layers, and nothing but them is trained."""
    kinds = {type(layer) for layer in adapted_layers(model)}
    seen = ", ".join(sorted("%s.%s" % (kind.__module__, kind.__name__) for kind in kinds))
    holds = kinds and all("4bit" in kind.__name__ for kind in kinds)
    wanted = "peft.tuners.lora.bnb.Linear4bit"
    record.prove("adapters-on-4bit-layers", holds, seen or "no adapter", wanted)
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    others = [name for name in trained if "lora_" not in name]
    record.prove("only-adapters-train", not others, ", ".join(others[:3]) or "adapters only", "adapters only")


def adapted_layers(model):
    """The layers that carry an adapter."""
    return [layer for layer in model.modules() if hasattr(layer, "lora_B") and hasattr(layer, "scaling")]


def packed_bytes(model):
    """A copy of every packed base weight."""
    return {name: layer.weight.detach().clone() for name, layer in projections_of(model)}


def eight_bit_optimizer(record, weights):
    """The paged 8-bit AdamW on a GPU; on the CPU the 8-bit one, or torch's where that does not run."""
    import torch
    from bitsandbytes.optim import AdamW8bit, PagedAdamW8bit

    if training_device() != "cpu":
        record.details.update(optimizer="bitsandbytes.optim.PagedAdamW8bit")
        return PagedAdamW8bit(weights, lr=LEARNING_RATE)
    try:
        try_optimizer(AdamW8bit)
    except Exception as error:
        record.details.update(optimizer="torch.optim.AdamW", optimizer_note=message_of(error).split("\n")[0])
        return torch.optim.AdamW(weights, lr=LEARNING_RATE)
    record.details.update(optimizer="bitsandbytes.optim.AdamW8bit")
    return AdamW8bit(weights, lr=LEARNING_RATE)


def try_optimizer(kind):
    """One step of an optimizer on a weight of its own."""
    import torch

    weight = torch.nn.Parameter(torch.ones(HIDDEN, RANK))
    weight.grad = torch.ones(HIDDEN, RANK)
    kind([weight]).step()


def train_steps(record, model, optimizer):
    """The losses of the steps; gradients are proven at the first two, before anything ran in eval mode."""
    batch, losses = fixed_batch(), []
    seen = watched_layer(model)
    for step in range(STEPS):
        loss = model(**batch).loss
        loss.backward()
        losses.append(float(loss.detach()))
        if step == 0:
            prove_gradients(record, model)
        elif step == 1:
            prove_analytic_gradient(record, seen)
        optimizer.step()
        optimizer.zero_grad()
    return losses


def watched_layer(model):
    """The first adapted layer, with its input and the gradient of its output at each step."""
    layer = adapted_layers(model)[0]
    seen = {"layer": layer}

    def keep_gradient(gradient):
        seen["gradient"] = gradient.detach().double()

    def keep_input(_layer, inputs, output):
        seen["input"] = inputs[0].detach().double()
        # Gradient checkpointing runs the layer twice, the first time without a graph.
        if output.requires_grad:
            output.register_hook(keep_gradient)

    layer.register_forward_hook(keep_input)
    return seen


def prove_analytic_gradient(record, seen):
    """The gradients of one adapter against the formula of LoRA in float64.

    The layer gives base(x) + s B A x; with g the gradient of that, dB = s g' (A x) and dA = s (B' g) x'.
    lora_B must have moved from zero before, or dA would be zero whatever happens.
    """
    down, up = (half["default"].weight for half in (seen["layer"].lora_A, seen["layer"].lora_B))
    worst = math.nan  # where the layer never ran, or its output had no gradient
    if "gradient" in seen:
        entry, pull = seen["input"].flatten(0, -2), seen["gradient"].flatten(0, -2)
        scale = seen["layer"].scaling["default"]
        wanted_up = scale * pull.t() @ (entry @ down.detach().double().t())
        wanted_down = scale * (pull @ up.detach().double()).t() @ entry
        differences = (relative_difference(up.grad, wanted_up), relative_difference(down.grad, wanted_down))
        worst = max(differences) if all(map(math.isfinite, differences)) else math.nan
    record.prove_below("gradient-matches-float64", worst, GRADIENT_TOLERANCES[str(down.dtype)])


def prove_optimizer_state(record, optimizer):
    """The 8-bit optimizer keeps the state of every weight of at least 4096 elements in bytes."""
    if "8bit" not in type(optimizer).__name__:
        return
    states = [state for weight, state in optimizer.state.items() if weight.numel() >= HIDDEN * RANK]
    packed = [state for state in states if "torch.uint8" in map(kind_of, state.values())]
    record.prove_all("optimizer-state-is-8bit", packed, len(states), "states")


def kind_of(value):
    """The type of a tensor's elements, "" of anything else."""
    return str(getattr(value, "dtype", ""))


def trained_model():
    """A QLoRA model after one step, for a process that did not run that stage itself."""
    import torch

    model = adapted_model(prepared_model(need("load-4bit", quantised_model)))
    model(**fixed_batch()).loss.backward()
    torch.optim.AdamW(adapter_weights(model, "lora_"), lr=LEARNING_RATE).step()
    return model


def save_load(record):
    """The saved adapter on a fresh 4-bit model gives what it gave before."""
    model = need("qlora-step", trained_model)
    from peft import PeftModel

    folder = os.path.join(CONFIG["folder"], "adapter")
    model.save_pretrained(folder)
    base = prepared_model(quantised_model())
    bare = logits_of(base)
    again = logits_of(PeftModel.from_pretrained(base, folder))
    wanted = logits_of(model)
    prove_survival(record, relative_difference(again, wanted), relative_difference(bare, wanted))


def logits_of(model):
    """What a model gives for the fixed batch, in training mode: in eval mode some CPUs repack the weights."""
    model.train()
    return model(**fixed_batch()).logits.detach()


def prove_survival(record, difference, effect):
    """The adapter changes the result, and the loaded one changes it as the saved one did."""
    limit = PRODUCT_TOLERANCES[str(compute_dtype())]
    seen = "differs by %.3g where the adapter itself makes %.3g" % (difference, effect)
    record.prove("adapter-survives", difference <= limit < effect, seen, "at most %.3g" % limit)
