"""Runs traces in a child of the target: one for any number of plans, since its imports cost the most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any

import msgspec

from doctor.child import Patience
from doctor.collectors import Collected, Event, collect, program
from doctor.facts import Gap
from doctor.host import Host
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.stream import Birth, Segment, Stream
from doctor.smoke.trial import LAUNCHER, OFFLINE
from doctor.target import Target
from doctor.tracing.child import PARTS

LIMIT_S = 120.0  # between two messages; imports take seconds, a plan takes about one
REPEATING = 4  # one layer that is repeated, one before it and two after it


class Tracing:
    """One child's work: streams gather here, plan by plan."""

    def __init__(self, layers: int, plans: int) -> None:
        self.layers, self.plans = layers, plans
        self.trouble = ""  # why the child ended, where it ended too early
        self.found: SimpleQueue[Stream | Gap | None] = SimpleQueue()  # None: there will be no more
        self._births: list[Birth] = []
        self._segments: list[Segment] = []

    def take(self, event: Event) -> None:
        """One message of the child; the last of a plan completes its stream."""
        if "births" in event:
            self._births += msgspec.convert(event["births"], list[Birth])
        elif "segment" in event:
            self._segments.append(msgspec.convert(event["segment"], Segment))
        elif "failed" in event:
            self._complete(Gap(about="trace", kind="failed", reason=str(event["failed"])))
        elif "traced" in event:
            self._complete(self._stream(event))

    def _stream(self, event: Event) -> Stream:
        counts = event["counts"]
        return Stream(
            traced_layers=event["traced"],
            layers=self.layers,
            births=tuple(self._births),
            segments=tuple(self._segments),
            operations=tuple(event["operations"]),
            modules=tuple(event["modules"]),
            trainable_parameters=counts["trainable"],
            total_parameters=counts["total"],
            layer_trainable_parameters=counts["layer_trainable"],
            layer_total_parameters=counts["layer_total"],
            versions=event["versions"],
            notes=tuple(event["notes"]),
        )

    def end(self, child: Collected) -> None:
        """Let go whoever waits for a stream that will not come."""
        self.trouble = child.trouble
        for _ in range(self.plans):
            self.found.put(None)

    def _complete(self, outcome: Stream | Gap) -> None:
        self.found.put(outcome)
        self._births, self._segments = [], []


def traced(
    host: Host,
    target: Target,
    shape: ModelShape,
    plans: Sequence[Plan],
    kernels: Mapping[str, Any],
    *,
    whole: bool = False,
    trust_remote_code: bool = False,
) -> Iterator[Stream | Gap]:
    """The stream of each plan, in their order; a gap says why there is none.

    ``kernels`` is what the child must know of the GPU (``memory.kernels.for_child``). ``whole``: every layer.
    """
    few = shape.layers if whole else few_layers(shape)
    tracing = Tracing(shape.layers, len(plans))
    config = {
        "model": shape.config,
        "kernels": dict(kernels),
        "runs": [[msgspec.to_builtins(plan), few if repeats(plan) else shape.layers] for plan in plans],
        "trust_remote_code": trust_remote_code,
        "folder": shape.folder,
    }
    # The next plan is traced while the caller works on this one.
    child = Thread(target=run_child, args=(host, target, config, tracing), daemon=True)
    child.start()
    for _ in plans:
        yield tracing.found.get() or Gap(about="trace", kind="failed", reason=tracing.trouble)


def repeats(plan: Plan) -> bool:
    """Has each layer its own adapter? Other kinds share weights among layers, or count the layers."""
    return plan.adapter is None or plan.adapter.get("peft_type") in ("LORA", "ADALORA")


def few_layers(shape: ModelShape) -> int:
    """How many layers show all that repeats: unlike first ones, then four."""
    text = shape.config.get("text_config")
    config = text if isinstance(text, Mapping) else shape.config
    return min(shape.layers, max(dense_layers(config), period(config)) + REPEATING)


def dense_layers(config: Mapping[str, Any]) -> int:
    """Layers without experts, which come before those with."""
    count = config.get("first_k_dense_replace")
    return count if isinstance(count, int) and not isinstance(count, bool) else 0


def period(config: Mapping[str, Any]) -> int:
    """After how many layers the kinds of attention have all come, where there are several; else 0.

    Each kind has a mask of its own, which backward drops with the first layer of that kind.
    """
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and len(set(map(str, kinds))) > 1:
        return max(kinds.index(kind) for kind in kinds) + 1
    every = config.get("sliding_window_pattern")
    if isinstance(every, int) and not isinstance(every, bool):
        return every
    return 2 if config.get("model_type") == "gemma2" else 0


def run_child(host: Host, target: Target, config: dict[str, Any], tracing: Tracing) -> None:
    """The child, without network and ranks of a launcher, and blind to GPUs: nothing may be taken of them."""
    env = {name: value for name, value in host.env.items() if name not in LAUNCHER}
    done = collect(
        host,
        target.executable,
        program(PARTS, "doctor.tracing.child"),
        config,
        patience=Patience(LIMIT_S, ask_stack=True),
        env={**env, **OFFLINE, "CUDA_VISIBLE_DEVICES": ""},
        on_event=tracing.take,
    )
    tracing.end(done)
