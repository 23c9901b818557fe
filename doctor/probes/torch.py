"""torch as its files describe it."""

from __future__ import annotations

from doctor.facts import Gap, TorchBuild
from doctor.probes import Looks


def probe(looks: Looks) -> TorchBuild | Gap:
    """Version and CUDA variant, from torch/version.py."""
    answer = looks.survey.result()
    builds = answer.section("builds")
    if builds is None:
        return Gap(about="torch", kind="failed", reason=answer.trouble)
    found = builds["torch"]
    if found is None:
        return Gap(about="torch", kind="not-applicable", reason="torch is not installed")
    if found["build"] is None:
        return Gap(about="torch", kind="failed", reason=f"torch/version.py cannot be read: {found['fault']}")
    build = found["build"]
    version = build.get("__version__") or found["version"]
    cuda, hip = build.get("cuda"), build.get("hip")
    return TorchBuild(
        version=version,
        cuda_version=cuda,
        hip_version=hip,
        xpu_version=build.get("xpu"),
        variant=variant(build),
    )


def variant(build: dict[str, str | None]) -> str:
    """ "cpu", "cu126", "rocm6.4", "xpu"; "unknown" where the file says nothing of CUDA."""
    if build.get("cuda"):
        return "cu" + str(build["cuda"]).replace(".", "")
    if build.get("hip"):
        return "rocm" + ".".join(str(build["hip"]).split(".")[:2])
    if build.get("xpu"):
        return "xpu"
    return "cpu" if "cuda" in build else "unknown"
