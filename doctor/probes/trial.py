"""The imports and the 4-bit LoRA run, tried in children of the target."""

from __future__ import annotations

import msgspec

from doctor.facts import Gap, StageRun, Trial
from doctor.probes import Looks


def probe(looks: Looks) -> Trial | Gap:
    """Every stage with its outcome; left out by a quick check."""
    if looks.quick:
        return Gap(
            about="trial",
            kind="not-asked",
            reason=f"imports and smoke test are left out by {looks.left_out_by}",
        )
    survey = looks.survey.result()
    if survey.section("interpreter") is None:
        return Gap(about="trial", kind="failed", reason=survey.trouble)
    trial = looks.whole_trial()
    if all(run["outcome"] == "blocked" for run in trial.runs.values()):
        imports = [run["blocked_by"] for stage, run in trial.runs.items() if stage.startswith("import-")]
        nothing = all("not installed" in reason for reason in imports)
        reason = "no library of the stack is installed" if nothing else imports[0]
        return Gap(about="trial", kind="not-applicable", reason=reason)
    named = (trial.details.get(stage, {}).get("device") for stage in DEVICE_STAGES)
    device = next((device for device in named if device), None)
    return Trial(device=device, runs=tuple(msgspec.convert(run, StageRun) for run in trial.runs.values()))


DEVICE_STAGES = ("load-4bit", "lora-step", "sft-step")
