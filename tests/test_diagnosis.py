"""From facts to a report: causes before symptoms, what bites before what may bite, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import healthy
import msgspec
import pytest
from healthy import SITE, but, died, facts, hung, packages, raised, stage_run, trial
from hypothesis import given
from hypothesis import strategies as st

from doctor import diagnosis
from doctor.diagnosis import diagnose, fold, ordered, verdict
from doctor.facts import Duplicate, Facts, FileCheck, FileFault, Gap, Overlap, Shadow, StageRun
from doctor.findings import CONFIDENCES, SEVERITIES, Evidence, Finding, Fix, Report, Subject
from doctor.matrix.rows import load_rows
from doctor.matrix.rules import rule_of
from doctor.native import Dependency, Linkage, NativeLibrary
from doctor.render import json_report
from doctor.rules import Rule

LIVE = Subject("live", healthy.PYTHON)
NUMPY_GONE = FileFault(
    package="numpy", version="2.4.1", missing=("numpy/_core/multiarray.so",), missing_count=1
)
CUT = FileFault(
    package="bitsandbytes",
    version="0.50.2",
    altered=("bitsandbytes/libbitsandbytes_cpu.so",),
    altered_count=1,
    truncated=("bitsandbytes/libbitsandbytes_cpu.so",),
)


def report(given: Facts, *ignore: str) -> Report:
    return diagnose(given, LIVE, ignore)


def files(*faults: FileFault) -> FileCheck:
    return FileCheck(checked=1234, hashed=0, faults=faults)


def tree(given: Report) -> dict[str, list[str]]:
    """Each finding with the ids that it explains; notes of the doctor's own knowledge left out."""
    return {
        finding.id: [symptom.id for symptom in finding.symptoms]
        for finding in given.findings
        if not finding.id.startswith("doctor/")
    }


def finding(id: str, severity: Any = "error", confidence: Any = "confirmed", **fields: Any) -> Finding:
    return Finding(id=id, severity=severity, confidence=confidence, title=id, **fields)


def failed(stage: Any, message: str, **fields: Any) -> StageRun:
    return raised(stage, message, **fields)


# -- folding

UNMET = "python/requirement-unsatisfied"
OLD_NUMPY = Evidence("numpy", "1.26.4", "numpy>=2")
OF_PEFT = Evidence("peft", "0.21.2", "its requirement numpy>=2 met")

NUMPY = "No module named 'numpy._core._multiarray_umath'"


def test_a_root_takes_every_failure_that_points_at_it_beneath_it() -> None:
    stages = ("import-torch", "import-transformers", "import-peft", "import-trl", "sft-step")
    given = report(facts(files=files(NUMPY_GONE), trial=trial(*(failed(stage, NUMPY) for stage in stages))))
    assert tree(given) == {
        "python/files-missing-or-altered": [
            *("torch/import-failed", "transformers/import-failed", "peft/import-failed", "trl/import-failed"),
            "smoke/stage-failed",
        ]
    }
    [root] = [one for one in given.findings if one.symptoms]
    assert (root.severity, root.confidence) == ("error", "confirmed")
    assert root.breaks == stages  # in the order of a fine-tune
    assert given.primary == root.id


def test_a_death_in_a_library_is_the_fault_of_its_truncated_file() -> None:
    death = died("import-bitsandbytes", "SIGBUS", modules=("peft", "bitsandbytes"))
    given = report(facts(files=files(CUT), trial=trial(death)))
    assert tree(given) == {"bitsandbytes/native-library-corrupt": ["bitsandbytes/import-crashed"]}


def test_a_death_without_a_stack_is_the_fault_of_the_file_that_its_stage_loads() -> None:
    given = report(facts(files=files(CUT), trial=trial(died("import-bitsandbytes", "SIGBUS"))))
    assert tree(given) == {"bitsandbytes/native-library-corrupt": ["bitsandbytes/import-crashed"]}


def test_a_death_elsewhere_stays_a_fault_of_its_own() -> None:
    given = report(facts(files=files(CUT), trial=trial(died("import-torch", "SIGILL", modules=("torch",)))))
    assert tree(given) == {"bitsandbytes/native-library-corrupt": [], "torch/import-crashed": []}


def test_failures_of_one_first_cause_stand_beneath_the_first() -> None:
    words = "libcudart.so.13: cannot open shared object file"
    given = report(facts(trial=trial(failed("import-bitsandbytes", words), failed("load-4bit", words))))
    assert tree(given) == {"bitsandbytes/import-failed": ["smoke/stage-failed"]}


