"""torch as it answers once it is imported."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from doctor.facts import Fact, Gap, TorchRuntime
from doctor.probes import Looks

F = TypeVar("F", bound=Fact)


def probe(looks: Looks) -> TorchRuntime | Gap:
    """What the import showed, and the look for GPUs as far as it came."""
    return details_of(looks, "torch_runtime", ("import-torch", "see-gpu"), TorchRuntime)


def details_of(looks: Looks, about: str, stages: tuple[str, ...], fact: type[F]) -> F | Gap:
    """The details of some stages, of which the first must have passed, as one fact."""
    if looks.quick:
        return Gap(about=about, kind="not-asked", reason=f"{stages[0]} is left out by {looks.left_out_by}")
    if looks.survey.result().section("interpreter") is None:
        return Gap(about=about, kind="failed", reason=looks.survey.result().trouble)
    run, *_ = [looks.stage(stage) for stage in stages]
    if run is None:
        return Gap(about=about, kind="failed", reason="the trial broke off")
    if "not installed" in run.get("blocked_by", ""):
        return Gap(about=about, kind="not-applicable", reason=run["blocked_by"])
    if run["outcome"] != "ok":
        return Gap(about=about, kind="failed", reason=run.get("blocked_by") or f"{stages[0]} failed")
    merged = {key: value for stage in stages for key, value in looks.trial.details.get(stage, {}).items()}
    try:
        return msgspec.convert(merged, fact)
    except msgspec.ValidationError as error:
        return Gap(about=about, kind="failed", reason=f"{stages[0]} answered in a form not known: {error}")
