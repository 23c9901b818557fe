"""The word of the target's own installer on the steps of a plan."""

from __future__ import annotations

import msgspec

from doctor.dry_run import dry_run
from doctor.host import Host
from doctor.treatment.plan import Plan


def verified(host: Host, plan: Plan) -> Plan:
    """The plan, each step that installs with what a dry run says of it."""
    steps, torch = [], ""
    for step in plan.steps:
        if step.kind in ("install", "anew") and step.commands:
            agrees, said = dry_run(host, step.commands, torch)
            step = msgspec.structs.replace(step, verified=agrees is True, said=said)
            torch = next((one for one in step.packages if one.startswith("torch==")), torch)
        steps.append(step)
    return msgspec.structs.replace(plan, steps=tuple(steps))
