"""What a script does with a model, call by call: quantised, wrapped in adapters, moved, trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from doctor.facts import Facts
from doctor.findings import Confidence, Evidence
from doctor.matrix.api import canonical
from doctor.rules import Hit, rule
from doctor.rules.script.subject import (
    at,
    by_words,
    calls_of,
    in_script,
    is_before,
    is_from,
    is_patched,
    library_type,
    literal,
    release,
    seen,
    short,
    target_of,
    versions_of,
)
from doctor.script import Call, Made, Place, Script, Value

# The first release of trl that refuses a peft_config beside a model that is wrapped already.
REFUSES_TWO_ADAPTERS = {
    "trl.SFTTrainer": "0.27.0",
    "trl.DPOTrainer": "0.27.0",
    "trl.RewardTrainer": "0.27.0",
    "trl.GRPOTrainer": "0.27.0",
    "trl.RLOOTrainer": "0.27.0",
    "trl.KTOTrainer": "1.8.0",
}
TRAINERS = ("transformers.Trainer", "transformers.Seq2SeqTrainer")
BITS = ("load_in_4bit", "load_in_8bit")
PREPARES = "prepare_model_for_kbit_training"


def call_of(script: Script, one: Made) -> Call | None:
    """The call that made an object."""
    return next((call for call in script.calls if call.number == one.call), None)


def model_of(call: Call) -> Value | None:
    """The model that a trainer is given."""
    given = call.argument("model", 0)
    return given.value if given and not given.guarded else None


def is_wrapped(script: Script, value: Value) -> bool:
    """Is every possibility that was followed a model with adapters?"""
    types = [library_type(script, one.type) for one in value.made]
    return bool(types) and all(type.startswith("peft.") and "PeftModel" in type for type in types)


def bits_of(script: Script, one: Made) -> str:
    """By which setting a model was loaded quantised for certain: "load_in_4bit"; "" where it was not."""
    call = call_of(script, one)
    if call is None or call.guarded:
        return ""
    if call.callable.rpartition(".")[2].startswith("prepare_model_for") and call.arguments:
        inner = call.arguments[0].value.made
        return bits_of(script, inner[0]) if len(inner) == 1 else ""
    direct = next((name for name in BITS if is_switched_on(call, name)), "")
    config = call.argument("quantization_config")
    if direct or config is None or config.conditional or not config.value.complete:
        return direct
    makers = [maker for part in config.value.made if (maker := call_of(script, part))]
    if len(makers) != 1 or canonical(makers[0].callable) != "transformers.BitsAndBytesConfig":
        return ""
    return next((name for name in BITS if literal(makers[0].argument(name)) is True), "")


def is_switched_on(call: Call, name: str) -> bool:
    """Is a switch of a call on, on every path?"""
    given = call.argument(name)
    return given is not None and not given.conditional and literal(given) is True


def loaded_quantised(script: Script, value: Value) -> str:
    """The setting by which this value was loaded quantised, in every case; "" where that is not certain."""
    if not value.complete or value.constants or value.names or not value.made:
        return ""
    found = [bits_of(script, one) for one in value.made]
    return found[0] if all(found) else ""


def gets_adapters(script: Script, value: Value) -> bool:
    """Does the script put adapters into this very object?"""
    makers = {one.call for one in value.made}
    for call in script.calls:
        last = call.callable.rpartition(".")[2]
        if last in ("add_adapter", "load_adapter") and makers & {one.call for one in call.made_by}:
            return True
    return False


@rule(
    "script/adapters-twice",
    "error",
    needs=("script", "packages"),
    breaks=("sft-step",),
    symptoms=("You passed a `PeftModel` instance together with a `peft_config`",),
    cure=by_words("Give the model that has adapters without peft_config, or the plain model with it"),
)
def adapters_twice(facts: Facts) -> Iterator[Hit]:
    """A model that has adapters already is given to a trainer together with a peft_config

    Why: newer trl refuses to guess which of the two adapters is meant and raises ValueError, where older
    releases took the model as it was or wrapped it a second time.

    Fix: leave peft_config out of the trainer, or give it the model without adapters.
    """
    script, versions = facts.script, versions_of(facts)
    assert script
    for call in calls_of(script, *REFUSES_TWO_ADAPTERS):
        target = target_of(script, call)
        name = canonical(target.name) if target else ""
        config, model = call.argument("peft_config"), model_of(call)
        refuses = is_from(versions.get("trl", ""), REFUSES_TWO_ADAPTERS[name])
        if not refuses or config is None or config.guarded or model is None or literal(config) is None:
            continue
        sure = how_sure(script, model, config.value)
        if sure:
            yield Hit(
                title=f"{short(name)} of {release(name, versions)} refuses peft_config beside "
                + ("a model that " + ("may have" if sure == "possible" else "has") + " adapters already"),
                evidence=(
                    seen(config, "no peft_config", script, short(name)),
                    *wrapping(script, model),
                    Evidence("trl", versions["trl"], f"below {REFUSES_TWO_ADAPTERS[name]}"),
                ),
                fixes=(
                    in_script(f"Leave peft_config out of {short(name)}: get_peft_model has used it already"),
                ),
                confidence=sure,
            )


def how_sure(script: Script, model: Value, config: Value) -> Confidence | None:
    """How sure it is that a trainer gets a wrapped model and a config; None where it is not the case."""
    if is_wrapped(script, model):
        return "confirmed" if model.complete and (config.complete or config.made) else "likely"
    # The name is bound nowhere in this text, as in an excerpt; what wraps a model there may be meant.
    wraps = any(call.callable.rpartition(".")[2] == "get_peft_model" for call in script.calls)
    return "possible" if not model.bound and wraps else None


def wrapping(script: Script, model: Value) -> Iterator[Evidence]:
    """Where the model got its adapters."""
    makers = {one.call for one in model.made}
    for call in script.calls:
        wraps = call.callable.rpartition(".")[2] == "get_peft_model"
        if call.number in makers or (not model.bound and wraps):
            yield Evidence("model", short(call.callable), where=at(script, call.place))


@rule(
    "script/quantized-model-without-adapters",
    "error",
    needs=("script", "packages"),
    breaks=("trainer-step",),
    symptoms=(
        "cannot perform fine-tuning on purely quantized models",
        "re:The model you (?:want to train|are trying to fine-tune) is (?:loaded in 8-bit|quantized with)",
    ),
    cure=by_words("Wrap it by get_peft_model(model, LoraConfig(...)), or give peft_config to SFTTrainer"),
    question="Is get_peft_model called before the trainer is made, or merge_and_unload?",
)
def quantized_model_without_adapters(facts: Facts) -> Iterator[Hit]:
    """A model in 4 or 8 bits is trained without adapters

    Why: quantised weights have no gradients, so Trainer raises ValueError, cannot perform fine-tuning on
    purely quantized models.

    Fix: wrap the model by get_peft_model, or give peft_config to SFTTrainer.

    Verify: model.print_trainable_parameters() shows some, and isinstance(model, PeftModel) holds.

    Tried in vain: reinstalling bitsandbytes or transformers; merge_and_unload before training.
    """
    script, versions = facts.script, versions_of(facts)
    assert script
    for call in calls_of(script, *TRAINERS, "trl.SFTTrainer"):
        model, config = model_of(call), call.argument("peft_config")
        given = config is not None and literal(config) is not None
        if model is None or call.unfollowed or given or is_before(versions.get("transformers", ""), "4.34.0"):
            continue
        bits = loaded_quantised(script, model)
        if bits and not gets_adapters(script, model):
            name = short(call.callable)
            yield Hit(
                title=f"{name} is to train a model loaded by {bits}, and nothing gives it adapters",
                evidence=(
                    Evidence(name, "no adapters", "get_peft_model or peft_config", at(script, call.place)),
                    *(Evidence("model", bits, where=at(script, place)) for place in loads(script, model)),
                ),
                fixes=(in_script("Wrap the model: model = get_peft_model(model, LoraConfig(...))"),),
            )


def loads(script: Script, model: Value) -> Iterator[Place]:
    """Where a model was loaded."""
    for one in model.made:
        call = call_of(script, one)
        if call:
            yield call.place


@rule(
    "script/quantized-model-moved",
    "error",
    needs=("script", "packages"),
    symptoms=(
        r"re:is not supported for \W?(?:4-bit|8-bit|quantized|HQQ)",
        "You cannot cast a bitsandbytes model in a new `dtype`",
        "move a 8-bit model across devices using to()",
    ),
    cure=by_words('Leave the call out: device_map={"": 0} when loading says where, torch_dtype the type'),
    question="Who calls .to(), .cuda(), .half() or .float() on the model: the script or a library?",
)
def quantized_model_moved(facts: Facts) -> Iterator[Hit]:
    """A quantised model is moved or cast

    Why: a model in 8 bits, and with older releases one in 4 bits too, stands where it was loaded, and
    transformers raises ValueError when it is asked to move or to change its type.

    Fix: leave the call out. When loading, say by device_map where the model goes, by torch_dtype its type.
    """
    script, versions = facts.script, versions_of(facts)
    assert script
    told: set[tuple[str, int]] = set()
    for call in script.calls:
        method = call.callable.rpartition(".")[2]
        if method not in ("to", "cuda", "half", "float") or call.guarded or not call.made_by:
            continue
        bits = loaded_quantised(script, Value(made=call.made_by, complete=True))
        key = method, call.place.line
        if bits and key not in told and is_refused(method, call, bits, versions):
            told.add(key)
            device = 'device_map={"": 0}' if method in ("to", "cuda") else "torch_dtype"
            refuses = f"which {release('transformers', versions)} refuses"
            yield Hit(
                title=f"A model loaded by {bits} is asked to .{method}(), {refuses}",
                evidence=(
                    Evidence("model", f".{method}()", f"{device} when loading", at(script, call.place)),
                ),
                fixes=(in_script(f"Leave .{method}() out, and give {device} to from_pretrained"),),
            )


def is_refused(method: str, call: Call, bits: str, versions: Mapping[str, str]) -> bool:
    """Do these releases refuse to move or cast such a model?"""
    transformers, bitsandbytes = versions.get("transformers", ""), versions.get("bitsandbytes", "")
    if method in ("half", "float"):
        return is_before(transformers, "5.0.0")
    names = [name for one in call.arguments for name in one.value.names]
    casts = call.argument("dtype") or any(name.startswith("torch.") for name in names)
    if casts and method == "to":
        return True
    if is_before(transformers, "4.45.0"):
        return True
    if bits == "load_in_8bit":
        return method == "cuda" or is_before(transformers, "5.0.0") or is_before(bitsandbytes, "0.48.0")
    return is_before(bitsandbytes, "0.43.2") and is_before(transformers, "5.0.0")


@rule(
    "script/quantization-config-conflict",
    "error",
    needs=("script", "packages"),
    symptoms=(
        "re:You can.t pass `load_in_4bit` ?or `load_in_8bit` as a kwarg",
        "load_in_4bit and load_in_8bit are both True",
    ),
    cure=by_words("Leave load_in_4bit and load_in_8bit out beside quantization_config"),
)
def quantization_config_conflict(facts: Facts) -> Iterator[Hit]:
    """A model is loaded with quantization_config and with load_in_4bit or load_in_8bit

    Why: the two say the same thing twice, and transformers refuses to choose: ValueError.

    Fix: leave load_in_4bit and load_in_8bit out of from_pretrained.
    """
    script, versions = facts.script, versions_of(facts)
    assert script
    for call in script.calls:
        if call.guarded or not call.callable.endswith(".from_pretrained"):
            continue
        config = call.argument("quantization_config")
        twice = next((name for name in BITS if literal(call.argument(name)) is True), "")
        one = call.argument(twice) if twice else None
        known = "4.38.0" if is_before(versions.get("transformers", ""), "5.0.0") else ""
        if config and one and known and not config.conditional and literal(config) is not None:
            name = short(call.callable)
            if is_patched(script, call.callable) or is_before(versions.get("transformers", ""), known):
                continue
            yield Hit(
                title=f"{name} is given both quantization_config and {twice}",
                evidence=(
                    seen(config, "", script, name),
                    seen(one, f"no {twice}", script, name),
                ),
                fixes=(in_script(f"Leave {twice} out of {name}"),),
            )
    for call in calls_of(script, "transformers.BitsAndBytesConfig"):
        if all(literal(call.argument(name)) is True for name in BITS):
            places = tuple(
                seen(one, "", script, "BitsAndBytesConfig") for one in call.arguments if one.name in BITS
            )
            yield Hit(
                title="BitsAndBytesConfig is given both load_in_4bit=True and load_in_8bit=True",
                evidence=places,
                fixes=(in_script("Keep one of load_in_4bit and load_in_8bit"),),
            )
