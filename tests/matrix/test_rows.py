"""Every row of the matrix: its own example bites, its healthy neighbour does not, its form holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from doctor.facts import (
    Driver,
    Facts,
    Failure,
    Gpu,
    Interpreter,
    Package,
    Packages,
    StageRun,
    System,
    TorchBuild,
    Trial,
)
from doctor.findings import Evidence
from doctor.matrix.rows import (
    FOLDER,
    PLATFORM_SUBJECTS,
    MatrixInvalid,
    Row,
    load_rows,
    refuse_duplicates,
    reviewed,
    validate,
)
from doctor.matrix.rules import cure, judge, rule_of
from doctor.versions import Interval, comparable
from doctor.wanted import Wanted

FILES = sorted((FOLDER / "incompatibilities").glob("*.toml"))
ROWS = load_rows()
LIVE = [row for row in ROWS if not row.withdrawn]
each_row = pytest.mark.parametrize("row", LIVE, ids=[row.row for row in LIVE])


def facts_of(values: Mapping[str, str]) -> Facts:
    """A Linux machine on which every subject has the value of an example."""
    names = [name for name in values if name not in PLATFORM_SUBJECTS]
    packages = {
        name: Package(name=name, version=values[name], location="/site", installer="pip") for name in names
    }
    capability = values.get("gpu.compute-capability", "8.6")
    gpu = Gpu(index=0, name="GPU", compute_capability=capability, memory_total_bytes=1, memory_free_bytes=1)
    return Facts(
        system=System(
            os=values.get("os", "linux"),
            name="Linux",
            kernel="Linux 6",
            arch=values.get("arch", "x86_64"),
            libc=f"glibc {values.get('glibc', '2.36')}",
            cpu="",
            cpu_count=2,
            ram_total_bytes=1,
            ram_available_bytes=1,
            disk_free_bytes=1,
            shared_memory_bytes=1,
            container=None,
            wsl=False,
        ),
        driver=Driver(version=values.get("driver", "999"), cuda_version="99.0", source="nvml"),
        gpus=(gpu,),
        interpreter=Interpreter(
            executable="/env/bin/python",
            version=values.get("python", "3.11.7"),
            implementation="CPython",
            prefix="/env",
            base_prefix="/usr",
            kind="venv",
            site_folders=("/site",),
            user_site=None,
            externally_managed=False,
            has_pip=True,
            writable=True,
            noise="",
        ),
        packages=Packages(installed=packages),
        torch=TorchBuild(
            version=values.get("torch", "2.13.0"),
            cuda_version=values.get("torch.cuda"),
            hip_version=None,
            variant="cpu",
        ),
    )


def in_question(row: Row, facts: Facts) -> Facts:
    """What cannot be installed is only asked for by a file."""
    if row.breaks != ("install",) or facts.packages is None:
        return facts
    wanted = Wanted(file="requirements.txt", form="open", requirements=())
    return msgspec.structs.replace(facts, packages=msgspec.structs.replace(facts.packages, wanted=wanted))


def ids(row: Row, facts: Facts) -> list[str]:
    return [rule_of(row).finding(hit).id for hit in judge(row, in_question(row, facts))]


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_no_row_draws_a_complaint(file: Path) -> None:
    assert validate(file)


def test_no_two_rows_say_the_same() -> None:
    refuse_duplicates(ROWS)


@each_row
def test_the_example_bites(row: Row) -> None:
    assert ids(row, facts_of(row.example)) == [row.id]


@each_row
def test_the_healthy_neighbour_does_not(row: Row) -> None:
    assert row.healthy is not None, "a row needs the nearest set that works"
    assert ids(row, facts_of(row.healthy)) == []


@each_row
def test_the_bounds_are_half_open(row: Row) -> None:
    for subject, term in row.when.items():
        if term.fixed and not term.absent:
            assert ids(row, facts_of({**row.example, subject: term.fixed})) == []
        if term.introduced != "0":
            assert ids(row, facts_of({**row.example, subject: term.introduced})) == [row.id]


@each_row
def test_the_finding_names_what_was_seen_and_a_way_out(row: Row) -> None:
    (hit,) = judge(row, in_question(row, facts_of(row.example)))
    assert "{" not in hit.title
    assert all(row.example[name] in hit.title for name in row.when if f"{{{name}}}" in row.title)
    assert len(hit.evidence) == len(row.when)
    assert 1 <= len(hit.fixes) <= 2
    for fix in hit.fixes:
        in_file = row.breaks == ("install",)
        assert fix.scope != "environment" or in_file or fix.commands[-1][0] == "/env/bin/python"


@each_row
def test_the_first_way_out_leads_out_of_every_row(row: Row) -> None:
    """The second may need what the installer brings along by the package's own requirements."""
    for remedy in row.fix[:1]:
        if remedy.upgrade:
            fixed = row.when[remedy.upgrade].fixed
            assert fixed is not None
            after = facts_of({**row.example, remedy.upgrade: fixed})
            assert [other.row for other in LIVE if other.severity == "error" and ids(other, after)] == []


@each_row
def test_no_fix_proposes_a_release_inside_its_own_interval(row: Row) -> None:
    for remedy in row.fix:
        fixes = cure(row, remedy, facts_of(row.example))
        text = " ".join(word for fix in fixes for command in fix.commands for word in command)
        for name, term in row.when.items():
            if f"{name}>=" in text:
                assert not term.interval.contains(text.split(f"{name}>=")[1].split()[0])


