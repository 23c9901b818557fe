"""One fault, one finding: which of the faults that hide a GPU is the root here.

A driver that is not loaded makes NVML, nvidia-smi, libcuda and torch fail, each in its own words. The table
below puts such faults in the order in which one explains the next; the first that holds is the root, and the
rules of the others are silent. No rule stands here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.facts import Facts, Gpu, LostGpu
from doctor.matrix.machine import Machine
from doctor.rules.witnesses import (
    COMPAT_NOT_SUPPORTED,
    DEVICES_BUSY,
    DRIVER_MISMATCH,
    DRIVER_NOT_LOADED,
    ECC_UNCORRECTABLE,
    FUNCTION_NOT_FOUND,
    LIBRARY_NOT_FOUND,
    NO_PERMISSION,
    NOT_INITIALIZED,
    OUT_OF_MEMORY,
    STUB_LIBRARY,
    SYSTEM_NOT_READY,
    UNKNOWN,
    VERSION_MISMATCH,
    Witnesses,
)

OLD_UNKNOWN = 30  # what CUDA before 10.1 gives in place of 999
OS_CALL = 304
DIED = re.compile(r"killed by SIG[A-Z]+")
HUNG = re.compile(r"no answer within|neither computes nor reads")
OUT_OF_REACH = "couldn't communicate with the NVIDIA driver"
# Numbers of nvml.h: too little power, no interrupts, a GPU that is lost, a GPU that must be reset.
OF_HARDWARE = (8, 11, 15, 16)
TURING, OPEN_ONLY = 0x1E00, 0x2900  # the first PCI ids of Turing and of Blackwell
LAST_BEFORE_TURING = 580  # the last branch for Maxwell, Pascal and Volta


def root_of(facts: Facts) -> str:
    """The id of the fault that explains the others; "" where nothing hides a GPU."""
    seen = Witnesses(facts)
    return next((id for id, holds in ROOTS if holds(seen)), "")


def is_mismatch(seen: Witnesses) -> bool:
    """Did a witness say that kernel module and libraries are of two versions?"""
    signs = seen.signs
    by_nvml = signs.nvml_code == VERSION_MISMATCH or "version mismatch" in signs.nvml_error.lower()
    by_smi = "version mismatch" in signs.smi_error.lower()
    return by_nvml or (not seen.driver_answers and (by_smi or seen.cuda_code == DRIVER_MISMATCH))


def is_dead(seen: Witnesses) -> bool:
    """Did the child die that asked NVML or libcuda?"""
    driver = seen.facts.cuda_driver
    return bool(DIED.search(seen.signs.nvml_error) or (driver and DIED.search(driver.failure)))


def is_broken(seen: Witnesses) -> bool:
    """Is libcuda there, and no file that can be loaded?"""
    driver = seen.facts.cuda_driver
    return bool(driver and driver.failure.startswith("cannot be loaded") and not seen.cuda_works)


def is_hung(seen: Witnesses) -> bool:
    """Did NVML, nvidia-smi or libcuda not come back?"""
    driver, signs = seen.facts.cuda_driver, seen.signs
    by_smi = not seen.driver_answers and seen.gpu_is_here and HUNG.search(signs.smi_error)
    return bool(by_smi or HUNG.search(signs.nvml_error) or (driver and HUNG.search(driver.failure)))


def is_off_path(seen: Witnesses) -> bool:
    """Is there a libcuda, and none where the loader looks?"""
    signs = seen.signs
    return bool(signs.off_path) and "libcuda.so.1" not in signs.libraries and not seen.cuda_works


def is_linux_driver_in_wsl(seen: Witnesses) -> bool:
    """Does a Linux driver stand in front of the one that Windows lends to WSL?"""
    fails = not seen.driver_answers or seen.cuda_code is not None or bool(seen.signs.off_path)
    return bool(seen.wsl and fails and not seen.cuda_works and seen.libcuda and seen.libcuda.version)


def is_not_passed_in(seen: Witnesses) -> bool:
    """Has this container's host a GPU that the container was not given?"""
    if not seen.container or seen.cuda_works or not (seen.gpu_is_here or seen.shows_none):
        return False
    if not seen.driver_answers:
        return seen.shows_none or not seen.gpu_nodes or not seen.libraries_there
    return seen.facts.gpus == () or lacks_compute(seen)


def lacks_compute(seen: Witnesses) -> bool:
    """Was the container given nvidia-smi's part of the driver and not CUDA's?"""
    wanted = (seen.facts.environment or {}).get("NVIDIA_DRIVER_CAPABILITIES")
    named = {word.strip() for word in (wanted or "").split(",")}
    has_libcuda = "libcuda.so.1" in seen.signs.libraries
    return bool(seen.container and wanted and not named & {"all", "compute"} and not has_libcuda)


