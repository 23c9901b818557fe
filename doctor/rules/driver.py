"""Faults of the NVIDIA driver and of how the machine shows its GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import set_variable
from doctor.facts import DriverSigns, Facts
from doctor.findings import Evidence, Fix, Severity
from doctor.rules import Hit, rule

SEE = ("see-gpu", "load-4bit", "qlora-step")


@rule(
    "driver/library-version-mismatch",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "Driver/library version mismatch",
        "system has unsupported display driver / cuda driver combination",
    ),
)
def library_version_mismatch(facts: Facts) -> Iterator[Hit]:
    """The kernel module and the user-space driver are of two versions

    Why: the driver was upgraded while its kernel module stayed loaded, typically by unattended upgrades.
    Nothing is wrong with what is installed.

    Fix: reboot, or reload the kernel modules. Reinstalling the driver is tried in vain.
    """
    signs = facts.driver_signs
    assert signs is not None
    said = [text for text in (signs.nvml_error, signs.smi_error) if "version mismatch" in text.lower()]
    if is_mismatch(signs):
        loaded = f"kernel module {signs.kernel_version}; " if signs.kernel_version else ""
        yield Hit(
            title="The loaded NVIDIA kernel module and the driver's libraries are of two versions",
            evidence=(
                Evidence("driver", loaded + (said or [signs.nvml_error])[0][:300], "one version of both"),
            ),
            fixes=(Fix("Reboot, or reload the nvidia kernel modules", (("sudo", "reboot"),), "system"),),
        )


@rule("driver/not-answering", "warning", needs=("driver_signs",), breaks=SEE)
def not_answering(facts: Facts) -> Iterator[Hit]:
    """A driver is there, or should be, and gives no answer

    Why: the kernel module is not loaded, was built for another kernel, or the driver hangs. torch will see
    no GPU.

    Fix: look at what it said; on a machine that should have a GPU, reinstall the driver for this kernel.
    """
    signs = facts.driver_signs
    assert signs is not None
    container = facts.system.container if facts.system else None
    mute = bool(signs.bus_gpus) and facts.driver is None and not is_absent(signs) and not container
    witness, said = (
        ("nvidia-smi", signs.smi_error) if signs.smi_error else ("NVML", mute and signs.nvml_error)
    )
    if said and not is_mismatch(signs):
        severity: Severity = "error" if signs.bus_gpus else "warning"
        yield Hit(
            title=f"{witness} gets no answer from an NVIDIA driver",
            severity=severity,
            confidence="confirmed" if signs.bus_gpus else "likely",
            evidence=(Evidence(witness, said.splitlines()[0][:300], "an answer that names the GPUs"),),
            fixes=(Fix("See why the kernel module does not answer", (("dmesg",),), "system"),),
        )


def is_absent(signs: DriverSigns) -> bool:
    """Is there neither NVML's library nor a loaded module: no driver at all?"""
    return signs.nvml_code == 12 and not signs.kernel_version


def is_mismatch(signs: DriverSigns) -> bool:
    """Did a witness say that kernel module and libraries are of two versions?"""
    said = f"{signs.nvml_error} {signs.smi_error}".lower()
    return "version mismatch" in said or signs.nvml_code == 18


@rule("driver/not-installed", "error", needs=("driver_signs", "system"), breaks=SEE)
def not_installed(facts: Facts) -> Iterator[Hit]:
    """An NVIDIA GPU is on the bus and no driver answers

    Why: without the driver neither torch nor anything else can reach the GPU.

    Fix: install the distribution's NVIDIA driver and reboot.
    """
    assert facts.driver_signs and facts.system
    bus = facts.driver_signs.bus_gpus
    silent = facts.driver is None and not facts.driver_signs.smi_error and is_absent(facts.driver_signs)
    if bus and silent and facts.system.container is None:
        yield Hit(
            title=f"{bus} NVIDIA GPU on the bus, and no NVIDIA driver is installed",
            evidence=(
                Evidence("driver", facts.driver_signs.nvml_error, "libnvidia-ml.so.1 and a loaded module"),
            ),
            fixes=(Fix("Install the NVIDIA driver of your distribution and reboot", scope="system"),),
        )


@rule("gpu/none-visible-in-container", "error", needs=("driver_signs", "system"), breaks=SEE)
def none_visible_in_container(facts: Facts) -> Iterator[Hit]:
    """The machine has a GPU and this container was started without it

    Why: a container sees GPUs only when it is told to, and when the container toolkit is installed on the
    host.

    Fix: start it with --gpus all (docker), --device nvidia.com/gpu=all (podman), or ask for nvidia.com/gpu
    in the pod's limits (Kubernetes).
    """
    assert facts.driver_signs and facts.system
    if facts.driver_signs.bus_gpus and facts.driver is None and facts.system.container:
        engine = facts.system.container
        flag = {
            "podman": "podman run --device nvidia.com/gpu=all",
            "kubernetes": "limits: nvidia.com/gpu: 1 in the pod's specification",
        }.get(engine, "docker run --gpus all")
        yield Hit(
            title=f"This {engine} container was started without the machine's GPU",
            confidence="likely",
            evidence=(
                Evidence("bus", f"{facts.driver_signs.bus_gpus} NVIDIA GPU"),
                Evidence(
                    "driver",
                    facts.driver_signs.nvml_error or "does not answer",
                    "the host's driver, passed in",
                ),
            ),
            fixes=(Fix(f"Start the container with the GPU: {flag}", scope="system"),),
        )


@rule("gpu/hidden-by-environment", "error", needs=("environment", "gpus"), breaks=SEE)
def hidden_by_environment(facts: Facts) -> Iterator[Hit]:
    """CUDA_VISIBLE_DEVICES hides every GPU

    Why: CUDA shows a program only the devices that the variable names; an empty value or -1 names none.

    Fix: unset it.
    """
    assert facts.environment is not None and facts.gpus is not None
    value = facts.environment.get("CUDA_VISIBLE_DEVICES")
    if hides_all(value) and facts.gpus:
        yield Hit(
            title=f"CUDA_VISIBLE_DEVICES is {value!r}, which hides all {len(facts.gpus)} GPUs",
            evidence=(Evidence("CUDA_VISIBLE_DEVICES", repr(value), "unset, or the index of a GPU"),),
            fixes=(set_variable("Let CUDA see the GPUs", "CUDA_VISIBLE_DEVICES", None),),
        )


def hides_all(value: str | None) -> bool:
    """Does a value of CUDA_VISIBLE_DEVICES name no device at all?"""
    return value is not None and value.strip() in ("", "-1", "none", "NoDevFiles")


@rule("driver/witnesses-disagree", "note", needs=("driver",))
def witnesses_disagree(facts: Facts) -> Iterator[Hit]:
    """NVML and nvidia-smi name two driver versions

    Why: one of the two comes from another installation, for example a container image that brought its own.

    Fix: use the host's nvidia-smi and remove the other.
    """
    assert facts.driver is not None
    if facts.driver.disagreement:
        said = ", ".join(f"{name} says {version}" for name, version in facts.driver.disagreement.items())
        yield Hit(
            title="Two witnesses name two versions of the NVIDIA driver",
            evidence=(Evidence("driver", said, "one version"),),
        )