def test_failures_of_two_causes_stay_two() -> None:
    given = report(facts(trial=trial(failed("import-peft", "one"), failed("import-trl", "two"))))
    assert tree(given) == {"peft/import-failed": [], "trl/import-failed": []}


def test_an_unrelated_failure_stays_alone() -> None:
    runs = (failed("import-transformers", NUMPY), failed("import-trl", "No module named 'datasets'"))
    given = report(facts(files=files(NUMPY_GONE), trial=trial(*runs)))
    assert tree(given) == {
        "python/files-missing-or-altered": ["transformers/import-failed"],
        "trl/import-failed": [],
    }


def test_wrappers_of_one_cause_are_told_by_the_first_error_of_their_chains() -> None:
    chain = (("ImportError", NUMPY), ("RuntimeError", "Failed to import transformers.trainer"))
    runs = (failed("import-transformers", NUMPY), raised("import-trl", "", chain=chain))
    assert tree(report(facts(trial=trial(*runs)))) == {"transformers/import-failed": ["trl/import-failed"]}


def test_the_words_of_a_known_fault_lead_to_it() -> None:
    """A row of the matrix knows the error text of what it describes."""
    words = "cannot import name 'HybridCache' from 'transformers'"
    given = report(facts(packages=packages(peft="0.17.1"), trial=trial(failed("import-peft", words))))
    assert tree(given) == {"peft/too-old-for-transformers": ["peft/import-failed"]}
    assert given.findings[0].confidence == "confirmed"


def test_a_finding_of_the_stack_on_disk_explains_by_its_modules() -> None:
    double = Duplicate(package="peft", versions=("0.9.0", "0.21.2"), locations=("a", "b"))
    given = facts(
        packages=but(packages(), duplicates=(double,)), trial=trial(failed("import-peft", "in 'peft.utils'"))
    )
    assert tree(report(given)) == {"python/duplicate-metadata": ["peft/import-failed"]}


def test_a_copy_before_the_package_accounts_for_what_is_found_of_it() -> None:
    """The look at a package sees the files that an import would take."""
    shadow = Shadow(module="bitsandbytes", path="/here/bitsandbytes/__init__.py", entry="working folder")
    given = facts(
        packages=but(packages(), shadows=(shadow,)),
        bitsandbytes=but(healthy.FACTS.bitsandbytes, libraries=()),
    )
    assert tree(report(given)) == {"python/module-shadowed": ["bitsandbytes/native-library-missing"]}


def test_a_fork_over_a_package_accounts_for_its_altered_files() -> None:
    overlap = Overlap(package="peft", rival="peft-nightly", rival_is_there=True)
    altered = FileFault(package="peft", version="0.21.2", altered=("peft/a.py",), altered_count=1)
    given = facts(packages=but(packages(), overlaps=(overlap,)), files=files(altered, NUMPY_GONE))
    assert tree(report(given)) == {
        "python/files-missing-or-altered": [],
        "python/packages-overlap": ["python/files-missing-or-altered"],
    }


def test_an_old_release_accounts_for_a_library_that_calls_it_absent() -> None:
    said = "Using a `device_map` requires `accelerate`. You can install it with `pip install accelerate`"
    runs = (failed("load-4bit", said), failed("sft-step", "`Trainer` requires `accelerate>=1.1.0`"))
    given = report(facts(packages=packages(accelerate="1.0.0"), trial=trial(*runs)))
    [found] = [one for one in given.findings if one.id == "accelerate/too-old"]
    assert "smoke/stage-failed" in {symptom.id for symptom in found.symptoms}
    assert "smoke/stage-failed" not in tree(given)


def test_a_library_that_is_gone_is_told_once() -> None:
    """Its package is not whole, and the loader finds it nowhere: one fault."""
    gone = FileFault(
        package="torch", version="2.13.0", missing=("torch/lib/libtorch_cpu.so",), missing_count=1
    )
    dependency = Dependency(name="libtorch_cpu.so", by="not found", asked_by="libtorch_python.so")
    python = f"{SITE}/torch/lib/libtorch_python.so"
    torch = NativeLibrary(package="torch", path=python, dependencies=(dependency,))
    absent = facts(linkage=Linkage(libraries=(torch,)), trial="--quick", torch_runtime="--quick")
    assert "system/library-missing" in tree(report(absent))
    assert tree(report(but(absent, files=files(gone))))["python/files-missing-or-altered"] == [
        "system/library-missing"
    ]


