"""Which libcuda is loaded: the driver's own, another driver's, an empty one, or none that is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from doctor.cures import set_variable
from doctor.driver_cures import drop_from_library_path, install_driver, on_host
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE, is_legacy
from doctor.rules.driver_builds import too_old_for_ptx
from doctor.rules.machine_cures_by_words import one_library, wsl_libraries
from doctor.rules.roots import root_of
from doctor.rules.witnesses import COMPAT_NOT_SUPPORTED, Libcuda, Witnesses
from doctor.versions import comparable

# Where the loader looks in any case.
SYSTEM_FOLDERS = (
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
)
WHY_803 = (
    "cuInit gives 803 where libcuda belongs to another driver than the loaded kernel module, while NVML and"
    " nvidia-smi come from the right one and work. Mostly an image's own libcuda is found before the"
    " host's: its compat folder, or a driver package that was installed in the image."
)
WHY_804 = (
    "cuInit gives 804 where the libcuda of NVIDIA's forward-compatibility package (cuda-compat) is loaded and"
    " the GPU is not one for which it is made. That package lets data-centre GPUs run a newer CUDA on an"
    " older driver; GeForce and other consumer GPUs refuse it."
)


@rule(
    "driver/libcuda-mismatch",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "system has unsupported display driver / cuda driver combination",
        "forward compatibility was attempted on non supported HW",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    ),
    cure=one_library,
    question="Which libcuda.so.1 does the loader take? ldconfig -p | grep libcuda.so.1 prints it.",
)
def libcuda_mismatch(facts: Facts) -> Iterator[Hit]:
    """Another libcuda than that of the loaded driver is found first

    Why: libcuda must belong to the kernel module. Error 803: it is of another driver, mostly one that a
    container image brought, in /usr/local/cuda/compat or as a package. Error 804: it is the
    forward-compatibility library (cuda-compat), and the GPU is no data-centre GPU.

    Fix: for 803, take that library out of the loader's way, so that the host's own is found. For 804, the
    same; if the program needs the newer CUDA that it was meant to bring, upgrade the host's driver.

    Tried in vain: another torch, another CUDA toolkit in the image.

    References: https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
    https://github.com/vllm-project/vllm/pull/34821 https://github.com/ggml-org/llama.cpp/issues/23111
    https://github.com/NVIDIA/nvidia-docker/issues/1515 https://github.com/gpustack/gpustack/issues/4678
    """
    if root_of(facts) != "driver/libcuda-mismatch":
        return
    seen = Witnesses(facts)
    is_compat_error = seen.cuda_code == COMPAT_NOT_SUPPORTED
    found, loaded = seen.libcuda, seen.signs.kernel_version or (facts.driver.version if facts.driver else "")
    is_own = bool(found and found.version and found.version == loaded)
    shadow = () if is_own and not is_compat_error else (out_of_the_way(facts, found),)
    yield Hit(
        title=f"A compatibility libcuda is loaded, which {first_gpu(facts)} does not take (error 804)"
        if is_compat_error
        else "CUDA finds parts of two drivers (error 803)"
        if is_own
        else f"{two_drivers(found, loaded)} (error 803)",
        why=WHY_804 if is_compat_error else WHY_803,
        evidence=(
            Evidence("CUDA", seen.cuda_words, "success"),
            Evidence("libcuda.so.1", found.path if found else "not known", f"that of driver {loaded}"),
        ),
        fixes=(*shadow, second_cure(facts, is_compat_error)),
    )


def two_drivers(found: Libcuda | None, loaded: str) -> str:
    """Of which driver libcuda is, and of which the kernel module, as far as that is told."""
    if found and found.version:
        return f"libcuda is of driver {found.version}, and the kernel module of {loaded or 'another'}"
    return "libcuda is of another driver than the kernel module" + (
        f", which is of {loaded}" if loaded else ""
    )


def first_gpu(facts: Facts) -> str:
    """The name of the first GPU, in a sentence."""
    return facts.gpus[0].name if facts.gpus else "the GPU"


def out_of_the_way(facts: Facts, found: Libcuda | None) -> Fix:
    """Let the loader find the driver's own libcuda again."""
    listed = (facts.environment or {}).get("LD_LIBRARY_PATH", "").split(":")
    own = str(PurePosixPath(found.path).parent) if found else ""
    folders = [folder for folder in listed if folder.rstrip("/") == own or "compat" in folder]
    drop = drop_from_library_path(facts, folders[0]) if folders and own not in SYSTEM_FOLDERS else None
    if drop:
        return drop
    if found and not found.is_compat and found.version:
        title = f"Remove the driver package that brought {found.path}, then run ldconfig"
    else:
        title = "Take the compat folder out of /etc/ld.so.conf.d, or delete it, and run ldconfig"
    return Fix(title, (("sudo", "ldconfig"),), "system")


