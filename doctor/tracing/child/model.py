"""The user's own model class on ``meta``, with few layers."""

import copy

DEPTHS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
BY_LAYER = (
    "layer_types",
    "sliding_window_pattern_by_layer",
    "no_rope_layers",
    "mlp_layer_types",
    "attn_type_list",
)


def text_part(values):
    """The dictionary that describes the language model: the config itself, or what it nests."""
    for name in ("text_config", "llm_config", "language_config"):
        if isinstance(values.get(name), dict):
            return values[name]
    return values


def depth_name(values):
    return next((name for name in DEPTHS if isinstance(text_part(values).get(name), int)), DEPTHS[0])


def with_depth(values, depth):
    """A config of so many layers, the first ones."""
    values = copy.deepcopy(values)
    text = text_part(values)
    text[depth_name(values)] = depth
    for name in BY_LAYER:
        if isinstance(text.get(name), list):
            text[name] = text[name][:depth]
    if isinstance(text.get("max_window_layers"), int):
        text["max_window_layers"] = min(text["max_window_layers"], depth)
    return values


def config_of(values):
    """The config object of the installed transformers. Remote code only where it was asked for."""
    from transformers import AutoConfig

    values = {
        name: value for name, value in values.items() if name not in ("torch_dtype", "dtype", "auto_map")
    }
    if CONFIG.get("trust_remote_code") and CONFIG.get("folder"):
        config = AutoConfig.from_pretrained(CONFIG["folder"], trust_remote_code=True)
        for name, value in values.items():
            setattr(config, name, value)
        return config
    values.pop("quantization_config", None)
    return AutoConfig.for_model(values.pop("model_type"), **values)


def build_model(values, plan, notes):
    """The model in training mode, all of it on ``meta``."""
    config = config_of(values)
    config.use_cache = False
    # flash-attn need not be there: its kernel is stood in for below SDPA's call, which takes the same shapes.
    attention = "eager" if plan["attention"] == "eager" else "sdpa"
    try:
        model = from_config(config, attention, plan)
    except ValueError as error:
        if "attention implementation" not in str(error):
            raise
        model = from_config(config, "eager", plan)
        if plan["attention"] == "flash_attention_2" and stand_in_for_flash(model):
            return model
        CONFIG_PLAN["attention"] = "eager"
        notes.append("transformers has no attention but eager for this model")
    return model


def from_config(config, attention, plan):
    """The class that transformers takes for a config, in the plan's type."""
    from transformers import AutoModelForCausalLM as factory

    options = {"attn_implementation": attention}
    if CONFIG.get("trust_remote_code"):
        options["trust_remote_code"] = True
    elif type(config) not in factory._model_mapping:
        from transformers import AutoModelForImageTextToText as factory
    low, before = getattr(torch, plan["dtype"]), torch.get_default_dtype()
    torch.set_default_dtype(low)
    try:
        with torch.device("meta"):
            model = factory.from_config(config, **options)
    finally:
        torch.set_default_dtype(before)
    model.tie_weights()  # on meta some releases leave two tensors of what is one
    return model.train()


def stand_in_for_flash(model):
    """Have a model without SDPA call our attention by flash's name; False in releases without that table."""
    try:
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    except ImportError:
        return False

    def attention(module, query, key, value, attention_mask, **rest):
        return fused_attention(query, key, value).transpose(1, 2), None

    ALL_ATTENTION_FUNCTIONS["flash_attention_2"] = attention
    for part in model.modules():
        if hasattr(part, "config") and getattr(part.config, "_attn_implementation", None) == "eager":
            part.config._attn_implementation = "flash_attention_2"
    return True


def decoder_layers(model, depth):
    """The name and the list of the language model's layers."""
    lists = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.ModuleList) and len(module) == depth
    ]
    lists = [pair for pair in lists if not any(word in pair[0] for word in ("vision", "visual", "audio"))]
    if not lists:
        raise RuntimeError("the model has no list of %d layers" % depth)
    return min(lists, key=lambda pair: pair[0].count("."))


def layer_index(name, prefix):
    """The layer to which a parameter belongs, None for one outside of them."""
    if prefix + "." not in name:
        return None
    first = name.split(prefix + ".", 1)[1].split(".", 1)[0]
    return int(first) if first.isdigit() else None
