"""bitsandbytes' 4-bit layers on ``meta``, by hand: else they are quantised on the way to the device."""


def left_in_16_bits(model):
    """The names of modules that transformers does not quantise."""
    try:
        from transformers.quantizers.base import get_keys_to_not_convert
    except ImportError:
        try:
            from transformers.integrations.bitsandbytes import get_keys_to_not_convert
        except ImportError:
            return {"lm_head"}
    with contextlib.suppress(Exception):
        return set(get_keys_to_not_convert(model)) | {"lm_head"}
    return {"lm_head"}


def quantise(model, plan):
    """Replace linear layers by ``Linear4bit`` in NF4, as ``from_pretrained(load_in_4bit=True)`` does."""
    kept = left_in_16_bits(model)
    for parent_name, parent in list(model.named_modules()):
        for name, child in list(parent.named_children()):
            full_name = (parent_name + "." + name).lstrip(".")
            is_kept = any(
                full_name == word or full_name.endswith("." + word) or full_name.startswith(word + ".")
                for word in kept
            )
            if type(child) is torch.nn.Linear and not is_kept:
                setattr(parent, name, linear_4bit(child, plan))
    model.is_loaded_in_4bit = True
    model.is_quantized = True
    model.quantization_method = "bitsandbytes"


def linear_4bit(linear, plan):
    """One layer with a weight that claims to be quantised already."""
    from bitsandbytes.nn import Linear4bit, Params4bit

    low = getattr(torch, plan["dtype"])
    double = plan["double_quant"]
    with torch.device("meta"):
        layer = Linear4bit(
            linear.in_features,
            linear.out_features,
            bias=False,
            compute_dtype=low,
            compress_statistics=double,
            quant_type="nf4",
        )
        state = quant_state(linear.weight, low, double)
        packed = torch.empty((linear.weight.numel() + 1) // 2, 1, dtype=torch.uint8)
        weight = Params4bit(
            packed,
            requires_grad=False,
            quant_state=state,
            blocksize=64,
            compress_statistics=double,
            quant_type="nf4",
            bnb_quantized=True,
        )
    weight.module = layer
    layer.weight, layer.quant_state, layer.bias = weight, state, linear.bias
    return layer


def quant_state(weight, low, double):
    """Scales of blocks of 64, in bytes with scales of their own where they are quantised in turn."""
    from bitsandbytes.functional import QuantState

    blocks = (weight.numel() + 63) // 64
    common = {
        "shape": weight.shape,
        "code": torch.empty(16),
        "blocksize": 64,
        "quant_type": "nf4",
        "dtype": low,
    }
    if not double:
        return QuantState(absmax=torch.empty(blocks), **common)
    outer = QuantState(
        absmax=torch.empty((blocks + 255) // 256), code=torch.empty(256), blocksize=256, dtype=torch.float32
    )
    return QuantState(
        absmax=torch.empty(blocks, dtype=torch.uint8), offset=torch.empty(()), state2=outer, **common
    )


def state_tensors(state):
    """The tensors of a quantisation state, which are no parameters."""
    tensors = [state.absmax, state.code]
    if state.state2 is not None:
        tensors += [state.offset, state.state2.absmax, state.state2.code]
    return [tensor for tensor in tensors if tensor is not None]
