"""bitsandbytes as its files describe it: what it ships and what it should choose here."""

from __future__ import annotations

from doctor.facts import BitsandbytesBuild, Gap, TorchBuild
from doctor.probes import Looks, gpus, torch


def probe(looks: Looks) -> BitsandbytesBuild | Gap:
    """The libraries in the package's folder, and the one that its own rule selects for this torch."""
    answer = looks.survey.result()
    builds = answer.section("builds")
    if builds is None:
        return Gap(about="bitsandbytes", kind="failed", reason=answer.trouble)
    found = builds["bitsandbytes"]
    if found is None:
        return Gap(about="bitsandbytes", kind="not-applicable", reason="bitsandbytes is not installed")
    if found["build"] is None:
        reason = f"the folder of bitsandbytes cannot be read: {found['fault']}"
        return Gap(about="bitsandbytes", kind="failed", reason=reason)
    build = torch.probe(looks)
    seen = gpus.probe(looks)
    has_gpu = isinstance(seen, tuple) and bool(seen)
    return BitsandbytesBuild(
        version=found["version"],
        libraries=tuple(found["build"]),
        expected=expected_library(build, has_gpu) if isinstance(build, TorchBuild) else None,
        override=looks.host.env.get("BNB_CUDA_VERSION"),
    )


def expected_library(build: TorchBuild, has_gpu: bool) -> str | None:
    """The stem of the library that is wanted: by torch's CUDA where a GPU is seen, else the CPU's.

    What is really loaded is observed in the trial; a near version of the same major may stand in.
    """
    if build.hip_version:
        return None
    if build.cuda_version and has_gpu:
        return "libbitsandbytes_cuda" + build.cuda_version.replace(".", "")
    return "libbitsandbytes_cpu"