def test_there_are_at_least_twenty_rows_with_sources() -> None:
    assert len(LIVE) >= 20
    assert all(reference.startswith("https://") for row in LIVE for reference in row.references)


def test_reviewed_names_every_library_of_the_stack() -> None:
    packages = reviewed()["packages"]
    for name in ("torch", "transformers", "peft", "accelerate", "trl", "bitsandbytes"):
        assert comparable(packages[name]) is not None


def stage(name: str, outcome: str) -> StageRun:
    return StageRun(stage=name, outcome=outcome)  # type: ignore[arg-type]


def test_a_row_whose_stages_all_passed_here_is_refuted() -> None:
    row = next(row for row in LIVE if row.id == "peft/too-old-for-transformers")
    base = facts_of(row.example)
    for outcomes, expected in (
        (["ok"] * len(row.breaks), []),
        (["ok"] * (len(row.breaks) - 1) + ["failed"], [row.id]),
    ):
        trial = Trial(device="cpu", runs=tuple(map(stage, row.breaks, outcomes)))
        facts = Facts(interpreter=base.interpreter, packages=base.packages, trial=trial)
        assert ids(row, facts) == expected


def test_evidence_is_generated_from_the_terms() -> None:
    row = next(row for row in LIVE if row.id == "peft/too-old-for-transformers" and "peft" in row.when)
    (hit,) = judge(row, facts_of(row.example))
    assert row.when["peft"].interval == Interval("0.16.0", "0.18.0")
    assert Evidence("peft", row.example["peft"], "below 0.16.0, or 0.18.0 or newer") in hit.evidence


ROW = """
[[incompatibility]]
row = "a-row"
id = "peft/too-old"
severity = "error"
title = "peft {peft} is too old"
why = "Because."
breaks = ["import-peft"]
fix = [{ upgrade = "peft" }]
basis = "reported"
references = ["https://example.org"]
checked = 2026-11-29
example = { peft = "0.1" }
healthy = { peft = "0.2" }
when.peft = { fixed = "0.2" }
"""


def rows_in(folder: Path, text: str) -> list[Row]:
    file = folder / "peft.toml"
    file.write_text(text, encoding="utf-8")
    return list(validate(file))


def test_a_good_row_is_read(tmp_path: Path) -> None:
    (row,) = rows_in(tmp_path, ROW)
    assert row.when["peft"].interval == Interval("0", "0.2")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('severity = "error"', 'severity = "fatal"', "$.severity"),
        ('breaks = ["import-peft"]', 'breaks = ["import-perl"]', "$.breaks"),
        ('why = "Because."', 'why = "Because."\nwyh = "x"', "wyh"),
        ('id = "peft/too-old"', 'id = "peft too old"', "id:"),
        ("{peft} is", "{trl} is", "{trl} is no term"),
        ('{ fixed = "0.2" }', '{ introduced = "0.3", fixed = "0.2" }', "interval is empty"),
        ('{ fixed = "0.2" }', '{ fixed = "zero" }', "'zero' is no version"),
        ('{ fixed = "0.2" }', '{ fixed = "0.2", last_affected = "0.1" }', "exclude one another"),
        ('{ fixed = "0.2" }', '{ is = ["linux"] }', "`is` belongs to os and arch"),
        ('{ fixed = "0.2" }', '{ last_affected = "0.1" }', "no `fixed`"),
        ('[{ upgrade = "peft" }]', '[{ downgrade = "peft" }]', "no `introduced`"),
        ('[{ upgrade = "peft" }]', '[{ upgrade = "peft", install = "trl" }]', "exactly one"),
        ('basis = "reported"', 'basis = "reproduced"', "what was run"),
        ('references = ["https://example.org"]', "references = []", "hearsay"),
        ('row = "a-row"', 'row = "a-row', "peft.toml"),
    ],
)
def test_a_bad_row_is_refused_with_file_row_and_key(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in ROW
    with pytest.raises(MatrixInvalid) as refused:
        rows_in(tmp_path, ROW.replace(old, new))
    assert "peft.toml" in str(refused.value)
    assert complaint in str(refused.value)


def test_two_rows_of_one_name_or_of_the_same_terms_are_refused(tmp_path: Path) -> None:
    (row,) = rows_in(tmp_path, ROW)
    (other,) = rows_in(tmp_path, ROW.replace('"a-row"', '"another-row"'))
    for pair, complaint in (((row, row), "taken twice"), ((row, other), "the same terms as row a-row")):
        with pytest.raises(MatrixInvalid, match=complaint):
            refuse_duplicates(pair)


def test_what_is_installed_could_be_installed() -> None:
    row = next(row for row in LIVE if row.breaks == ("install",))
    assert ids(row, facts_of(row.example)) == [row.id]
    assert list(judge(row, facts_of(row.example))) == []


def test_what_breaks_no_stage_is_told_of_a_machine_that_was_tried_only_where_it_was_seen() -> None:
    row = next(row for row in LIVE if row.row == "adapter-methods-floor-5-24")
    facts = facts_of(row.example)
    tried = msgspec.structs.replace(facts, trial=Trial(device="cpu", runs=(stage("lora-step", "ok"),)))
    failure = Failure(kind="raised", chain=(("ValueError", row.symptoms[0]),))
    seen = StageRun(stage="lora-step", outcome="failed", failure=failure)
    assert ids(row, facts) == [row.id]
    assert ids(row, tried) == []
    assert ids(row, msgspec.structs.replace(tried, trial=Trial(device="cpu", runs=(seen,)))) == [row.id]
