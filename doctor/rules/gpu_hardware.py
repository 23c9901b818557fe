"""The hardware of the GPUs: lost, with broken memory, slowed down, badly connected."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.driver_cures import REBOOT, on_host
from doctor.facts import Facts, Gpu, Xid
from doctor.findings import Confidence, Evidence, Fix, Severity
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE, plural
from doctor.rules.libcuda import first_gpu
from doctor.rules.roots import OF_HARDWARE, is_broken_off, root_of
from doctor.rules.witnesses import ECC_UNCORRECTABLE, Witnesses

STEPS = ("load-4bit", "lora-step", "qlora-step", "trainer-step", "sft-step")
ORDINARY_LANES = 8  # what boards give each of two cards, and laptops their one
# Xid: what it says, and whether the GPU is of use meanwhile. 13, 31, 43 and 45 are faults of programs.
XIDS: dict[int, tuple[Severity, str]] = {
    48: ("error", "an uncorrectable memory error"),
    63: ("warning", "a memory row or page was taken out of use, from the next reset on"),
    64: ("error", "a memory row or page could not be taken out of use"),
    74: ("error", "an error of an NVLink"),
    79: ("error", "the GPU has fallen off the bus"),
    92: ("warning", "many correctable memory errors"),
    94: ("warning", "an uncorrectable memory error that ended one program"),
    95: ("error", "an uncorrectable memory error that could have reached every program"),
    119: ("error", "the GPU's own processor does not answer"),
    120: ("error", "the GPU's own processor has crashed"),
    140: ("error", "an uncorrectable memory error"),
}
NVML_HARDWARE = {
    8: "its power cables are not connected",
    11: "its interrupts do not arrive",
    15: "it is lost: it has fallen off the bus or does not answer",
    16: "it must be reset",
}


@rule(
    "gpu/not-started",
    "error",
    needs=("driver_signs", "gpus"),
    breaks=SEE,
    symptoms=("No devices were found", "RmInitAdapter failed", "failed to copy vbios to system memory"),
    question="What does sudo dmesg | grep -i nvrm print?",
)
def not_started(facts: Facts) -> Iterator[Hit]:
    """The driver runs and could not start the GPU that is on the bus

    Why: the driver saw the device and its start failed: no power cable, a slot or riser that loses the link,
    Resizable BAR or "Above 4G decoding" switched off in the firmware, or GPU firmware that does not load.

    Fix: the kernel's log names the step that failed (lines with RmInitAdapter); a full power-off clears a GPU
    that hangs.

    References: https://github.com/NVIDIA/open-gpu-kernel-modules/issues/862
    """
    if root_of(facts) != "gpu/not-started":
        return
    seen = Witnesses(facts)
    yield Hit(
        title=f"The driver shows none of the {plural(seen.gpus_on_bus, 'NVIDIA GPU')} on the bus",
        confidence="likely",
        evidence=(
            Evidence("bus", plural(seen.gpus_on_bus, "NVIDIA GPU")),
            Evidence("NVML", "0 devices", plural(seen.gpus_on_bus, "device")),
        ),
        fixes=(
            on_host(facts, "See which step of its start failed", (("sudo", "dmesg"),)),
            on_host(facts, "Switch the machine off and on, and check power cables and firmware settings"),
        ),
    )


@rule(
    "gpu/hardware-fault",
    "error",
    needs=("driver_signs",),
    breaks=("see-gpu", *STEPS, "multi-gpu"),
    symptoms=(
        "GPU has fallen off the bus",
        "uncorrectable ECC error encountered",
        "GPU is lost.  Reboot the system",
        "GPU is lost. Reboot the system",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        r"re:Unable to determine the device handle for (?:GPU|gpu)",
        r"re:NVRM: Xid[^\n]{0,40}?: (?:48|6[34]|74|79|92|9[45]|119|120|140),",
    ),
    question="What does sudo dmesg | grep -i xid print?",
)
def hardware_fault(facts: Facts) -> Iterator[Hit]:
    """A GPU is broken, or has errors that only a reset or a replacement ends

    Why: the driver itself reports it: a GPU that is lost, memory with uncorrectable errors, rows that could
    not be replaced by spare ones, or an Xid error in the kernel's log. Training there crashes, or did.
    Xid 13, 31, 43 and 45 are not meant: they tell of a program's own fault.

    Fix: take the GPU out of use (drain the node), reset or reboot; where it comes back, have it replaced.

    Tried in vain: another torch, another driver, a smaller batch.

    References: https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
    https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html
    https://docs.nvidia.com/deploy/dynamic-page-retirement/visibility.html
    """
    seen = Witnesses(facts)
    if seen.nvml_code in OF_HARDWARE:
        yield lost_hit(facts, "The GPU", NVML_HARDWARE[seen.nvml_code], seen.nvml_words)
    if seen.cuda_code == ECC_UNCORRECTABLE:
        yield broken_memory(facts, seen.cuda_words)
    for lost in filter(is_broken_off, seen.signs.lost):
        words = NVML_HARDWARE.get(lost.code or 0, "it gives no answer")
        yield lost_hit(facts, f"GPU {lost.index}", words, lost.error)
    for gpu in facts.gpus or ():
        yield from faults_of_memory(facts, gpu)
    yield from logged(facts)


def lost_hit(facts: Facts, which: str, words: str, said: str) -> Hit:
    """A GPU that the driver counts and cannot use."""
    return Hit(
        title=f"{which} is out of use: {words}",
        evidence=(Evidence(which.lower().removeprefix("the "), said[:300], "an answer"),),
        fixes=(
            on_host(facts, "Reboot; a GPU that has fallen off the bus comes back no other way", (REBOOT,)),
            Fix(
                "Where it is lost again: check power, cooling and slot, then have it replaced",
                scope="hardware",
            ),
        ),
    )


def broken_memory(facts: Facts, said: str) -> Hit:
    """CUDA refuses to start for an error in the memory that ECC could not correct."""
    reset = on_host(
        facts, "End what uses the GPU and reset it, or reboot", (("sudo", "nvidia-smi", "--gpu-reset"),)
    )
    return Hit(
        title=f"CUDA does not start on {first_gpu(facts)}: its memory has an uncorrectable error (error 214)",
        evidence=(Evidence("CUDA", said, "success"),),
        fixes=(reset, Fix("Where it comes back: have the GPU replaced (RMA)", scope="hardware")),
    )


def faults_of_memory(facts: Facts, gpu: Gpu) -> Iterator[Hit]:
    """What the memory of one GPU reports, the gravest first and that alone."""
    reset = on_host(
        facts,
        "End what uses the GPU and reset it, or reboot",
        (("sudo", "nvidia-smi", "--gpu-reset", "-i", str(gpu.index)),),
    )
    replace = Fix("Drain the node and have the GPU replaced (RMA)", scope="hardware")
    errors = gpu.ecc_uncorrected or 0
    told: list[tuple[bool, Severity, str, Fix]] = [
        (
            gpu.remapping_failed,
            "error",
            "a memory row that is broken could not be replaced by a spare one",
            replace,
        ),
        (
            gpu.remapping_pending or gpu.retirement_pending,
            "warning",
            "broken memory will be taken out of use at the next reset",
            reset,
        ),
        (errors > 0, "warning", f"{errors} uncorrected memory errors since the driver was loaded", reset),
    ]
    for holds, severity, words, fix in told:
        if holds:
            yield Hit(
                title=f"{gpu.name}, GPU {gpu.index}: {words}",
                severity=severity,
                evidence=(Evidence(f"gpu {gpu.index}", words, "none"),),
                fixes=(fix,),
            )
            return


def logged(facts: Facts) -> Iterator[Hit]:
    """Xid errors of hardware. One of a GPU that answers now may be of the past, so it is a warning."""
    answering = {slot_of(gpu.pci_address) for gpu in facts.gpus or () if gpu.pci_address}
    told: set[str] = set()
    for xid in (one for one in Witnesses(facts).signs.xids if one.code in XIDS):
        severity, words = XIDS[xid.code]
        gone = bool(answering) and slot_of(xid.address) not in answering
        if slot_of(xid.address) not in told:
            told.add(slot_of(xid.address))
            yield xid_hit(
                facts, xid, words, severity if gone else "warning", "confirmed" if gone else "likely"
            )


def xid_hit(facts: Facts, xid: Xid, words: str, severity: Severity, confidence: Confidence) -> Hit:
    """One logged error."""
    return Hit(
        title=f"The kernel's log has Xid {xid.code} of the GPU at {xid.address}: {words}",
        severity=severity,
        confidence=confidence,
        evidence=(Evidence(f"Xid {xid.code}", f"{xid.text[:200]} ({xid.count} times)", "none"),),
        fixes=(
            on_host(facts, "End what uses the GPU and reboot", (REBOOT,)),
            Fix("Where it comes back: check power and cooling, then have the GPU replaced", scope="hardware"),
        ),
    )


def slot_of(address: str) -> str:
    """ "01:00" of "0000:01:00.0" and of "00000000:01:00.0"."""
    return ":".join(address.lower().partition(".")[0].split(":")[-2:])


@rule("gpu/throttled", "warning", needs=("gpus",))
def throttled(facts: Facts) -> Iterator[Hit]:
    """A GPU is slowed down by heat or by its power supply

    Why: the driver lowers the clocks of a GPU that is too hot or whose power supply asks for it. Training
    goes on, at a fraction of the speed. A power cap alone is how every GPU works under load.

    Fix: see to its cooling and to its power; on a laptop, plug it in.
    """
    assert facts.gpus is not None
    for gpu in facts.gpus:
        reasons = [reason for reason in gpu.throttle if reason != "power cap"]
        if reasons:
            yield Hit(
                title=f"{gpu.name}, GPU {gpu.index}, is slowed down now: {', '.join(reasons)}",
                evidence=(Evidence(f"gpu {gpu.index}", ", ".join(reasons), "full clocks"),),
                fixes=(Fix("See to the cooling and the power supply of the GPU", scope="hardware"),),
            )


@rule("gpu/pcie-degraded", "note", needs=("gpus",))
def pcie_degraded(facts: Facts) -> Iterator[Hit]:
    """A GPU is connected by fewer PCIe lanes than it and its slot have

    Why: a card that sits badly, a riser or a slot that shares its lanes. Loading a model and offloading are
    slower; computing is not. Eight lanes are ordinary and not meant. The generation of the link is not looked
    at: it falls whenever a GPU idles.

    Fix: seat the card anew, or take another slot.
    """
    assert facts.gpus is not None
    for gpu in facts.gpus:
        has, could = gpu.pcie_width, gpu.pcie_width_max
        if has and could and has < min(could, ORDINARY_LANES):
            yield Hit(
                title=f"{gpu.name}, GPU {gpu.index}, runs on {has} of {could} PCIe lanes",
                confidence="likely",
                evidence=(Evidence(f"gpu {gpu.index}", f"x{has}", f"x{could}"),),
            )
