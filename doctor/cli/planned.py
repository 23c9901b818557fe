"""What ``check --plan`` adds: the plan of a file, its peak on this machine, what would make it smaller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from doctor.cli.output import refuse
from doctor.host import Host, LocalHost
from doctor.workload import Relief, Workload

if TYPE_CHECKING:
    from doctor.facts import Facts, Gap
    from doctor.memory.estimate import Device, Estimate
    from doctor.memory.plan import Asked
    from doctor.memory.shapes import ModelShape
    from doctor.target import Target

MOST_RELIEFS = 6


class Planned:
    """A plan file and the model that it is about."""

    def __init__(self, host: LocalHost, path: str, model: str | None) -> None:
        """Leaves with 2 for a file that states no plan, and for a model that is not there."""
        from doctor.cli.lint import plainly
        from doctor.model_files import ModelNotFound, find
        from doctor.plan_files import PlanUnread, asked_in
        from doctor.readers.model_config import ConfigInvalid

        self.host, self.path = host, path
        try:
            asked = asked_in(host, path, {})
            word = model or asked.model
            if not word:
                refuse(f"{plainly(host, path)} does not say which model", "name it with --model")
            self.shape: ModelShape = find(host, word)
        except (PlanUnread, ModelNotFound, ConfigInvalid) as error:
            refuse(plainly(host, str(error)), error.hint)

    def workload(self, facts: Facts, target: Target, *, traces: bool) -> Workload | Gap:
        """The peak, held against the GPU with the most memory free; a gap where there is no estimate."""
        from doctor.facts import Gap
        from doctor.memory.device import emptiest
        from doctor.memory.estimate import Device
        from doctor.memory.validity import PlanInvalid
        from doctor.plan_files import PlanUnread, asked_in

        installed = facts.packages.installed if facts.packages else {}
        versions = {name: package.version for name, package in installed.items() if package.version}
        device = emptiest(facts.gpus) if facts.gpus else Device()
        tiers = Tiers(self.host, target, versions, traces=traces)
        try:
            return workload_of(self, asked_in(self.host, self.path, versions), tiers, device)
        except (PlanUnread, PlanInvalid) as error:
            return Gap(about="workload", kind="failed", reason=f"{error}: {error.hint}")
        except Exception as error:  # as of a probe: a fault of ours is a gap, never the end of the check
            reason = f"the estimate failed: {type(error).__name__}: {error}"
            return Gap(about="workload", kind="failed", reason=reason)


class Tiers:
    """The estimators of a target: the trace where it is wanted and can be had, else the formula."""

    def __init__(self, host: Host, target: Target, versions: Mapping[str, str], *, traces: bool) -> None:
        from doctor.estimating import Estimators

        self.versions, self.traces = versions, traces
        self.both = Estimators(host, target, versions)

    def estimate(self, shape: ModelShape, asked: Asked, device: Device) -> tuple[Estimate | Gap, str]:
        """The estimate, and why it is not a trace where one was wanted."""
        from doctor.memory.estimate import Estimate

        missing = self.both.lacks(asked.plan)
        why = f"Not traced: {', '.join(missing)} is not installed." if missing else ""
        if self.traces and not missing:
            answer = next(self.both.trace(shape, [asked.plan], device))
            if isinstance(answer, Estimate):
                return answer, ""
            why = f"Not traced: {answer.reason}."
        return next(self.both.formula(shape, [asked.plan], device)), why if self.traces else ""


def workload_of(planned: Planned, asked: Asked, tiers: Tiers, device: Device) -> Workload | Gap:
    """The estimate of a plan as a fact; the gap where there is none."""
    from doctor.facts import Gap
    from doctor.memory.settling import assumptions
    from doctor.memory.validity import remarks
    from doctor.render.fit_words import PHASES, plan_line

    shape, plan = planned.shape, asked.plan
    estimate, why = tiers.estimate(shape, asked, device)
    if isinstance(estimate, Gap):
        return Gap(about="workload", kind=estimate.kind, reason=estimate.reason)
    moment = estimate.moment
    notes = (*asked.assumed, *assumptions(plan, tiers.versions, shape.model_type), *remarks(plan, shape))
    return Workload(
        source=planned.path,
        model=shape.name,
        plan=plan_line(estimate.plan),
        tier=estimate.tier,
        needed_bytes=estimate.peak_bytes,
        error=estimate.error,
        device=device.name,
        free_bytes=device.free_bytes,
        total_bytes=device.total_bytes,
        holders=device.others,
        moment=f"{PHASES[moment.phase]}, in {moment.module}" if moment.module else PHASES[moment.phase],
        parts={name: part.amount_bytes for name, part in estimate.parts.items()},
        reliefs=tuple(reliefs(shape, estimate, tiers, device)),
        assumed=tuple(dict.fromkeys((*filter(None, [why]), *notes, *estimate.notes))),
    )


def reliefs(shape: ModelShape, estimate: Estimate, tiers: Tiers, device: Device) -> Iterator[Relief]:
    """What would help a plan that does not surely fit, in the order of what it costs."""
    from doctor.memory.levers import savings
    from doctor.memory.verdict import verdict

    if verdict(estimate, device) not in ("tight", "does-not-fit"):
        return
    noticed = [one for one in savings(shape, estimate, device, tiers.both.formula) if one.noticeable]
    for one in noticed[:MOST_RELIEFS]:
        yield Relief(title=one.title, cost=one.cost, saves_bytes=one.saves_bytes, fits=one.verdict == "fits")
