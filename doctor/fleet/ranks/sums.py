"""Numbers whose sum is known, all ranks together, and how fast that goes."""

SIZES_BYTES = (4 << 10, 1 << 20, 16 << 20)
SIZES_ON_GPU_BYTES = (64 << 10, 16 << 20, 256 << 20)
REPEATS = 5


def weight_of(rank):
    """What a rank multiplies the pattern with; small, so that float32 holds every sum exactly."""
    return rank % 16 + 1


def known_numbers(rank, numbers, device):
    """What a rank puts in: a pattern of 1 to 13, times the rank's weight."""
    import torch

    return (torch.arange(numbers, device=device) % 13 + 1).to(torch.float32) * weight_of(rank)


def judged_sum(tensor, ranks, numbers, device):
    """A sum held against what these ranks must give."""
    wanted = known_numbers(0, numbers, device) * sum(map(weight_of, ranks))
    wrong = (tensor != wanted).nonzero()
    at = int(wrong[0]) if len(wrong) else 0
    seen = float(tensor[at])
    finite = abs(seen) < float("inf")  # false of nan as well, and neither is a number in JSON
    return {
        "outcome": "wrong" if len(wrong) else "ok",
        "wanted": float(wanted[at]),
        "seen": seen if finite else None,
        "reason": "" if finite else repr(seen),
    }


def add_all_up(device, numbers=4096):
    """The all-reduce that every training step makes, proven."""
    import torch.distributed as dist

    tensor = known_numbers(RANK, numbers, device)
    ended(dist.all_reduce(tensor, async_op=True), CONFIG["group_s"])
    return judged_sum(tensor, range(WORLD), numbers, device)


def tell_speeds(device):
    """The median time of an all-reduce, size by size."""
    import torch
    import torch.distributed as dist

    for size in SIZES_ON_GPU_BYTES if CONFIG["on_gpu"] else SIZES_BYTES:
        tensor = torch.zeros(size // 4, device=device)
        times = []
        for _ in range(REPEATS + 1):  # the first one sets up what the others find ready
            began = time.monotonic()
            ended(dist.all_reduce(tensor, async_op=True), CONFIG["group_s"])
            times.append(time.monotonic() - began)
        seconds = sorted(times[1:])[REPEATS // 2]
        rate = size / max(seconds, 1e-9)
        bus = rate * 2 * (WORLD - 1) / WORLD
        tell("speed", bytes=size, seconds=seconds, algorithm_bytes_per_s=rate, bus_bytes_per_s=bus)
