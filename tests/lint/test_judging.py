"""What is said of files, by the matrix that ships with the doctor."""

from __future__ import annotations

import pytest

from .files import errors, lint, run, versions

HYBRID_CACHE = "peft/too-old-for-transformers"


def test_a_half_pinned_file_breaks_with_what_an_installer_takes_today() -> None:
    report = lint("transformers==5.24.0\npeft==0.17.1\n")
    assert report.verdict == "broken" and report.subject.kind == "requirements"
    finding = errors(report)[HYBRID_CACHE]
    assert "import-peft" in finding.breaks
    assert [(one.subject, one.where) for one in finding.evidence] == [
        ("peft", "requirements.txt:2"),
        ("transformers", "requirements.txt:1"),
    ]
    assert finding.fixes[0].title.endswith("change peft==0.17.1 to peft>=0.18.0 in line 2")
    assert finding.fixes[0].commands == ()


def test_what_is_needed_and_not_named_is_solved_for() -> None:
    found = versions(lint("peft==0.17.1\ntransformers<5\n"))
    assert found["transformers"].startswith("4.") and {"torch", "accelerate", "huggingface-hub"} <= set(found)
    assert "trl" not in found and "bitsandbytes" not in found


def test_a_whole_environment_is_judged_as_it_stands() -> None:
    report = lint("numpy==1.26.4\nsafetensors==0.4.5\n")
    assert versions(report) == {"numpy": "1.26.4", "safetensors": "0.4.5"}


def test_a_list_of_what_is_installed_is_no_wish() -> None:
    text = "Package Version\n------- -------\ntransformers 5.24.0\npeft 0.17.1\ntokenizers 0.15.0\n"
    report = lint(text, "packages.txt")
    assert HYBRID_CACHE in errors(report)
    unmet = [one for one in report.findings if "requirement-unsatisfied" in one.id]
    unmet += [two for one in report.findings for two in one.symptoms if "requirement-unsatisfied" in two.id]
    assert any("tokenizers" in one.title for one in unmet)
    assert not any(one.id.endswith("/missing") for one in report.findings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bitsandbytes==0.47.0\ntorch==2.1.0\n", "bitsandbytes 0.47.0 requires torch"),
        ("transformers==5.24.0\nhuggingface-hub<1\n", "transformers 5.24.0 requires huggingface-hub"),
        ("peft==0.4.0.dev0\n", "peft 0.4.0.dev0 is a state of its repository"),
        ("transformers==4.99.0\n", "transformers 4.99.0 was never published"),
    ],
)
def test_what_no_installer_can_satisfy(text: str, words: str) -> None:
    report = lint(text)
    finding = errors(report)["python/unresolvable-requirements"]
    told = finding.title + " ".join(one.seen for one in finding.evidence)
    assert words in told and finding.breaks == ("install",)
    assert any(one.where.startswith("requirements.txt:") for one in finding.evidence)


def test_a_release_without_a_wheel_for_the_python() -> None:
    finding = errors(lint("torch==2.1.0\n", python="3.12"))["python/no-wheel-for-version"]
    assert "does not install on Python 3.12" in finding.title
    assert "torch>=2.2" in finding.fixes[0].title


def test_the_python_of_a_file_is_the_one_it_is_judged_for() -> None:
    lock = 'version = 1\nrequires-python = ">=3.13"\n[[package]]\nname = "peft"\nversion = "0.21.2"\n'
    report = run({"uv.lock": lock}, python="").report("uv.lock")
    assert report.facts.interpreter and report.facts.interpreter.version == "3.13"


def test_ranges_that_admit_what_breaks() -> None:
    report = lint("transformers==5.24.0\npeft>=0.7\n")
    [finding] = [one for one in report.findings if one.id == "python/range-too-wide"]
    assert (finding.severity, finding.confidence, report.verdict) == ("warning", "possible", "impaired")
    assert finding.evidence[0].wanted == ">=0.18.0" and finding.evidence[0].where == "requirements.txt:2"
    assert "change peft>=0.7 to peft>=0.18.0 in line 2" in finding.fixes[0].title


@pytest.mark.parametrize("text", ["peft\ntransformers\n", "peft>=0.18\n", "peft==0.21.2\n"])
def test_ranges_that_are_wide_enough_to_leave_alone(text: str) -> None:
    assert not [one for one in lint(text).findings if one.id == "python/range-too-wide"]


