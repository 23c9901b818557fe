"""What is installed, in which version, and who refuses it."""

from __future__ import annotations

import pytest

from doctor.static.outcomes import Observation, Passed
from doctor.static.run import run_with_observations
from doctor.static.world import World
from tests.static.packages import bare, event, outcome, package

VERSIONS = """
import importlib.metadata
import operator
import re
from packaging import version

ops = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt}

def _compare_versions(op, got_ver, want_ver, requirement, pkg, hint):
    if got_ver is None or want_ver is None:
        raise ValueError(f"Unable to compare versions for {requirement}")
    if not ops[op](version.parse(got_ver), version.parse(want_ver)):
        raise ImportError(f"{requirement} is required for a normal functioning of this module, but found {pkg}=={got_ver}.{hint}")

def require_version(requirement, hint=None):
    hint = f"\\n{hint}" if hint is not None else ""
    if re.match(r"^[\\w_\\-\\d]+$", requirement):
        pkg, op, want_ver = requirement, None, None
    else:
        match = re.findall(r"^([^!=<>\\s]+)([\\s!=<>]{1,2}.+)", requirement)
        pkg, want_full = match[0]
        wanted = {}
        for w in want_full.split(","):
            match = re.findall(r"^([\\s!=<>]{1,2})(.+)", w)
            op, want_ver = match[0]
            wanted[op] = want_ver
    try:
        got_ver = importlib.metadata.version(pkg)
    except importlib.metadata.PackageNotFoundError:
        raise importlib.metadata.PackageNotFoundError(f"The '{requirement}' distribution was not found")
    for op, want_ver in (wanted.items() if re.search("[<>=]", requirement) else ()):
        _compare_versions(op, got_ver, want_ver, requirement, pkg, hint)

deps = {"tokenizers": "tokenizers>=0.14,<0.15", "tqdm": "tqdm"}
for pkg in "tqdm tokenizers absent".split():
    if pkg in deps:
        if pkg == "tokenizers":
            if importlib.util.find_spec("tokenizers") is None:
                continue
        require_version(deps[pkg])
"""
TRANSFORMERS = package("transformers", root="from . import versions", versions=VERSIONS)
AROUND = (bare("packaging"), bare("tqdm"))


@pytest.mark.parametrize(
    ("version", "accepted"), [("0.14.0", True), ("0.14.1", True), ("0.13.3", False), ("0.15.0", False)]
)
def test_a_version_that_is_refused(version: str, accepted: bool) -> None:
    world = (TRANSFORMERS, *AROUND, bare("tokenizers", version))
    if accepted:
        assert outcome("import transformers", *world) == Passed()
        return
    found = event("import transformers", *world)
    assert (found.kind, found.consumer, found.provider) == ("refused", "transformers", "tokenizers")
    assert found.exception == "ImportError"
    assert found.message == (
        "tokenizers>=0.14,<0.15 is required for a normal functioning of this module, "
        f"but found tokenizers=={version}."
    )


def test_a_package_that_is_not_installed() -> None:
    assert outcome("import transformers", TRANSFORMERS, *AROUND) == Passed()
    found = event("import transformers", TRANSFORMERS, bare("packaging"))
    assert (found.exception, found.kind, found.provider) == ("PackageNotFoundError", "missing-module", "tqdm")
    assert (found.message, found.surface) == (
        "No package metadata was found for tqdm",
        "The 'tqdm' distribution was not found",
    )


def test_an_answer_that_became_a_tuple_is_always_true() -> None:
    """transformers 5.4 answers (False, None) where it answered False."""
    trl = package(
        "trl",
        root="""
            from transformers.utils import _is_package_available
            if _is_package_available("liger_kernel"):
                import liger_kernel
        """,
    )
    before = package("transformers", "5.2.0", utils="def _is_package_available(name): return False")
    after = package("transformers", "5.4.0", utils="def _is_package_available(name): return False, None")
    assert outcome("import trl", trl, before) == Passed()
    assert event("import trl", trl, after).message == "No module named 'liger_kernel'"


@pytest.mark.parametrize(("version", "accepted"), [("1.0.1", True), ("1.1.0", False)])
def test_a_check_that_is_skipped_for_an_old_package(version: str, accepted: bool) -> None:
    """As transformers 5.18 does it: where accelerate is too old to count, its own floor is not asked for."""
    transformers = package(
        "transformers",
        root="""
            import importlib.metadata, importlib.util
            from packaging import version
            MAPPING = importlib.metadata.packages_distributions()
            def candidates(name):
                distributions = MAPPING.get(name, [])
                found = [*(n for n in (name.replace("_", "-"), name) if n in distributions), *distributions, name]
                return list(dict.fromkeys(found))
            def _is_package_available(name):
                exists, found = importlib.util.find_spec(name) is not None, "N/A"
                if exists:
                    for distribution in candidates(name):
                        try:
                            found = importlib.metadata.version(distribution)
                            break
                        except importlib.metadata.PackageNotFoundError:
                            continue
                return exists, found
            def is_accelerate_available():
                exists, found = _is_package_available("accelerate")
                return exists and version.parse(found) >= version.parse("1.1.0")
            for name in ("tqdm", "accelerate"):
                if name == "accelerate":
                    if not is_accelerate_available():
                        continue
                    raise ImportError("accelerate>=9 is required")
        """,
    )
    found = outcome("import transformers", transformers, *AROUND, bare("accelerate", version))
    assert (found == Passed()) is accepted


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ("v > version.parse('1.9')", True),
        ("v.major == 2 and v.release[:2] == (2, 13)", True),
        ("str(v) == '2.13.0+cpu' and v.base_version == '2.13.0'", True),
        ("version.parse(version.parse(raw).base_version) == version.parse('2.13.0')", True),
        ("raw.startswith('2.13') and raw.split('.')[0] == '2'", True),
        ("version.parse('1.10') < version.parse('1.9')", False),
        ("version.parse(torch.__version__) == v", True),
    ],
)
def test_versions_compute(test: str, holds: bool) -> None:
    program = f"""
        import importlib.metadata, torch
        from packaging import version
        raw = importlib.metadata.version("torch")
        v = version.parse(raw)
        if {test}:
            import reached
    """
    found = outcome(program, bare("packaging"), bare("torch", "2.13.0+cpu"))
    assert (found != Passed()) is holds


def test_every_look_across_packages_is_kept() -> None:
    accelerate = package(
        "accelerate",
        root="""
            import importlib.metadata
            import huggingface_hub
            from huggingface_hub import HfApi, utils
            from packaging import version
            try:
                from huggingface_hub import gone
            except ImportError:
                pass
            if version.parse(importlib.metadata.version("huggingface-hub")) >= version.parse("1.0"):
                huggingface_hub.login(token=None)
            class Accelerator:
                own = HfApi
        """,
    )
    hub = package("huggingface-hub", "1.31.0", root="HfApi = 1\ndef login(token): pass", utils="")
    seen = run_with_observations(
        World((accelerate, hub, bare("packaging"))), ("import-accelerate",)
    ).observations

    def look(kind: str, name: str, answer: str, module: str = "huggingface_hub") -> Observation:
        return Observation("accelerate", "huggingface-hub", kind, module, name, answer)  # type: ignore[arg-type]

    assert seen == {
        look("name", "HfApi", "present"),
        look("name", "utils", "present"),
        look("name", "login", "present"),
        look("name", "gone", "absent"),
        look("version", ">= 1.0", "True", ""),
        look("call", "login(0;token;False)", "accepted"),
    }
