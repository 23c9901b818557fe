"""Cures of the machine where only words tell of a fault, as in a pasted report.

No rule stands here.
"""

from __future__ import annotations

from doctor.cures import set_variable
from doctor.driver_cures import REBOOT, on_host, reload_modules
from doctor.facts import Facts
from doctor.findings import Fix

Fixes = tuple[Fix, ...]
VC_RUNTIME = "Install Microsoft's Visual C++ runtime: https://aka.ms/vs/17/release/vc_redist.x64.exe"


def reboot(facts: Facts) -> Fixes:
    """One driver again: reboot, or reload its modules."""
    return (
        on_host(facts, "Reboot, and start containers anew after that", (REBOOT,)),
        on_host(facts, "Or stop what uses the GPU and reload the kernel modules", reload_modules()),
    )


def start_fabric_manager(facts: Facts) -> Fixes:
    """The service in the driver's version, and started."""
    branch = facts.driver.version.partition(".")[0] if facts.driver else ""
    start = (("sudo", "systemctl", "enable", "--now", "nvidia-fabricmanager"),)
    package = ((("sudo", "apt", "install", f"nvidia-fabricmanager-{branch}"),)) if branch else ()
    title = "Where it is absent or refuses: install nvidia-fabricmanager in the very version of the driver"
    return (on_host(facts, "Start fabric manager", start), on_host(facts, title, package))


def reload_uvm(facts: Facts) -> Fixes:
    """nvidia_uvm loaded anew."""
    reload = (("sudo", "modprobe", "-r", "nvidia_uvm"), ("sudo", "modprobe", "nvidia_uvm"))
    return (
        on_host(facts, "Load nvidia_uvm anew", reload),
        on_host(
            facts, "Or reboot; a container without /dev/nvidia-uvm is started with --gpus all", (REBOOT,)
        ),
    )


def show_gpus(facts: Facts) -> Fixes:
    """The variable unset."""
    return (
        set_variable(
            "Let CUDA see the GPUs, or name one that is there: 0 is the first", "CUDA_VISIBLE_DEVICES", None
        ),
    )


def pass_gpus_in(facts: Facts) -> Fixes:
    """The container started with its GPUs, and what the host needs for that."""
    configure = (
        ("sudo", "nvidia-ctk", "runtime", "configure", "--runtime=docker"),
        ("sudo", "systemctl", "restart", "docker"),
    )
    return (
        Fix(
            "Start the container with the GPU: docker run --gpus all (Kubernetes: nvidia.com/gpu: 1)",
            scope="system",
        ),
        Fix(
            "Where that is refused: install NVIDIA's Container Toolkit on the host, then", configure, "system"
        ),
    )


def vc_runtime(facts: Facts) -> Fixes:
    """What torch's libraries need of Windows."""
    return (
        Fix(VC_RUNTIME, scope="system"),
        Fix("torch 2.3.1 and 2.4.0 need libomp140.x86_64.dll too: take 2.4.1 or newer"),
    )


def no_foreign_libraries(facts: Facts) -> Fixes:
    """Nothing of another CUDA before torch's own."""
    return (set_variable("Start without the folders of another CUDA", "LD_LIBRARY_PATH", None),)


def no_peers(facts: Facts) -> Fixes:
    """NCCL told not to try."""
    variables = (("export", "NCCL_P2P_DISABLE=1"), ("export", "NCCL_IB_DISABLE=1"))
    return (
        Fix("Tell NCCL not to try", variables, "setting"),
        Fix("Or start with accelerate launch, which does so", scope="setting"),
    )


def more_memory(facts: Facts) -> Fixes:
    """The memory of the GPU given back."""
    return (
        Fix("End the programs that hold the GPU: nvidia-smi names them", (("nvidia-smi",),), "system"),
        Fix("Restart the notebook's kernel, which keeps what it allocated", scope="setting"),
    )


def linkable_libcuda(facts: Facts) -> Fixes:
    """A libcuda.so that a linker finds."""
    library = "/usr/lib/x86_64-linux-gnu"
    link = ("sudo", "ln", "-s", "libcuda.so.1", f"{library}/libcuda.so")
    find = ("sh", "-c", "ldconfig -p | grep libcuda")
    return (
        Fix(
            "Link libcuda.so to the driver's libcuda.so.1, in the folder where that lies",
            (find, link),
            "system",
        ),
        Fix("Or upgrade to triton 3.6 or newer, which needs no such link"),
    )


def compilers(facts: Facts) -> Fixes:
    """A C compiler and the headers of the running Python."""
    minor = ".".join(facts.interpreter.version.split(".")[:2]) if facts.interpreter else "3"
    command = ("sudo", "apt", "install", "build-essential", f"python{minor}-dev")
    return (Fix("Install a C compiler and the headers of the very Python that runs", (command,), "system"),)


def enlarged_shared_memory(facts: Facts) -> Fixes:
    """A larger /dev/shm."""
    return (
        Fix("Start the container with --shm-size=8g or --ipc=host", scope="system"),
        Fix("In Kubernetes: mount an emptyDir with medium Memory at /dev/shm", scope="system"),
    )


def toolkit_of_torch(facts: Facts) -> Fixes:
    """The toolkit that an extension is built with."""
    cuda = facts.torch.cuda_version if facts.torch else None
    told = f"CUDA {cuda}" if cuda else "the CUDA that torch.version.cuda names"
    home = f"/usr/local/cuda-{cuda}" if cuda else "/usr/local/cuda-12.6"
    return (
        Fix(f"Install the toolkit of {told} and name it", (("export", f"CUDA_HOME={home}"),), "setting"),
        Fix(
            "Or use no operator that must be compiled: a wheel, or DeepSpeed without offload", scope="script"
        ),
    )


def one_library(facts: Facts) -> Fixes:
    """The driver's own libcuda."""
    return (
        Fix(
            "Take the image's compat folder out of the loader's way (/etc/ld.so.conf.d), then run ldconfig",
            (("sudo", "ldconfig"),),
            "system",
        ),
        on_host(facts, "Or upgrade the host's driver to one that offers the image's CUDA"),
    )


def wsl_libraries(facts: Facts) -> Fixes:
    """The folder of libcuda, for the loader."""
    wsl = facts.system is None or facts.system.wsl
    folder = "/usr/lib/wsl/lib" if wsl else "/usr/lib/x86_64-linux-gnu"
    known = (facts.environment or {}).get("LD_LIBRARY_PATH", "")
    value = f"{folder}:{known}".rstrip(":")
    title = f"Let the loader look where libcuda lies: {'in WSL, ' * wsl}{folder}"
    return (
        set_variable(title, "LD_LIBRARY_PATH", value),
        Fix("See where it lies, and whether the loader knows", (("sh", "-c", "ldconfig -p | grep libcuda"),)),
    )


def card_alone(facts: Facts) -> Fixes:
    """The card in place of the processor's graphics."""
    return (
        set_variable("Let ROCm see the card alone: 0 or 1, by rocminfo's order", "HIP_VISIBLE_DEVICES", "0"),
    )


def gfx_override(facts: Facts) -> Fixes:
    """The code of a member of the same family."""
    return (
        set_variable("RDNA 2 (RX 6000): take the code of gfx1030", "HSA_OVERRIDE_GFX_VERSION", "10.3.0"),
        set_variable("RDNA 3 (RX 7000): take the code of gfx1100", "HSA_OVERRIDE_GFX_VERSION", "11.0.0"),
    )
