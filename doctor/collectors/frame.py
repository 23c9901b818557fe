"""The first part of every collector: the framing and the failure-proof start.

A collector reaches its interpreter on standard input (``python - CONFIG``), this file joined in front
of it, so that nothing is written to disk and the current folder stands on ``sys.path`` as it does in
the user's own run. Standard library only, Python 3.8 grammar.
"""

import sys

# What a fresh interpreter has loaded before it runs a line: no local file can take its place.
AT_START = frozenset(sys.modules)
# A json.py or random.py in the current folder must not break the collector itself.
LOCAL_ENTRIES = [entry for entry in sys.path[:1] if entry in ("", ".")]
if LOCAL_ENTRIES:
    del sys.path[0]

import json
import os

try:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a death is expected here: no core file of it
except (ImportError, ValueError, OSError):
    pass

CONFIG = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
# The real standard output is kept: libraries may close, replace or redirect the one they are given.
CHANNEL = os.dup(1)


def restore_local_entries():
    """Make the current folder count again, as it does in the user's own run.

    Modules that this program loaded itself are forgotten where a local file of that name would hide them.
    """
    sys.path[:0] = LOCAL_ENTRIES
    local = {name.split(".", 1)[0] for name in os.listdir(".")} if LOCAL_ENTRIES else set()
    for name in set(sys.modules) - AT_START:
        if name in local and (
            os.path.isfile(name + ".py") or os.path.isfile(os.path.join(name, "__init__.py"))
        ):
            del sys.modules[name]


def emit(payload):
    """Send one JSON object to the doctor, between two marks that no banner can forge."""
    mark = CONFIG["mark"]
    line = "\n" + mark + json.dumps(payload, ensure_ascii=True, default=repr) + mark + "\n"
    data = line.encode("ascii")
    while data:
        data = data[os.write(CHANNEL, data) :]
