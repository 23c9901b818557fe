"""A YAML recipe of LLaMA-Factory or axolotl -> the calls that it comes to in transformers.

Both have settings and names of their own, and check them by their own release: of a recipe, only what reaches
transformers unchanged is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from doctor.readers import Unreadable
from doctor.readers.yaml_nodes import compose, entries
from doctor.script import Argument, Call, Constant, Made, Place, Script, Value

# Keys of LLaMA-Factory that are fields of TrainingArguments in every release, with the values those have.
LLAMA_FACTORY_FIELDS = (
    "optim",
    "lr_scheduler_type",
    "save_strategy",
    "logging_strategy",
    "bf16",
    "hub_strategy",
)
# Names that axolotl hands to transformers; it has more optimizers than that.
AXOLOTL_OPTIMIZERS = ("adamw_hf", "adamw_torch", "adamw_bnb_8bit", "paged_adamw_8bit", "paged_adamw_32bit")
BITS = {4: "load_in_4bit", 8: "load_in_8bit"}

Entries = dict[str, yaml.Node]


def read_recipe(text: str, name: str) -> Script:
    """The calls of a recipe. Raises :class:`~doctor.readers.Unreadable`, also where it is no recipe."""
    keys = dict(entries(compose(text)))
    if "model_name_or_path" in keys and ("finetuning_type" in keys or "stage" in keys):
        return Script(name=name, calls=tuple(llama_factory(keys)))
    if "base_model" in keys and ("adapter" in keys or "datasets" in keys):
        return Script(name=name, calls=tuple(axolotl(keys)))
    raise Unreadable("it is neither a recipe of LLaMA-Factory nor one of axolotl")


def llama_factory(keys: Entries) -> Iterator[Call]:
    """The configuration of the trainer, and the model where it is quantised."""
    given = [argument(key, key, keys[key]) for key in LLAMA_FACTORY_FIELDS if key in keys]
    yield call(0, "transformers.Seq2SeqTrainingArguments", *given)
    bits = scalar(keys["quantization_bit"]) if "quantization_bit" in keys else None
    method = scalar(keys["finetuning_type"]) if "finetuning_type" in keys else "lora"
    if isinstance(bits, int) and bits in BITS and method in ("full", "freeze"):
        node = keys["quantization_bit"]
        flag = Argument(name=BITS[bits], value=known(True), text="True", place=place(node))
        yield call(1, "transformers.BitsAndBytesConfig", flag)
        config = Value(made=(Made(type="transformers.BitsAndBytesConfig", call=1),), complete=True)
        loading = Argument(name="quantization_config", value=config, text=str(bits), place=place(node))
        yield call(2, "transformers.AutoModelForCausalLM.from_pretrained", loading)
        model = Value(made=(Made(type="transformers.AutoModelForCausalLM", call=2),), complete=True)
        trained = Argument(name="model", value=model, text="", place=place(keys.get("finetuning_type", node)))
        yield call(3, "transformers.Trainer", trained)


def axolotl(keys: Entries) -> Iterator[Call]:
    """The configuration of the trainer."""
    given = []
    if "bf16" in keys and scalar(keys["bf16"]) is True:
        given.append(argument("bf16", "bf16", keys["bf16"]))
    if "optimizer" in keys and scalar(keys["optimizer"]) in AXOLOTL_OPTIMIZERS:
        given.append(argument("optim", "optimizer", keys["optimizer"]))
    yield call(0, "transformers.TrainingArguments", *given)


def call(number: int, name: str, *arguments: Argument) -> Call:
    """A call that a recipe comes to; it stands where its first argument stands."""
    at = arguments[0].place if arguments else Place(line=1, column=0, end_line=1, end_column=0)
    return Call(number=number, callable=name, arguments=arguments, place=at)


def argument(name: str, key: str, node: yaml.Node) -> Argument:
    """One setting as the argument that it becomes."""
    text = str(node.value) if isinstance(node, yaml.ScalarNode) else "..."
    value = scalar(node)
    followed = known(value) if value is not None else Value()
    return Argument(
        name=name, value=followed, text=text if name == key else f"{text} ({key})", place=place(node)
    )


def known(value: Constant) -> Value:
    """A value that is certain."""
    return Value(constants=(value,), complete=True)


def scalar(node: yaml.Node) -> Constant:
    """The truth value, number or string of a plain node; None of any other."""
    if not isinstance(node, yaml.ScalarNode):
        return None
    text, tag = str(node.value), node.tag.rpartition(":")[2]
    if tag == "bool":
        return text.lower() in ("true", "yes", "on")
    if tag == "int":
        return int(text) if text.isdecimal() else None
    return text if tag == "str" else None


def place(node: yaml.Node) -> Place:
    """Where a node stands."""
    start, end = node.start_mark, node.end_mark
    return Place(line=start.line + 1, column=start.column, end_line=end.line + 1, end_column=end.column)
