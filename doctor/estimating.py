"""The estimators of one target: the formula tier, and the trace where the target has what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from doctor.facts import Gap
from doctor.host import Host
from doctor.memory.estimate import Device, Estimate
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.stream import Stream
from doctor.target import Target

TRACED = ("torch", "transformers")  # what a trace needs of its target, and PEFT for an adapter


def failed(tier: str, error: Exception) -> Gap:
    """What is told of a tier that failed by itself."""
    return Gap(about=tier, kind="failed", reason=f"the {tier} failed: {type(error).__name__}: {error}")


class Estimators:
    """Both tiers for one target. Every plan is settled by the target's versions first."""

    def __init__(
        self,
        host: Host,
        target: Target | None,
        versions: Mapping[str, str],
        *,
        trusted: bool = False,
    ) -> None:
        """``trusted``: a model's own code may run."""
        self.host, self.target, self.versions, self.trusted = host, target, versions, trusted

    def lacks(self, plan: Plan) -> tuple[str, ...]:
        """The packages that a trace of this plan would need and the target has not."""
        needed = TRACED if plan.method == "full" else (*TRACED, "peft")
        needed = (*needed, "bitsandbytes") if plan.method == "qlora" else needed
        return tuple(name for name in needed if name not in self.versions)

    def settled(self, plan: Plan, shape: ModelShape) -> Plan:
        """The plan as these versions carry it out."""
        from doctor.memory.settling import settled

        return settled(plan, self.versions, shape.model_type)

    def formula(self, shape: ModelShape, plans: Sequence[Plan], device: Device) -> Iterator[Estimate | Gap]:
        """Estimates without torch."""
        from doctor.memory import formula
        from doctor.memory.validity import PlanInvalid

        shape = self._as_kept(shape)
        for plan in plans:
            try:
                yield self._shared(formula.estimate(shape, self.settled(plan, shape), device), shape)
            except PlanInvalid as error:
                yield Gap(about="plan", kind="not-applicable", reason=f"{error}. {error.hint}")
            except Exception as error:  # a fault of ours costs this tier, never the answer
                yield failed("formula", error)

    def _as_kept(self, shape: ModelShape) -> ModelShape:
        """The shape as the target keeps experts: transformers stacks them from 5.0 on, unquantised."""
        from doctor.memory.shapes import unfused
        from doctor.versions import comparable

        installed = comparable(self.versions.get("transformers", ""))
        return unfused(shape) if installed and installed.major < 5 else shape

    def trace(self, shape: ModelShape, plans: Sequence[Plan], device: Device) -> Iterator[Estimate | Gap]:
        """Estimates from a trace of the target's own model class, one child for all plans."""
        settled = [self.settled(plan, shape) for plan in plans]
        for plan, stream in zip(settled, self._streams(shape, settled, device), strict=False):
            yield stream if isinstance(stream, Gap) else self._traced(stream, plan, shape, device)

    def _streams(
        self, shape: ModelShape, plans: Sequence[Plan], device: Device, *, whole: bool = False
    ) -> Iterator[Stream | Gap]:
        from doctor.memory.kernels import for_child
        from doctor.tracing.run import traced

        assert self.target is not None
        known = for_child(device.compute_capability)
        if device.kind == "cpu":
            known["workspace_bytes"] = 0
        trusted = self.trusted
        return traced(self.host, self.target, shape, plans, known, whole=whole, trust_remote_code=trusted)

    def _traced(self, stream: Stream, plan: Plan, shape: ModelShape, device: Device) -> Estimate | Gap:
        try:
            return self._replayed(stream, plan, shape, device)
        except Exception as error:  # a fault of ours costs this plan, never the others
            return failed("trace", error)

    def _replayed(self, stream: Stream, plan: Plan, shape: ModelShape, device: Device) -> Estimate | Gap:
        """The estimate of a stream; a model whose layers do not repeat is traced once more as a whole."""
        from doctor.memory.stream import NotRepeating
        from doctor.memory.trace import estimate_of

        try:
            return self._shared(estimate_of(stream, plan, device), shape)
        except NotRepeating:
            whole = next(self._streams(shape, [plan], device, whole=True))
            return whole if isinstance(whole, Gap) else self._shared(estimate_of(whole, plan, device), shape)

    def _shared(self, estimate: Estimate, shape: ModelShape) -> Estimate:
        """The share of one GPU, where several train together."""
        if estimate.plan.gpus == 1 and estimate.plan.offload == "none":
            return estimate
        from doctor.memory.sharding import divided

        return divided(estimate, shape)
