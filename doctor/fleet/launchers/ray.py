"""Ray: a script for a cluster's head that runs a node's part as a task of each node.

Source: ray.nodes, NodeAffinitySchedulingStrategy and "ray job submit" in the documentation of Ray 2.
"""

from __future__ import annotations

from doctor.fleet.launchers import Launch, Order

FILE = "lora_doctor_ray.py"

SCRIPT = '''\
"""Runs lora-doctor on every node of a Ray cluster and prints what each says."""

import json
import os
import subprocess
import time

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

COMMAND = {command}
TIMEOUT_S = {timeout}
GPUS = {gpus}  # reserved on each node; with 0 they are looked at without being reserved


@ray.remote(num_cpus=0, num_gpus=GPUS, max_retries=0)
def part(name):
    env = dict(os.environ)
    if not GPUS:
        env.pop("CUDA_VISIBLE_DEVICES", None)  # Ray hides all GPUs from a task that reserves none
    command = COMMAND[: COMMAND.index("node") + 1] + ["--name", name] + COMMAND[COMMAND.index("node") + 1 :]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, timeout=TIMEOUT_S)
    return done.stdout.decode("utf-8", "replace")


def failed(name, error):
    reason = "%s: %s" % (type(error).__name__, (str(error).strip().splitlines() or [""])[-1])
    return json.dumps({{"schema": 1, "node": name, "report": None, "failure": reason[:300]}})


ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
names = {{}}
for node in ray.nodes():
    names[node["NodeID"]] = node["NodeName"] + ("" if node["Alive"] else " (left the cluster)")
print(json.dumps({{"schema": 1, "expected": sorted(names.values())}}), flush=True)
waiting = {{}}
for node in ray.nodes():
    if node["Alive"]:
        here = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
        waiting[part.options(scheduling_strategy=here).remote(names[node["NodeID"]])] = names[node["NodeID"]]
deadline = time.monotonic() + TIMEOUT_S + 30
while waiting and time.monotonic() < deadline:
    for task in ray.wait(list(waiting), timeout=max(deadline - time.monotonic(), 0))[0]:
        name = waiting.pop(task)
        try:
            print(ray.get(task), flush=True)
        except Exception as error:
            print(failed(name, error), flush=True)
'''


def launch(order: Order) -> Launch:
    """A script, and the command that submits it."""
    text = SCRIPT.format(command=list(order.part()), timeout=int(order.deadline_s), gpus=order.ranks or 0)
    submit = f"ray job submit --working-dir . -- python {FILE} | lora-doctor fleet compare -"
    return Launch(file_name=FILE, text=text, commands=(submit,))
