"""GPUs that a container or a Slurm job was not given."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE, plural
from doctor.rules.machine_cures_by_words import pass_gpus_in
from doctor.rules.roots import lacks_compute, root_of
from doctor.rules.witnesses import Witnesses

# How each engine is told to pass the GPU in.
FLAGS = {
    "podman": "podman run --device nvidia.com/gpu=all",
    "kubernetes": "resources: limits: nvidia.com/gpu: 1 in the pod's specification",
    "apptainer": "apptainer exec --nv",
    "singularity": "singularity exec --nv",
    "lxc": "lxc config device add NAME gpu gpu, and nvidia.runtime=true",
    "jetson": "docker run --runtime nvidia",
    "containerd": "nerdctl run --gpus all",
}
# What the host must have for the flag to work.
HOSTS = {
    "kubernetes": "Install NVIDIA's device plugin, or the GPU operator, in the cluster",
    "podman": "Describe the GPUs to podman: sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    "docker": "Install NVIDIA's Container Toolkit, then: sudo nvidia-ctk runtime configure --runtime=docker",
}
# What docker, containerd and NVIDIA's toolkit say of it.
NOT_PASSED_IN = (
    "The NVIDIA Driver was not detected",
    "could not select device driver",
    "failed to discover GPU vendor from CDI",
    r"re:unresolvable CDI devices nvidia\.com/gpu",
    r"re:[Uu]nknown (?:or invalid )?runtime(?: specified| name:) nvidia",
    "no cuda-capable device is detected: unknown",
    "nvidia-container-cli: container error: cgroup subsystem devices not found",
    "nvidia-container-cli: device error: unknown device",
    r"re:nvidia-container-cli: mount error: file creation failed",
    'exec: "nvidia-smi": executable file not found',
)


@rule(
    "gpu/none-visible-in-container",
    "error",
    needs=("driver_signs", "system"),
    breaks=SEE,
    symptoms=NOT_PASSED_IN,
    cure=pass_gpus_in,
    question="Does docker run --rm --gpus all nvidia/cuda:12.6.0-base-ubuntu22.04 nvidia-smi print the GPU?",
)
def none_visible_in_container(facts: Facts) -> Iterator[Hit]:
    """The machine has a GPU and this container was started without it

    Why: a container sees GPUs only when it is told to, and when the NVIDIA Container Toolkit (in Kubernetes
    the device plugin) is there on the host. The host's driver is then put into the container; an image needs
    none of its own. NVIDIA_VISIBLE_DEVICES=void or none leaves the GPUs out, and NVIDIA_DRIVER_CAPABILITIES
    without "compute" leaves libcuda out.

    Fix: start it with --gpus all (docker), --device nvidia.com/gpu=all (podman), --nv (Apptainer), or ask for
    nvidia.com/gpu in the pod's limits (Kubernetes) and for --gres=gpu:1 (Slurm).

    Verify: nvidia-smi prints its table inside of the container.

    Tried in vain: installing a driver inside of the container.

    References: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    https://github.com/apptainer/singularity/pull/1358 https://github.com/NVIDIA/nvidia-docker/issues/1085
    """
    if root_of(facts) != "gpu/none-visible-in-container":
        return
    seen = Witnesses(facts)
    engine = seen.container or ""
    if seen.driver_answers and lacks_compute(seen):
        yield without_compute(facts)
        return
    module = f"NVIDIA's module {seen.signs.kernel_version}".rstrip()
    here = (
        Evidence("bus", plural(seen.gpus_on_bus, "NVIDIA GPU"))
        if seen.gpus_on_bus
        else Evidence("kernel", f"{module} is loaded on the host")
    )
    none = "it runs and shows no GPU" if seen.shows_none else ""
    yield Hit(
        title=f"This {engine} container was started without the machine's GPU",
        confidence="confirmed" if seen.module_loaded else "likely",
        evidence=(
            here,
            Evidence(
                "driver", none or seen.signs.nvml_error or "does not answer", "the host's driver, passed in"
            ),
            *left_out(facts),
        ),
        fixes=cures_of_container("jetson" if seen.signs.jetson else engine, seen.signs.slurm),
    )


def left_out(facts: Facts) -> Iterator[Evidence]:
    """The variable that leaves the GPUs out, where it does."""
    value = (facts.environment or {}).get("NVIDIA_VISIBLE_DEVICES")
    if value in ("void", "none", ""):
        yield Evidence("NVIDIA_VISIBLE_DEVICES", repr(value), "all, or the index of a GPU")


def cures_of_container(engine: str, slurm: bool) -> tuple[Fix, Fix]:
    """The flag of the engine, then what the host needs for it."""
    flag = FLAGS.get(engine, "docker run --gpus all")
    start = Fix(f"Start the container with the GPU: {flag}", scope="system")
    if slurm:
        return start, Fix("Ask Slurm for the GPU as well: --gres=gpu:1 (or --gpus=1)", scope="system")
    ready = HOSTS.get(engine, HOSTS["docker"])
    return start, Fix(f"Where that flag is given or refused, on the host: {ready}", scope="system")


def without_compute(facts: Facts) -> Hit:
    """The container has nvidia-smi and no libcuda."""
    value = (facts.environment or {}).get("NVIDIA_DRIVER_CAPABILITIES", "")
    return Hit(
        title=f"NVIDIA_DRIVER_CAPABILITIES is {value!r}, so this container was given no libcuda",
        evidence=(
            Evidence("NVIDIA_DRIVER_CAPABILITIES", repr(value), "compute,utility"),
            Evidence("libcuda.so.1", "not there", "the host's, passed in"),
        ),
        fixes=(
            Fix("Start the container with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility", scope="system"),
        ),
    )


@rule("gpu/not-allocated-by-slurm", "error", needs=("driver_signs",), breaks=SEE)
def not_allocated_by_slurm(facts: Facts) -> Iterator[Hit]:
    """This Slurm job was given no GPU

    Why: Slurm shows a job the GPUs that it asked for, and keeps the device files of the others from it. A job
    that asked for none sees none, on a node that has them.

    Fix: ask for one.

    References: https://slurm.schedmd.com/gres.html https://github.com/3dem/model-angelo/issues/60
    """
    if root_of(facts) != "gpu/not-allocated-by-slurm":
        return
    seen = Witnesses(facts)
    value = (facts.environment or {}).get("CUDA_VISIBLE_DEVICES")
    blocked = [node.path for node in seen.gpu_nodes if not node.usable]
    yield Hit(
        title="This Slurm job was given no GPU of its node",
        confidence="confirmed" if blocked or value == "NoDevFiles" else "likely",
        evidence=(
            Evidence(
                "device files", f"{', '.join(blocked[:6])} closed to this job" if blocked else "none shown"
            ),
            Evidence("CUDA_VISIBLE_DEVICES", "unset" if value is None else repr(value), "set by Slurm"),
        ),
        fixes=(
            Fix(
                "Ask for a GPU: #SBATCH --gres=gpu:1 (or --gpus=1) in the job, or interactively",
                (("srun", "--gres=gpu:1", "--pty", "bash"),),
                "system",
            ),
        ),
    )
