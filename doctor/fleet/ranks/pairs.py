"""Two ranks at a time: which pair fails, where all together only fail.

Each pair has a group of its own, so a dead rank holds up its own partners and nobody else, and it has
its partner's signs of life, so a rank that is late is not taken for one that is gone.
"""

ALL_PAIRS_UP_TO = 32  # ranks; beyond it each meets those at distance 1, 2, 4, ... by exclusive or


def partners():
    """The other ranks in the order of meeting, such that in each round every rank has one partner at most."""
    if WORLD > ALL_PAIRS_UP_TO:
        distances = [1 << power for power in range(WORLD.bit_length())]
        return [RANK ^ distance for distance in distances if RANK ^ distance < WORLD]
    # The circle method of a round robin: one rank stays, the others turn. Of an odd number, one pauses.
    seats = WORLD + WORLD % 2
    met = []
    for turn in range(seats - 1):
        if RANK == seats - 1:
            other = turn * (seats // 2) % (seats - 1)
        else:
            other = (turn - RANK) % (seats - 1)
            other = seats - 1 if other == RANK else other
        met.append(other)
    return [other for other in met if other < WORLD]


def try_pair(presence, backend, device, other):
    """One pair from meeting to known sums."""
    import torch.distributed as dist

    low, high = min(RANK, other), max(RANK, other)
    key = "pair/%d-%d" % (low, high)
    if not presence.meet(other, key):
        return {"outcome": "absent", "reason": "no sign of life for %g s" % CONFIG["stall_s"]}
    try:
        group = group_of_two(backend, dist.PrefixStore(key, presence.store), int(RANK == high))
        small, _ = proven(group, device, 64, (low, high), CONFIG["pair_s"])
        large, seconds = proven(group, device, CONFIG["pair_numbers"], (low, high), CONFIG["pair_s"])
    except Exception as error:
        lost = not presence.still(other)
        return {"outcome": "absent" if lost else "failed", "reason": in_words(error)}
    wrong = next((found for found in (small, large) if found["outcome"] == "wrong"), None)
    reason = "%s instead of %g" % (wrong["reason"] or "%g" % wrong["seen"], wrong["wanted"]) if wrong else ""
    size = 4 * CONFIG["pair_numbers"]
    return {"outcome": "wrong" if wrong else "ok", "seconds": seconds, "bytes": size, "reason": reason}


def proven(group, device, numbers, ranks, seconds):
    """A sum within a group, held against what it must be, and how long it took."""
    tensor = known_numbers(RANK, numbers, device)
    began = time.monotonic()
    added_up(group, tensor, seconds)
    took = time.monotonic() - began
    return judged_sum(tensor, ranks, numbers, device), took


def try_pairs(presence, backend, device):
    """Every partner of this rank, each outcome told as it comes."""
    for other in partners():
        tell("pair", other=other, **try_pair(presence, backend, device, other))