def is_not_allocated(seen: Witnesses) -> bool:
    """Does Slurm keep the GPUs of this node from this job?"""
    if not seen.signs.slurm or seen.container or not seen.gpu_is_here or seen.cuda_works:
        return False
    none_named = (seen.facts.environment or {}).get("CUDA_VISIBLE_DEVICES") == "NoDevFiles"
    kept = bool(seen.gpu_nodes) and not any(node.usable for node in seen.gpu_nodes)
    return none_named or kept or (seen.driver_answers and seen.facts.gpus == ())


def is_with_a_machine(seen: Witnesses) -> bool:
    """Is every GPU handed to virtual machines?"""
    return not seen.container and not seen.shows_gpus and seen.is_bound_to("vfio-pci")


def is_not_installed(seen: Witnesses) -> bool:
    """Is a GPU on the bus, and neither library nor module of NVIDIA's driver?"""
    none = not seen.module_loaded and not seen.libraries_there and not seen.signs.smi_error
    asked = seen.signs.nvml_code == LIBRARY_NOT_FOUND
    return bool(seen.gpus_on_bus and asked and none and not seen.driver_answers and not seen.container)


def is_not_loaded(seen: Witnesses) -> bool:
    """Are the driver's libraries there and its kernel module not loaded?"""
    if seen.container or seen.wsl or seen.driver_answers or seen.module_loaded:
        return False
    by_nvml = seen.signs.nvml_code == DRIVER_NOT_LOADED
    by_smi = OUT_OF_REACH in seen.signs.smi_error
    says_else = seen.signs.nvml_code not in (None, LIBRARY_NOT_FOUND)
    return by_nvml or bool(seen.gpus_on_bus and not says_else and (by_smi or seen.libraries_there))


def is_kept_from_nodes(seen: Witnesses) -> bool:
    """May this user, or this container, not use the device files?"""
    signs, driver = seen.signs, seen.facts.cuda_driver
    blocked = any(not node.usable for node in signs.nodes)
    if driver and driver.refused and seen.cuda_code is not None:
        return True
    if not seen.driver_answers:
        refused = seen.nvml_code == NO_PERMISSION or (blocked and seen.nvml_code == UNKNOWN)
        return refused or (seen.nvml_code == DRIVER_NOT_LOADED and seen.module_loaded)
    if seen.facts.gpus is None and signs.lost:
        return all(one.code == NO_PERMISSION for one in signs.lost)
    shared = [node for node in signs.nodes if node not in seen.gpu_nodes and "caps" not in node.path]
    none = bool(seen.gpu_nodes) and not any(node.usable for node in seen.gpu_nodes)
    return seen.cuda_code is not None and (none or any(not node.usable for node in shared))


def is_not_supported(seen: Witnesses) -> bool:
    """Is this driver, or this kind of its kernel module, not made for the GPUs on the bus?"""
    return seen.module_loaded and not seen.facts.gpus and not seen.container and bool(why_unsupported(seen))


def why_unsupported(seen: Witnesses) -> str:
    """What in the loaded driver does not fit the GPUs: "open", "proprietary", "too new"; "" for nothing."""
    ids = seen.device_ids
    branch = (seen.signs.kernel_version or "0").partition(".")[0]
    if not ids:
        return ""
    if max(ids) < TURING:
        too_new = branch.isdigit() and int(branch) > LAST_BEFORE_TURING
        return "too new" if too_new else "open" if seen.signs.kernel_flavor == "open" else ""
    return "proprietary" if min(ids) >= OPEN_ONLY and seen.signs.kernel_flavor == "proprietary" else ""


def is_not_started(seen: Witnesses) -> bool:
    """Does the driver run and show none of the GPUs that are on the bus?"""
    return seen.shows_none and bool(seen.gpus_on_bus) and not seen.container


def is_stub(seen: Witnesses) -> bool:
    """Is the libcuda here the empty one that compilers link to?"""
    in_stubs = bool(seen.libcuda and "/stubs/" in seen.libcuda.path)
    return seen.cuda_code == STUB_LIBRARY or (in_stubs and seen.cuda_code is not None)


def is_lifted_in_vain(seen: Witnesses) -> bool:
    """Does the GPU refuse the library that should lift a driver too old for torch?"""
    cuda = seen.facts.torch.cuda_version if seen.facts.torch else None
    is_old = bool(cuda and seen.facts.driver and not Machine.of(seen.facts).driver_runs(cuda))
    return seen.cuda_code == COMPAT_NOT_SUPPORTED and is_old


def is_other_libcuda(seen: Witnesses) -> bool:
    """Is libcuda of another driver than the kernel's, or of a kind that this GPU does not take?"""
    return seen.cuda_code in (DRIVER_MISMATCH, COMPAT_NOT_SUPPORTED)


def lacks_fabric_manager(seen: Witnesses) -> bool:
    """Do the NVSwitches of this machine wait for fabric manager?"""
    if seen.cuda_code == SYSTEM_NOT_READY:
        return True
    idle = seen.signs.fabric_manager in ("stopped", "absent") and seen.switches > 0 and not seen.container
    asked = seen.facts.cuda_driver is not None or seen.cuda_works
    # A GPU in MIG mode uses no NVLink and does without.
    in_mig = bool(seen.facts.gpus) and all(gpu.mig_mode for gpu in seen.facts.gpus or ())
    return idle and not asked and not in_mig


