"""Kinds of plans: those of one kind run the same operations, so that only sizes tell their memory apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple, cast

from doctor.memory.plan import Plan

# The sets of targets that were traced, beside every linear layer. The first that holds a plan's is taken.
TARGET_SETS: Mapping[str, tuple[frozenset[str], ...]] = {
    "pair": (frozenset({"q_proj", "v_proj"}),),
    "attention": (frozenset({"q_proj", "k_proj", "v_proj", "o_proj"}), frozenset({"qkv_proj", "o_proj"})),
}
EVERY_TARGET = "linear"

Kernel = Literal["eager", "eager-half", "fused", "fused-cast", "fused-expanded"]


class Kind(NamedTuple):
    """What decides which operations run and in which types. Of two 16-bit types the sizes are the same."""

    method: str  # lora, qlora or full
    low: bool  # weights that are not quantised have 16 bits
    is_trainer: bool  # Trainer or SFTTrainer, which run 16-bit types under autocast; else a bare loop
    upcast: bool  # prepare_model_for_kbit_training
    low_adapter: bool  # the adapter has 16 bits
    kernel: Kernel
    dropout: bool
    checkpointing: bool
    targets: str  # one of TARGET_SETS, or EVERY_TARGET; "" in a full fine-tune
    padded: bool
    dora: bool

    @property
    def key(self) -> str:
        """As the table names it: "qlora 16-bit trainer upcast fused dropout checkpointing linear"."""
        words = (
            self.method,
            "16-bit" if self.low else "32-bit",
            "trainer" if self.is_trainer else "bare",
            "upcast" if self.upcast else "",
            "low-adapter" if self.low_adapter else "",
            self.kernel,
            "dropout" if self.dropout else "",
            "checkpointing" if self.checkpointing else "",
            self.targets,
            "padded" if self.padded else "",
            "dora" if self.dora else "",
        )
        return " ".join(filter(None, words))

    def nearest(self) -> Iterator[tuple[Kind, str]]:
        """The kind itself, then such as differ ever more, each with what is not counted in it."""
        kind, missing = self, ""
        yield kind, missing
        for change, words in RELAXED:
            changed = change(kind)
            if changed != kind:
                kind, missing = changed, f"{missing}, {words}" if missing else words
                yield kind, missing


def _plainer(kernel: Kernel, without: str) -> Kernel:
    """The kernel without its peculiarity."""
    return cast(Kernel, kernel.replace(without, ""))


def _of_floats(kind: Kind) -> Kind:
    """4-bit layers that compute in float32 hand on what those of an upcast model do in a bare loop."""
    if kind.low or kind.method != "qlora":
        return kind
    return kind._replace(low=True, upcast=True, is_trainer=False)


# What is given up first matters least.
RELAXED: tuple[tuple[Callable[[Kind], Kind], str], ...] = (
    (_of_floats, "how 4-bit layers compute in float32"),
    (lambda kind: kind._replace(kernel=_plainer(kind.kernel, "-cast")), "casts of FlashAttention"),
    (lambda kind: kind._replace(kernel=_plainer(kind.kernel, "-expanded")), "keys of each query head"),
    (lambda kind: kind._replace(padded=False), "the mask of padding"),
    (lambda kind: kind._replace(dora=False), "DoRA's norms"),
    (lambda kind: kind._replace(kernel=_plainer(kind.kernel, "-half")), "the softmax of float16"),
    (
        lambda kind: kind._replace(targets=kind.targets.replace("pair", "attention")),
        "that keys and outputs have no adapter",
    ),
    (lambda kind: kind._replace(low_adapter=False), "an adapter in 16 bits"),
    (lambda kind: kind._replace(dropout=False), "the masks of dropout"),
)


def kind_of(plan: Plan, targets: frozenset[str], *, expands_keys: bool) -> Kind:
    """The kind of a settled plan. ``targets`` are the names of the layers that get an adapter."""
    adapts, low = plan.method != "full", plan.dtype != "float32"
    upcast = plan.method == "qlora" and bool(plan.kbit_upcast)
    is_trainer = plan.loop != "bare"
    return Kind(
        method=plan.method,
        low=low,
        is_trainer=is_trainer,
        upcast=upcast,
        low_adapter=adapts and plan.adapter_dtype not in (None, "float32"),
        kernel=_kernel(plan, expands_keys, is_float=upcast and not is_trainer or not low),
        dropout=adapts and plan.lora_dropout > 0,
        checkpointing=plan.gradient_checkpointing,
        targets=_target_set(targets) if adapts else "",
        padded=plan.padded and plan.attention != "eager",
        dora=adapts and plan.dora,
    )


def _kernel(plan: Plan, expands_keys: bool, *, is_float: bool) -> Kernel:
    """``is_float``: queries reach attention in float32, which FlashAttention alone casts."""
    if plan.attention == "eager":
        return "eager-half" if plan.dtype == "float16" else "eager"
    if plan.attention == "flash_attention_2" and is_float:
        return "fused-cast"
    return "fused-expanded" if expands_keys else "fused"


def _target_set(targets: frozenset[str]) -> str:
    known = ((name, one) for name, traced in TARGET_SETS.items() for one in traced)
    return next((name for name, one in known if targets <= one), EVERY_TARGET)


def is_traced_set(targets: frozenset[str], linear: frozenset[str]) -> bool:
    """Are these targets one of the sets as it is? ``linear`` are the names of all linear layers."""
    return targets >= linear or any(targets in traced for traced in TARGET_SETS.values())
