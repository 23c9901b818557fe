"""What stands for all tiers: many plans of one model in, an estimate or the reason for none out, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from doctor.facts import Gap
from doctor.memory.estimate import Device, Estimate
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape

Estimator = Callable[[ModelShape, Sequence[Plan], Device], Iterator[Estimate | Gap]]


class Remembering:
    """An estimator that asks another one for each plan of a model once; for one device."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._known: dict[bytes, Estimate | Gap] = {}

    def __call__(self, shape: ModelShape, plans: Sequence[Plan], device: Device) -> Iterator[Estimate | Gap]:
        """In order; what is not known yet is asked for in one call, as it is needed."""
        missing = {key: plan for plan in plans if (key := _key(shape, plan)) not in self._known}
        answered = self._estimator(shape, list(missing.values()), device) if missing else iter(())
        answers = zip(missing, answered, strict=False)
        for plan in plans:
            key = _key(shape, plan)
            while key not in self._known:
                asked, answer = next(answers, (key, _nothing()))
                self._known[asked] = answer
            yield self._known[key]


def _key(shape: ModelShape, plan: Plan) -> bytes:
    return msgspec.json.encode((shape.name, plan))


def _nothing() -> Gap:
    return Gap(about="memory", kind="failed", reason="the estimator gave no answer")
