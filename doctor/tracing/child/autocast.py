"""Autocast for ``meta``, which torch has no key for."""

from torch.overrides import TorchFunctionMode

AUTOCAST = {"on": False, "dtype": None}
LOW = {
    F.linear,
    torch.matmul,
    torch.Tensor.matmul,
    torch.Tensor.__matmul__,
    torch.bmm,
    torch.Tensor.bmm,
    torch.mm,
    torch.Tensor.mm,
    torch.addmm,
    torch.baddbmm,
    torch.einsum,
    F.conv1d,
    F.conv2d,
    F.conv3d,
}
HIGH = {
    F.layer_norm,
    F.group_norm,
    F.cross_entropy,
    F.nll_loss,
    F.log_softmax,
    torch.cumsum,
    torch.Tensor.cumsum,
}


class Autocast(TorchFunctionMode):
    """What ``torch.autocast`` casts on CUDA; weights are cast once until ``forget``."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype
        self.casts = {}

    def low(self, value):
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
            return value
        if value.is_leaf and value.requires_grad:
            key = id(value)
            if key not in self.casts:
                self.casts[key] = value.to(self.dtype)
            return self.casts[key]
        return value.to(self.dtype)

    @staticmethod
    def high(value):
        is_low = isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)
        return value.float() if is_low else value

    def __torch_function__(self, func, types, args=(), kwargs=None):
        cast = self.low if func in LOW else self.high if func in HIGH else None
        if cast is None or not AUTOCAST["on"]:
            return func(*args, **(kwargs or {}))
        with torch._C.DisableTorchFunction():
            args = tuple(cast(value) for value in args)
            return func(*args, **{name: cast(value) for name, value in (kwargs or {}).items()})

    def forget(self):
        self.casts.clear()


@contextlib.contextmanager
def autocast(mode):
    """Within, autocast is on by every sign that libraries look for; a mode of None changes nothing."""
    if mode is None:
        yield
        return
    try:
        with switched(True, mode.dtype), mode:
            yield
    finally:  # a recomputation ends by an exception once it has what it was for
        mode.forget()


@contextlib.contextmanager
def switched(on, dtype):
    """Autocast on or off, until the end of the block."""
    was = dict(AUTOCAST)
    AUTOCAST.update(on=on, dtype=dtype)
    try:
        yield
    finally:
        AUTOCAST.update(was)


TORCH_AUTOCAST = torch.autocast


def autocast_of_meta(device_type, dtype=None, enabled=True, cache_enabled=None):
    """In the place of ``torch.autocast``, which libraries use to switch it off for a while."""
    if device_type != "meta":
        return TORCH_AUTOCAST(device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
    return switched(False, AUTOCAST["dtype"]) if not enabled else contextlib.nullcontext()
