"""The user's own model class with weights of the true shapes: its own where those are at hand, or random."""

import contextlib
import inspect

SPREAD = 0.02  # of random weights, as transformers' own initializer_range


def training_device():
    """ "cuda:0" or "cpu", as asked."""
    return "cuda:0" if CONFIG["device"] == "cuda" else "cpu"


def weight_dtype():
    """The type of what is not quantised."""
    import torch

    return getattr(torch, PLAN["dtype"])


def model_config():
    """The configuration as its own class reads it. Remote code is never run."""
    from transformers import AutoConfig

    told = {name: value for name, value in CONFIG["config"].items() if name not in NOT_OF_THE_SHAPE}
    config = AutoConfig.for_model(told.pop("model_type"), **told)
    config.use_cache = False
    return config


# How weights lie on the hub, and who may be asked for code: neither changes what is built.
NOT_OF_THE_SHAPE = ("quantization_config", "auto_map", "torch_dtype", "dtype", "transformers_version")


def model_class(config):
    """The automatic class that knows this configuration: of language models, else of those that see."""
    import transformers

    if type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        return transformers.AutoModelForCausalLM
    return transformers.AutoModelForImageTextToText


def dtype_option():
    """The weights' type under this release's name for it: ``torch_dtype`` up to transformers 4.55."""
    from transformers import PretrainedConfig

    name = "torch_dtype" if "torch_dtype" in PretrainedConfig().to_dict() else "dtype"
    return {name: weight_dtype()}


def load_model():
    """The base model on the device, in the type or the four bits of the plan."""
    import torch

    torch.manual_seed(0)
    model = stored_model() if CONFIG.get("weights") else made_model()
    model.config.use_cache = False
    return model


def stored_model():
    """The weights that lie in the model's folder, by transformers' own loader."""
    import transformers

    options = dict(dtype_option(), attn_implementation=PLAN["attention"], local_files_only=True)
    if PLAN["method"] == "qlora":
        options["quantization_config"] = quantisation_config()
    kind = model_class(transformers.AutoConfig.from_pretrained(CONFIG["weights"], local_files_only=True))
    return kind.from_pretrained(CONFIG["weights"], device_map={"": training_device()}, **options)


def made_model():
    """Random weights, made where they are needed, each matrix once and as late as a loader would."""
    import torch

    config = model_config()
    with torch.device(training_device()), matrices_on_meta():
        model = model_class(config).from_config(
            config, attn_implementation=PLAN["attention"], **dtype_option()
        )
    if PLAN["method"] == "qlora":
        put_4bit_layers(model)
    warm_up(model)
    made = {}
    for layer in model.modules():
        fill(layer, made)
    return model.train()


def warm_up(model):
    """What transformers takes of a GPU at once before it loads (from 4.50 on), by its own function."""
    from transformers import modeling_utils

    warm = getattr(modeling_utils, "caching_allocator_warmup", None)
    if warm is None or CONFIG["device"] == "cpu":
        return
    places = {name: torch_device() for name, weight in model.named_parameters() if weight.is_meta}
    with contextlib.suppress(TypeError, AttributeError):  # releases differ in what they ask for
        warm(model, places, getattr(model, "hf_quantizer", None))


def torch_device():
    """The training device as torch's own object."""
    import torch

    return torch.device(training_device())


def fill(layer, made):
    """Random weights for what a layer has on meta; a tied one, which ``made`` knows, is not made again."""
    import torch

    for name, weight in list(layer.named_parameters(recurse=False)):
        if not weight.is_meta:
            continue
        if id(weight) not in made:
            values = torch.empty(weight.shape, dtype=weight.dtype, device=training_device())
            values.normal_(0.0, SPREAD)
            is_packed = type(weight).__name__ == "Params4bit"
            made[id(weight)] = packed(values, layer) if is_packed else torch.nn.Parameter(values)
        setattr(layer, name, made[id(weight)])


@contextlib.contextmanager
def matrices_on_meta():
    """Let linear layers and embeddings be made without weights, so that none is there before its turn."""
    import torch

    kinds = (torch.nn.Linear, torch.nn.Embedding)
    makers = [kind.__init__ for kind in kinds]
    for kind in kinds:
        kind.__init__ = on_meta(kind.__init__)
    try:
        yield
    finally:
        for kind, make in zip(kinds, makers):
            kind.__init__ = make


def on_meta(make):
    """A layer's constructor, with the device meta whatever was asked for."""
    names = inspect.signature(make)

    def make_on_meta(self, *arguments, **options):
        told = names.bind(self, *arguments, **options).arguments
        make(**dict(told, device="meta"))

    return make_on_meta
