"""A driver that is there and does not serve: it kills, hangs, refuses, or contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from doctor.driver_cures import REBOOT, drop_from_library_path, install_driver, on_host
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE, graded, is_legacy
from doctor.rules.roots import DIED, HUNG, root_of
from doctor.rules.witnesses import (
    DRIVER_NOT_LOADED,
    NVML_ABSENT,
    Witnesses,
    first_line,
)


@rule(
    "driver/crashes",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        r"re:(?:Segmentation fault|Bus error|Aborted)(?: {1,3}\(core dumped\))? {1,30}(?:sudo )?nvidia-smi\b",
    ),
)
def crashes(facts: Facts) -> Iterator[Hit]:
    """A library of the driver kills the process that loads it

    Why: the file of the library is cut short, or of another machine, or another library stands in front of
    it. Whatever asks for the GPU dies the same way, torch included.

    Fix: take the other library out of the loader's way; else reinstall the driver.
    """
    seen = Witnesses(facts)
    if root_of(facts) != "driver/crashes":
        return
    failure = facts.cuda_driver.failure if facts.cuda_driver else ""
    name, said = ("libcuda.so.1", failure) if DIED.search(failure) else ("NVML", seen.signs.nvml_error)
    path = (seen.libcuda.path if seen.libcuda else "") if failure else library_of_nvml(seen)
    drop = drop_from_library_path(facts, str(PurePosixPath(path).parent)) if path else None
    yield Hit(
        title=f"{name} {said_death(said)} whatever loads it",
        severity="warning" if seen.torch_works else "error",
        evidence=(Evidence(name, f"{path + ': ' if path else ''}{said[:300]}", "an answer"),),
        fixes=(drop or install_driver(facts, is_legacy(seen)),),
    )


def library_of_nvml(seen: Witnesses) -> str:
    """The file of NVML, "" where it is not known."""
    return seen.signs.libraries.get("libnvidia-ml.so.1", "")


def said_death(text: str) -> str:
    """ "kills (SIGSEGV)", out of the words for a child's death."""
    found = DIED.search(text)
    return f"kills ({found.group(0).split()[-1]})" if found else "kills"


@rule(
    "driver/hangs",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=("driver rpc error: timed out",),
)
def hangs(facts: Facts) -> Iterator[Hit]:
    """The driver takes a question and does not come back

    Why: the kernel module waits for a GPU that does not answer: it fell off the bus, is being reset, or its
    firmware has crashed. On a machine with many GPUs and without persistence mode the start alone takes long.

    Fix: the kernel's log says what it waits for; a reboot ends it.
    """
    seen = Witnesses(facts)
    if root_of(facts) != "driver/hangs":
        return
    driver, signs = facts.cuda_driver, seen.signs
    asked = (
        ("NVML", signs.nvml_error),
        ("nvidia-smi", signs.smi_error),
        ("libcuda", driver.failure if driver else ""),
    )
    silent = [(name, said) for name, said in asked if HUNG.search(said)]
    yield Hit(
        title=f"{silent[0][0]} does not come back from the NVIDIA driver",
        severity="warning" if seen.torch_works else "error",
        evidence=tuple(Evidence(name, said[:300], "an answer within seconds") for name, said in silent),
        fixes=(
            on_host(facts, "See what the kernel says of it", (("sudo", "dmesg"),)),
            on_host(facts, "Reboot", (REBOOT,)),
        ),
    )


@rule(
    "driver/not-answering",
    "warning",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=("NVIDIA-SMI has failed because it couldn't communicate",),
)
def not_answering(facts: Facts) -> Iterator[Hit]:
    """A driver is there, or should be, and gives no answer

    Why: the kernel module is not loaded, was built for another kernel, or could not start the GPU. torch will
    see no GPU.

    Fix: look at what it said; on a machine that should have a GPU, reinstall the driver for this kernel.
    """
    seen = Witnesses(facts)
    signs = seen.signs
    if root_of(facts) != "driver/not-answering":
        return
    witness, said = ("nvidia-smi", signs.smi_error) if signs.smi_error else ("NVML", signs.nvml_error)
    restart = Fix("Update NVIDIA's driver in Windows, then restart WSL: wsl --shutdown", scope="system")
    look = on_host(facts, "See why the kernel module does not answer", (("sudo", "dmesg"),))
    yield Hit(
        title=f"{witness} gets no answer from an NVIDIA driver",
        severity=graded(seen),
        confidence="confirmed" if seen.gpus_on_bus else "likely",
        evidence=(Evidence(witness, first_line(said) or "nothing", "an answer that names the GPUs"),),
        fixes=(restart if seen.wsl else look,),
    )


