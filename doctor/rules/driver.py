"""Faults of the NVIDIA driver as it is installed: none, not loaded, of two versions, not made for the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.driver_cures import (
    REBOOT,
    install_driver,
    on_host,
    reload_modules,
)
from doctor.facts import Facts
from doctor.findings import Evidence, Fix, Severity
from doctor.rules import Hit, rule
from doctor.rules.machine_cures_by_words import reboot
from doctor.rules.roots import TURING, root_of, why_unsupported
from doctor.rules.witnesses import Witnesses, first_line, version_of

SEE = ("see-gpu", "load-4bit", "qlora-step")


def is_legacy(seen: Witnesses) -> bool:
    """Are all NVIDIA GPUs on the bus older than Turing?"""
    return bool(seen.device_ids) and max(seen.device_ids) < TURING


def plural(count: int, what: str) -> str:
    """A count and its noun: "1 NVIDIA GPU", "2 NVIDIA GPUs"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def graded(seen: Witnesses) -> Severity:
    """How grave a silent driver is: an error where a GPU waits for it, else a warning."""
    return "error" if seen.gpu_is_here and not seen.torch_works else "warning"


@rule(
    "driver/library-version-mismatch",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "Driver/library version mismatch",
        "driver/library version mismatch",
        r"re:the client has (?:the )?version (?P<driver>\d{3}\.[.\d]{1,10})",
        r"re:this kernel module has (?:the )?version (?P<kernel_module>\d{3}\.[.\d]{1,10})",
        r"re:NVML library version: (?P<driver>\d{3}\.\d{1,3})",
    ),
    cure=reboot,
    question="What does cat /proc/driver/nvidia/version print, beside the driver that is installed?",
)
def library_version_mismatch(facts: Facts) -> Iterator[Hit]:
    """The kernel module and the user-space driver are of two versions

    Why: the driver was upgraded while its kernel module stayed loaded, typically by unattended upgrades.
    Nothing is wrong with what is installed. In a container the libraries are those of the host at the time
    when it was started, or those that an image brought with it.

    Fix: reboot, or reload the kernel modules; a container must be started anew after that.

    Verify: nvidia-smi prints its table.

    Tried in vain: reinstalling the driver, torch or the CUDA toolkit.

    References: https://github.com/canonical/ubuntu-server-documentation/pull/369
    https://github.com/rocker-org/ml/issues/28 https://github.com/NVIDIA/nvidia-docker/issues/182
    """
    seen = Witnesses(facts)
    signs = seen.signs
    if root_of(facts) != "driver/library-version-mismatch":
        return
    library = next(filter(None, map(version_of, signs.libraries.values())), "")
    said = next((text for text in (signs.nvml_error, signs.smi_error) if "mismatch" in text.lower()), "")
    versions = (
        f"kernel module {signs.kernel_version}; " if signs.kernel_version else "",
        f"libraries {library}; " if library else "",
    )
    reload = reload_modules(frozenset(signs.modules))
    yield Hit(
        title="The loaded NVIDIA kernel module and the driver's libraries are of two versions",
        severity="warning" if seen.torch_works else "error",
        evidence=(
            Evidence(
                "driver",
                "".join(versions) + (said or signs.nvml_error or seen.cuda_words)[:300],
                "one version of both",
            ),
        ),
        fixes=(
            on_host(facts, f"Reboot{', then start this container anew' * bool(seen.container)}", (REBOOT,)),
            on_host(facts, "Stop what uses the GPU and reload the nvidia kernel modules", reload),
        ),
    )


@rule(
    "driver/not-installed",
    "error",
    needs=("driver_signs", "system"),
    breaks=SEE,
    symptoms=(
        "Found no NVIDIA driver on your system",
        "NVIDIA-SMI couldn't find libnvidia-ml.so",
        "NVML Shared Library Not Found",
        "load library failed: libnvidia-ml.so.1",
        "WSL environment detected but no adapters were found",
    ),
    question="What does nvidia-smi print, and lspci | grep -i nvidia?",
)
def not_installed(facts: Facts) -> Iterator[Hit]:
    """An NVIDIA GPU is on the bus and no driver answers

    Why: without NVIDIA's driver neither torch nor anything else can compute on the GPU. The driver nouveau,
    which comes with Linux, draws a screen and knows no CUDA.

    Fix: install the distribution's NVIDIA driver, which keeps nouveau from loading, and reboot.

    Verify: nvidia-smi prints its table.
    """
    seen = Witnesses(facts)
    if root_of(facts) != "driver/not-installed":
        return
    gpus = plural(seen.gpus_on_bus, "NVIDIA GPU")
    nouveau = any(one.kernel_driver == "nouveau" for one in seen.bus) or "nouveau" in seen.signs.modules
    driven = (Evidence("kernel", "the GPU is driven by nouveau", "NVIDIA's kernel module"),)
    yield Hit(
        title=f"{gpus} on the bus, and no NVIDIA driver is installed"
        + (": nouveau, which has no CUDA, drives it" if nouveau else ""),
        evidence=(
            Evidence("driver", seen.signs.nvml_error, "libnvidia-ml.so.1 and a loaded module"),
            *(driven if nouveau else ()),
        ),
        fixes=(install_driver(facts, is_legacy(seen)),),
    )