def second_cure(facts: Facts, is_compat_error: bool) -> Fix:
    """What else ends the mismatch."""
    if is_compat_error:
        title = "Upgrade the driver to one that offers the CUDA that the library was meant to bring"
        return on_host(facts, title)
    return on_host(facts, "If the driver was just upgraded: reboot", (("sudo", "reboot"),))


@rule(
    "driver/stub-library",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=("CUDA driver is a stub library", "CUDA_ERROR_STUB_LIBRARY"),
)
def stub_library(facts: Facts) -> Iterator[Hit]:
    """The toolkit's empty libcuda is loaded in place of the driver's

    Why: the CUDA toolkit has a folder "stubs" with a libcuda.so that compilers link to where no driver is. It
    does nothing; at run time every call ends with error 34.

    Fix: take that folder out of LD_LIBRARY_PATH; it belongs into LIBRARY_PATH, for the linker.

    References: https://github.com/NVIDIA/warp/issues/219 https://github.com/numba/numba/issues/8985
    """
    if root_of(facts) != "driver/stub-library":
        return
    seen = Witnesses(facts)
    parts = (facts.environment or {}).get("LD_LIBRARY_PATH", "").split(":")
    own = str(PurePosixPath(seen.libcuda.path).parent) if seen.libcuda else ""
    folder = next((part for part in parts if part.rstrip("/").endswith("stubs")), own)
    drop = drop_from_library_path(facts, folder) if folder else None
    general = Fix("Take the toolkit's folder lib64/stubs out of the loader's path", scope="setting")
    yield Hit(
        title="The libcuda that is loaded is the CUDA toolkit's empty stub (error 34)",
        evidence=(
            Evidence(
                "libcuda.so.1",
                seen.libcuda.path if seen.libcuda else "not known",
                "the driver's own library",
            ),
            Evidence("CUDA", seen.cuda_words, "success"),
        ),
        fixes=(drop or general,),
    )


@rule(
    "driver/libcuda-not-on-path",
    "error",
    needs=("driver_signs",),
    breaks=SEE,
    symptoms=(
        "libcuda.so: cannot open shared object file",
        "libcuda.so.1: cannot open shared object file",
        "libcuda.so not found! Do you have a CUDA driver installed?",
    ),
    cure=wsl_libraries,
    question="Where is libcuda.so.1? ldconfig -p | grep libcuda, and in WSL ls /usr/lib/wsl/lib, tell.",
)
def libcuda_not_on_path(facts: Facts) -> Iterator[Hit]:
    """libcuda exists and the loader does not look where it is

    Why: the driver's library lies in a folder that is neither in the loader's cache nor in LD_LIBRARY_PATH.
    In WSL it is /usr/lib/wsl/lib, where Windows puts it.

    Fix: tell the loader of that folder.

    Verify: python -c "import ctypes; ctypes.CDLL('libcuda.so.1')" prints nothing.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/pull/337
    https://docs.nvidia.com/cuda/wsl-user-guide
    """
    if root_of(facts) != "driver/libcuda-not-on-path":
        return
    path = Witnesses(facts).signs.off_path[0]
    folder = str(PurePosixPath(path).parent)
    known = (facts.environment or {}).get("LD_LIBRARY_PATH", "")
    value = f"{folder}:{known}" if known else folder
    register = (
        ("sudo", "sh", "-c", f"echo {folder} > /etc/ld.so.conf.d/nvidia-driver.conf"),
        ("sudo", "ldconfig"),
    )
    yield Hit(
        title=f"libcuda lies in {folder}, where the loader does not look",
        evidence=(Evidence("libcuda.so.1", path, "in the loader's cache or on LD_LIBRARY_PATH"),),
        fixes=(
            set_variable(f"Let the loader look in {folder}", "LD_LIBRARY_PATH", value),
            Fix("Put the folder into the loader's cache for every program", register, "system"),
        ),
    )


