"""Why torchrun started no rank, read off what it says.

Sources: torch.distributed.elastic.rendezvous and c10d's socket.cpp of PyTorch 2.13, as run.
"""

from __future__ import annotations

import re

from doctor.plain import one_line

# The first that is found decides: a time-out is also what follows from most of the others.
REASONS = (
    (r"EADDRINUSE|address already in use", "another program on this node has the port of the rendezvous"),
    (
        r"gai error|Name or service not known|Temporary failure in name resolution|cannot be retrieved",
        "this node cannot resolve the name of the rendezvous",
    ),
    (
        r"RendezvousConnectionError|DistNetworkError|client socket has (?:failed|timed out)|ECONNREFUSED",
        "this node cannot reach the rendezvous, or what listens there is no store of torch's",
    ),
    (r"RendezvousTimeoutError", "this node came to the rendezvous, and not all of the others did in time"),
    (r"RendezvousClosedError", "the rendezvous was closed before this node came"),
    (r"No module named '?torch", "the interpreter on this node has no torch"),
    (
        r"(?i)cuda (?:is )?not available",
        "torch sees no GPU on this node; without one, say --nproc-per-node N",
    ),
)
_ERROR = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)\b.*)$", re.M)
LAST_KEPT = 300


def reason_of(said: str, code: int | None) -> str:
    """The reason in words, and the last error that torchrun printed."""
    errors = _ERROR.findall(said)
    inner = [error for error in errors if not error.startswith("Rendezvous")]  # which only wraps the cause
    last = one_line((inner or errors)[-1])[:LAST_KEPT] if errors else one_line(said)[-LAST_KEPT:]
    reason = next((words for pattern, words in REASONS if re.search(pattern, said)), "")
    reason = reason or f"torchrun ended with exit code {code}"
    return f"{reason} ({last})" if last else reason
