"""Methods of trainers that a script overrides, and that the installed release calls in another way."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.matrix.api import bases
from doctor.rules import Hit, rule
from doctor.rules.script.subject import at, by_words, in_script, is_from, library_type, release, versions_of
from doctor.script import LOCAL

# Methods of transformers.Trainer: the argument that its loop began to give them, in which release, and how
# many it gave before.
GIVEN_SINCE = {
    "compute_loss": ("num_items_in_batch", "4.46.0", 3),
    "training_step": ("num_items_in_batch", "4.46.0", 2),
    "log": ("start_time", "4.47.0", 1),
    "_get_train_sampler": ("train_dataset", "4.52.0", 0),
}
# Given by position: an override may call it as it likes.
BY_POSITION = {"training_step", "log", "_get_train_sampler"}


@rule(
    "script/override-lacks-argument",
    "error",
    needs=("script", "packages"),
    breaks=("trainer-step", "sft-step"),
    symptoms=(
        "compute_loss() got an unexpected keyword argument 'num_items_in_batch'",
        r"re:\b(?:training_step|compute_loss|log|_get_train_sampler)\(\) takes (?:from )?\d(?: to \d)?"
        " positional arguments? but",
    ),
    cure=by_words("Add num_items_in_batch=None, or **kwargs, to the method that overrides Trainer's"),
)
def override_lacks_argument(facts: Facts) -> Iterator[Hit]:
    """A method of Trainer is overridden without an argument that Trainer gives it

    Why: Trainer calls its own methods with arguments that older releases did not give. An override written
    for those has no place for them: TypeError in the first training step.

    Fix: add the argument, with None as its default, to the method.
    """
    script, versions = facts.script, versions_of(facts)
    assert script
    for own in script.classes:
        base = library_type(script, LOCAL + own.name)
        if "transformers.Trainer" not in (base, *bases(base, versions)):
            continue
        for method in own.methods:
            name, since, before = GIVEN_SINCE.get(method.name, ("", "", 0))
            if not name or not is_from(versions.get("transformers", ""), since) or method.takes_any:
                continue
            parameters = method.parameters[1:]
            room = len(parameters) > before if method.name in BY_POSITION else name in parameters
            if room:
                continue
            yield Hit(
                title=f"{own.name}.{method.name} has no {name}, which Trainer of "
                f"{release('transformers', versions)} gives it; {since} was the first to",
                evidence=(
                    Evidence(
                        f"{own.name}.{method.name}",
                        f"({', '.join(method.parameters)})",
                        f"{name}=None",
                        at(script, method.place),
                    ),
                ),
                fixes=(in_script(f"Add {name}=None to the parameters of {method.name}"),),
            )