@rule("driver/library-not-loadable", "error", needs=("cuda_driver",), breaks=SEE)
def library_not_loadable(facts: Facts) -> Iterator[Hit]:
    """The driver's libcuda is there and cannot be loaded

    Why: its file is cut short or damaged, is of another machine, or lacks a library that it needs. The
    loader's own words are the evidence.

    Fix: reinstall the driver; or take the file out of the loader's way where it is not the driver's.
    """
    if root_of(facts) != "driver/library-not-loadable":
        return
    seen = Witnesses(facts)
    path, failure = (facts.cuda_driver.library, facts.cuda_driver.failure) if facts.cuda_driver else ("", "")
    drop = drop_from_library_path(facts, str(PurePosixPath(path).parent)) if path else None
    yield Hit(
        title=f"libcuda {failure.partition(':')[0]}",
        evidence=(Evidence("libcuda.so.1", f"{path}: {failure[:300]}", "a library that loads"),),
        fixes=(drop or install_driver(facts, is_legacy(seen)),),
    )


@rule("driver/linux-driver-in-wsl", "error", needs=("driver_signs", "system"), breaks=SEE)
def linux_driver_in_wsl(facts: Facts) -> Iterator[Hit]:
    """A Linux driver inside WSL stands in front of the one of Windows

    Why: in WSL the GPU is reached through the driver that is installed in Windows, whose libcuda lies in
    /usr/lib/wsl/lib. A driver package for Linux, which the package "cuda" brings too, puts its own libcuda in
    front, and that one finds no kernel module.

    Fix: remove the driver packages of Linux; install a CUDA toolkit, where one is needed, as cuda-toolkit.

    References: https://docs.nvidia.com/cuda/wsl-user-guide
    """
    if root_of(facts) != "driver/linux-driver-in-wsl":
        return
    seen = Witnesses(facts)
    path = seen.libcuda.path if seen.libcuda else ""
    remove = (("sudo", "apt", "remove", "--purge", "^libnvidia-.*", "^nvidia-.*"), ("sudo", "ldconfig"))
    yield Hit(
        title="A Linux NVIDIA driver is installed inside WSL and hides the one of Windows",
        confidence="likely",
        evidence=(
            Evidence("libcuda.so.1", path, "/usr/lib/wsl/lib/libcuda.so.1"),
            Evidence("driver", seen.signs.nvml_error or seen.cuda_words or "does not answer", "an answer"),
        ),
        fixes=(Fix("Remove the Linux driver's packages from WSL", remove, "system"),),
    )


@rule("driver/cuda-number-misread", "note", needs=("driver", "torch"))
def cuda_number_misread(facts: Facts) -> Iterator[Hit]:
    """nvidia-smi shows a lower CUDA than torch's, and nothing is wrong with that

    Why: the number in nvidia-smi's corner is the newest CUDA that the driver knows in full. Within one major
    version every driver runs what was built with a later minor one, and torch brings its own CUDA libraries.

    Fix: none is needed; an installed CUDA toolkit is not asked either.

    References: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """
    assert facts.driver and facts.torch
    offered, built = (comparable(one or "") for one in (facts.driver.cuda_version, facts.torch.cuda_version))
    if offered is None or built is None or offered.major != built.major or offered >= built:
        return
    untranslated = facts.gpus is not None and any(True for _ in too_old_for_ptx(facts))
    if Witnesses(facts).cuda_code is None and not untranslated:
        yield Hit(
            title=f"The driver's CUDA {offered} is below torch's {built} and runs it: both are {built.major}",
            evidence=(Evidence("driver", f"CUDA {offered}"), Evidence("torch", f"CUDA {built}")),
        )
