"""The states that each optimizer keeps for a tensor that it trains."""

from __future__ import annotations

from math import ceil, prod
from typing import NamedTuple

# bitsandbytes/optim/optimizer.py of 0.44 and later: tensors of fewer elements keep 32 bits; of others each
# block has a float32 for its scale.
SMALLEST_8BIT, BLOCK = 4096, 256
# get_state_buffer there: tensors of fewer elements are not paged.
SMALLEST_PAGED = 100_000


class Trained(NamedTuple):
    """Tensors of one shape that are trained."""

    shape: tuple[int, ...]
    times: int
    item_bytes: int
    embedding: bool = False  # transformers' Trainer has the states of torch's Embedding in 32 bits

    @property
    def elements(self) -> int:
        """Of one of them."""
        return prod(self.shape)


class States(NamedTuple):
    """What an optimizer keeps, in bytes; ``paged_bytes`` of them may move to the system's memory."""

    total_bytes: int
    paged_bytes: int = 0


def states(optimizer: str, trained: Trained, trainer: bool) -> States:
    """The states of tensors of one shape under an optimizer of ``plan.OPTIMIZERS``."""
    if optimizer == "sgd":  # without momentum, as transformers calls it
        return States(0)
    if optimizer == "adafactor":
        return States(trained.times * _factored_bytes(trained.shape))
    if optimizer.startswith("adamw_torch"):
        # torch/optim/adamw.py: two of the parameter's own type; the step is on the device where it is fused
        step = 4 if optimizer == "adamw_torch_fused" else 0
        return States(trained.times * (2 * trained.elements * trained.item_bytes + step))
    moments = 1 if "lion" in optimizer else 2
    eight = "8bit" in optimizer and not (trainer and trained.embedding)
    buffers, scales = _bitsandbytes_bytes(trained.elements, eight)
    total = trained.times * moments * (buffers + scales)
    paged = optimizer.startswith("paged") and trained.elements >= SMALLEST_PAGED
    return States(total, trained.times * moments * buffers if paged else 0)


def shared_bytes(optimizer: str, trained: tuple[Trained, ...], trainer: bool) -> int:
    """The maps of 8-bit codes to numbers, once a run: 256 float32 each, signed and (of AdamW) unsigned."""
    eight = [item for item in trained if item.elements >= SMALLEST_8BIT and not (trainer and item.embedding)]
    if "8bit" not in optimizer or not eight:
        return 0
    return 2 * 256 * 4 if "adamw" in optimizer else 256 * 4


def _bitsandbytes_bytes(elements: int, eight: bool) -> tuple[int, int]:
    """(the buffer of one moment, its scales); 32 bits are float32 whatever the parameter's type."""
    if not eight or elements < SMALLEST_8BIT:
        return 4 * elements, 0
    return elements, 4 * ceil(elements / BLOCK)


def _factored_bytes(shape: tuple[int, ...]) -> int:
    """transformers/optimization.py, Adafactor without beta1: rows and columns and an RMS, all float32."""
    if len(shape) < 2:
        return 4 * prod(shape) + 4
    return 4 * (prod(shape[:-1]) + prod(shape[:-2]) * shape[-1]) + 4
