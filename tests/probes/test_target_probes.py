"""What probes make of the survey of the target."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from fakes import HUNG, NOT_STARTED, emits, ended
from healthy import LIBRARIES, SITE, installed, survey

from doctor.facts import (
    BitsandbytesBuild,
    Duplicate,
    FileCheck,
    FileFault,
    Gap,
    Package,
    Packages,
    Shadow,
    TorchBuild,
)
from doctor.host import Completed
from doctor.probes import Looks, bitsandbytes, files, hashes, interpreter, packages, torch


def looks(**scripted: Any) -> Looks:
    return Looks(healthy.host(**scripted), healthy.TARGET)


def surveyed(**changes: Any) -> Looks:
    return looks(survey=emits(*survey(**changes)))


PROBES = {
    "interpreter": interpreter.probe,
    "packages": packages.probe,
    "files": files.probe,
    "torch": torch.probe,
    "bitsandbytes": bitsandbytes.probe,
}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (NOT_STARTED, "the interpreter cannot be started: [Errno 2]"),
        (HUNG, "no answer within 10 s"),
        (ended("no licence\n", code=3), "ended with exit code 3: no licence"),
        (ended(code=-7), "killed by SIGBUS"),
        (ended('{"section": "interpreter"}\n'), "exit code 0"),  # without the marks it is noise
    ],
)
@pytest.mark.parametrize("name", PROBES)
def test_a_survey_that_fails_leaves_gaps(name: str, reply: Completed, reason: str) -> None:
    found = PROBES[name](looks(survey=reply))
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == (name, "failed")
    assert reason in found.reason


# -- interpreter


def test_noise_of_the_interpreter_is_kept() -> None:
    found = interpreter.probe(looks(survey=emits("welcome\n", *survey(), stderr="hello\n")))
    assert found == healthy.but(healthy.FACTS.interpreter, noise="welcome\nhello")


def test_much_noise_is_cut() -> None:
    found = interpreter.probe(looks(survey=emits("x" * 9000 + "\n", *survey())))
    assert not isinstance(found, Gap) and len(found.noise) == 1000


# -- packages


def peft(version: str, folder: str = SITE) -> dict[str, Any]:
    return {**installed("peft", version), "location": folder}


def test_of_two_folders_the_first_on_the_path_is_what_is_imported() -> None:
    read = packages.probe(surveyed(packages={"found": [peft("0.4.0", "/old"), peft("0.21.2")]}))
    assert isinstance(read, Packages)
    assert (read.installed["peft"].version, read.installed["peft"].location) == ("0.4.0", "/old")
    assert read.duplicates == ()


@pytest.mark.parametrize(
    ("versions", "known"), [(("0.17.0", "0.21.2"), ""), (("0.21.2", "0.21.2"), "0.21.2")]
)
def test_of_two_registrations_in_one_folder_nobody_knows(versions: tuple[str, ...], known: str) -> None:
    read = packages.probe(surveyed(packages={"found": [peft(version) for version in versions]}))
    assert isinstance(read, Packages)
    assert read.installed["peft"].version == known
    locations = tuple(f"{SITE}/peft-{version}.dist-info" for version in versions)
    assert read.duplicates == (Duplicate(package="peft", versions=versions, locations=locations),)


def test_a_duplicate_in_a_later_folder_leaves_the_first_release_known() -> None:
    read = packages.probe(
        surveyed(packages={"found": [peft("0.4.0", "/old"), peft("0.17.0"), peft("0.21.2")]})
    )
    assert isinstance(read, Packages)
    assert read.installed["peft"].version == "0.4.0"


def test_a_package_with_all_that_is_known_of_it() -> None:
    told = {
        **installed("peft", ""),
        "installer": "uv",
        "editable": True,
        "origin": "git+https://example.org/peft@abc",
        "fault": "its METADATA is not text",
    }
    read = packages.probe(
        surveyed(packages={"found": [told]}, files={"modules": {"peft": ["peft", "peft_x"]}})
    )
    assert isinstance(read, Packages)
    assert read.installed == {
        "peft": Package(
            name="peft",
            version="",
            location=SITE,
            installer="uv",
            requires=tuple(told["requires"]),
            requires_python=">=3.9",
            modules=("peft", "peft_x"),
            editable=True,
            origin="git+https://example.org/peft@abc",
            fault="its METADATA is not text",
        )
    }


def test_shadows_leftovers_and_what_is_registered_nowhere() -> None:
    row = {"module": "torch", "path": "/here/torch.py", "entry": "working folder"}
    read = packages.probe(
        surveyed(packages={"leftovers": ["~eft"]}, shadows={"shadows": [row], "unregistered": ["trl"]})
    )
    assert isinstance(read, Packages)
    assert read.shadows == (Shadow(module="torch", path="/here/torch.py", entry="working folder"),)
    assert (read.leftovers, read.unregistered) == (("~eft",), ("trl",))


def test_packages_are_known_though_the_rest_of_the_survey_is_not() -> None:
    """A field of Facts may not say "no shadows" where nobody looked."""
    read = packages.probe(surveyed(files=None, shadows=None, builds=None))
    assert isinstance(read, Gap)


# -- files

FAULT = {
    "package": "bitsandbytes",
    "version": "0.50.2",
    "missing": [],
    "altered": ["bitsandbytes/libbitsandbytes_cpu.so"],
    "missing_count": 0,
    "altered_count": 1,
    "truncated": ["bitsandbytes/libbitsandbytes_cpu.so"],
}
READ = FileFault(
    package="bitsandbytes",
    version="0.50.2",
    altered=("bitsandbytes/libbitsandbytes_cpu.so",),
    altered_count=1,
    truncated=("bitsandbytes/libbitsandbytes_cpu.so",),
)


def test_file_faults() -> None:
    found = files.probe(surveyed(files={"faults": [FAULT], "without_record": ["trl"], "checked": 7}))
    assert found == FileCheck(checked=7, hashed=0, faults=(READ,), without_record=("trl",))


def test_hashes_come_of_a_second_survey() -> None:
    at = looks(hashes=emits(*survey(files={"faults": [FAULT], "hashed": 21})))
    assert hashes.probe(at) == FileCheck(checked=1234, hashed=21, faults=(READ,))
    assert files.probe(at) == FileCheck(checked=1234, hashed=0)


def test_hashes_are_left_out_by_a_quick_look() -> None:
    at = looks()
    at.quick = True
    found = hashes.probe(at)
    assert isinstance(found, Gap) and (found.about, found.kind) == ("hashes", "not-asked")


def test_hashes_that_fail() -> None:
    found = hashes.probe(looks(hashes=HUNG))
    assert isinstance(found, Gap) and (found.about, found.kind) == ("hashes", "failed")


# -- torch


def built(cuda: str | None = "13.0", hip: str | None = None, version: str = "2.13.0") -> dict[str, Any]:
    return {
        "torch": {
            "version": version,
            "build": {"__version__": version, "cuda": cuda, "hip": hip},
            "fault": "",
        }
    }


@pytest.mark.parametrize(
    ("cuda", "hip", "variant"),
    [
        ("12.6", None, "cu126"),
        ("11.8", None, "cu118"),
        ("13.0", None, "cu130"),
        (None, None, "cpu"),
        (None, "6.2.41133-dd7f95766", "rocm6.2"),
    ],
)
def test_the_variant_of_torch(cuda: str | None, hip: str | None, variant: str) -> None:
    assert torch.probe(surveyed(builds=built(cuda, hip))) == TorchBuild(
        version="2.13.0", cuda_version=cuda, hip_version=hip, variant=variant
    )


def test_a_version_file_that_says_nothing_leaves_the_variant_unknown() -> None:
    builds = {"torch": {"version": "2.13.0", "build": {}, "fault": ""}}
    assert torch.probe(surveyed(builds=builds)) == TorchBuild(
        version="2.13.0", cuda_version=None, hip_version=None, variant="unknown"
    )


@pytest.mark.parametrize(
    ("build", "kind", "reason"),
    [
        (None, "not-applicable", "torch is not installed"),
        ({"version": "2.13.0", "build": None, "fault": "[Errno 2] gone"}, "failed", "[Errno 2] gone"),
    ],
)
def test_why_there_is_no_torch_build(build: Any, kind: str, reason: str) -> None:
    found = torch.probe(surveyed(builds={"torch": build}))
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == ("torch", kind)
    assert reason in found.reason


# -- bitsandbytes


@pytest.mark.parametrize(
    ("builds", "scripted", "expected"),
    [
        (built("12.6"), {}, "libbitsandbytes_cuda126"),
        (built(None), {}, "libbitsandbytes_cpu"),
        (built("12.6"), {"libraries": {}, "programs": {}, "files": {}}, "libbitsandbytes_cpu"),
        (built(None, "6.2.1"), {}, "libbitsandbytes_cpu"),
        ({"torch": None}, {}, None),
        (built("12.6"), {"nvml": emits({**healthy.NVML, "gpus": []})}, "libbitsandbytes_cpu"),
    ],
    ids=["CUDA", "CPU build", "no GPU", "ROCm without its GPU", "no torch", "a driver without GPUs"],
)
def test_the_library_that_bitsandbytes_should_choose(
    builds: dict[str, Any], scripted: dict[str, Any], expected: str | None
) -> None:
    found = bitsandbytes.probe(looks(survey=emits(*survey(builds=builds)), **scripted))
    assert found == BitsandbytesBuild(
        version="0.50.2", libraries=tuple(LIBRARIES), expected=expected, override=None
    )


def test_the_variable_that_overrides_its_choice() -> None:
    found = bitsandbytes.probe(looks(env={"BNB_CUDA_VERSION": "118"}))
    assert isinstance(found, BitsandbytesBuild) and found.override == "118"


@pytest.mark.parametrize(
    ("build", "kind", "reason"),
    [
        (None, "not-applicable", "bitsandbytes is not installed"),
        (
            {"version": "0.50.2", "build": None, "fault": "[Errno 20] no folder"},
            "failed",
            "[Errno 20] no folder",
        ),
    ],
)
def test_why_there_is_no_bitsandbytes_build(build: Any, kind: str, reason: str) -> None:
    found = bitsandbytes.probe(surveyed(builds={"bitsandbytes": build}))
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == ("bitsandbytes", kind)
    assert reason in found.reason
