"""The test of one rank, from its start to its end."""

import traceback


def main():
    """Every step; what fails ends the test, as far as later steps need it."""
    end_with_the_doctor()
    step("import-torch")
    restore_local_entries()
    import torch

    backend = chosen_backend()
    CONFIG["on_gpu"] = backend == "nccl"
    device, name = chosen_device(backend)
    nccl = nccl_version() if CONFIG["on_gpu"] else ""
    tell(
        "begin",
        backend=backend,
        device=name,
        torch=torch.__version__,
        nccl=nccl,
        interfaces=interfaces(),
        env=environment(),
    )
    step("store")
    presence = Presence(connected(CONFIG["presence_s"]))
    step("presence")
    presence.begin({"rank": RANK, "node": CONFIG["node"], "local_rank": CONFIG["local_rank"], "device": name})
    seats, missing = presence.gather(CONFIG["presence_s"])
    tell("present", seats=seats, missing=missing)
    try:
        step("pairs")
        # Groups wait for each other at the store, by its own limit.
        presence.store.set_timeout(timedelta(seconds=CONFIG["pair_s"]))
        try_pairs(presence, backend, device)
        if all(presence.meet(rank, "together") for rank in range(WORLD)):
            together(presence, backend, device)
        else:
            tell("silent", ranks=sorted(presence.gone))
    except Exception as error:
        tell_raised(error)
        tell("silent", ranks=presence.silent(set(range(WORLD)) - {RANK}))
    else:
        step("end")
    presence.leave(CONFIG["group_s"] + CONFIG["stall_s"])


def together(presence, backend, device):
    """All ranks in one group, as a training makes it."""
    import torch.distributed as dist

    step("group")
    limit = timedelta(seconds=CONFIG["group_s"])
    presence.store.set_timeout(limit)
    store = dist.PrefixStore("all", presence.store)
    dist.init_process_group(backend, store=store, rank=RANK, world_size=WORLD, timeout=limit)
    step("all-reduce")
    found = add_all_up(device)
    tell("sum", **found)
    if found["outcome"] == "ok":
        step("bandwidth")
        tell_speeds(device)


def tell_raised(error):
    """What ended the test, with the last places of its way."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    where = [
        "%s:%d in %s" % (os.path.basename(frame.filename), frame.lineno or 0, frame.name) for frame in frames
    ]
    tell("raised", reason=in_words(error), frames=where)


try:
    main()
except Exception as error:
    tell_raised(error)
