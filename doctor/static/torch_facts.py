"""What torch answers on the CPU, where the stages of a fine-tune are followed."""

from __future__ import annotations

from collections.abc import Callable

from doctor.static.machine import Machine
from doctor.static.plain import (
    UNKNOWN,
    Value,
)
from doctor.static.values import (
    Arguments,
    Foreign,
)

NO = (
    "torch.cuda.is_available torch.cuda.is_bf16_supported torch.xpu.is_available torch.mps.is_available "
    "torch.backends.mps.is_available torch.backends.mps.is_built torch.mtia.is_available "
    "torch.accelerator.is_available torch.distributed.is_initialized torch.jit.is_tracing "
    "torch.compiler.is_compiling torch.distributed.is_torchelastic_launched"
).split()
YES = ("torch.distributed.is_available", "torch.is_grad_enabled")
OPTIMIZERS = "AdamW Adam SGD Adagrad RMSprop Adamax NAdam RAdam Rprop Adadelta".split()
SCHEDULERS = "LambdaLR ConstantLR CosineAnnealingLR LinearLR ReduceLROnPlateau StepLR".split()
OBJECT = "builtins.object"
OPTIMIZER_BASES = frozenset(("torch.optim.Optimizer", "torch.optim.optimizer.Optimizer", OBJECT))
SCHEDULER_BASES = frozenset(
    ("torch.optim.lr_scheduler.LRScheduler", "torch.optim.lr_scheduler._LRScheduler", OBJECT)
)
STATE = ("step", "state_dict", "load_state_dict")
# Classes of torch that the packages derive from, and that derive from nothing that is asked for.
ROOTS = frozenset(("torch.nn.Module", "torch.optim.Optimizer", "torch.utils.data.Dataset"))


def _answer(value: Value) -> Callable[[Machine, Arguments], Value]:
    return lambda machine, arguments: value


def _optimizer(name: str) -> Foreign:
    """An optimizer of torch; unlike a module it has no ``train`` and no ``eval``."""
    cls = f"torch.optim.{name}"
    has = dict.fromkeys(
        (*STATE, "zero_grad", "add_param_group", "param_groups", "state", "defaults"), UNKNOWN
    )
    return Foreign(cls, OPTIMIZER_BASES | {cls}, has, frozenset(("train", "eval")))


def _scheduler(name: str) -> Foreign:
    cls = f"torch.optim.lr_scheduler.{name}"
    has = dict.fromkeys((*STATE, "get_last_lr", "last_epoch"), UNKNOWN)
    return Foreign(cls, SCHEDULER_BASES | {cls}, has)


def _device(machine: Machine, arguments: Arguments) -> Value:
    """``torch.device("cpu")``."""
    text = arguments.positional[0] if arguments.positional else UNKNOWN
    if isinstance(text, Foreign) or not isinstance(text, str):
        return text if isinstance(text, Foreign) else UNKNOWN
    return Foreign("torch.device", frozenset(("torch.device", OBJECT)), {"type": text.partition(":")[0]})


def is_foreign_instance(value: Foreign, path: str) -> Value:
    """``isinstance`` against a class that is not interpreted."""
    if path in value.bases:
        return True
    return False if path.startswith(("torch.", "builtins.")) else UNKNOWN


def stands_apart(base: str, path: str) -> bool:
    """Is a class of torch surely no subclass of another?"""
    return base in ROOTS and path != OBJECT and path.startswith(("torch.", "builtins."))


TORCH: dict[str, Callable[[Machine, Arguments], Value]] = {
    **{path: _answer(False) for path in NO},
    **{path: _answer(True) for path in YES},
    **{f"torch.{kind}.device_count": _answer(0) for kind in ("cuda", "xpu", "mps")},
    "torch.device": _device,
    **{f"torch.optim.{name}": _answer(_optimizer(name)) for name in OPTIMIZERS},
    **{f"torch.optim.lr_scheduler.{name}": _answer(_scheduler(name)) for name in SCHEDULERS},
}
