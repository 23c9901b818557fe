"""Streams of small models that are made up: what a trace of any number of layers would say."""

from __future__ import annotations

from dataclasses import dataclass, field

from doctor.memory.stream import Birth, Phase, Segment, Stream

MIB = 2**20


@dataclass(frozen=True)
class Model:
    """What each layer makes; all sizes in bytes."""

    weights: tuple[int, ...] = (4 * MIB, 6 * MIB)
    activations: tuple[int, ...] = (3 * MIB, 700)
    adapters: tuple[int, ...] = (2048,)
    hidden: int = 2 * MIB
    logits: int = 9 * MIB
    steps: int = 2
    first_has_more: bool = False  # a temporary, and in its backward pass no gradient to hand on
    last_has_more: bool = False
    freed_on_the_way: bool = False  # what a layer was given, once it is left


@dataclass
class Writer:
    """Follows a made-up run, as the child follows a real one."""

    births: list[Birth] = field(default_factory=list)
    segments: list[tuple[Phase, int, int | None, list[int]]] = field(default_factory=list)
    phase: Phase = "load"
    step: int = 0
    layer: int | None = None

    def note(self, index: int) -> int:
        key = (self.phase, self.step, self.layer)
        if not self.segments or self.segments[-1][:3] != key:
            self.segments.append((*key, []))
        self.segments[-1][3].append(index)
        return index

    def born(self, size_bytes: int, part: str, layer_bytes: int = 0) -> int:
        birth = Birth(size_bytes=size_bytes, part=part, operation=0, module=0, layer_bytes=layer_bytes)
        self.births.append(birth)
        return self.note(len(self.births) - 1)

    def freed(self, *births: int | None) -> None:
        for birth in births:
            if birth is not None:
                self.note(birth)


def traced(model: Model, layers: int, of: int | None = None) -> Stream:
    """The stream of a run with so many layers, which stands for one with ``of``."""
    writer = Writer()
    parameters = load(writer, model, layers)
    states: list[list[int]] = []
    for step in range(model.steps):
        writer.step = step
        gradients = pass_through(writer, model, layers)
        states = optimize(writer, model, layers, gradients, states)
        writer.layer = None
        for layer in reversed(gradients):
            writer.freed(*layer)
    count = len(model.adapters)
    return Stream(
        traced_layers=layers,
        layers=of or layers,
        births=tuple(writer.births),
        segments=tuple(
            Segment(phase=phase, step=step, layer=layer, events=tuple(events))
            for phase, step, layer, events in writer.segments
        ),
        operations=("aten.mm",),
        modules=("model.layers.1.mlp",),
        trainable_parameters=count * layers,
        total_parameters=len(parameters) + layers,  # not what a model has, but as much more with each layer
        layer_trainable_parameters=count,
        layer_total_parameters=len(model.weights) + count + 1,
    )


def load(writer: Writer, model: Model, layers: int) -> list[int]:
    writer.phase, writer.layer = "load", None
    layer_bytes = sum(model.weights)
    writer.freed(writer.born(5 * MIB + layers * layer_bytes, "overhead", layer_bytes))
    found = [writer.born(5 * MIB, "weights")]
    for layer in range(layers):
        writer.layer = layer
        for size in model.weights:
            loaded = writer.born(2 * size, "weights")
            found.append(writer.born(size, "weights"))
            writer.freed(loaded)
        found += [writer.born(size, "adapter") for size in model.adapters]
    return found


def pass_through(writer: Writer, model: Model, layers: int) -> list[list[int]]:
    """Forward and backward; the gradients of each layer's adapters."""
    writer.phase, writer.layer = "forward", None
    hidden = writer.born(model.hidden, "activations")
    kept: list[list[int]] = []
    for layer in range(layers):
        writer.layer = layer
        if (layer == 0 and model.first_has_more) or (layer == layers - 1 and model.last_has_more):
            writer.freed(writer.born(1024, "overhead"))
            kept.append([writer.born(4096, "activations")])
        else:
            kept.append([])
        kept[-1] += [writer.born(size, "activations") for size in model.activations]
        made = writer.born(model.hidden, "activations")
        writer.layer = None if model.freed_on_the_way else layer
        writer.freed(hidden)
        hidden = made
    writer.layer = None
    logits = writer.born(model.logits, "logits")
    writer.freed(hidden)
    writer.phase = "backward"
    gradient: int | None = writer.born(model.hidden, "activations")
    writer.freed(logits)
    found: list[list[int]] = []
    for layer in reversed(range(layers)):
        writer.layer = layer
        again = [writer.born(size, "activations") for size in model.activations]
        found.append([writer.born(size, "gradients") for size in model.adapters])
        made_back = None if layer == 0 and model.first_has_more else writer.born(model.hidden, "activations")
        writer.freed(gradient, *again, *kept[layer])
        gradient = made_back
    writer.layer = None
    writer.freed(gradient)
    return found[::-1]


def optimize(
    writer: Writer, model: Model, layers: int, gradients: list[list[int]], states: list[list[int]]
) -> list[list[int]]:
    writer.phase = "optimizer"
    if not states:
        states = [[] for _ in range(layers)]
        for layer in range(layers):
            writer.layer = layer
            for size in model.adapters:
                states[layer] += [writer.born(size, "optimizer"), writer.born(size, "optimizer")]
    roots: list[int] = []
    for layer in range(layers):
        writer.layer = layer
        roots += [writer.born(size, "overhead") for size in model.adapters]
    writer.layer = None
    writer.freed(writer.born(512, "overhead"), *roots)
    return states
