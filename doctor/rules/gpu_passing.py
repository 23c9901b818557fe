"""GPUs that a container or a Slurm job was not given."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE, plural
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


@rule(
    "gpu/none-visible-in-container",
    "error",
    needs=("driver_signs", "system"),
    breaks=SEE,
    symptoms=(
        "The NVIDIA Driver was not detected",
        'could not select device driver "" with capabilities: [[gpu]]',
    ),
)
def none_visible_in_container(facts: Facts) -> Iterator[Hit]:
    """The machine has a GPU and this container was started without it

    Why: a container sees GPUs only when it is told to, and when the NVIDIA Container Toolkit (in Kubernetes
    the device plugin) is there on the host. The host's driver is then put into the container; an image needs
    none of its own. NVIDIA_VISIBLE_DEVICES=void or none leaves the GPUs out, and NVIDIA_DRIVER_CAPABILITIES
    without "compute" leaves libcuda out.

    Fix: start it with --gpus all (docker), --device nvidia.com/gpu=all (podman), --nv (Apptainer), or ask for
    nvidia.com/gpu in the pod's limits (Kubernetes) and for --gres=gpu:1 (Slurm).

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
    variable = (facts.environment or {}).get("NVIDIA_VISIBLE_DEVICES")
    named = Evidence("NVIDIA_VISIBLE_DEVICES", repr(variable), "all, or the index of a GPU")
    yield Hit(
        title=f"This {engine} container was started without the machine's GPU",
        confidence="confirmed" if seen.module_loaded else "likely",
        evidence=(
            here,
            Evidence(
                "driver", none or seen.signs.nvml_error or "does not answer", "the host's driver, passed in"
            ),
            *((named,) if variable in ("void", "none", "") else ()),
        ),
        fixes=cures_of_container("jetson" if seen.signs.jetson else engine, seen.signs.slurm),
    )


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
