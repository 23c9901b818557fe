"""The CPU's counter of tensors: which storages live at each moment, as CUDA's own allocator counts on a GPU.

Every tensor passes torch's dispatcher when it is made. What a kernel takes for itself does not, and shows in
the resident memory of the process alone.
"""

import weakref


class Storages:
    """The storages that live, each by its own size however many tensors look at it."""

    def __init__(self):
        self.alive = {}
        self.alive_bytes = self.peak_bytes = 0

    def meet(self, tensor):
        """Count a tensor's storage, unless it is known or nowhere in memory."""
        storage = storage_of(tensor)
        if storage is None or id(storage) in self.alive:
            return
        key, size = id(storage), storage.nbytes()
        self.alive[key] = weakref.ref(storage, lambda _: self.part(key, size)), size
        self.alive_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.alive_bytes)

    def part(self, key, size):
        """A storage was freed."""
        del self.alive[key]
        self.alive_bytes -= size

    def forget_peak(self):
        """Begin a new peak."""
        self.peak_bytes = self.alive_bytes


class Saved:
    """What autograd keeps for the backward: each storage once, parameters and buffers left out."""

    def __init__(self, model):
        self.known = {id(storage_of(tensor)) for tensor in tensors_of(model)}
        self.kept = {}

    def pack(self, tensor):
        """Note a tensor that is being saved, and save it as it is."""
        storage = storage_of(tensor)
        if storage is not None and id(storage) not in self.known:
            self.kept[id(storage)] = weakref.ref(storage), storage.nbytes()
        return tensor

    def total_bytes(self):
        """Of those that are still kept."""
        return sum(size for reference, size in self.kept.values() if reference() is not None)


def storage_of(tensor):
    """Its storage; None of one that has none in memory."""
    if tensor.device.type == "meta":
        return None
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # a sparse tensor, or one of a transform
        return None


def tensors_of(model):
    """Parameters and buffers, and what bitsandbytes keeps beside a packed weight."""
    for weight in model.parameters():
        yield weight
        yield from tensors_of_state(getattr(weight, "quant_state", None))
    yield from model.buffers()


def tensors_of_state(state):
    """The tensors of a quantisation state and of the state of its own scales."""
    import torch

    if state is not None:
        for value in vars(state).values():
            if isinstance(value, torch.Tensor):
                yield value
        yield from tensors_of_state(getattr(state, "state2", None))


def watch_storages(storages):
    """The mode under which every tensor that is made is met."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            made = function(*arguments, **(keywords or {}))
            for value in tree_flatten(made)[0]:
                if isinstance(value, torch.Tensor):
                    storages.meet(value)
            return made

    return Watch()


def distinct_bytes(tensors):
    """The size of all their storages, each once."""
    found = {}
    for tensor in tensors:
        storage = storage_of(tensor)
        if storage is not None:
            found[id(storage)] = storage  # held, so that no number is given out twice
    return sum(storage.nbytes() for storage in found.values())
