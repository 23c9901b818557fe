"""Keys of peft's configurations: in a saved adapter, or typed by hand."""

from __future__ import annotations

import re

from doctor.findings import Fix
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.asking import Asker, asker_of
from doctor.triage.lookups.fates import Fate, fate_at, possible_fates
from doctor.triage.lookups.judging import Wanted, confidence, never
from doctor.versions import Interval

# What people write into LoraConfig. All other keys mostly come from the adapter_config.json of an adapter,
# which holds every key that the peft which saved it has.
TYPED = {
    *("use_dora", "use_rslora", "init_lora_weights", "loftq_config", "rank_pattern", "alpha_pattern"),
    *("layers_to_transform", "layers_pattern", "modules_to_save", "target_modules", "lora_dropout", "bias"),
    *("target_parameters", "use_qalora", "r", "lora_alpha", "task_type", "ensure_weight_tying", "use_bdlora"),
}
# Keys of adapters that peft saved in early 2023.
BEFORE_THE_TABLES = {"enable_lora", "merge_weights"}
LOADS = re.compile(r"from_pretrained|from_peft_type|load_adapter|from_json_file|load_lora")
LOADING = re.compile(
    r"PeftModel\.from_pretrained|PeftConfig\.from_pretrained|load_adapter\(|adapter_config\.json|AutoPeftModel"
)


def of_config(wanted: Wanted, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A key that a configuration of peft does not take."""
    version = case.version("peft")
    if wanted.name in BEFORE_THE_TABLES:
        wanted = wanted._replace(has=(Interval("0", "0.3.0"),))
    if not wanted.has:
        typed = asker_of(complaint, case).who != "peft" and not is_loaded(complaint, case)
        return (never(wanted, complaint, case, ""),) if typed else ()
    fates = (fate_at(wanted.has, "peft", version),) if version else possible_fates(wanted.has, "peft", case)
    if fates and fates[0].kind == "there":
        sure = telling.is_from_a_tool("peft", case)
        return (telling.stale(wanted.label, "peft", complaint, case, "takes", sure),)
    known = [fate for fate in fates if fate.kind in ("gone", "not-yet")]
    told = [suspicion(fate, wanted, complaint, case, len(known) == 1) for fate in known]
    question = telling.which_versions(("peft",), [one.finding.id for one in told], case)
    return tuple(one._replace(question=question) if len(told) > 1 else one for one in told)


def suspicion(fate: Fate, wanted: Wanted, complaint: Complaint, case: Case, alone: bool) -> Suspicion:
    """One direction: the adapter is newer than this peft, or older, or the code is."""
    saved = is_loaded(complaint, case) or wanted.name not in TYPED
    what = "The adapter's configuration has" if saved else "The code gives"
    has = f"peft {case.version('peft')}" if case.version("peft") else "this peft"
    if fate.kind == "not-yet":
        id = "peft/adapter-config-from-newer" if saved else "peft/too-old"
        title = (
            f"{what} {wanted.name}, which {has} does not know yet: peft {fate.since} is the first that does"
        )
        fixes = [telling.upgrade("peft", fate.since, case)]
        if saved:
            fixes.append(
                Fix(f"Or take {wanted.name} out of adapter_config.json, where it is null or its default")
            )
    else:
        id = "peft/adapter-config-from-older" if saved else "script/removed-argument"
        title = f"{what} {wanted.name}, which {has} no longer knows: peft {fate.since} removed it"
        fixes = [telling.go_back("peft", fate.since, case)]
    told = telling.finding(
        id,
        confidence("peft", alone, case),
        title,
        (telling.seen(complaint), telling.stated("peft", telling.in_releases(fate), case)),
        fixes,
        why="A saved adapter names every key of the peft that saved it, and peft refuses unknown keys.",
        breaks=("save-load",) if saved else ("lora-step", "qlora-step", "sft-step"),
    )
    return Suspicion(told, complaint.line)


def is_loaded(complaint: Complaint, case: Case) -> bool:
    """Does the paste show that a saved adapter is being loaded?"""
    functions = [frame for frame in complaint.frames if LOADS.search(frame.function)]
    return any(Asker(frame.module).who.startswith("peft") for frame in functions) or bool(
        LOADING.search(case.text)
    )