def test_markers_are_those_of_the_machine() -> None:
    text = "peft==0.17.1; sys_platform == 'win32'\npeft==0.21.2; sys_platform != 'win32'\n"
    assert versions(lint(text))["peft"] == "0.21.2"
    assert versions(lint(text, os="win32"))["peft"] == "0.17.1"


def test_a_commit_stands_for_no_release_and_the_main_branch_for_the_newest() -> None:
    commit = lint(f"git+https://github.com/huggingface/peft@{'a' * 40}\ntransformers==5.24.0\n")
    assert "peft" not in versions(commit)
    main = lint("git+https://github.com/huggingface/peft\ntransformers==5.24.0\n")
    assert versions(main)["peft"] == "0.21.2"


def test_constraints_limit_what_is_needed_and_nothing_else() -> None:
    found = run({"requirements.txt": "-c c.txt\npeft\n", "c.txt": "transformers<5\ntrl==0.9.6\n"})
    taken = versions(found.report("requirements.txt"))
    assert taken["transformers"].startswith("4.") and "trl" not in taken


def test_extras_that_clash_do_not_condemn_the_project() -> None:
    text = '[project]\nname = "x"\ndependencies = ["transformers==5.24.0"]\n'
    text += '[project.optional-dependencies]\nold = ["huggingface-hub<1"]\n'
    assert errors(lint(text, "pyproject.toml")) == {}


def test_the_build_of_torch_is_told_by_label_index_or_release() -> None:
    assert builds("torch==2.3.0+cpu\n") == "cpu"
    assert builds("--index-url https://download.pytorch.org/whl/cu118\ntorch==2.3.0\n") == "cu118"
    assert builds("torch==2.3.0\n") == "cu121"
    assert builds("torch==2.3.0\n", os="darwin", arch="arm64") == "cpu"


def builds(text: str, **machine: str) -> str:
    torch = lint(text, **machine).facts.torch
    return torch.variant if torch else ""


def test_a_described_gpu_is_held_against_the_build() -> None:
    found = errors(lint("torch==2.1.0\n", gpu="RTX 5090", driver="570.86.10"))
    assert "sm_120" in found["torch/gpu-arch-missing"].title
    assert errors(lint("torch==2.1.0\n", gpu="RTX 3060", driver="570.86.10")) == {}
    assert "torch/cpu-only-build" in errors(lint("torch==2.3.0+cpu\n", gpu="RTX 3060"))


@pytest.mark.parametrize(
    ("text", "machine", "id", "cure"),
    [
        # The plain wheel of 2.13 is built for CUDA 13, which dropped Volta.
        ("torch==2.13.0", {"gpu": "V100"}, "torch/gpu-arch-missing", "torch==2.13.0+cu126"),
        ("torch==2.8.0", {"gpu": "P100"}, "torch/gpu-arch-missing", "torch==2.8.0+cu126"),
        ("torch==2.5.1", {"gpu": "RTX 5090"}, "torch/gpu-arch-missing", "torch==2.7.*"),
        ("torch==2.15.0", {"driver": "535.104.05"}, "driver/too-old-for-cuda-runtime", "torch==2.13.*"),
        ("torch==2.7.1", {"driver": "470.82"}, "driver/too-old-for-cuda-runtime", "torch==2.7.1+cu118"),
        ("torch==2.13.0", {"driver": "470.82"}, "driver/too-old-for-cuda-runtime", "torch==2.7.*"),
        (
            "torch==2.13.0",
            {"driver": "560.35.03", "gpu": "RTX 5090"},
            "driver/gpu-not-supported",
            "branch 570 or newer",
        ),
        (
            "torch==2.8.0+cu126",
            {"driver": "595.45.04", "gpu": "V100"},
            "driver/gpu-not-supported",
            "branch 580, the last for it",
        ),
        (
            "torch==2.13.0",
            {"gpu": "Jetson AGX Orin"},
            "torch/jetson-wheel-not-l4t",
            "NVIDIA's wheels for this JetPack",
        ),
        ("torch==2.9.0", {"gpu": "Jetson Orin"}, "torch/jetson-wheel-not-l4t", "NVIDIA's wheels"),
        (
            "torch==2.7.0\nbitsandbytes==0.43.1",
            {"gpu": "A100", "driver": "575.51"},
            "bitsandbytes/native-library-missing",
            "bitsandbytes>=0.45.0",
        ),
        (
            "torch==2.7.1+cu128\nbitsandbytes==0.45.2",
            {"gpu": "RTX 5090"},
            "bitsandbytes/native-library-missing",
            "bitsandbytes>=0.45.3",
        ),
        (
            "torch==2.7.1+cu126\nbitsandbytes==0.50.2",
            {"gpu": "M40"},
            "bitsandbytes/gpu-arch-missing",
            "bitsandbytes==0.47.0",
        ),
    ],
)
def test_a_machine_that_does_not_suit_the_build(
    text: str, machine: dict[str, str], id: str, cure: str
) -> None:
    found = errors(lint(f"{text}\n", **machine))
    assert any(cure in fix.title for fix in found[id].fixes), found[id].fixes


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("torch==2.13.0+cu126", {"gpu": "V100", "driver": "580.95.05"}),
        ("torch==2.13.0", {"gpu": "T4", "driver": "580.95.05"}),
        ("torch==2.13.0", {"gpu": "DGX Spark", "driver": "580.95.05"}),
        ("torch==2.13.0", {"gpu": "GH200"}),
        ("torch==2.5.1+cu118", {"gpu": "T4", "driver": "470.82"}),
        ("torch==2.7.1+cu126", {"gpu": "RTX 4090", "driver": "525.60.13"}),
        ("torch==2.13.0", {"os": "win32", "arch": "x86_64"}),
    ],
)
def test_a_machine_that_suits_the_build(text: str, machine: dict[str, str]) -> None:
    assert errors(lint(f"{text}\n", **machine)) == {}


