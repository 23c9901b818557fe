"""Loads what bitsandbytes selects, for real, in the interpreter that is examined; no GPU is needed for that.

Standard output, last line: {"torch": was it imported, "objects": paths mapped then, "library": that of
bitsandbytes, "mapped": paths mapped at the end}. What torch says of GPUs is replaced once it is imported.
"""

from __future__ import annotations

import json
import os
import sys


def mapped() -> list[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        return sorted({line.rstrip("\n").split(None, 5)[-1] for line in lines if ".so" in line})


def tell() -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


told: dict[str, object] = {"torch": False, "objects": [], "library": None, "mapped": []}
try:
    import torch

    told.update(torch=True, objects=mapped())
    tell()  # should the next import kill us
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.get_device_capability = lambda *device: (8, 9)
    import bitsandbytes  # noqa: F401
except Exception as error:
    told["error"] = f"{type(error).__name__}: {error}"
told["mapped"] = mapped()
own = [os.path.basename(path) for path in mapped() if "/libbitsandbytes" in path]
told["library"] = own[0] if own else None
tell()
