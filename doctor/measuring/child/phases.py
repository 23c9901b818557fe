"""The phases of a step, each measured from its first moment to its last and told as it ends."""

import contextlib
import time


class CpuMeter:
    """Tensors by their storages, and what the process holds of the system's memory."""

    def __init__(self):
        self.storages = Storages()
        self.base_bytes = 0
        self.forgets = True

    def start(self):
        """Begin to count; what is resident now is the interpreter with its libraries."""
        self.base_bytes = resident_bytes() or 0
        self.watch = watch_storages(self.storages)
        self.watch.__enter__()
        self.reset()

    def stop(self):
        """Count no more."""
        self.watch.__exit__(None, None, None)

    def reset(self):
        """Begin new peaks."""
        self.forgets = forget_peak()
        self.storages.forget_peak()

    def read(self):
        """The peaks since the last reset, and what lives now."""
        return {
            "allocated_bytes": self.storages.peak_bytes,
            "alive_bytes": self.storages.alive_bytes,
            "reserved_bytes": max((peak_resident_bytes() or 0) - self.base_bytes, 0),
            "device_bytes": peak_resident_bytes(),
        }

    def context_bytes(self):
        """What the process held before the first tensor."""
        return self.base_bytes


class CudaMeter:
    """torch's own counters, and what the device has given out to anybody."""

    forgets = True

    def start(self):
        """Open the context."""
        import torch

        self.cuda = torch.cuda
        torch.zeros(1, device="cuda:0")
        self.cuda.empty_cache()
        self.reset()

    def stop(self):
        """Nothing is left to undo."""

    def reset(self):
        """Begin new peaks."""
        self.cuda.synchronize()
        self.cuda.reset_peak_memory_stats()

    def read(self):
        """The peaks since the last reset, and what lives now."""
        self.cuda.synchronize()
        return {
            "allocated_bytes": self.cuda.max_memory_allocated(),
            "alive_bytes": self.cuda.memory_allocated(),
            "reserved_bytes": self.cuda.max_memory_reserved(),
            "device_bytes": self.used_bytes(),
        }

    def used_bytes(self):
        """Of the device, by whoever uses it."""
        free, total = self.cuda.mem_get_info()
        return total - free

    def context_bytes(self):
        """What this process has of the device beyond torch's allocator, given what others had before it."""
        others = CONFIG.get("others_bytes")
        if others is None:
            return None
        return max(self.used_bytes() - self.cuda.memory_reserved() - others, 0)


class Phases:
    """Which phase runs; one ends where the next begins."""

    def __init__(self, meter):
        self.meter = meter
        self.name, self.step, self.began = "", 0, 0.0
        self.saved = None

    def begin(self, name, step=None):
        """End the phase that runs, tell it, and begin another; that which runs already goes on."""
        step = self.step if step is None else step
        if (name, step) == (self.name, self.step) and name == "optimizer":
            return
        self.end()
        self.name, self.step, self.began = name, step, time.perf_counter()
        self.saved = None
        emit({"event": "start", "phase": name, "step": step})
        self.meter.reset()

    def end(self):
        """Tell the phase that runs, if one does."""
        if not self.name:
            return
        told = {"event": "phase", "phase": self.name, "step": self.step}
        told.update(self.meter.read(), seconds=time.perf_counter() - self.began)
        told["saved_bytes"] = self.saved.total_bytes() if self.saved is not None else None
        self.name = ""
        emit(told)

    @contextlib.contextmanager
    def saving(self, model):
        """Note what autograd saves meanwhile, on the CPU alone: on a GPU nothing is put between."""
        import torch

        if not isinstance(self.meter, CpuMeter):
            yield
            return
        self.saved = Saved(model)
        with torch.autograd.graph.saved_tensors_hooks(self.saved.pack, lambda tensor: tensor):
            yield
