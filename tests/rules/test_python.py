"""Faults of the interpreter and of what is installed in it, and what comes near them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import PYTHON, SITE, but, packages, raised, trial

from doctor.facts import Duplicate, Facts, FileCheck, FileFault, Gap, Overlap, Package, Shadow
from doctor.rules.packages import newest
from doctor.rules.requirements import marker_environment

from .judging import case, check, facts, findings, ids, of

ALTERED, UNMET = "python/files-missing-or-altered", "python/requirement-unsatisfied"
SHADOWED, POLLUTED = "python/module-shadowed", "python/path-pollution"
INTERPRETER = healthy.FACTS.interpreter


def silent(reason: str) -> Facts:
    """An interpreter that gave no account of itself; nothing else of it is known either."""
    of_the_target = ("packages", "files", "torch", "bitsandbytes", "torch_runtime", "bitsandbytes_runtime")
    return facts(interpreter=reason, **dict.fromkeys((*of_the_target, "trial", "hashes"), reason))


def files(*faults: FileFault) -> FileCheck:
    return FileCheck(checked=1234, hashed=0, faults=faults)


def fault(package: str = "peft", version: str = "0.21.2", **fields: Any) -> FileFault:
    counts = {f"{kind}_count": len(fields.get(kind, ())) for kind in ("missing", "altered")}
    return FileFault(**{"package": package, "version": version, **counts, **fields})


def holding(**fields: Any) -> Facts:
    return facts(packages=but(packages(), **fields))


def shadow(module: str, path: str, entry: Any = "working folder") -> Facts:
    return holding(shadows=(Shadow(module=module, path=path, entry=entry),))


def needing(*requirements: str, **others: Any) -> Facts:
    """peft with these requirements alone."""
    return facts(packages=packages(peft=but(packages().installed["peft"], requires=requirements), **others))


OF_THE_SYSTEM = but(healthy.FACTS.interpreter, externally_managed=True)


def twice(*versions: str) -> Facts:
    locations = tuple(f"peft-{version}.dist-info" for version in versions)
    return holding(duplicates=(Duplicate(package="peft", versions=versions, locations=locations),))


def editable(name: str) -> Facts:
    """A package whose checkout is gone."""
    package = but(packages().installed["peft"], name=name, editable=True, origin=f"file:///src/{name}")
    modules = package.modules if name == "peft" else ()
    return facts(packages=packages(**{name: but(package, source_gone=True, modules=modules)}))


def forked(*, rival_is_there: bool) -> Facts:
    name = "bitsandbytes-windows"
    overlap = Overlap(package="bitsandbytes", rival=name, rival_is_there=rival_is_there)
    return facts(packages=but(packages(**{name: "0.37.5"}), overlaps=(overlap,)))


USER_SITE = "/home/ann/.local/lib/python3.11/site-packages"
IN_WANDB = f"{USER_SITE}/wandb/__init__.py:1 in <module>"
MODULE, LIBRARY = "peft/model.py", "torch/lib/libtorch.so"


def untried(given: Facts) -> Facts:
    """The same of a quick check."""
    return but(given, trial=None, gaps=(*given.gaps, Gap(about="trial", kind="not-asked", reason="quick")))


HITS = {
    "an interpreter that dies": case(
        "python/interpreter-does-not-start",
        "error",
        silent("the interpreter ended with exit code 127"),
        "does not run",
        seen=("exit code 127",),
    ),
    "an interpreter that is too old": case(
        "python/interpreter-too-old",
        "error",
        silent("the interpreter ended with exit code 78: lora-doctor: Python 3.7 is older than 3.8"),
        "too old",
        seen=("Python 3.7 is older than 3.8",),
    ),
    "a missing module": case(
        ALTERED,
        "error",
        facts(files=files(fault(missing=(MODULE,)))),
        "peft 0.21.2 is not whole: 1 missing of its installed files",
        seen=(f"1 missing: {MODULE}",),
        command=f"{PYTHON} -m pip install --force-reinstall --no-deps peft==0.21.2",
    ),
    "missing and altered": case(
        ALTERED,
        "error",
        facts(files=files(fault(missing=(MODULE,), altered=("peft/x.py",), missing_count=7))),
        "7 missing and 1 altered",
    ),
    "an altered library": case(
        ALTERED,
        "error",
        facts(hashes=files(fault("torch", "2.13.0", altered=(LIBRARY,)))),
        "torch 2.13.0 is not whole",
    ),
    "an edited module": case(
        ALTERED, "warning", facts(hashes=files(fault(altered=(MODULE,)))), "1 altered of its installed files"
    ),
    "a module of bitsandbytes": case(
        ALTERED,
        "error",
        facts(files=files(fault("bitsandbytes", missing=("bitsandbytes/nn/x.py",)))),
        "bitsandbytes",
    ),
    "two versions": case(
        "python/duplicate-metadata",
        "error",
        twice("0.9.0", "0.21.2"),
        "peft is registered twice, as 0.9.0 and 0.21.2",
        seen=("peft-0.9.0.dist-info, peft-0.21.2.dist-info",),
        command="peft==0.21.2",
    ),
    "one version twice": case(
        "python/duplicate-metadata", "warning", twice("0.21.2", "0.21.2"), "registered twice, as 0.21.2"
    ),
    "two versions in a Python of the system": case(
        "python/duplicate-metadata",
        "error",
        but(twice("0.9.0", "0.21.2"), interpreter=OF_THE_SYSTEM),
        "peft is registered twice, as 0.9.0 and 0.21.2",
        command="-m venv .venv",
    ),
    "metadata of the stack": case(
        "python/metadata-unreadable",
        "error",
        facts(packages=packages(peft=but(packages().installed["peft"], fault="its METADATA is not text"))),
        "The metadata of peft cannot be read: its METADATA is not text",
        command="peft==0.21.2",
    ),
    "metadata of something else": case(
        "python/metadata-unreadable",
        "warning",
        facts(
            packages=packages(
                pandas=Package(name="pandas", version="3.0", location=SITE, installer="pip", fault="x")
            )
        ),
        "pandas",
    ),
    "no metadata": case(
        "python/metadata-unreadable",
        "warning",
        facts(packages=but(packages(peft=None), unregistered=("peft",))),
        "peft can be imported and is registered nowhere",
    ),
    "torch.py": case(
        SHADOWED,
        "error",
        untried(shadow("torch", "/here/torch.py")),
        "torch.py in the working folder hides the installed package torch",
        seen=("torch: /here/torch.py",),
        command="mv /here/torch.py /here/my_torch.py",
    ),
    "a folder named peft": case(
        SHADOWED,
        "error",
        untried(shadow("peft", "/here/peft/__init__.py")),
        "peft in the working folder hides",
        command="mv /here/peft /here/my_peft",
    ),
    "the source of peft, which imports well": case(
        SHADOWED,
        "warning",
        shadow("peft", "/checkout/src/peft/__init__.py"),
        "peft in the working folder hides",
    ),
    "random.py": case(
        SHADOWED,
        "warning",
        shadow("random", "/here/random.py"),
        "hides a module of Python's standard library",
    ),
    "random.py that bites": case(
        SHADOWED,
        "error",
        but(
            shadow("random", "/here/random.py"),
            trial=trial(raised("import-peft", "no", frames=("/here/random.py:1 in <module>",))),
        ),
        "random.py in the working folder",
        beside=("peft/import-failed",),
    ),
    "PYTHONPATH": case(
        POLLUTED,
        "warning",
        shadow("peft", "/old/peft/__init__.py", "PYTHONPATH"),
        "The PYTHONPATH brings in peft",
        command="unset PYTHONPATH",
    ),
    "the user site": case(
        POLLUTED,
        "warning",
        shadow("peft", "/home/ann/.local/lib/peft/__init__.py", "user site"),
        "The user site brings in peft",
        command="export PYTHONNOUSERSITE=1",
    ),
    "what the user site holds besides": case(
        POLLUTED,
        "note",
        shadow("numpy", "/home/ann/.local/lib/numpy/__init__.py", "user site"),
        "The user site brings in numpy",
    ),
    "a broken package of the user site": case(
        POLLUTED,
        "warning",
        facts(
            interpreter=but(INTERPRETER, user_site=USER_SITE),
            trial=trial(raised("import-trl", "no", frames=(f"{SITE}/trl/a.py:1 in f", IN_WANDB))),
        ),
        "The user site brings in wandb, which cannot be imported",
        seen=(IN_WANDB,),
        command="export PYTHONNOUSERSITE=1",
        beside=("trl/import-failed",),
    ),
    "a broken file on PYTHONPATH": case(
        POLLUTED,
        "warning",
        facts(
            environment={"PYTHONPATH": "relative:/old/lib/"},
            trial=trial(raised("import-trl", "no", frames=("/old/lib/attrs.py:1 in <module>",))),
        ),
        "The PYTHONPATH brings in attrs, which cannot be imported",
        command="unset PYTHONPATH",
        beside=("trl/import-failed",),
    ),
    "sources that were moved": case(
        "python/editable-source-gone",
        "error",
        editable("peft"),
        "peft 0.21.2 was installed from /src/peft, which is gone",
        command="pip install --force-reinstall",
    ),
    "sources of no library": case(
        "python/editable-source-gone",
        "warning",
        editable("my-scripts"),
        "my-scripts 0.21.2 was installed from /src/my-scripts",
    ),
    "a fork over the original": case(
        "python/packages-overlap",
        "error",
        forked(rival_is_there=True),
        "bitsandbytes-windows 0.37.5 was installed over bitsandbytes 0.50.2",
        command="pip uninstall -y bitsandbytes-windows",
    ),
    "a fork beneath the original": case(
        "python/packages-overlap",
        "warning",
        forked(rival_is_there=False),
        "bitsandbytes-windows 0.37.5 holds the same files as bitsandbytes 0.50.2",
        command="pip install --force-reinstall --no-deps bitsandbytes==0.50.2",
    ),
    "docstrings stripped": case(
        "python/docstrings-stripped",
        "warning",
        facts(environment={"PYTHONOPTIMIZE": "2"}),
        "PYTHONOPTIMIZE=2 strips",
        command="unset PYTHONOPTIMIZE",
    ),
    "what an uninstall left": case(
        "python/leftover-files",
        "note",
        holding(leftovers=("~eft", "~orch")),
        "interrupted",
        seen=("~eft, ~orch",),
    ),
    "a release that is too old": case(
        UNMET,
        "warning",
        needing("numpy>=3"),
        "peft 0.21.2 requires numpy>=3, and 2.4.1 is installed",
        seen=("numpy: 2.4.1 -> numpy>=3",),
        command=f"{PYTHON} -m pip install numpy>=3",
    ),
    "a requirement that is absent": case(
        UNMET, "warning", needing("safetensors"), "requires safetensors, and it is not installed"
    ),
    "a requirement that bites": case(
        UNMET,
        "error",
        but(needing("safetensors"), trial=trial(raised("import-peft", "No module named 'safetensors'"))),
        "requires safetensors",
        beside=("peft/import-failed",),
    ),
    "a marker that holds": case(
        UNMET,
        "warning",
        needing('tomli; python_version >= "3.10" and sys_platform == "linux"'),
        "requires tomli",
    ),
    "an interpreter that prints": case(
        "python/prints-at-startup",
        "note",
        facts(interpreter=but(INTERPRETER, noise="welcome\nto the cluster")),
        "prints something",
        seen=("interpreter: welcome -> no output",),
    ),
}

MISSES = {
    "one version twice, as a distribution packs it": but(
        twice("0.21.2", "0.21.2"), interpreter=OF_THE_SYSTEM
    ),
    "an interpreter of which nobody asked": but(
        facts(interpreter="x"), gaps=(Gap(about="interpreter", kind="not-asked", reason="x"),)
    ),
    "a requirement that is met": needing("numpy>=2,<3", "torch>=2.13", "TRL (>=1.0)", "transformers[torch]"),
    "a local label": needing("torch==2.13.0"),
    "a nightly that is newer": needing("numpy>=2.4", numpy="2.5.0.dev0"),
    "a requirement without a bound": needing("numpy"),
    "a requirement by URL": needing("numpy @ https://example.org/numpy.whl"),
    "a marker that does not hold": needing(
        'tomli; python_version < "3.11"', 'pywin32; sys_platform == "win32"', 'x; extra == "test"'
    ),
    "a requirement that nobody can read": needing("", "===", "numpy>=garbage", "tomli; nonsense > 3", ">=1"),
    "the requirement of a stranger": facts(
        packages=packages(
            pandas=Package(name="pandas", version="3", location=SITE, installer="pip", requires=("numpy>=9",))
        )
    ),
    "asserts stripped alone": facts(environment={"PYTHONOPTIMIZE": "1"}),
    "no duplicates, no shadows, no leftovers": holding(),
    "whole files": facts(files=files(), hashes=files()),
    "a library of bitsandbytes, of which its own rules speak": facts(
        files="left out", hashes=files(fault("bitsandbytes", altered=("bitsandbytes/x.so",)))
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


def test_a_required_library_of_the_stack_that_is_absent_is_told_once() -> None:
    assert ids(needing("accelerate>=1", accelerate=None)) == ["accelerate/missing"]


def test_a_fault_seen_by_size_and_by_hash_is_told_once() -> None:
    given = facts(files=files(fault(missing=(MODULE,))), hashes=files(fault(missing=(MODULE,))))
    assert ids(given) == [ALTERED]


def test_each_package_that_is_ill_has_a_finding() -> None:
    given = facts(files=files(fault(missing=(MODULE,)), fault("trl", "1.16.0", missing=("trl/x.py",))))
    assert [finding.title.split()[0] for finding in findings(given)] == ["peft", "trl"]


def test_what_hashes_show_is_told_beside_what_sizes_show() -> None:
    given = facts(
        files=files(fault("torch", "2.13.0", missing=("torch/x.py",))),
        hashes=files(fault("torch", "2.13.0", missing=("torch/x.py",), altered=(LIBRARY,))),
    )
    assert any(LIBRARY in evidence.seen for finding in findings(given) for evidence in finding.evidence)


@pytest.mark.parametrize(
    ("versions", "highest"),
    [
        (("0.9.0", "0.21.2"), "0.21.2"),
        (("x", "1"), "1"),
        (("x", ""), ""),
        ((), ""),
        (("2.0", "2.0rc1"), "2.0"),
    ],
)
def test_the_highest_of_some_releases(versions: tuple[str, ...], highest: str) -> None:
    assert newest(versions) == highest


@pytest.mark.parametrize(
    ("system", "expected"),
    [("linux", ("Linux", "posix")), ("darwin", ("Darwin", "posix")), ("win32", ("Windows", "nt"))],
)
def test_markers_are_judged_for_the_target(system: str, expected: tuple[str, str]) -> None:
    given = facts(
        system=but(healthy.FACTS.system, os=system, arch="arm64"),
        interpreter=but(INTERPRETER, version="3.9.18"),
    )
    told = marker_environment(given)
    assert (told["platform_system"], told["os_name"]) == expected
    assert (told["sys_platform"], told["platform_machine"]) == (system, "arm64")
    assert (told["python_version"], told["python_full_version"]) == ("3.9", "3.9.18")


def test_a_requirement_bites_only_where_an_error_names_it() -> None:
    given = but(needing("six"), trial=trial(raised("import-peft", "expected sixteen tensors")))
    assert of(UNMET, given).severity == "warning"
