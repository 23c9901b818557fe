"""A program for an environment with a kernel: runs one cell in a real one, prints what it sends."""

from __future__ import annotations

import json
import sys

from jupyter_client.manager import start_new_kernel  # type: ignore[import-not-found]


def messages(cell: str) -> list[dict[str, object]]:
    manager, client = start_new_kernel(kernel_name="python3")
    found: list[dict[str, object]] = []
    try:
        reply = client.execute_interactive(
            cell, timeout=120, output_hook=lambda message: found.append(message["content"])
        )
        return [*found, {"status": reply["content"]["status"]}]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


sys.stdout.write(json.dumps(messages(sys.argv[1])))
