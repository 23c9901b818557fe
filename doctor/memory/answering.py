"""From a model, a plan and a device to the whole answer."""

from __future__ import annotations

from doctor.fact import Fact
from doctor.facts import Gap
from doctor.memory.answer import Answer, Best, Model
from doctor.memory.estimate import Device, Estimate
from doctor.memory.estimator import Estimator, Remembering
from doctor.memory.levers import pulled, savings
from doctor.memory.plan import Plan
from doctor.memory.search import best
from doctor.memory.shapes import ModelShape
from doctor.memory.table import grid, points
from doctor.memory.verdict import on_tiers, verdict

UNADVISED = "What would make it smaller could not be estimated."


class Unestimated(Exception):
    """No estimate could be had; the message says why, ``is_of_plan`` whether the plan itself is at fault."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(gap.reason)
        self.is_of_plan = gap.about == "plan"


class Question(Fact, frozen=True, kw_only=True):
    """What is asked of one model."""

    shape: ModelShape
    plan: Plan
    pinned: tuple[str, ...] = ()  # fields of the plan that a search leaves alone
    device: Device
    searched: bool = False  # the best plan that fits takes the place of the plan
    best: bool = False  # tell it beside the plan
    table: bool = False


def answered(question: Question, sure: Estimator, quick: Estimator, levers: Estimator | None) -> Answer:
    """The answer: ``sure`` gives the estimates that are told, ``quick`` finds the way in a search.

    ``levers`` gives the differences that advice speaks of; it may be one of the two.
    Raises :class:`Unestimated`.
    """
    shape, device = question.shape, question.device
    known = Remembering(sure)
    found = _searched(question, known, quick)
    taken = (found.estimate or found.nearest) if found and question.searched else None
    estimate = taken or _estimated(question, known, also_levers=levers is sure)
    advising = known if levers is sure else levers
    advice = tuple(savings(shape, estimate, device, advising)) if advising else ()
    return Answer(
        model=Model.of(shape),
        estimate=estimate,
        device=device,
        verdict=verdict(estimate, device),
        searched=taken is not None,
        tiers=on_tiers(estimate) if device.free_bytes is None else {},
        advice=advice,
        best=found,
        table=grid(shape, estimate.plan, device, known) if question.table else (),
        notes=(UNADVISED,) if advising and not advice else (),
    )


def _searched(question: Question, sure: Estimator, quick: Estimator) -> Best | None:
    """The best plan that fits; None where it is not asked for, or where nothing says into what."""
    if question.device.free_bytes is None or not (question.searched or question.best):
        return None
    return best(question.shape, question.plan, question.pinned, question.device, quick, sure)


def _estimated(question: Question, estimator: Estimator, *, also_levers: bool) -> Estimate:
    """The estimate of the plan; what else will be asked of the estimator goes along: it starts once."""
    plan, shape = question.plan, question.shape
    others: list[Plan] = [one for _, one in pulled(plan)] if also_levers else []
    others += points(shape, plan) if question.table else []
    answer, *_ = estimator(shape, [plan, *others], question.device)
    if isinstance(answer, Estimate):
        return answer
    raise Unestimated(answer)
