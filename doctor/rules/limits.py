"""Limits of the machine that a training meets: shared memory, disk, memory that may be locked."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import set_variable
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.machine_cures_by_words import enlarged_shared_memory

MIB, GIB = 1 << 20, 1 << 30
SHARED_MEMORY_FOR_RANKS = GIB  # NCCL's own buffers between GPUs of one machine, with room for data loaders
DOCKER_DEFAULT = 64 * MIB
MODEL_SPACE = GIB  # less holds no model worth tuning
WORKING_SPACE = 256 * MIB  # for what is compiled, unpacked and saved on the way
LOCKED_FOR_RDMA = GIB


@rule(
    "system/shared-memory-too-small",
    "warning",
    needs=("system", "compiling", "gpus"),
    symptoms=(
        "This might be caused by insufficient shared memory",
        "is killed by signal: Bus error",
        "Error while creating shared memory segment",
        "Error while attaching to shared memory segment",
        r"re:[Ff]ailed to extend /dev/shm/nccl",
        "workers are out of shared memory",
        r"re:unable to (?:write to file|open shared memory object|mmap \d{1,12} bytes from file) </torch_",
    ),
    cure=enlarged_shared_memory,
    question="How large is /dev/shm? df -h /dev/shm prints it.",
)
def shared_memory_too_small(facts: Facts) -> Iterator[Hit]:
    """/dev/shm is too small for NCCL between several GPUs, or for data loaders with workers

    Why: NCCL exchanges data between the ranks of a machine through /dev/shm, and workers of a data loader
    hand over their batches there. Containers get 64 MiB unless told otherwise. What does not fit ends in a
    bus error, or in an error of NCCL that names shared memory.

    See: df -h /dev/shm prints 64M, as docker gives it.

    Fix: start the container with more: --shm-size=8g or --ipc=host with docker and podman; in Kubernetes a
    volume emptyDir with medium Memory, mounted at /dev/shm.

    References:
    https://github.com/pytorch/pytorch/issues/5040
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """
    assert facts.system and facts.compiling and facts.gpus is not None
    size, free = facts.system.shared_memory_bytes, facts.compiling.shared_memory_free_bytes
    several = len(facts.gpus) > 1
    least = SHARED_MEMORY_FOR_RANKS if several else DOCKER_DEFAULT + 1
    usable = size if free is None else free
    if size is None or usable is None or not facts.gpus or usable >= least:
        return
    seen = in_words(size) if usable == size else f"{in_words(usable)} free of {in_words(size)}"
    for_whom = f"{len(facts.gpus)} GPUs" if several else "data loaders with workers"
    yield Hit(
        title=f"/dev/shm has {in_words(usable)}, too little for {for_whom}",
        severity=None if several else "note",
        evidence=(Evidence("/dev/shm", seen, f"at least {in_words(GIB)}"),),
        fixes=(more_shared_memory(facts.system.container),),
    )


def more_shared_memory(container: str | None) -> Fix:
    """How /dev/shm is enlarged, inside a container of each kind and outside one."""
    if container is None:
        command = ("sudo", "mount", "-o", "remount,size=8G", "/dev/shm")
        return Fix("Remove what fills /dev/shm, or enlarge it", (command,), "system")
    if container == "kubernetes":
        return Fix("Mount an emptyDir with medium Memory at /dev/shm in the pod", scope="system")
    return Fix("Start the container with --shm-size=8g or with --ipc=host", scope="system")


@rule(
    "system/disk-full",
    "warning",
    needs=("system", "compiling"),
    symptoms=("No space left on device", "Disk quota exceeded"),
)
def disk_full(facts: Facts) -> Iterator[Hit]:
    """A disk that a fine-tune writes to is full

    Why: a model is downloaded into the cache of Hugging Face, kernels are compiled into triton's, and
    temporary files go to the temporary folder. Where no space is left each of these ends in an error, some
    of them in a truncated file that fails later.

    Fix: make room there, or move the folder: HF_HOME for models, TMPDIR for temporary files,
    TRITON_CACHE_DIR for kernels.
    """
    assert facts.system and facts.compiling
    seen = facts.compiling
    places = (
        ("temporary folder", "TMPDIR", facts.system.disk_free_bytes, WORKING_SPACE),
        (
            seen.cache_folder,
            "TRITON_CACHE_DIR",
            seen.cache_free_bytes if seen.triton else None,
            WORKING_SPACE,
        ),
        (seen.hub_cache_folder, "HF_HOME", seen.hub_cache_free_bytes, MODEL_SPACE),
    )
    full = [
        (place, name, free, least) for place, name, free, least in places if free is not None and free < least
    ]
    if full:
        place, name, free, _ = full[0]
        yield Hit(
            title=f"The disk of {place} has {in_words(free)} left",
            evidence=tuple(
                Evidence(place, f"{in_words(free)} free", f"at least {in_words(least)}")
                for place, _, free, least in full
            ),
            fixes=(set_variable("Make room, or name a folder on another disk", name, "/path/with/space"),),
        )


@rule(
    "system/memory-lock-limited",
    "note",
    needs=("compiling", "gpus"),
    symptoms=("Call to ibv_reg_mr failed", "Call to ibv_create_cq failed", "ibv_reg_mr_iova2 failed"),
)
def memory_lock_limited(facts: Facts) -> Iterator[Hit]:
    """InfiniBand or RoCE cards are here, and little memory may be locked

    Why: NCCL registers its buffers with the card, which locks them in memory. Where the limit is low that
    fails with "Cannot allocate memory", and only once several machines train together.

    Fix: raise the limit of locked memory, in a container with --ulimit memlock=-1.

    References:
    https://github.com/NVIDIA/nccl-tests/issues/206
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html
    """
    assert facts.compiling and facts.gpus is not None
    limit, cards = facts.compiling.memory_lock_bytes, facts.compiling.rdma_devices
    if facts.gpus and cards and limit is not None and limit < LOCKED_FOR_RDMA:
        yield Hit(
            title=f"{cards[0]} transfers from locked memory, of which {in_words(limit)} is allowed",
            evidence=(Evidence("locked memory", in_words(limit), "unlimited"),),
            fixes=(Fix("Raise the limit of locked memory: ulimit -l unlimited", scope="system"),),
        )


def in_words(count: int) -> str:
    """A number of bytes for people: "64 MiB", "7.5 GiB"."""
    if count < GIB:
        return f"{count / MIB:.0f} MiB"
    return f"{count / GIB:.1f} GiB".replace(".0 ", " ")
