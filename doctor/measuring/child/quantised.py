"""bitsandbytes' own layers in the place of linear ones; each is quantised as its random weight is made."""


def quantisation_config():
    """NF4 as the plan says."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=PLAN["double_quant"],
        bnb_4bit_compute_dtype=weight_dtype(),
    )


def put_4bit_layers(model):
    """A 4-bit layer, still without weights, for each linear one that transformers' loader would quantise."""
    import torch

    kept = left_in_16_bits(model)
    for path, layer in list(model.named_modules()):
        if type(layer) is torch.nn.Linear and not any(is_within(path, word) for word in kept):
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, layer_in_4bit(layer))
    mark_quantised(model)


def is_within(path, word):
    """Is a module of that path the one that a word names, or a part of it?"""
    return path == word or path.endswith("." + word) or path.startswith(word + ".")


def left_in_16_bits(model):
    """Names of the modules that transformers does not quantise, by its own list; without one, the head."""
    try:
        from transformers.quantizers.base import get_keys_to_not_convert
    except ImportError:
        try:
            from transformers.integrations import get_keys_to_not_convert
        except ImportError:
            return ["lm_head"]
    return get_keys_to_not_convert(model)


def options_of_4bit():
    """How bitsandbytes quantises, as the plan says."""
    return {"compress_statistics": PLAN["double_quant"], "quant_type": "nf4"}


def layer_in_4bit(layer):
    """bitsandbytes' layer of the same shape, with its weight on meta."""
    from bitsandbytes.nn import Linear4bit

    made = Linear4bit(
        layer.in_features,
        layer.out_features,
        False,
        compute_dtype=weight_dtype(),
        device="meta",
        **options_of_4bit(),
    )
    made.weight.data = made.weight.data.to(weight_dtype())
    made.bias = layer.bias
    return made


def packed(values, layer):
    """Random 16-bit values as a 4-bit weight: what bitsandbytes does on the way to the device."""
    from bitsandbytes.nn import Params4bit

    weight = Params4bit(values, requires_grad=False, module=layer, **options_of_4bit())
    return weight.to(training_device())


def mark_quantised(model):
    """What transformers' loader notes on a model, and peft, accelerate and the trainers look for."""
    from transformers.quantizers import AutoHfQuantizer
    from transformers.utils.quantization_config import QuantizationMethod

    settings = quantisation_config()
    model.is_loaded_in_4bit = model.is_quantized = True
    model.quantization_method = QuantizationMethod.BITS_AND_BYTES
    model.config.quantization_config = settings
    model.hf_quantizer = AutoHfQuantizer.from_config(settings)
