"""Groups of ranks, and the device they compute on."""


def chosen_backend():
    """NCCL where this rank has a GPU, else gloo; or what is asked for."""
    import torch
    import torch.distributed as dist

    if CONFIG["backend"]:
        return CONFIG["backend"]
    return "nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"


def chosen_device(backend):
    """The device of this rank, and how it calls itself."""
    import torch

    if backend != "nccl":
        return torch.device("cpu"), "CPU"
    index = CONFIG["local_rank"] % torch.cuda.device_count()
    torch.cuda.set_device(index)
    return torch.device("cuda", index), "GPU %d, %s" % (index, torch.cuda.get_device_name(index))


def nccl_version():
    """NCCL's version, "" where torch has none."""
    import torch

    try:
        version = torch.cuda.nccl.version()
        return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)
    except Exception:
        return ""


def group_of_two(backend, store, place):
    """A group of two ranks that needs nobody else. ``place`` is 0 or 1."""
    import torch.distributed as dist

    limit = timedelta(seconds=CONFIG["pair_s"])
    if backend == "gloo":
        return dist.ProcessGroupGloo(store, place, 2, limit)
    options = dist.ProcessGroupNCCL.Options()
    options._timeout = limit
    return dist.ProcessGroupNCCL(store, place, 2, options)


def ended(work, seconds):
    """Wait for a collective; raises where it fails or takes longer. NCCL's own wait does not end in time."""
    import torch

    if not CONFIG["on_gpu"]:
        work.wait()
        return
    deadline = time.monotonic() + seconds
    while not work.is_completed():
        if time.monotonic() > deadline:
            raise TimeoutError("no end after %d s" % seconds)
        time.sleep(0.001)
    work.wait()
    torch.cuda.synchronize()


def added_up(group, tensor, seconds):
    """All-reduce in a group, by its own method: it works in a group that torch does not know of."""
    import torch.distributed as dist

    ended(group.allreduce([tensor], dist.AllreduceOptions()), seconds)