@rule(
    "driver/device-nodes-not-usable",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "Failed to initialize NVML: Unknown Error",
        "Failed to initialize NVML: Insufficient Permissions",
    ),
    question="Does nvidia-smi work in a container that is started anew?",
)
def device_nodes_not_usable(facts: Facts) -> Iterator[Hit]:
    """The driver's device files are not there, or this user may not use them

    Why: programs reach the GPU through /dev/nvidia0, /dev/nvidiactl and /dev/nvidia-uvm. A group may be
    needed for them, the program that makes them may not have run, and a container loses its right to them
    when systemd reloads its units on the host.

    Fix: start the container anew; outside of one, make the files, or join the group that owns them.

    References: https://github.com/NVIDIA/nvidia-container-toolkit/issues/48
    https://github.com/pytorch/pytorch/issues/49081
    """
    seen = Witnesses(facts)
    if root_of(facts) != "driver/device-nodes-not-usable":
        return
    refused = facts.cuda_driver.refused if facts.cuda_driver else {}
    blocked = list(refused) or [node.path for node in seen.signs.nodes if not node.usable]
    absent = not seen.signs.nodes and seen.nvml_code == DRIVER_NOT_LOADED
    what = f"{blocked[0] if blocked else '/dev/nvidia*'} {'is not there' if absent else 'is not usable'}"
    kept = next((one.error for one in seen.signs.lost), "")
    said = seen.nvml_words or kept or seen.cuda_words
    how = next(iter(refused.values()), "")
    yield Hit(
        title=f"{what} for this {'container' if seen.container else 'user'}, though the driver is loaded",
        evidence=(
            Evidence(
                "device files",
                (", ".join(blocked[:6]) or "none") + (f": {how}" if how else ""),
                "readable and writable",
            ),
            Evidence("driver", said[:300], "an answer"),
        ),
        fixes=cures_of_nodes(seen.container, absent),
    )


def cures_of_nodes(container: str | None, absent: bool) -> tuple[Fix, ...]:
    """How device files come to be usable."""
    if container:
        again = Fix("Start this container anew: a running one does not get its right back", scope="system")
        keep = "Name the files too when it is started: docker run --gpus all --device /dev/nvidiactl ..."
        return (again, Fix(keep, scope="system"))
    make = Fix("Make the device files", (("sudo", "nvidia-modprobe", "-c", "0", "-u"),), "system")
    join = "Join the group that owns them (often video or render), then log in anew"
    return (make,) if absent else (Fix(join, (("ls", "-l", "/dev/nvidia0", "/dev/nvidiactl"),), "system"),)


@rule("driver/witnesses-disagree", "note", needs=("driver",))
def witnesses_disagree(facts: Facts) -> Iterator[Hit]:
    """The witnesses of the driver contradict each other

    Why: one of them comes from another installation, for example a container image that brought its own, or
    one counts GPUs that another cannot start.

    Fix: use the host's programs and libraries and remove the others.
    """
    assert facts.driver is not None
    seen = Witnesses(facts)
    if facts.driver.disagreement:
        said = ", ".join(f"{name} says {version}" for name, version in facts.driver.disagreement.items())
        yield Hit(
            title="Two witnesses name two versions of the NVIDIA driver",
            evidence=(Evidence("driver", said, "one version"),),
        )
    cuda, gpus = facts.cuda_driver, facts.gpus
    counted = len(cuda.devices) if cuda and cuda.init_code == 0 else None
    divided = any(gpu.mig_mode for gpu in gpus or ())
    if gpus and counted and counted != len(gpus) and not divided and not seen.signs.lost:
        yield Hit(
            title=f"NVML counts {len(gpus)} GPUs and libcuda {counted}",
            evidence=(Evidence("driver", f"NVML {len(gpus)}, libcuda {counted}", "one number"),),
        )
    if facts.driver.source == "nvml" and seen.signs.smi_error and gpus and not seen.signs.lost:
        yield Hit(
            title="NVML answers and nvidia-smi does not",
            evidence=(Evidence("nvidia-smi", first_line(seen.signs.smi_error), "the same answer"),),
        )
    if facts.driver.source == "nvidia-smi" and seen.signs.nvml_code not in (None, *NVML_ABSENT) and gpus:
        yield Hit(
            title="nvidia-smi answers and NVML does not",
            evidence=(Evidence("NVML", first_line(seen.signs.nvml_error), "the same answer"),),
        )