@rule(
    "driver/bound-to-vfio",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=("Kernel driver in use: vfio-pci",),
)
def bound_to_vfio(facts: Facts) -> Iterator[Hit]:
    """The GPU is set aside for virtual machines

    Why: the kernel driver vfio-pci holds the device for a guest, so NVIDIA's driver cannot take it here. The
    guest that it is handed to can train.

    Fix: train in that guest; or take the device away from vfio-pci (a line "options vfio-pci ids=" in
    /etc/modprobe.d, or "vfio-pci.ids=" among the kernel's options), install NVIDIA's driver and reboot.

    References: https://docs.kernel.org/driver-api/vfio.html
    """
    seen = Witnesses(facts)
    if root_of(facts) != "driver/bound-to-vfio":
        return
    yield Hit(
        title=f"{plural(len(seen.bus), 'NVIDIA GPU')} on the bus, held by vfio-pci for a virtual machine",
        evidence=tuple(Evidence(one.address, "kernel driver vfio-pci", "nvidia") for one in seen.bus[:4]),
        fixes=(
            Fix("Train inside the virtual machine that has the GPU", scope="system"),
            Fix(
                "Find where vfio-pci is told to take it, remove that line, and reboot",
                (("grep", "-rn", "vfio", "/etc/modprobe.d", "/proc/cmdline"), REBOOT),
                "system",
            ),
        ),
    )


@rule(
    "driver/module-not-loaded",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "couldn't communicate with the NVIDIA driver",
        "Driver Not Loaded",
        "nvml error: driver not loaded",
        "FATAL: Module nvidia not found in directory",
        r"re:modprobe: ERROR: could not insert 'nvidia\w{0,10}'",
    ),
    question="What does sudo modprobe nvidia say, and mokutil --sb-state?",
)
def module_not_loaded(facts: Facts) -> Iterator[Hit]:
    """The driver's libraries are installed and its kernel module is not loaded

    Why: the module was not built for the kernel that runs, typically after a kernel update; or Secure Boot
    refuses it because its signature is not enrolled; or nouveau holds the GPU.

    Fix: load it by hand, its refusal names the cause: "not found" asks for the module to be built for this
    kernel, "Key was rejected" for its key to be enrolled in the firmware.

    Verify: nvidia-smi prints its table.

    References: https://github.com/hhfeuer/nvhda/issues/8 https://github.com/lcp/mokutil/issues/61
    """
    seen = Witnesses(facts)
    if root_of(facts) != "driver/module-not-loaded":
        return
    said = first_line(seen.signs.nvml_error or seen.signs.smi_error)
    nouveau = "nouveau" in seen.signs.modules or seen.is_bound_to("nouveau")
    loaded = "nouveau is loaded in its place" if nouveau else "nvidia is not among the loaded modules"
    load = (("sudo", "modprobe", "nvidia"),)
    build = (("mokutil", "--sb-state"), ("sudo", "dkms", "autoinstall"), REBOOT)
    yield Hit(
        title="The NVIDIA driver is installed and its kernel module is not loaded",
        severity=graded(seen),
        confidence="confirmed" if seen.gpus_on_bus else "likely",
        evidence=(
            Evidence("kernel", loaded, "nvidia"),
            Evidence("driver", said or "libraries without a module", "an answer"),
        ),
        fixes=(
            Fix("Load the module, and read its refusal", load, "system"),
            Fix("See whether Secure Boot is on, and build the module for this kernel", build, "system"),
        ),
    )


@rule(
    "driver/gpu-not-supported",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "No devices were found",
        "requires use of the NVIDIA open kernel modules",
        r"re:installed in this system is(?:\s{1,12}|\n)(?:not )?supported (?:by|through) the",
        "no NVIDIA GPU that is supported by the driver",
    ),
    question="What does sudo dmesg | grep NVRM print?",
)
def gpu_not_supported(facts: Facts) -> Iterator[Hit]:
    """The loaded driver is not made for the GPU on the bus

    Why: Blackwell GPUs are driven by NVIDIA's open kernel modules alone, GPUs before Turing by the
    proprietary ones alone, and after branch 580 no driver knows Maxwell, Pascal and Volta. The driver runs
    and shows no GPU.

    Fix: install the kind or the branch that drives it.

    References: https://github.com/NVIDIA/open-gpu-kernel-modules/issues/872
    https://github.com/NixOS/nixos-hardware/issues/1880
    https://archlinux.org/news/nvidia-590-driver-drops-pascal-support-main-packages-switch-to-open-kernel-modules/
    """
    seen = Witnesses(facts)
    if root_of(facts) != "driver/gpu-not-supported":
        return
    loaded = seen.signs.kernel_version
    title, wanted, cure = {
        "too new": (
            f"NVIDIA's driver {loaded} no longer drives this GPU, whose last branch is 580",
            "580 or older",
            "Install driver branch 580",
        ),
        "open": (
            f"NVIDIA's open kernel module {loaded} is loaded, which drives no GPU before Turing",
            "the proprietary module",
            "Install the proprietary kernel module of driver branch 580",
        ),
        "proprietary": (
            f"NVIDIA's proprietary kernel module {loaded} is loaded, which drives no Blackwell GPU",
            "the open module",
            "Install the open kernel modules (packages with -open in their name)",
        ),
    }[why_unsupported(seen)]
    yield Hit(
        title=title,
        confidence="likely",
        evidence=(
            Evidence("kernel module", f"{seen.signs.kernel_flavor} {loaded}".strip(), wanted),
            *(Evidence(one.address, f"device {one.device}") for one in seen.bus[:4]),
        ),
        fixes=(Fix(f"{cure}, and reboot", scope="system"),),
    )
