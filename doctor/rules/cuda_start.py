"""The driver answers, its own libcuda is loaded, and CUDA does not start: what it waits for."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.driver_cures import on_host
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE
from doctor.rules.libcuda import first_gpu
from doctor.rules.machine_cures_by_words import reload_uvm, start_fabric_manager
from doctor.rules.roots import root_of
from doctor.rules.witnesses import SYSTEM_NOT_READY, Witnesses


@rule(
    "driver/fabric-manager-not-running",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "system not yet initialized",
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "cudaErrorSystemNotReady",
        r"re:[Ff]abric manager NVIDIA GPU driver interface version",
        r"re:nvidia-fabricmanager\.service: (?:Failed|Control process exited)",
    ),
    cure=start_fabric_manager,
    question="What does systemctl status nvidia-fabricmanager print on the host?",
)
def fabric_manager_not_running(facts: Facts) -> Iterator[Hit]:
    """CUDA waits for the GPUs' fabric: fabric manager does not run (error 802)

    Why: on machines with NVSwitch (HGX, DGX) no GPU starts before nvidia-fabricmanager has set up the links
    between them. Its version must be the driver's, so it stops after an upgrade of the driver alone.
    nvidia-smi and NVML work meanwhile. In a virtual machine or a container it runs on the host. Without
    NVSwitch the error means that the GPUs still start, or that one in confidential mode was not set ready.

    See: nvidia-smi works, and systemctl status nvidia-fabricmanager does not say active.

    Fix: start the service; install it in the driver's version where it is absent.

    Verify: torch.cuda.is_available() is True.

    Tried in vain: another torch, another CUDA, reinstalling the driver.

    References: https://github.com/pytorch/pytorch/issues/35710 https://github.com/gpustack/gpustack/issues/1254
    https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/ https://github.com/NVIDIA/nvtrust/issues/56
    """
    if root_of(facts) != "driver/fabric-manager-not-running":
        return
    seen = Witnesses(facts)
    state, switches = seen.signs.fabric_manager, seen.switches
    by_error = seen.cuda_code == SYSTEM_NOT_READY
    evidence = [Evidence("CUDA", seen.cuda_words, "success")] if by_error else []
    if state or switches:
        running = state or "state not known"
        evidence.append(
            Evidence("fabric manager", f"{running}, with {switches} NVSwitches on the bus", "running")
        )
    described = (
        f"fabric manager is {state}" if state in ("stopped", "absent") else "fabric manager has not set it up"
    )
    yield Hit(
        title=f"The GPUs' fabric is not ready: {described}{' (error 802)' if by_error else ''}",
        confidence="confirmed" if by_error and state in ("stopped", "absent") else "likely",
        evidence=tuple(evidence),
        fixes=cures_of_the_fabric(facts, seen),
    )


def cures_of_the_fabric(facts: Facts, seen: Witnesses) -> tuple[Fix, Fix]:
    """Start the service, or bring what is missing for it."""
    version = facts.driver.version if facts.driver else seen.signs.kernel_version
    branch = version.partition(".")[0]
    start = on_host(
        facts,
        "Start fabric manager, and let it start with the machine",
        (("sudo", "systemctl", "enable", "--now", "nvidia-fabricmanager"),),
    )
    package = f"nvidia-fabricmanager-{branch}" if branch else "nvidia-fabricmanager"
    install = on_host(
        facts,
        f"Install fabric manager in the very version of the driver{f', {version}' if version else ''}",
        (("sudo", "apt", "install", package),),
    )
    if seen.signs.fabric_manager == "absent":
        return install, start
    if not seen.switches and seen.signs.bus:
        ready = (("sudo", "nvidia-smi", "conf-compute", "-srs", "1"),)
        return start, on_host(facts, "In confidential-computing mode, set the GPUs ready", ready)
    return start, install


@rule(
    "driver/uvm-broken",
    "error",
    needs=("driver_signs", "gpus"),
    breaks=SEE,
    symptoms=(
        "CUDA unknown error - this may be due to an incorrectly set up environment",
        "CUDA_ERROR_UNKNOWN",
        "FATAL: Module nvidia_uvm not found",
        r"re:cuInit[^\n]{0,40}\b999\b",
    ),
    cure=reload_uvm,
    question="Did the machine sleep, and is /dev/nvidia-uvm there? ls -l /dev/nvidia* prints it.",
)
def uvm_broken(facts: Facts) -> Iterator[Hit]:
    """NVML shows the GPU and CUDA gives its unknown error (999): nvidia-uvm is broken

    Why: CUDA, unlike NVML, needs the kernel module nvidia_uvm and the device file /dev/nvidia-uvm. The module
    often does not survive suspend; the file is absent in containers that were given the others by hand.

    Fix: reload the module.

    Tried in vain: setting CUDA_VISIBLE_DEVICES, which torch's message suggests.

    References: https://github.com/pytorch/pytorch/issues/49081 https://github.com/pytorch/pytorch/issues/88639
    https://github.com/pop-os/default-settings/pull/64 https://github.com/NVIDIA/nvidia-docker/issues/1085
    """
    if root_of(facts) != "driver/uvm-broken":
        return
    seen = Witnesses(facts)
    modules, nodes = seen.signs.modules, {node.path for node in seen.signs.nodes}
    unloaded = "nvidia" in modules and "nvidia_uvm" not in modules
    no_file = bool(nodes) and "/dev/nvidia-uvm" not in nodes
    what = (
        "/dev/nvidia-uvm is not there"
        if no_file
        else "nvidia_uvm is not loaded"
        if unloaded
        else "nvidia_uvm fails"
    )
    load = ("sudo", "modprobe", "nvidia_uvm")
    reload = on_host(
        facts,
        "Load nvidia_uvm anew",
        (load,) if unloaded else (("sudo", "modprobe", "-r", "nvidia_uvm"), load),
    )
    make = on_host(facts, "Make the device file", (("sudo", "nvidia-modprobe", "-c", "0", "-u"),))
    give = Fix(
        "Start the container with --gpus all, or give it --device /dev/nvidia-uvm as well", scope="system"
    )
    yield Hit(
        title=f"CUDA cannot start on {first_gpu(facts)}, which NVML shows: {what}",
        confidence="confirmed" if no_file or unloaded else "likely",
        evidence=(
            Evidence("CUDA", seen.cuda_words, "success"),
            *((Evidence("nvidia-uvm", what, "loaded, with its file"),) if no_file or unloaded else ()),
        ),
        fixes=((give, make) if seen.container else (make, reload)) if no_file else (reload,),
    )


@rule(
    "driver/memory-sharing-fails",
    "error",
    needs=("driver_signs", "gpus"),
    breaks=SEE,
    symptoms=(
        "CUDA driver initialization failed, you might not have a CUDA gpu",
        "CUDA_ERROR_NOT_INITIALIZED",
    ),
)
def memory_sharing_fails(facts: Facts) -> Iterator[Hit]:
    """NVML shows the GPU and cuInit gives error 3: sharing memory with the kernel (HMM) fails

    Why: newer drivers let the GPU see all memory of a process (heterogeneous memory management). On some
    kernels and boards that cannot be set up, and CUDA then does not start at all.

    Fix: switch it off in nvidia_uvm; nothing that trains needs it.

    References: https://github.com/NVIDIA/open-gpu-kernel-modules/issues/797
    https://github.com/NVIDIA/open-gpu-kernel-modules/issues/901 https://github.com/ollama/ollama/issues/11593
    """
    if root_of(facts) != "driver/memory-sharing-fails":
        return
    seen = Witnesses(facts)
    option = "echo options nvidia_uvm uvm_disable_hmm=1 > /etc/modprobe.d/nvidia-uvm.conf"
    commands = (
        ("sudo", "sh", "-c", option),
        ("sudo", "modprobe", "-r", "nvidia_uvm"),
        ("sudo", "modprobe", "nvidia_uvm"),
    )
    yield Hit(
        title=f"CUDA cannot be initialised on {first_gpu(facts)}, which NVML shows",
        confidence="likely",
        evidence=(Evidence("CUDA", seen.cuda_words, "success"),),
        fixes=(on_host(facts, "Switch HMM off in nvidia_uvm and load it anew", commands),),
    )