def test_torch_is_told_before_the_bitsandbytes_that_goes_with_it() -> None:
    """Another torch takes another library, so nothing is known of the one that is asked for now."""
    found = errors(lint("torch==2.5.1\nbitsandbytes==0.45.5\n", gpu="RTX 5090"))
    assert "bitsandbytes/gpu-arch-missing" not in found


def test_what_was_not_understood_is_said() -> None:
    notes = {one.id: one for one in lint("peft==0.21.2\nfoo bar baz\n").findings if one.severity == "note"}
    assert notes["python/line-not-understood"].evidence[0].where == "requirements.txt:2"


def test_every_missing_fact_has_its_gap() -> None:
    report = lint("peft==0.21.2\n")
    missing = {name for name in report.facts.__struct_fields__ if getattr(report.facts, name) is None}
    assert missing == {gap.about for gap in report.gaps}
    assert {gap.kind for gap in report.gaps} == {"not-asked", "not-applicable"}


def test_locks_are_made_anew_and_not_edited() -> None:
    lock = "version = 1\n" + "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        for name, version in (("peft", "0.17.1"), ("transformers", "5.24.0"))
    )
    fix = errors(lint(lock, "uv.lock"))[HYBRID_CACHE].fixes[0]
    assert fix.commands == (("uv", "lock", "--upgrade-package", "peft"),)


@pytest.mark.parametrize(
    "asked",
    [
        *("peft>=99", "peft>5000.0", "peft~=99.1", "peft==99.*", "peft==99.0"),
        *("protobuf<=3.20.3", "protobuf==3.20.*", "protobuf~=3.20.0", "setuptools<60", "transformers<4.20"),
    ],
)
def test_what_lies_outside_of_the_tables_may_be_there(asked: str) -> None:
    report = lint(f"{asked}\naccelerate==1.15.0\ntorch==2.6.0\n")
    assert "python/unresolvable-requirements" not in errors(report)
    assert set(versions(report).items()) & {("accelerate", "1.15.0")}
    assert versions(report).get("peft", "99.0") == "99.0"
    assert report.facts.packages and report.facts.packages.is_partial


@pytest.mark.parametrize("asked", ["peft>0.17.0,<0.17.1", "transformers>=5\ntransformers<4.50"])
def test_a_gap_within_the_tables_is_one(asked: str) -> None:
    assert "python/unresolvable-requirements" in errors(lint(f"{asked}\n"))


def test_entries_of_poetry_hold_where_their_marker_does() -> None:
    text = (
        "[tool.poetry.dependencies]\nbitsandbytes = [{version = '0.41.3', python = '<3.11'},"
        " {version = '0.43.0', python = '>=3.11'}]\npeft = {version = '0.11.0', platform = 'win32'}\n"
    )
    report = lint(text, "pyproject.toml")
    assert versions(report)["bitsandbytes"] == "0.43.0"
    assert "peft" not in versions(report)
    assert versions(lint(text, "pyproject.toml", python="3.10"))["bitsandbytes"] == "0.41.3"
