"""Trainers and the configurations that they are given."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Confidence, Evidence
from doctor.matrix.api import canonical
from doctor.rules import Hit, rule
from doctor.rules.script.models import PREPARES, call_of, is_wrapped, model_of
from doctor.rules.script.subject import (
    at,
    by_words,
    calls_of,
    in_script,
    is_before,
    is_from,
    library_type,
    literal,
    release,
    seen,
    short,
    target_of,
    versions_of,
)
from doctor.script import Argument, Call, Script

PLAIN = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")
NO_FIELD = "'TrainingArguments' object has no attribute 'model_init_kwargs'"
# The configuration that a trainer of trl reads, the first release that fails with TrainingArguments, and
# in which words. SFTTrainer turns them into an SFTConfig.
OWN_CONFIG = {
    "trl.DPOTrainer": ("DPOConfig", "0.9.2", NO_FIELD),
    "trl.KTOTrainer": ("KTOConfig", "0.8.0", "Please use `KTOConfig` instead"),
    "trl.ORPOTrainer": ("ORPOConfig", "0.8.2", NO_FIELD),
    "trl.CPOTrainer": ("CPOConfig", "0.8.2", NO_FIELD),
    "trl.GRPOTrainer": ("GRPOConfig", "0.14.0", NO_FIELD),
    "trl.RLOOTrainer": ("RLOOConfig", "0.22.0", NO_FIELD),
    "trl.RewardTrainer": ("RewardConfig", "0.14.0", NO_FIELD),
}


@rule(
    "script/plain-training-arguments",
    "error",
    needs=("script", "packages"),
    symptoms=(
        r"re:'(?:Seq2Seq)?TrainingArguments' object has no attribute '(?:model_init_kwargs|padding_value|beta"
        r"|loss_type|max_length|max_prompt_length|dataset_num_proc|max_seq_length|packing|dataset_text_field)'",
    ),
    cure=by_words("Make the trainer's own configuration: SFTConfig, DPOConfig, KTOConfig"),
)
def plain_training_arguments(facts: Facts) -> Iterator[Hit]:
    """A trainer of trl is given TrainingArguments, and reads settings that only its own configuration has

    Why: DPOTrainer, KTOTrainer and their like read fields of DPOConfig, KTOConfig and so on, which
    TrainingArguments lacks: AttributeError while the trainer is made.

    Fix: make the trainer's own configuration; it takes all that TrainingArguments takes.
    """
    script, versions = facts.script, versions_of(facts)
    assert script
    for call in calls_of(script, *OWN_CONFIG):
        target = target_of(script, call)
        name = canonical(target.name) if target else ""
        config, since, message = OWN_CONFIG[name]
        given = call.argument("args", 1)
        if given is None or given.guarded or not is_from(versions.get("trl", ""), since):
            continue
        sure = is_plain(script, given)
        if sure:
            yield Hit(
                title=f"{short(name)} of {release(name, versions)} needs a {config}, and args is a "
                "TrainingArguments",
                evidence=(
                    Evidence(short(name), f"args={given.text}", config, at(script, given.place)),
                    Evidence("Python", message),
                ),
                fixes=(in_script(f"Make {config}(...) in place of TrainingArguments(...)"),),
                confidence=sure,
            )


def is_plain(script: Script, given: Argument) -> Confidence | None:
    """How sure it is that a configuration is plain TrainingArguments."""
    types = [library_type(script, one.type) for one in given.value.made]
    if types:
        own = any(one.type.startswith("__main__.") for one in given.value.made)
        sure: Confidence = "confirmed" if given.value.complete else "likely"
        return sure if all(type in PLAIN for type in types) and not own else None
    # The name is bound nowhere in this text; the only configuration that it makes is meant.
    made = {canonical(call.callable) for call in script.calls}
    others = [name for name in made if name.endswith(("Config", "Arguments")) and name.startswith("trl.")]
    return "likely" if not given.value.bound and made & set(PLAIN) and not others else None


@rule(
    "script/inputs-do-not-require-grad",
    "error",
    needs=("script", "packages"),
    breaks=("trainer-step",),
    symptoms=("element 0 of tensors does not require grad", "None of the inputs have requires_grad=True"),
    cure=by_words(
        "Call model.enable_input_require_grads() before get_peft_model",
        'Or give gradient_checkpointing_kwargs={"use_reentrant": False}',
    ),
    question="Is gradient checkpointing on, and what does model.print_trainable_parameters() print?",
)
def inputs_do_not_require_grad(facts: Facts) -> Iterator[Hit]:
    """Gradient checkpointing runs over frozen inputs

    Why: checkpointing in its reentrant form, the default before transformers 5, keeps no graph where none of
    a block's inputs asks for a gradient. With frozen embeddings no gradient reaches the adapters.

    Fix: call model.enable_input_require_grads() before get_peft_model, or give
    gradient_checkpointing_kwargs={"use_reentrant": False}.

    Verify: the first step's grad_norm is neither 0 nor missing.

    Tried in vain: loss.requires_grad_(True), which hides that nothing is trained; reinstalling peft.
    """
    script, versions = facts.script, versions_of(facts)
    assert script
    if not is_before(versions.get("transformers", ""), "5.0.0") or lets_inputs_require_grad(script):
        return
    for call in calls_of(script, "transformers.Trainer", "transformers.Seq2SeqTrainer"):
        model, given = model_of(call), call.argument("args", 1)
        config = arguments_call(script, given) if given else None
        if model is None or config is None or not is_wrapped(script, model) or not freezes(script, call):
            continue
        switch = config.argument("gradient_checkpointing")
        if switch and literal(switch) is True and not config.argument("gradient_checkpointing_kwargs"):
            yield Hit(
                title="gradient_checkpointing=True over a model with adapters whose inputs are frozen",
                evidence=(seen(switch, "", script, short(config.callable)),),
                fixes=(
                    in_script("Call model.enable_input_require_grads() before get_peft_model"),
                    in_script('Give gradient_checkpointing_kwargs={"use_reentrant": False}'),
                ),
                confidence="likely",
            )


def arguments_call(script: Script, given: Argument) -> Call | None:
    """The one call that made a trainer's configuration."""
    made = given.value.made
    call = call_of(script, made[0]) if len(made) == 1 and given.value.complete else None
    return call if call and not call.unfollowed and canonical(call.callable) in PLAIN else None


def lets_inputs_require_grad(script: Script) -> bool:
    """Does the script do, anywhere, what makes checkpointing work over frozen weights?"""
    cures = ("enable_input_require_grads", PREPARES, "gradient_checkpointing_enable", "register_forward_hook")
    return any(call.callable.endswith(cures) for call in script.calls)


def freezes(script: Script, trainer: Call) -> bool:
    """Were the adapters put in by get_peft_model with a LoraConfig that trains no embeddings?"""
    model = model_of(trainer)
    wrap = call_of(script, model.made[0]) if model and len(model.made) == 1 else None
    given = wrap.argument("peft_config", 1) if wrap else None
    config = call_of(script, given.value.made[0]) if given and len(given.value.made) == 1 else None
    if config is None or config.unfollowed or canonical(config.callable) != "peft.LoraConfig":
        return False
    return not any(config.argument(name) for name in ("modules_to_save", "trainable_token_indices", "bias"))
