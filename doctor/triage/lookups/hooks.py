"""Methods that transformers calls of classes that are not its own, with arguments that they do not take."""

from __future__ import annotations

from doctor.findings import Fix
from doctor.matrix.api_table import package_of
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.asking import USER, Asker
from doctor.triage.lookups.attributes import classes_named
from doctor.triage.lookups.messages import WrongCall

# Methods of a trainer that people override.
HOOKS = frozenset(
    """
    compute_loss log get_batch_samples training_step evaluate prediction_step evaluation_loop create_optimizer
    create_scheduler get_train_dataloader get_eval_dataloader _get_train_sampler _get_eval_sampler
    _maybe_log_save_evaluate _save_checkpoint _load_from_checkpoint _inner_training_loop optimizer_step
    floating_point_ops store_flos save_model _prepare_inputs
    """.split()
)
# Methods of models and tokenizers, whose code may come with the checkpoint.
OF_REMOTE_CODE = frozenset(
    """
    _pad _set_gradient_checkpointing _extract_past_from_model_output _prepare_generation_config _reorder_cache
    get_usable_length _update_causal_mask build_inputs_with_special_tokens tie_weights
    _get_initial_cache_position _supports_default_dynamic_cache gradient_checkpointing_enable
    """.split()
)


def of_a_hook(
    shape: WrongCall, owners: tuple[str, ...], asker: Asker, complaint: Complaint, case: Case
) -> tuple[Suspicion, ...]:
    """A method that transformers calls with more than an override of it takes."""
    owner, _, method = shape.callable.rpartition(".")
    if method not in HOOKS | OF_REMOTE_CODE or asker.who == USER:
        return ()
    if any(package_of(one) == "transformers" for one in owners) and asker.who != "transformers":
        return ()
    if method in OF_REMOTE_CODE:
        known = bool(classes_named(owner))
        return () if known else (hook("transformers/remote-code-needs-older", shape, complaint, case),)
    if any(package_of(one) == "trl" for one in classes_named(owner)):
        return (hook("trl/too-old-for-transformers", shape, complaint, case),)
    if method in HOOKS and not classes_named(owner):
        return (hook("script/override-lacks-argument", shape, complaint, case),)
    return ()


TITLES = {
    "transformers/remote-code-needs-older": "{callable} of the model's code lacks what transformers passes",
    "trl/too-old-for-transformers": "{callable} of this trl lacks what transformers passes",
    "script/override-lacks-argument": "{callable} overrides a method and lacks what transformers passes",
}


def hook(id: str, shape: WrongCall, complaint: Complaint, case: Case) -> Suspicion:
    """A method of another's that transformers calls with a new argument."""
    lacks = f" ({shape.keyword})" if shape.keyword else ""
    fixes = {
        "transformers/remote-code-needs-older": Fix(
            "Take the newest revision of the checkpoint, or the transformers that its card names"
        ),
        "trl/too-old-for-transformers": Fix("Upgrade trl, or go back to the transformers of its time"),
        "script/override-lacks-argument": Fix(
            f"Add {shape.keyword or '**kwargs'} to the override, and hand it on", scope="script"
        ),
    }
    told = telling.finding(
        id,
        "likely",
        TITLES[id].format(callable=shape.callable) + lacks,
        (telling.seen(complaint), telling.stated("transformers", "", case)),
        (fixes[id],),
        why="transformers passes arguments to this method that releases before it did not.",
        breaks=("trainer-step", "sft-step"),
    )
    return Suspicion(told, complaint.line)
