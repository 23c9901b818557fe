"""What an evaluation leaves behind: training must go on as before it, and a merge must find the true weights.

On CPUs with avx512_bf16 bitsandbytes lays the 4-bit weights out anew at the first forward in eval mode.
"""

import math
import re

# Relative, of the logits. Quantising the same weights again was seen to cost 1.2e-4, a misread layout 0.82.
MERGE_TOLERANCE = 5e-2


def prove_evaluation(record):
    """A gradient before and after a forward in eval mode, then the merge of an adapter that does nothing.

    On a model of its own: what the evaluation does to the weights must not reach the later stages.
    """
    import torch

    model = adapted_model(prepared_model(quantised_model()))
    gradient, logits = adapter_gradient(model), logits_of(model)
    model.eval()
    with torch.no_grad():
        model(**fixed_batch())
    layout = repacked_layers(model)
    difference = relative_difference(adapter_gradient(model), gradient) if gradient.any() else math.nan
    limit = GRADIENT_TOLERANCES[str(compute_dtype())]
    record.prove_below("gradient-survives-evaluation", difference, limit, layout)
    if can_merge(model):
        difference = relative_difference(logits_of(model.merge_and_unload()), logits)
        record.prove_below("merge-is-identity", difference, MERGE_TOLERANCE, layout)


def adapter_gradient(model):
    """The gradient of all adapter weights for the fixed batch as one vector; zero where there is none."""
    import torch

    model.train()
    model.zero_grad()
    model(**fixed_batch()).loss.backward()
    weights = adapter_weights(model, "lora_")
    gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
    return torch.cat([gradient.flatten() for gradient in gradients])


def repacked_layers(model):
    """How many base layers the evaluation laid out anew, in words; "" where it left all as they were."""
    layers = [layer for _, layer in projections_of(model)]
    states = [getattr(layer.weight, "quant_state", None) for layer in layers]
    count = sum(bool(getattr(state, "packing_format_for_cpu", False)) for state in states)
    return "; the evaluation repacked %d of %d layers for avx512_bf16" % (count, len(layers)) if count else ""


def can_merge(model):
    """Can this peft merge into 4-bit layers here? From 0.8 on, where the adapters stand on its own layers.

    0.6 and 0.7 leave the merged weights unquantised beside a bitsandbytes that marks them as done.
    """
    import peft

    release = tuple(map(int, re.findall(r"\d+", version_of(peft))[:2]))
    # These move the weights to a GPU for it, whether there is one or not.
    wants_gpu = (0, 11) <= release < (0, 15)
    on_own_layers = all("4bit" in type(layer).__name__ for layer in adapted_layers(model))
    return on_own_layers and release >= (0, 8) and not (wants_gpu and training_device() == "cpu")
