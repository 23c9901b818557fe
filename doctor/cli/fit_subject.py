"""What ``fit`` is about: the model, the plan, the target and the device, each read from where options say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from doctor.cli import machine
from doctor.cli.fit_options import FitOptions, plan_of
from doctor.cli.lint import plainly
from doctor.cli.output import EXIT_NOT_EXAMINED, refuse
from doctor.memory.estimate import Device
from doctor.memory.plan import Asked, Plan
from doctor.memory.shapes import ModelShape

if TYPE_CHECKING:
    from doctor.facts import Facts
    from doctor.host import LocalHost
    from doctor.target import Target

SEEN = ("system", "interpreter", "packages")
SEEN_GPUS = ("driver", "gpus")


class Subject(NamedTuple):
    """All that an estimate is made of."""

    shape: ModelShape
    plan: Plan
    pinned: tuple[str, ...]  # fields of the plan that were asked for
    device: Device
    target: Target | None  # None where none answers
    versions: Mapping[str, str]  # of what the target has
    notes: tuple[str, ...]


def subject_of(host: LocalHost, asked: FitOptions) -> Subject:
    """Read it all. Leaves with 2 for what cannot be read, with 3 for a named target that does not answer."""
    from doctor.memory.device import doubt_of_size
    from doctor.memory.usual import without_refused_dropout

    stated = stated_device(asked)
    target, facts, notes = target_of(host, asked, is_stated=stated is not None)
    device = stated or device_of(facts, cpu=asked.cpu)
    packages = facts.packages.installed if facts.packages else {}
    versions = {name: package.version for name, package in packages.items() if package.version}
    word, plan, pinned, assumed = planned(host, asked, versions, device)
    shape = shape_of(host, asked.model or ("" if asked.parameters else word), asked.parameters)
    plan = plan if "lora_dropout" in pinned else without_refused_dropout(plan, shape)
    doubt = doubt_of_size(asked.gpu or "", asked.gpu_memory or "")
    return Subject(shape, plan, pinned, device, target, versions, (*notes, *assumed, *doubt))


def stated_device(asked: FitOptions) -> Device | None:
    """The device that options describe, None where none do. Leaves with 2 where it cannot be."""
    from doctor.memory.device import described, usable_bytes
    from doctor.stated import StatementInvalid, size_bytes

    words = (asked.python_version, asked.os, asked.arch, asked.driver, asked.gpu, asked.compute_capability)
    facts = machine.stated_or_leave(machine.stated_by((*words, asked.gpu_memory, asked.torch_cuda)))
    if facts.gpus:
        return described(facts.gpus[0])
    if not asked.gpu_memory:
        return None
    try:
        total = size_bytes(asked.gpu_memory)
    except StatementInvalid as error:
        refuse(str(error), "the options that describe a machine are told by --help")
    return Device(name=f"a GPU of {asked.gpu_memory}", total_bytes=total, free_bytes=usable_bytes(total))


def target_of(
    host: LocalHost, asked: FitOptions, *, is_stated: bool
) -> tuple[Target | None, Facts, tuple[str, ...]]:
    """The target with what is seen of it and of this machine. Leaves with 3 where it is needed and absent."""
    import sys

    from doctor.checkup import gather
    from doctor.cli.early import take_up
    from doctor.cli.examination import chosen_target
    from doctor.target import Target, TargetNotFound, find_target

    is_needed = asked.python is not None or asked.estimator == "trace" or asked.measure or asked.bisect
    try:
        target = chosen_target(host, asked.python) if is_needed else find_target(host, None)
    except TargetNotFound:
        target = Target(sys.executable, "the doctor's own")
    looks = take_up(host, target)
    facts = gather(looks, fields=SEEN if is_stated or asked.cpu else (*SEEN, *SEEN_GPUS))
    if facts.interpreter is not None:
        return target, facts, ()
    reason = next((gap.reason for gap in facts.gaps if gap.about == "interpreter"), "it does not answer")
    if is_needed:
        refuse(f"{target.executable}: {reason}", "name another one with --python", EXIT_NOT_EXAMINED)
    return None, facts, (f"{target.executable} was not examined: {reason}",)


def device_of(facts: Facts, *, cpu: bool) -> Device:
    """What this machine has: its GPU, or its own memory where that is asked for."""
    from doctor.memory.device import emptiest, of_system

    if cpu:
        return of_system(facts.system) if facts.system else Device(kind="cpu")
    return emptiest(facts.gpus, facts.driver.version if facts.driver else "") if facts.gpus else Device()


def planned(
    host: LocalHost, asked: FitOptions, versions: Mapping[str, str], device: Device
) -> tuple[str, Plan, tuple[str, ...], tuple[str, ...]]:
    """The model's word, the plan with the fields that are asked for, and what was assumed.

    Leaves with 2 for a plan that cannot be read, or that no run can have.
    """
    from doctor.memory.usual import usual_plan
    from doctor.memory.validity import PlanInvalid
    from doctor.plan_files import PlanUnread, asked_in

    start = usual_plan(versions, device, asked.method)
    asked_by_file = Asked(plan=start)
    try:
        if asked.plan is not None:
            asked_by_file = asked_in(host, asked.plan, versions)
        plan, pinned = plan_of(asked, asked_by_file.plan)
        if asked.adapter_config:
            adapter = adapter_of(host, asked.adapter_config)
            plan, pinned = msgspec.structs.replace(plan, adapter=adapter), (*pinned, "adapter")
    except (PlanInvalid, PlanUnread) as error:
        refuse(plainly(host, str(error)), error.hint)
    return asked_by_file.model, plan, (*asked_by_file.stated, *pinned), asked_by_file.assumed


def adapter_of(host: LocalHost, path: str) -> Mapping[str, Any]:
    """An adapter_config.json as it is. Raises :class:`~doctor.memory.validity.PlanInvalid`."""
    import os

    from doctor.memory.validity import PlanInvalid

    path = os.path.expanduser(path)
    path = os.path.join(path, "adapter_config.json") if host.is_folder(path) else path
    hint = "name the adapter_config.json of an adapter, or its folder"
    text = host.read_text(path)
    if text is None:
        raise PlanInvalid(f"--adapter-config {path} cannot be read", hint)
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise PlanInvalid(f"--adapter-config {path} is no JSON: {error}", hint) from error
    if not isinstance(found, dict) or "peft_type" not in found:
        raise PlanInvalid(f"--adapter-config {path} names no peft_type", hint)
    return found


def shape_of(host: LocalHost, word: str | None, parameters: str | None) -> ModelShape:
    """The model's shape. Leaves with 2 where it cannot be found or read."""
    from doctor.memory import models
    from doctor.model_files import ModelNotFound, find
    from doctor.readers.model_config import ConfigInvalid

    if not word and not parameters:
        refuse("no MODEL is named", 'name a config.json, a folder, a model id, or "llama-2-7b"')
    if word and parameters:
        refuse("both a MODEL and --parameters are given", "leave --parameters out: a MODEL says more")
    try:
        return find(host, word) if word else models.of_parameters(parameters or "")
    except (ModelNotFound, ConfigInvalid) as error:
        refuse(plainly(host, str(error)), error.hint)
