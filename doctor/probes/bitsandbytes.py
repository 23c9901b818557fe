"""bitsandbytes as its files describe it: what it ships and what it should choose here."""

from __future__ import annotations

import msgspec

from doctor.facts import BitsandbytesBuild, Gap, TorchBuild
from doctor.linking.choice import override_variable, select
from doctor.native import LibraryChoice
from doctor.probes import Looks, accelerators, gpus, torch


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
    hip = build.hip_version if isinstance(build, TorchBuild) else None
    ours = BitsandbytesBuild(
        version=found["version"],
        libraries=tuple(found["build"]),
        expected=None,
        override=looks.host.env.get(override_variable(found["version"], hip)),
    )
    choice = choice_of(looks, msgspec.structs.replace(ours, override=None))
    expected = (choice.asked or choice.library).split(".")[0] if choice else ""
    return msgspec.structs.replace(ours, expected=expected or None)


def choice_of(looks: Looks, ours: BitsandbytesBuild) -> LibraryChoice | None:
    """What bitsandbytes selects by itself; None where that cannot be told."""
    build = torch.probe(looks)
    if not isinstance(build, TorchBuild):
        return None
    nvidia = gpus.probe(looks)
    others = accelerators.probe(looks) if build.hip_version else ()
    return select(
        ours,
        build,
        gpus=nvidia if isinstance(nvidia, tuple) else (),
        accelerators=others if isinstance(others, tuple) else None,
        env=looks.host.env,
    )