def test_who_asks_for_an_absent_package_is_not_at_fault() -> None:
    """A failure in the asking package is no symptom of the requirement; one that names what is absent is."""
    peft = but(packages().installed["peft"], requires=("tyro",))
    others = failed("import-peft", "no such name", modules=("peft",))
    ours = failed("import-peft", "No module named 'tyro'", modules=("peft",))
    unmet, symptoms = "python/requirement-unsatisfied", ["peft/import-failed"]
    assert tree(report(facts(packages=packages(peft=peft), trial=trial(others)))) == {
        unmet: [],
        "peft/import-failed": [],
    }
    assert tree(report(facts(packages=packages(peft=peft), trial=trial(ours)))) == {unmet: symptoms}


def test_of_imports_that_hang_in_one_library_its_own_comes_first() -> None:
    runs = [hung(stage, modules=("transformers", "peft")) for stage in ("import-transformers", "import-peft")]
    assert tree(report(facts(trial=trial(*runs)))) == {"peft/import-hung": ["transformers/import-hung"]}


def test_a_note_explains_nothing() -> None:
    noisy = facts(
        interpreter=but(healthy.FACTS.interpreter, noise="welcome"),
        trial=trial(failed("import-peft", "in 'interpreter'")),
    )
    assert tree(report(noisy)) == {"peft/import-failed": [], "python/prints-at-startup": []}


def test_an_ignored_cause_leaves_its_symptoms() -> None:
    given = facts(files=files(NUMPY_GONE), trial=trial(failed("import-torch", NUMPY)))
    assert tree(report(given, "python/")) == {"torch/import-failed": []}


ids = st.sampled_from(
    [
        "python/files-missing-or-altered",
        "peft/too-old",
        "torch/import-failed",
        "trl/import-hung",
        "smoke/stage-failed",
        UNMET,
    ]
)
stages = st.sampled_from(["import-torch", "import-peft", "sft-step"])
some = st.builds(
    finding,
    ids,
    st.sampled_from(SEVERITIES),
    st.sampled_from(CONFIDENCES),
    breaks=st.tuples(stages),
    evidence=st.tuples(st.builds(Evidence, st.sampled_from(["numpy", "torch"]), st.just("x"))),
)
runs = st.lists(st.builds(failed, stages, st.sampled_from([NUMPY, "other", "in 'torch'"])), max_size=3)


@given(st.lists(some, max_size=6), runs)
def test_folding_loses_nothing_and_tells_nothing_twice(found: list[Finding], ran: Sequence[StageRun]) -> None:
    folded = fold(found, facts(trial=trial(*ran)), {"peft/too-old": ("other",)})
    told = [one.id for root in folded for one in (root, *root.symptoms)]
    assert sorted(told) == sorted(one.id for one in found)


@pytest.mark.parametrize(
    ("other", "beneath"),
    [
        (finding("numpy/abi-mismatch", "warning", evidence=(OLD_NUMPY, OF_PEFT)), True),
        (finding("numpy/abi-mismatch", "warning", evidence=(OLD_NUMPY,)), False),
        (finding("numpy/abi-mismatch", "note", evidence=(OLD_NUMPY, OF_PEFT)), False),
    ],
)
def test_a_requirement_goes_beneath_what_knows_more_of_the_same_packages(
    other: Finding, beneath: bool
) -> None:
    unmet = finding(UNMET, "warning", "likely", evidence=(OF_PEFT, OLD_NUMPY))
    folded = fold([unmet, other], healthy.FACTS, {})
    assert {one.id for one in folded} == ({other.id} if beneath else {UNMET, other.id})
    assert {one.id: one.severity for one in folded}[other.id] == other.severity  # nothing was seen to fail


@pytest.mark.parametrize(("cure", "beneath"), [("torch==2.13.0+cu126", True), ("torch==2.7.*", False)])
def test_a_build_too_new_for_driver_and_gpu_is_one_fault_where_one_build_cures_it(
    cure: str, beneath: bool
) -> None:
    old, bare = "driver/too-old-for-cuda-runtime", "torch/gpu-arch-missing"
    fixes = [
        (Fix("Install", (("pip", "install", one),), "environment"),) for one in ("torch==2.13.0+cu126", cure)
    ]
    folded = fold([finding(old, fixes=fixes[0]), finding(bare, fixes=fixes[1])], healthy.FACTS, {})
    assert [one.id for one in folded] == ([old] if beneath else [old, bare])
    assert [one.id for one in folded[0].symptoms] == ([bare] if beneath else [])


# -- order


