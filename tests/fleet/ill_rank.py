"""Makes one rank of a collective test ill from inside: a sitecustomize.py for the target's interpreter."""

from __future__ import annotations

from pathlib import Path

# ILL_RANK is "RANK:ILLNESS". Only the program of the test is touched, which is read from standard input.
SITECUSTOMIZE = """
import builtins
import os
import signal
import sys

rank, _, illness = os.environ.get("ILL_RANK", "").partition(":")
imported = builtins.__import__


def watching(name, *args, **kwargs):
    if illness == "never" and name.startswith("torch"):
        os._exit(0)
    module = imported(name, *args, **kwargs)
    dist = sys.modules.get("torch.distributed")
    if builtins.__import__ is watching and hasattr(dist, "ProcessGroupGloo") and hasattr(dist, "all_reduce"):
        builtins.__import__ = imported
        infect(dist)
    return module


def infect(dist):
    together, alone, prefixed = dist.all_reduce, dist.ProcessGroupGloo.allreduce, dist.PrefixStore

    def all_reduce(tensor, *args, **kwargs):
        if illness in ("dies", "hangs"):
            os.kill(os.getpid(), signal.SIGSEGV if illness == "dies" else signal.SIGSTOP)
        if illness == "lies":
            tensor += 10
        return together(tensor, *args, **kwargs)

    def allreduce(self, tensors, *args, **kwargs):
        if illness == "lies":
            tensors[0] += 10
        return alone(self, tensors, *args, **kwargs)

    def prefix_store(prefix, store):
        return prefixed(prefix + "-elsewhere" if illness == "cut" and prefix == "pair/0-2" else prefix, store)

    dist.all_reduce, dist.ProcessGroupGloo.allreduce, dist.PrefixStore = all_reduce, allreduce, prefix_store


if os.environ.get("RANK") == rank and sys.argv[:1] == ["-"]:
    builtins.__import__ = watching
"""


def infected(folder: Path, rank: int, illness: str) -> dict[str, str]:
    """Variables under which one rank is ill."""
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    return {"PYTHONPATH": str(folder), "ILL_RANK": f"{rank}:{illness}"}
