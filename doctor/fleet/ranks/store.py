"""The store where ranks meet: who is there, and who still is."""

import threading
from datetime import timedelta

BEAT_S = 0.5
POLL_S = 0.05


def connected(seconds):
    """A connection of its own to the store of the rendezvous; rank 0 serves it where no agent does."""
    import torch.distributed as dist

    serves = RANK == 0 and not CONFIG["agent_store"] and connected.first
    connected.first = False
    store = dist.TCPStore(
        CONFIG["master"], CONFIG["port"], WORLD, serves, timedelta(seconds=seconds), wait_for_workers=False
    )
    connected.kept.append(store)
    return dist.PrefixStore("lora-doctor/" + CONFIG["run"], store)


connected.first = True
connected.kept = []  # a server ends with the last name of it


def beat(store):
    """Show a sign of life for as long as this process runs: a stopped or dead one shows none."""
    count = 0
    while True:
        count += 1
        try:
            store.set("beat/%d" % RANK, str(count))
        except Exception:  # the store has gone; whoever waits for an answer of it says so
            return
        time.sleep(BEAT_S)


class Presence:
    """Which ranks are there."""

    def __init__(self, store):
        self.store = store
        self.beats = {}  # rank: (its last beat, when it changed)
        self.gone = set()

    def begin(self, seat):
        """Take this rank's seat."""
        self.store.set("seat/%d" % RANK, json.dumps(seat))
        threading.Thread(target=beat, args=(connected(CONFIG["presence_s"]),), daemon=True).start()

    def gather(self, seconds):
        """Wait for all seats to be taken; the seats, and the ranks that never came."""
        deadline = time.monotonic() + seconds
        absent = set(range(WORLD))
        while absent and time.monotonic() < deadline:
            absent = {rank for rank in absent if not self.store.check(["seat/%d" % rank])}
            if absent:
                time.sleep(POLL_S)
        self.gone |= absent
        here = [rank for rank in range(WORLD) if rank not in absent]
        return [json.loads(self.store.get("seat/%d" % rank)) for rank in here], sorted(absent)

    def lives(self, rank):
        """Has a rank shown a sign of life within the last ``stall_s`` seconds?"""
        if rank in self.gone:
            return False
        now, count = time.monotonic(), self.count(rank)
        before, since = self.beats.get(rank, (None, now))
        if count != before:
            since = now
        self.beats[rank] = (count, since)
        if now - since > CONFIG["stall_s"]:
            self.gone.add(rank)
        return rank not in self.gone

    def meet(self, rank, key):
        """Wait until another rank has come to ``key`` as well; False where it shows no sign of life."""
        self.store.set("%s/%d" % (key, RANK), "1")
        self.beats.pop(rank, None)
        while not self.store.check(["%s/%d" % (key, rank)]):
            if not self.lives(rank):
                return False
            time.sleep(POLL_S)
        return True

    def still(self, rank):
        """Does a rank still beat?"""
        return rank not in self.silent([rank])

    def silent(self, ranks):
        """Those of some ranks that neither beat nor have said that they leave. Takes ``stall_s`` at most."""
        before = {rank: self.count(rank) for rank in ranks}
        deadline = time.monotonic() + CONFIG["stall_s"]
        quiet = set(ranks) - self.gone
        while quiet and time.monotonic() < deadline:
            quiet = {rank for rank in quiet if self.count(rank) == before[rank] and not self.has_left(rank)}
            time.sleep(POLL_S)
        self.gone |= quiet
        return sorted(set(ranks) & self.gone)

    def count(self, rank):
        """A rank's last beat."""
        return self.store.get("beat/%d" % rank) if self.store.check(["beat/%d" % rank]) else b""

    def has_left(self, rank):
        """Has a rank come to its own end, well or not?"""
        return self.store.check(["left/%d" % rank])

    def leave(self, seconds):
        """Beat until the others are done as well: who leaves early looks dead, and may serve the store."""
        self.store.set("left/%d" % RANK, "1")
        deadline = time.monotonic() + seconds
        others = set(range(WORLD)) - {RANK}
        while time.monotonic() < deadline:
            others = {rank for rank in others if not self.has_left(rank) and self.lives(rank)}
            if not others:
                return
            time.sleep(POLL_S)