@given(st.lists(some, max_size=8))
def test_the_order_is_the_same_whatever_came_first(found: list[Finding]) -> None:
    once = ordered(found)
    assert [one.id for one in ordered(reversed(once))] == [one.id for one in once]
    severities = [SEVERITIES.index(one.severity) for one in once]
    assert severities == sorted(severities)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (finding("trl/x"), finding("python/x", "warning")),
        (finding("trl/x", "warning"), finding("python/x", "note")),
        (finding("trl/x", symptoms=(finding("trl/import-failed"),)), finding("python/x")),  # it bites
        (finding("python/x"), finding("trl/x", symptoms=(finding("a/b"),))),
        (finding("python/x"), finding("driver/x")),
        (finding("driver/x"), finding("torch/x")),
        (finding("torch/x"), finding("bitsandbytes/x")),
        (finding("transformers/x"), finding("peft/x")),
        (finding("peft/x"), finding("smoke/stage-failed")),
        (finding("smoke/x"), finding("unheard-of/x")),
        (finding("peft/x"), finding("torch/missing")),  # what is there is repaired first
        (finding("trl/x"), finding("python/stack-missing")),
        (finding("peft/b"), finding("peft/a", confidence="likely")),
        (finding("peft/a"), finding("peft/b")),
    ],
)
def test_what_comes_first(first: Finding, second: Finding) -> None:
    assert [one.id for one in ordered([second, first])] == [first.id, second.id]


# -- verdict


@pytest.mark.parametrize(
    ("found", "given", "expected"),
    [
        ([], healthy.FACTS, "healthy"),
        ([finding("a/b", "note")], healthy.FACTS, "healthy"),
        ([finding("a/b", "warning")], healthy.FACTS, "impaired"),
        ([finding("a/b", "warning"), finding("a/c")], healthy.FACTS, "broken"),
        ([finding("script/removed-argument")], healthy.FACTS, "healthy"),
        ([finding("workload/does-not-fit"), finding("a/b", "warning")], healthy.FACTS, "impaired"),
        ([], facts(packages="the survey broke off"), "undetermined"),
        ([finding("a/b", "warning")], facts(packages="the survey broke off"), "undetermined"),
        ([finding("a/b")], facts(packages="the survey broke off"), "broken"),
        ([finding("a/b")], facts(packages="x", interpreter="does not run"), "broken"),
    ],
)
def test_the_verdict(found: list[Finding], given: Facts, expected: str) -> None:
    assert verdict(found, given) == expected


def test_the_healthy_machine() -> None:
    given = report(healthy.FACTS)
    assert (given.verdict, given.primary, tree(given)) == ("healthy", None, {})
    assert given.not_judged == () and given.gaps == ()
    assert given.facts is healthy.FACTS and given.subject is LIVE
    assert (given.schema, given.tool_version) == (1, __import__("doctor").__version__)


def test_a_note_is_never_primary() -> None:
    noisy = report(facts(interpreter=but(healthy.FACTS.interpreter, noise="welcome")))
    assert (noisy.verdict, noisy.primary) == ("healthy", None)
    assert "python/prints-at-startup" in tree(noisy)


def test_a_warning_may_be_primary() -> None:
    given = report(facts(packages=packages(bitsandbytes=None), bitsandbytes="not installed"))
    assert (given.verdict, given.primary) == ("impaired", "bitsandbytes/missing")


def test_findings_are_ignored_by_prefix() -> None:
    given = facts(packages=packages(bitsandbytes=None, trl=None))
    assert set(tree(report(given))) == {"bitsandbytes/missing", "trl/missing"}
    assert set(tree(report(given, "bitsandbytes/"))) == {"trl/missing"}
    assert set(tree(report(given, "bitsandbytes/", "trl/missing"))) == set()
    assert report(given, "bitsandbytes/").verdict == "healthy"


def test_an_empty_prefix_ignores_nothing() -> None:
    assert "trl/missing" in tree(report(facts(packages=packages(trl=None)), ""))


# -- what was not judged


def test_rules_that_lack_a_fact_are_named_with_it() -> None:
    given = report(facts(gpus="NVML hangs", torch_runtime="left out"))
    lacking = [(one.id, one.missing) for one in given.not_judged]
    assert ("torch/gpu-arch-missing", ("gpus",)) in lacking
    assert ("torch/cpu-only-build", ("gpus",)) in lacking
    assert "bitsandbytes/native-library-missing" not in dict(lacking)
    assert given.gaps == (
        Gap(about="gpus", kind="failed", reason="NVML hangs"),
        Gap(about="torch_runtime", kind="failed", reason="left out"),
    )


