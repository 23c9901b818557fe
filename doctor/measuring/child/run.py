"""Last part of a measurement: load, run the loop, tell every phase and how it ended."""

import faulthandler
import os
import sys
import tempfile

PLAN = CONFIG["plan"]
FRAMES_NAMED = 4
MESSAGE_CHARACTERS = 1000
# How torch, CUDA's libraries and the C++ runtime say that there is no memory left.
OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "ALLOC_FAILED",
    "std::bad_alloc",
    "Cannot allocate memory",
)


def is_out_of_memory(error):
    """Does this exception, or what caused it, say that memory ran out?"""
    while error is not None:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            return True
        if any(words in str(error) for words in OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def frames_of(error):
    """The innermost places of an exception."""
    import traceback

    rows = traceback.extract_tb(error.__traceback__)[-FRAMES_NAMED:]
    return ["%s:%d in %s" % (row.filename, row.lineno or 0, row.name) for row in rows]


def versions():
    """Of the libraries that took part."""
    names = ("torch", "transformers", "peft", "trl", "accelerate", "bitsandbytes")
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in names}
    return {name: str(version) for name, version in found.items() if version}


def device_name():
    """What ran it."""
    import torch

    return torch.cuda.get_device_name(0) if CONFIG["device"] == "cuda" else "cpu"


def adapter_of(model):
    """The weights that an adapter brought."""
    if not has_adapter():
        return []
    return [weight for name, weight in model.named_parameters() if weight.requires_grad]


def tell_sizes(model, optimizer):
    """What was counted of the tensors that last: weights, adapter, states of the optimizer."""
    import torch

    optimizer = getattr(optimizer, "optimizer", optimizer)  # accelerate wraps it
    states = [
        value
        for state in optimizer.state.values()
        for value in state.values()
        if isinstance(value, torch.Tensor)
    ]
    adapter = adapter_of(model)
    return {
        "weights_bytes": distinct_bytes(tensors_of(model)) - distinct_bytes(adapter),
        "adapter_bytes": distinct_bytes(adapter),
        "optimizer_bytes": distinct_bytes(states),
        "trainable_parameters": sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
    }


def measure(phases):
    """The whole run."""
    phases.begin("load", 0)
    model = load_model()
    model, optimizer = LOOPS[PLAN["loop"]](model, phases)
    phases.end()
    return tell_sizes(model, optimizer)


def exceed(phases):
    """End as a GPU would that has no more: what runs now asked for more than the limit."""
    reason = "the process grew beyond the limit of %d bytes" % CONFIG["limit_bytes"]
    emit(
        {
            "event": "end",
            "outcome": "out-of-memory",
            "phase": phases.name,
            "step": phases.step,
            "reason": reason,
        }
    )
    os._exit(0)


def main():
    """Measure, and tell how it ended whatever happens."""
    import torch

    if CONFIG["device"] == "cuda" and not torch.cuda.is_available():
        emit({"event": "end", "outcome": "failed", "reason": "torch sees no CUDA device", "frames": []})
        return
    import_libraries()
    phases = Phases(CudaMeter() if CONFIG["device"] == "cuda" else CpuMeter())
    phases.meter.start()
    emit({"event": "begin", "device": device_name(), "versions": versions()})
    if CONFIG.get("limit_bytes"):
        bound_memory(CONFIG["limit_bytes"], lambda: exceed(phases))
    told = {"event": "end", "outcome": "ok"}
    try:
        told.update(measure(phases), context_bytes=phases.meter.context_bytes())
    except BaseException as error:
        if CONFIG.get("limit_bytes") and sys.platform == "linux":
            bound_data(None)
        told.update(failure(error), phase=phases.name, step=phases.step)
    phases.meter.stop()
    emit(dict(told, versions=versions(), forgets_peaks=phases.meter.forgets))


def import_libraries():
    """What the plan needs, before anything is counted: libraries are no part of a phase."""
    from transformers import Trainer

    config = model_config()
    model_class(config)._model_mapping[type(config)]
    if has_adapter():
        import peft
    if PLAN["method"] == "qlora" or "bit" in PLAN["optimizer"]:
        import bitsandbytes
    if PLAN["loop"] == "sft":
        import datasets
        import trl


def failure(error):
    """An exception in the words that the doctor reads."""
    words = "%s: %s" % (type(error).__name__, error)
    outcome = "out-of-memory" if is_out_of_memory(error) else "failed"
    return {"outcome": outcome, "reason": words[:MESSAGE_CHARACTERS], "frames": frames_of(error)}


faulthandler.enable(2)  # a fatal signal prints the stack on the real standard error
tempfile.tempdir = CONFIG["folder"]
restore_local_entries()
main()
sys.stdout.flush()
os._exit(0)  # the teardown of torch takes long, and nothing is left to be seen
