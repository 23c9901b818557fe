"""What comes out of a call of a library: which object, where that is known."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.readers.script.values import UNKNOWN, joined, made
from doctor.script import Argument, Made, Value

# They hand back the object that they are called on.
SAME_OBJECT = {"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_"}
# They hand back what they are given first, changed or wrapped.
SAME_AS_FIRST = {
    "accelerate.Accelerator.unwrap_model",
    "accelerate.Accelerator.prepare_model",
    "accelerate.dispatch_model",
}
PREPARES = {
    "prepare_model_for_kbit_training",
    "prepare_model_for_int8_training",
    "prepare_model_for_training",
}
PARSES = {
    "parse_args_into_dataclasses",
    "parse_args_and_config",
    "parse_json_file",
    "parse_yaml_file",
    "parse_dict",
}
PEFT_MODEL = "peft.PeftModel"


def result_of(name: str, number: int, owners: tuple[Made, ...], arguments: tuple[Argument, ...]) -> Value:
    """The value of one call by the full name of what is called."""
    owner, _, last = name.rpartition(".")
    positional = [one.value for one in arguments if one.way == "positional"]
    first = positional[0] if positional else keyword(arguments, "model")
    if last[:1].isupper() and not owners:
        return parser(number, first) if last in ("HfArgumentParser", "TrlParser") else made(name, number)
    if last.startswith(("from_pretrained", "from_config")) and not owners:
        return from_pretrained(owner, number)
    if last == "get_peft_model":
        return made(PEFT_MODEL, number)
    if last in PREPARES:
        return made(first.made[0].type if len(first.made) == 1 else "", number)
    if last in SAME_OBJECT and owners:
        return Value(made=owners, complete=True)
    if last == "setup_chat_format" and len(positional) > 1:
        return Value(items=tuple(positional[:2]), complete=True)
    if name == "accelerate.Accelerator.prepare":
        return Value(items=tuple(positional), complete=True) if len(positional) > 1 else first
    return first if name in SAME_AS_FIRST else UNKNOWN


def keyword(arguments: tuple[Argument, ...], name: str) -> Value:
    """The value of one keyword, unknown where it is not given."""
    return next((one.value for one in arguments if one.name == name), UNKNOWN)


def from_pretrained(owner: str, number: int) -> Value:
    """An object of the class, save where the library gives two."""
    if owner.startswith("unsloth."):
        return Value(items=(made(owner, number), made("", number)), complete=True)
    return made(owner, number)


def parser(number: int, dataclasses: Value) -> Value:
    """A parser that remembers the classes which it will fill, as its items."""
    classes = dataclasses.items or (dataclasses,)
    items = tuple(
        joined_objects(tuple(Made(type=name, call=number) for name in one.names)) for one in classes
    )
    return replace(made("transformers.HfArgumentParser", number), items=items)


def joined_objects(objects: tuple[Made, ...]) -> Value:
    """One of several objects."""
    found = UNKNOWN
    for one in objects:
        value = Value(made=(one,), complete=True)
        found = value if found is UNKNOWN else joined(found, value)
    return found
