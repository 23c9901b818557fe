"""Which fault it is, by who asks whom and which of the two is behind."""

from __future__ import annotations

from functools import cache
from typing import Literal

from doctor.matrix.computed import id_by_direction, is_too_old, sweeps
from doctor.matrix.rows import load_rows
from doctor.stack import STACK
from doctor.triage.lookups.asking import REMOTE, UNKNOWN, USER

STALE = "python/stale-or-other-environment"
# Libraries whose removals have an id of their own; of the others it is the fault of the code that asks.
OWN_REMOVALS = {
    "name": {"transformers", "trl", "huggingface-hub"},
    "argument": {"transformers", "trl"},
}
# Packages that fail on a newer torch, and ids that do not follow the rule.
TORCH_TOO_NEW = {
    "deepspeed": "deepspeed/too-old-for-torch",
    "bitsandbytes": "bitsandbytes/triton-ops-removed",
}
INCOMPATIBLE = {"torchao", "auto-gptq"}


def fault(asker: str, provider: str, behind: bool, what: Literal["name", "argument"]) -> str:
    """The id where somebody asks a package for a name or an argument that it lacks; ``behind``: lacks yet."""
    if asker == REMOTE and not behind:
        return "transformers/remote-code-needs-older"
    if asker in (USER, REMOTE, UNKNOWN):
        return f"{provider}/too-old" if behind else removed(provider, what)
    if provider == "torch":
        return torch_too_old(asker) if behind else TORCH_TOO_NEW.get(asker, f"{asker}/too-old-for-torch")
    if (asker, provider, behind) in known_pairs():
        return id_by_direction(asker, provider, behind, "name")
    if behind:
        return f"{provider}/too-old"
    is_its_own = asker in STACK and provider not in OWN_REMOVALS[what]
    return f"{asker}/too-old" if is_its_own else removed(provider, what)


def torch_too_old(asker: str) -> str:
    """The id where a library asks torch for what this torch does not have yet."""
    return "torchao/incompatible" if asker == "torchao" else "transformers/torch-too-old"


def removed(provider: str, what: Literal["name", "argument"]) -> str:
    """The id where code that is no library's asks for what a package dropped."""
    word = "symbol" if what == "name" else "argument"
    return f"{provider}/removed-{word}" if provider in OWN_REMOVALS[what] else f"script/removed-{word}"


@cache
def known_pairs() -> frozenset[tuple[str, str, bool]]:
    """Consumer, provider and whether the provider is behind, of every clash that is computed or written."""
    computed = {
        (clash.consumer, clash.provider, is_too_old(clash))
        for sweep in sweeps()
        for clash in sweep.clashes
        if clash.kind != "version"
    }
    written = {tuple(row.id.split("/too-old-for-")) for row in load_rows() if "/too-old-for-" in row.id}
    return frozenset(computed | {(*pair, False) for pair in written if len(pair) == 2})


def of_version(asker: str, provider: str, behind: bool) -> str:
    """The id where a package refuses another one's release."""
    if provider == "torch":
        return torch_too_old(asker) if behind else f"{asker or 'transformers'}/too-old-for-torch"
    if provider in INCOMPATIBLE:
        return f"{provider}/incompatible"
    if provider in ("transformers", "peft") and asker in ("peft", "trl", "transformers"):
        return id_by_direction(asker, provider, behind, "version")
    if behind and provider in (*STACK, "datasets"):
        return f"{provider}/too-old"
    known = f"{provider}/too-{'old' if behind else 'new'}"
    return known if known in version_ids() else "python/requirement-unsatisfied"


@cache
def version_ids() -> frozenset[str]:
    """Ids of packages that are too old or too new for another."""
    computed = {
        id_by_direction(clash.consumer, clash.provider, is_too_old(clash), clash.kind)
        for sweep in sweeps()
        for clash in sweep.clashes
        if clash.kind == "version"
    }
    return frozenset(computed | {row.id for row in load_rows() if row.id.endswith(("/too-old", "/too-new"))})
