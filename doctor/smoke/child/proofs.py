"""What a 4-bit model must show once loaded: packed and frozen weights, NF4 as published, true products."""

import math

# The 16 values of NF4 as published with QLoRA (Dettmers et al. 2023, appendix E).
NF4_VALUES = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
BLOCK = 64
SAMPLES = 2**18
# The mean error of normal values in blocks of 64 is 0.0728; FP4 gives 0.096, blocks of 128 give 0.077.
ERROR_BAND = (0.070, 0.076)
# Of a block's largest value; the arithmetic of float32 stays a hundred times below it.
CODE_TOLERANCE = 1e-5
# Relative, of a 4-bit product. Rounding was seen to cost up to 2.5e-3 in bfloat16, 2.8e-4 in float16;
# float32 was seen at 1.4e-7.
PRODUCT_TOLERANCES = {"torch.bfloat16": 1e-2, "torch.float16": 2e-3, "torch.float32": 1e-5}


def relative_difference(found, wanted):
    """The norm of the difference over the norm of what is wanted, in float64; not-a-number for none."""
    if found is None:
        return math.nan
    found, wanted = found.double(), wanted.double()
    return float((found - wanted).norm() / wanted.norm().clamp_min(1e-300))


def projections_of(model):
    """(name, layer) of every projection, the base layer where an adapter stands on it."""
    return [
        (name, getattr(layer, "base_layer", layer))
        for name, layer in model.named_modules()
        if name.endswith(PROJECTIONS)
    ]


def prove_packed(record, model):
    """Every projection is a 4-bit layer whose weight is packed in bytes and takes no gradient."""
    import torch
    from bitsandbytes.nn import Linear4bit

    layers = [layer for _, layer in projections_of(model)]
    packed = [layer for layer in layers if isinstance(layer, Linear4bit)]
    packed = [layer for layer in packed if layer.weight.dtype == torch.uint8]
    frozen = [layer for layer in layers if not layer.weight.requires_grad]
    record.prove_all("weights-are-4bit", packed, LAYERS * len(PROJECTIONS), "projections")
    record.prove_all("weights-are-frozen", frozen, LAYERS * len(PROJECTIONS), "projections")


def prove_nf4(record, device):
    """Normal values through NF4 and back: the error that the type has, and each value the nearest code."""
    import torch
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    values = torch.randn(SAMPLES, generator=torch.Generator().manual_seed(2))
    packed, state = quantize_4bit(
        values.to(device), blocksize=BLOCK, compress_statistics=False, quant_type="nf4"
    )
    restored = dequantize_4bit(packed, state).float().cpu()
    error = float((restored - values).abs().mean())
    low, high = ERROR_BAND
    wanted = "mean error %.3f to %.3f" % ERROR_BAND
    record.prove("nf4-error-band", low <= error <= high, "mean error %.4f" % error, wanted)
    wrong = codes_missed(values, restored)
    seen = "%d of %d values are not the nearest NF4 value" % (wrong, SAMPLES)
    record.prove("nf4-matches-table", wrong == 0, seen, "none")


def codes_missed(values, restored):
    """How many restored values are no NF4 value times their block's largest, or not the nearest one.

    Nearest by error, so that a value halfway between two codes may take either.
    """
    values, restored = values.double().view(-1, BLOCK), restored.double().view(-1, BLOCK)
    largest = values.abs().amax(dim=1, keepdim=True)
    values, restored = values / largest, restored / largest
    off_table = (nearest_nf4(restored) - restored).abs()
    too_far = (restored - values).abs() - (nearest_nf4(values) - values).abs()
    good = (off_table <= CODE_TOLERANCE) & (too_far <= CODE_TOLERANCE)
    return int((~good).sum())


def nearest_nf4(values):
    """The NF4 value nearest to each."""
    import torch

    table = torch.tensor(NF4_VALUES, dtype=values.dtype)
    return table[torch.bucketize(values, (table[1:] + table[:-1]) / 2)]


def prove_product(record, model):
    """A 4-bit layer's product and its gradient against float64 with the weight it stands for."""
    import torch
    from bitsandbytes.nn import Linear4bit

    layer = next((layer for layer in model.modules() if isinstance(layer, Linear4bit)), None)
    if layer is None:
        record.prove("product-matches-dequantised", False, "no 4-bit layer", "a 4-bit layer")
        return
    layer.train()  # in eval mode some CPUs repack the weight, which is not asked here
    dtype = layer.compute_dtype or torch.float32
    source = torch.Generator().manual_seed(3)
    shape, device = (2, 8), layer.weight.device
    entry = torch.randn(*shape, layer.in_features, generator=source).to(device, dtype).requires_grad_()
    pull = torch.randn(*shape, layer.out_features, generator=source).to(device, dtype)
    product = layer(entry)
    if product.requires_grad:
        product.backward(pull)
    compare_product(record, layer, (entry.detach(), product.detach()), (pull, entry.grad))


def compare_product(record, layer, forward, backward):
    """The (input, output) pairs of a 4-bit layer's two directions against its dequantised weight."""
    from bitsandbytes.functional import dequantize_4bit

    weight = dequantize_4bit(layer.weight.data, layer.weight.quant_state).double()
    limit = PRODUCT_TOLERANCES[str(forward[0].dtype)]
    difference = relative_difference(forward[1], forward[0].double() @ weight.t())
    record.prove_below("product-matches-dequantised", difference, limit)
    difference = relative_difference(backward[1], backward[0].double() @ weight)
    record.prove_below("product-gradient-matches-dequantised", difference, limit)


def prove_native_library(record, device):
    """Which library did the work: on the CPU bitsandbytes goes on without one, in plain torch."""
    found = native_library()
    library, mock = found["library"], "Mock" in found["handle"]
    if device == "cpu":
        seen = library if library and not mock else "none: pure-torch fallback"
        record.prove("native-library-ran", bool(library) and not mock, seen, "a mapped libbitsandbytes")
        return
    holds = bool(library) and "_cpu" not in library and not mock
    seen = "%s, handled by %s" % (library or "none", found["handle"])
    record.prove("native-library-ran", holds, seen, "a mapped libbitsandbytes for the GPU")