def test_with_nothing_known_all_is_left_unjudged_and_nothing_crashes() -> None:
    given = report(Facts())
    assert (given.findings, given.verdict, given.primary) == ((), "undetermined", None)
    judged = {rule.id for rule in diagnosis.machine_rules()} - {one.id for one in given.not_judged}
    rules = diagnosis.machine_rules()
    never_asked = {rule.id for rule in rules if {*rule.needs} & {*diagnosis.ASKED_FOR}}
    assert judged == {rule.id for rule in rules if not rule.needs} | never_asked


@pytest.mark.parametrize("field", [field for field in Facts.__struct_fields__ if field != "gaps"])
def test_no_rule_counts_on_a_fact_that_it_does_not_declare(field: str) -> None:
    given = report(facts(**{field: "could not be had"}))
    assert "doctor/rule-crashed" not in [one.id for one in given.findings]


def test_what_is_not_judged_is_named_once() -> None:
    named = [one.id for one in report(facts(packages="the survey broke off")).not_judged]
    assert len(named) == len(set(named))


# -- rows that the trial refutes


PAIR = facts(packages=packages(peft="0.17.1"))  # cannot work with transformers 5.24.0
[HYBRID_CACHE] = [row for row in load_rows() if row.row == "hybrid-cache-removed"]


def hits(given: Facts, *breaks: Any) -> int:
    """How often a row that breaks these stages is told."""
    return len(list(rule_of(msgspec.structs.replace(HYBRID_CACHE, breaks=breaks)).judge(given)))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (PAIR, 0),  # every stage passed: what was seen outweighs what was written down
        (but(PAIR, trial=None), 1),
        (but(PAIR, trial=trial(failed("import-peft", "no"))), 1),
        (but(PAIR, trial=trial(stage_run("import-peft", outcome="blocked", blocked_by="import-torch"))), 1),
        (but(PAIR, trial=trial(failed("import-trl", "no"))), 0),  # not of this row
    ],
    ids=["passed", "not tried", "failed", "blocked", "another failed"],
)
def test_a_row_that_the_trial_refutes_is_not_told(given: Facts, told: int) -> None:
    assert hits(given, "import-peft") == hits(given, "import-peft", "import-transformers") == told


def test_a_row_that_breaks_what_is_never_tried_is_not_refuted() -> None:
    assert hits(PAIR) == hits(PAIR, "multi-gpu") == 1


def test_a_row_is_refuted_though_one_of_its_stages_has_no_place_here() -> None:
    assert "peft/too-old-for-transformers" not in tree(report(facts(packages=packages(peft="0.17.1"))))


def test_a_row_without_its_symptom_is_likely_and_with_it_confirmed() -> None:
    pair = packages(peft="0.17.1")
    words = "cannot import name 'HybridCache' from 'transformers'"
    quick = report(facts(packages=pair, trial="left out")).findings[0]
    seen = report(facts(packages=pair, trial=trial(failed("import-peft", words)))).findings[0]
    assert (quick.id, quick.confidence) == ("peft/too-old-for-transformers", "likely")
    assert (seen.id, seen.confidence) == ("peft/too-old-for-transformers", "confirmed")


def test_a_nightly_next_to_a_bound_is_possible() -> None:
    nightly = report(facts(packages=packages(peft="0.18.0.dev0"), trial="left out")).findings[0]
    assert (nightly.id, nightly.confidence) == ("peft/too-old-for-transformers", "possible")


# -- the whole


def test_a_rule_that_crashes_is_part_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(given: Facts) -> Any:
        raise RuntimeError("of our own making")

    broken = Rule("test/broken", "error", (), (), (), str, crash)
    monkeypatch.setattr(diagnosis, "machine_rules", lambda: (broken,))
    given = report(healthy.FACTS)
    assert (given.verdict, given.primary) == ("impaired", "doctor/rule-crashed")


@pytest.mark.parametrize(
    "given",
    [
        healthy.FACTS,
        Facts(),
        facts(files=files(NUMPY_GONE), trial=trial(failed("import-torch", NUMPY))),
        facts(gpus="x", packages=packages(peft="0.17.1")),
    ],
)
def test_a_report_comes_back_from_json_as_it_was(given: Facts) -> None:
    made = report(given)
    assert json_report.read(json_report.render(made)) == made
    assert msgspec.json.decode(json_report.render_line(made), type=Report) == made


def test_judging_the_same_twice_says_the_same() -> None:
    given = facts(files=files(NUMPY_GONE, CUT), trial=trial(failed("import-torch", NUMPY)))
    assert report(given) == report(given)


def test_the_site_folder_of_the_fixture_is_that_of_its_packages() -> None:
    assert all(one.location == SITE for one in packages().installed.values())