def is_broken_off(lost: LostGpu) -> bool:
    """Does a GPU give no answer, rather than none to this user (a job of Slurm), or to this question?"""
    return lost.code not in (NO_PERMISSION, FUNCTION_NOT_FOUND)


def is_hardware(seen: Witnesses) -> bool:
    """Did a GPU stop to answer?"""
    lost = any(is_broken_off(one) for one in seen.signs.lost)
    return lost or seen.nvml_code in OF_HARDWARE or seen.cuda_code == ECC_UNCORRECTABLE


def is_without_instance(gpu: Gpu) -> bool:
    """Is a GPU in MIG mode, and not divided?"""
    return bool(gpu.mig_mode) and not gpu.mig_instances


def is_undivided(seen: Witnesses) -> bool:
    """Are all GPUs in MIG mode without an instance, so that CUDA has no device?"""
    all_so = seen.shows_gpus and all(is_without_instance(gpu) for gpu in seen.facts.gpus or ())
    return all_so and not seen.cuda_works


def is_taken(gpu: Gpu) -> bool:
    """Does its compute mode keep a further program from a GPU?"""
    held = any(process.kind == "compute" for process in gpu.processes or ())
    return gpu.compute_mode == "prohibited" or (gpu.compute_mode.startswith("exclusive") and held)


def are_all_taken(seen: Witnesses) -> bool:
    """Does the compute mode of every GPU keep us out?"""
    return seen.shows_gpus and all(is_taken(gpu) for gpu in seen.facts.gpus or ())


def is_busy(seen: Witnesses) -> bool:
    """Does CUDA find the GPUs busy, or no memory to start in?"""
    return seen.shows_gpus and seen.cuda_code in (DEVICES_BUSY, OUT_OF_MEMORY)


def is_uvm(seen: Witnesses) -> bool:
    """Does NVML show the GPUs while CUDA gives its unknown error?"""
    return seen.shows_gpus and seen.cuda_code in (UNKNOWN, OLD_UNKNOWN, OS_CALL)


def is_hmm(seen: Witnesses) -> bool:
    """Does NVML show the GPUs while CUDA cannot be initialised?"""
    return seen.shows_gpus and seen.cuda_code == NOT_INITIALIZED and not seen.wsl


def is_unable(seen: Witnesses) -> bool:
    """Does libcuda itself, that of this driver, refuse GPUs that NVML shows?"""
    driver = seen.facts.cuda_driver
    asked = driver is not None and driver.init_code is not None
    return seen.shows_gpus and asked and seen.cuda_code is not None and not (driver and driver.devices)


def is_mute(seen: Witnesses) -> bool:
    """Is a driver there, or should one be, and nothing else explains that it gives no answer?"""
    signs = seen.signs
    is_there = "libnvidia-ml.so.1" in signs.libraries  # then it was found and could not be loaded
    refused = signs.nvml_code not in (None, LIBRARY_NOT_FOUND) or (signs.nvml_code is not None and is_there)
    if seen.driver_answers:
        return refused and seen.facts.gpus is None
    by_smi = bool(signs.smi_error) and not seen.shows_none
    return bool(by_smi or refused or (seen.gpu_is_here and not seen.container and signs.nvml_error))


ROOTS: tuple[tuple[str, Callable[[Witnesses], bool]], ...] = (
    ("driver/library-version-mismatch", is_mismatch),
    ("driver/crashes", is_dead),
    ("driver/hangs", is_hung),
    ("driver/libcuda-not-on-path", is_off_path),
    ("driver/library-not-loadable", is_broken),
    ("driver/linux-driver-in-wsl", is_linux_driver_in_wsl),
    ("gpu/none-visible-in-container", is_not_passed_in),
    ("gpu/not-allocated-by-slurm", is_not_allocated),
    ("driver/bound-to-vfio", is_with_a_machine),
    ("driver/not-installed", is_not_installed),
    ("driver/module-not-loaded", is_not_loaded),
    ("gpu/hardware-fault", is_hardware),
    ("driver/gpu-not-supported", is_not_supported),
    ("driver/device-nodes-not-usable", is_kept_from_nodes),
    ("gpu/not-started", is_not_started),
    ("driver/stub-library", is_stub),
    ("driver/too-old-for-cuda-runtime", is_lifted_in_vain),
    ("driver/libcuda-mismatch", is_other_libcuda),
    ("driver/fabric-manager-not-running", lacks_fabric_manager),
    ("gpu/mig-visibility", is_undivided),
    ("gpu/exclusive-compute-mode", are_all_taken),
    ("driver/uvm-broken", is_uvm),
    ("driver/memory-sharing-fails", is_hmm),
    ("gpu/held-by-other-process", is_busy),
    ("driver/cuda-start-failed", is_unable),
    ("driver/not-answering", is_mute),
)
