"""GPUs that the driver shows and a program does not see: variables and MIG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.cures import set_variable
from doctor.driver_cures import on_host
from doctor.facts import Facts, Gpu
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE, plural
from doctor.rules.machine_cures_by_words import show_gpus
from doctor.rules.roots import is_without_instance, root_of
from doctor.rules.witnesses import Witnesses

# Forms of a report that list every GPU.
COUNTING = frozenset(("lora-doctor", "nvidia-smi", "device list", "collect_env", "llamafactory env"))
FULL_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


class Selection(NamedTuple):
    """What is left of the GPUs by a variable."""

    visible: int
    invalid: str  # the first entry that names no GPU; CUDA takes none behind it


def selection(value: str, gpus: tuple[Gpu, ...], count: int) -> Selection | None:
    """What CUDA_VISIBLE_DEVICES leaves of ``count`` GPUs, None where that cannot be told.

    CUDA takes entries up to the first that names no device; a device that is named twice hides all.
    """
    entries = [entry.strip() for entry in value.split(",")]
    for place, entry in enumerate(entries):
        known = names_gpu(entry, gpus, count)
        if known is None:
            return None
        if not known:
            return Selection(place, entry)
    return Selection(0, entries[-1]) if len({*entries}) < len(entries) else Selection(len(entries), "")


def names_gpu(entry: str, gpus: tuple[Gpu, ...], count: int) -> bool | None:
    """Does one entry name a GPU here? None where that cannot be told."""
    if entry.isdigit():
        return int(entry) < count
    if entry.startswith(("GPU-", "MIG-")):
        hashes = {gpu.uuid_hash for gpu in gpus}
        hashes |= {instance.uuid_hash for gpu in gpus for instance in gpu.mig_instances}
        told = FULL_UUID.match(entry) and "" not in hashes  # a shortened one cannot be held against a hash
        import hashlib  # 3 ms, for who names a GPU by its UUID

        return hashlib.sha256(entry.encode()).hexdigest()[:12] in hashes if told else None
    return None if entry[:1].isdigit() else False


@rule(
    "gpu/hidden-by-environment",
    "error",
    needs=("environment", "gpus"),
    breaks=SEE,
    symptoms=("No CUDA GPUs are available",),
    cure=show_gpus,
    question='What does echo "$CUDA_VISIBLE_DEVICES" print, and does the script set it?',
)
def hidden_by_environment(facts: Facts) -> Iterator[Hit]:
    """CUDA_VISIBLE_DEVICES hides GPUs

    Why: CUDA shows a program only the devices that the variable names, in that order, up to the first entry
    that names none. An empty value, -1, or a word such as "all" leaves nothing.

    See: the script or the shell sets CUDA_VISIBLE_DEVICES to an index that nvidia-smi -L does not list,
    to nothing, or to -1.

    Fix: unset it, or name GPUs that are here.

    Verify: torch.cuda.device_count() is what it should be.

    References: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    https://github.com/thuml/Autoformer/issues/25
    """
    assert facts.environment is not None and facts.gpus is not None
    value = facts.environment.get("CUDA_VISIBLE_DEVICES")
    if value is None or not facts.gpus or root_of(facts):
        return
    libcuda = facts.cuda_driver.devices if facts.cuda_driver else ()
    count = len(libcuda) or len(facts.gpus)
    by_index_in_mig = value.strip()[:1].isdigit() and any(gpu.mig_mode for gpu in facts.gpus)
    left = selection(value, facts.gpus, count)
    if left is None or (left.visible and not left.invalid) or by_index_in_mig:
        return
    if not left.visible and facts.torch_runtime and facts.torch_runtime.cuda_available:
        return  # torch sees a GPU all the same
    what = (
        f"{value!r}, which hides {'the GPU' if len(facts.gpus) == 1 else f'all {len(facts.gpus)} GPUs'}"
        if hides_all(value)
        else named_wrongly(value, left)
    )
    yield Hit(
        title=f"CUDA_VISIBLE_DEVICES is {what}",
        confidence="confirmed" if hides_all(value) or is_counted(facts) else "possible",
        severity="warning" if left.visible else None,
        evidence=(
            Evidence("CUDA_VISIBLE_DEVICES", repr(value), "unset, or the index of a GPU"),
            Evidence("gpu", ", ".join(f"{gpu.index}: {gpu.name}" for gpu in facts.gpus[:8])),
        ),
        fixes=(set_variable("Let CUDA see the GPUs", "CUDA_VISIBLE_DEVICES", None),),
    )


def is_counted(facts: Facts) -> bool:
    """Are the GPUs all that are there? People tell the kind of theirs and leave out how many they have."""
    told = {one.form for one in facts.paste.statements if one.topic == "gpu"} if facts.paste else set()
    return not told or not told.isdisjoint(COUNTING)


def named_wrongly(value: str, left: Selection) -> str:
    """The rest of a title about a value that names what is not here."""
    shown = f"only the first {left.visible} are shown" if left.visible else "no GPU is shown"
    return f"{value!r} and {left.invalid!r} is no further GPU here, so {shown}"


def hides_all(value: str | None) -> bool:
    """Does a value of CUDA_VISIBLE_DEVICES name no device at all?"""
    return value is not None and value.strip() in ("", "-1", "none", "NoDevFiles")


@rule(
    "gpu/mig-visibility",
    "warning",
    needs=("gpus",),
    breaks=SEE,
    symptoms=(
        "device >= 0 && device < num_gpus INTERNAL ASSERT FAILED",
        r"re:invalid literal for int\(\) with base 10: '(?:MIG|GPU)-",
    ),
    question='What do nvidia-smi -L and echo "$CUDA_VISIBLE_DEVICES" print?',
)
def mig_visibility(facts: Facts) -> Iterator[Hit]:
    """A GPU in MIG mode is not divided, or its instances are named in a way that CUDA does not take

    Why: in MIG mode the GPU itself is no CUDA device any more; its instances are, and there are none until
    they are made. A program uses one instance, the first, unless CUDA_VISIBLE_DEVICES names another by its
    UUID (nvidia-smi -L lists them); an index beyond 0 names none.

    Fix: make instances, or leave MIG mode; name an instance by its UUID.

    References: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    https://github.com/pytorch/pytorch/issues/130181 https://github.com/pytorch/pytorch/issues/98885
    """
    assert facts.gpus is not None
    seen, root = Witnesses(facts), root_of(facts)
    undivided = [gpu for gpu in facts.gpus if is_without_instance(gpu)]
    if undivided and root in ("", "gpu/mig-visibility") and not (seen.cuda_works and len(facts.gpus) == 1):
        yield not_divided(facts, undivided, bool(root) and seen.cuda_code is not None)
    instances = [one for gpu in facts.gpus for one in gpu.mig_instances]
    value = ((facts.environment or {}).get("CUDA_VISIBLE_DEVICES") or "").strip()
    entries = [entry.strip() for entry in value.split(",")]
    by_index = len(facts.gpus) == 1 and all(entry.isdigit() for entry in entries)
    beyond = [entry for entry in entries if by_index and int(entry) > 0]
    shows_one = bool(beyond) and entries[0] not in beyond  # the others are not there, and the first is
    if instances and beyond and not root and (shows_one or not seen.cuda_works):
        yield Hit(
            title=f"CUDA_VISIBLE_DEVICES is {value!r}, and MIG instances are named by their UUID"
            + (": a program sees the first alone" if shows_one else ""),
            severity="warning" if shows_one else "error",
            evidence=(
                Evidence("CUDA_VISIBLE_DEVICES", repr(value), "MIG- and a UUID"),
                Evidence("gpu", f"{facts.gpus[0].name} in {plural(len(instances), 'instance')}"),
            ),
            fixes=(
                Fix("List the instances with their UUIDs, and name one", (("nvidia-smi", "-L"),), "setting"),
                set_variable("Use the first instance", "CUDA_VISIBLE_DEVICES", None),
            ),
        )
    elif len(instances) > 1 and not value and not root:
        yield Hit(
            title=f"A program here sees one of {len(instances)} MIG instances, {instances[0].name}",
            severity="note",
            evidence=(Evidence("gpu", f"{len(instances)} instances, CUDA_VISIBLE_DEVICES unset"),),
            fixes=(Fix("Name another by its UUID", (("nvidia-smi", "-L"),), "setting"),),
        )


def not_divided(facts: Facts, undivided: list[Gpu], confirmed: bool) -> Hit:
    """GPUs in MIG mode without an instance."""
    gpu, all_so = undivided[0], len(undivided) == len(facts.gpus or ())
    leave = (("sudo", "nvidia-smi", "-i", str(gpu.index), "-mig", "0"),)
    make = (("sudo", "nvidia-smi", "mig", "-i", str(gpu.index), "-lgip"),)
    return Hit(
        title=f"{gpu.name}, GPU {gpu.index}, is in MIG mode without an instance, so CUDA has no device in it",
        severity="error" if all_so else "warning",
        confidence="confirmed" if confirmed else "likely",
        evidence=(Evidence("gpu", "MIG mode, 0 instances", "an instance, or no MIG mode"),),
        fixes=(
            on_host(facts, "Leave MIG mode", leave),
            on_host(facts, "See the profiles that instances can be made of (nvidia-smi mig -cgi)", make),
        ),
    )
