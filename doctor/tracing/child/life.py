"""The life of every storage: who made it, when it was born and when it died."""

import contextlib
import warnings
import weakref

restore_local_entries()
warnings.simplefilter("ignore")
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

KERNELS = CONFIG["kernels"]
EMPTY_CACHE = -1  # the event of torch.cuda.empty_cache()
# Products of matrices, which cuBLAS needs a workspace for.
PRODUCTS = {
    "aten::mm",
    "aten::bmm",
    "aten::addmm",
    "aten::baddbmm",
    "bitsandbytes::gemm_4bit",
    "bitsandbytes::matmul_4bit",
}


class Life(TorchDispatchMode):
    """Follows storages on ``meta``. The events of one phase and one layer in a row make a segment."""

    def __init__(self, vocab):
        super().__init__()
        self.vocab = vocab
        self.births = []  # [bytes, part, operation, module]
        self.segments = []  # [phase, step, layer, events]
        self.operations, self.modules = {}, {}
        self.alive = {}  # id of a storage -> (weak reference, birth)
        self.layer_of = []  # of each birth, None outside of the layers
        self.phase, self.step, self.layer, self.module = "load", 0, None, ""
        self.part = None  # of what is born, where the phase says it
        self.multiplying = set()  # phases in which a thread has its workspace of cuBLAS

    def _event(self, birth, layer):
        """An event belongs to the layer that runs; in loading and in the optimizer to that of the tensor."""
        last = self.segments[-1] if self.segments else None
        if last is None or last[0] != self.phase or last[1] != self.step or last[2] != layer:
            last = [self.phase, self.step, layer, []]
            self.segments.append(last)
        last[3].append(birth)

    def _index(self, table, name):
        return table.setdefault(name, len(table))

    def born(self, size_bytes, part, operation, layer):
        """A new storage; its number."""
        birth = len(self.births)
        entry = [
            size_bytes,
            part,
            self._index(self.operations, operation),
            self._index(self.modules, self.module),
        ]
        self.births.append(entry)
        self.layer_of.append(layer)
        self._event(birth, layer)
        return birth

    def died(self, birth):
        if self.part == "optimizer" and self.births[birth][1] == "optimizer":
            self.births[birth][1] = "overhead"  # what a step makes for itself alone is no state
        self._event(birth, self.layer)

    def follow(self, tensor, operation, part=None, layer=None):
        """Begin to follow the storage of a tensor on the device; its number, None for any other tensor."""
        if tensor.device.type != "meta":
            return None  # a step counter of an optimizer stays in the processor's memory
        storage = tensor.untyped_storage()
        known = self.alive.get(id(storage))
        if known is not None and known[0]() is storage:
            return known[1]
        birth = self.born(storage.nbytes(), part or self._part_of(tensor), operation, layer)
        key = id(storage)

        def end(_, self=self, key=key, birth=birth):
            if self.alive.get(key, (None, None))[1] == birth:
                del self.alive[key]
            self.died(birth)

        self.alive[key] = (weakref.ref(storage, end), birth)
        return birth

    def birth_of(self, tensor):
        """The number of a tensor's storage, None where it is not followed."""
        known = self.alive.get(id(tensor.untyped_storage())) if tensor.device.type == "meta" else None
        return None if known is None else known[1]

    def passing(self, size_bytes, operation, layer_bytes=0):
        """Memory that is taken and given back within one operation; how much more for each further layer."""
        birth = self.born(size_bytes, "overhead", operation, self.layer)
        self.births[birth].append(layer_bytes)
        self.died(birth)

    def multiply(self):
        """The first product of a thread makes its workspace of cuBLAS; backward has a thread of its own."""
        if self.phase in ("forward", "backward") and self.phase not in self.multiplying:
            self.multiplying.add(self.phase)
            self.born(KERNELS["workspace_bytes"], "overhead", "cublas workspace", self.layer)

    def empty_cache(self):
        self._event(EMPTY_CACHE, None)

    def _part_of(self, tensor):
        if self.part:
            return self.part
        return "logits" if tensor.dim() and tensor.shape[-1] == self.vocab else "activations"

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name() if hasattr(func, "name") else str(func)
        if name in PRODUCTS:
            self.multiply()
        before = name in FIRST and self.born(FIRST[name](args), "overhead", name, self.layer)
        out = func(*args, **(kwargs or {}))
        by_tensor = self.phase in ("load", "optimizer")
        outputs = [value for value in tree_flatten(out)[0] if isinstance(value, torch.Tensor)]
        sources = self._layers_of(args, len(outputs)) if by_tensor and outputs else None
        for place, tensor in enumerate(outputs):
            self.follow(tensor, name, layer=sources[place] if by_tensor else self.layer)
        if name in FIRST:
            self.died(before)
        if name in TEMPORARIES:
            self.passing(TEMPORARIES[name](args, outputs), name)
        return out

    def _layers_of(self, args, count):
        """The layer of each output: that of the input in its place, or of the first input."""
        for value in args:
            if (
                isinstance(value, (list, tuple))
                and len(value) == count
                and isinstance(value[0], torch.Tensor)
            ):
                return [self._layer_of(tensor) for tensor in value]
        first = next((value for value in tree_flatten(args)[0] if isinstance(value, torch.Tensor)), None)
        return [None if first is None else self._layer_of(first)] * count

    def _layer_of(self, tensor):
        birth = self.birth_of(tensor)
        return None if birth is None else self.layer_of[birth]

    def mark(self, tensors, part):
        """Say of storages that are there already whose they are."""
        for tensor in tensors:
            birth = self.birth_of(tensor)
            if birth is not None:
                self.births[birth][1] = part

    @contextlib.contextmanager
    def during(self, phase, part=None):
        """Everything within belongs to one phase."""
        self.phase, self.part, self.layer, self.module = phase, part, None, ""
        with self:
            yield
        self.part = None


def watch_layers(life, layers):
    """Tell the life in which layer it is: forward by the modules, backward by the gradients that arrive."""

    def first_tensor(value):
        return value if isinstance(value, torch.Tensor) else value[0]

    def entering(index):
        def hook(module, args, kwargs):
            hidden = args[0] if args else kwargs.get("hidden_states")
            # The gradient of what goes in is what the layer before waits for.
            if life.phase == "forward" and hidden.requires_grad:
                hidden.register_hook(lambda gradient: arrive(index - 1))
            life.layer = index

        return hook

    def leaving(module, args, output):
        output = first_tensor(output)
        if life.phase == "forward" and output.requires_grad:
            output.register_hook(lambda gradient: arrive(len(layers) - 1))

    def arrive(index):
        life.layer = index if index >= 0 else None

    for index, layer in enumerate(layers):
        layer.register_forward_pre_hook(entering(index), with_kwargs=True)
    layers[-1].register_forward_hook(leaving)


def watch_modules(life, model, prefix):
    """Tell the life the name of the module that runs; one outside of the layers ends the last of them."""

    def entering(name, is_outside):
        def hook(module, args):
            life.module = name
            if is_outside and life.phase == "forward":
                life.layer = None

        return hook

    for name, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_pre_hook(entering(name, layer_index(name, prefix) is None))
            module.register_forward_hook(lambda module, args, out: setattr(life, "module", ""))
