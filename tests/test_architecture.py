"""The laws of the code: one seam, one direction, small pieces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import compat_matrix
import doctor

PACKAGE = Path(doctor.__file__).parent
MATRIX = Path(compat_matrix.__file__).parent
SOURCES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
# Programs for other interpreters.
FOREIGN = re.compile(
    r"collectors/(?!__init__)\w+\.py|(?:smoke|tracing|measuring)/child/(?!__init__)\w+\.py"
    r"|watching/hook/\w+\.py|fleet/ranks/(?!__init__)\w+\.py"
)
OURS = {name: path for name, path in SOURCES.items() if not FOREIGN.fullmatch(name)}

EXAMINED = {
    "torch",
    "transformers",
    "peft",
    "accelerate",
    "trl",
    "bitsandbytes",
    "datasets",
    "pynvml",
    "triton",
}
MAY_OPEN = {
    "host.py",
    "plugins/__init__.py",  # which plugins lie in the site folders of the doctor itself
    "applying/files.py",  # environments cloned, exchanged and put back
    "applying/lock.py",
    "installing/marker.py",  # what an environment says of its own making
    "processes.py",  # the hook of watch, into a folder of its own
    "cli/__init__.py",  # the crash file, and a closed standard output
    "cli/output.py",  # the report
    "cli/report.py",  # the form for issues, into the repository
    "cli/fleet_node.py",  # a node's answer, into a folder that nodes share
    "matrix/rows.py",  # data of our own
    "matrix/platform.py",
    "matrix/api_table.py",
}
ASKS_THE_DISK = {"listdir", "scandir", "stat", "isfile", "isdir", "exists", "islink", "getsize", "walk"} | {
    *("read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "glob", "rglob", "is_file", "is_dir")
}
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 320, 45


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))


def imports(name: str) -> set[str]:
    """Every module that a file imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def names_used(name: str) -> Iterator[str]:
    """Dotted names in a file: "os.environ", "open", "host.read_text"."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Name):
            yield node.id


def test_the_files_are_found() -> None:
    assert {"host.py", "facts.py", "cli/__init__.py", "rules/python.py", "smoke/child/stages.py"} <= set(
        SOURCES
    )
    assert "smoke/child/stages.py" not in OURS and "collectors/__init__.py" in OURS


@pytest.mark.parametrize("name", OURS)
def test_the_doctor_imports_nothing_that_it_examines(name: str) -> None:
    assert {module.split(".")[0] for module in imports(name)} & EXAMINED == set()


def test_in_the_collectors_nvml_alone_imports_a_library() -> None:
    importers = {
        name
        for name in SOURCES
        if name.startswith("collectors/") and {module.split(".")[0] for module in imports(name)} & EXAMINED
    }
    assert importers == {"collectors/nvml.py", "collectors/device_memory.py"}


@pytest.mark.parametrize("name", sorted(set(OURS) - {"host.py", "child.py", "processes.py"}))
def test_processes_are_started_in_one_place(name: str) -> None:
    started = {"subprocess", "multiprocessing", "psutil", "pty", "asyncio"} & {
        module.split(".")[0] for module in imports(name)
    }
    assert started == set()
    assert {
        used for used in names_used(name) if re.fullmatch(r"os\.(system|popen|fork|spawn\w+|exec\w+)", used)
    } == set()


@pytest.mark.parametrize("name", sorted(set(OURS) - {"host.py", "child.py"}))
def test_the_environment_is_read_in_one_place(name: str) -> None:
    assert {"os.environ", "os.getenv", "os.environb", "os.putenv"} & set(names_used(name)) == set()


@pytest.mark.parametrize("name", sorted(set(OURS) - MAY_OPEN))
def test_files_are_opened_in_few_places(name: str) -> None:
    asked = {used for used in names_used(name) if used in ("open", "os.open", "io.open")}
    for used in names_used(name):
        owner, _, method = used.rpartition(".")
        if method in ASKS_THE_DISK and owner in ("os", "path", "Path"):
            asked.add(used)
    path_methods = {
        node.attr
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Attribute)
        and node.attr in ASKS_THE_DISK
        and ast.unparse(node.value) == "os.path"
    }
    started = ("__main__.py", "report.py")  # by `python -m`
    allowed = {"isdir"} if name in started else set()  # is the package itself in the working folder?
    assert asked | (path_methods - allowed) == set()


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_is_printed_past_the_renderers(name: str) -> None:
    assert "print" not in set(names_used(name))


@pytest.mark.parametrize("name", sorted(set(OURS) - {"host.py", "child.py"}))
def test_judging_and_telling_ask_no_clock_and_no_network(name: str) -> None:
    asked = {module.split(".")[0] for module in imports(name)} & {
        "urllib",
        "http",
        "requests",
        "socket",
        "ssl",
    }
    assert asked <= ({"socket"} if name == "cli/examination.py" else set())  # the host's own name, to mask it


# What each part may import of ours; the rest of the law is in pyproject.toml, for import-linter.
MAY_IMPORT = {
    "script.py": set(),
    "wanted.py": set(),
    "fact.py": set(),
    "hardware.py": {"fact"},
    "native.py": {"fact"},
    "facts.py": {"fact", "hardware", "native", "paste", "script", "wanted", "workload"},
    "paste.py": {"fact"},
    "workload.py": {"fact"},
    "variables.py": set(),
    "stack.py": set(),
    "driver_text.py": set(),
    "versions.py": set(),
    "findings.py": {"facts"},
    "page.py": {"findings"},
    "resolution.py": set(),
    "installation.py": {"resolution"},
    "dry_run.py": {"child", "host", "resolution"},
    "child.py": set(),
    "host.py": {"child", "loader_cache"},
    "loader_cache.py": set(),
    "processes.py": set(),
    "target.py": {"host"},
    "failures.py": {"facts"},
    "edits.py": {"findings", "wanted"},
    "cures.py": {"edits", "facts", "findings", "matrix"},
}


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_the_lowest_parts_stand_on_what_is_named_here(name: str) -> None:
    ours = {module.split(".")[1] for module in imports(name) if module.startswith("doctor.")}
    assert ours <= MAY_IMPORT[name]


@pytest.mark.parametrize(
    ("folder", "never"),
    [
        ("rules/", {"host", "target", "probes", "collectors", "smoke", "render", "cli", "checkup"}),
        ("matrix/", {"host", "target", "probes", "collectors", "smoke", "render", "cli", "checkup"}),
        (
            "memory/",
            {
                "host",
                "target",
                "probes",
                "collectors",
                "smoke",
                "tracing",
                "measuring",
                "watching",
                "estimating",
                "render",
                "cli",
                "checkup",
            },
        ),
        ("probes/", {"rules", "matrix", "diagnosis", "findings", "cures", "render", "cli"}),
        (
            "render/",
            {"host", "target", "probes", "collectors", "smoke", "rules", "matrix", "diagnosis", "cli"},
        ),
        (
            "readers/",
            {
                "host",
                "target",
                "probes",
                "rules",
                "matrix",
                "diagnosis",
                "findings",
                "cures",
                "render",
                "cli",
            },
        ),
        (
            "objects/",
            {"probes", "linking", "rules", "matrix", "diagnosis", "findings", "cures", "render", "cli"},
        ),
        ("linking/", {"probes", "rules", "matrix", "diagnosis", "findings", "cures", "render", "cli"}),
        ("smoke/", {"rules", "matrix", "diagnosis", "findings", "cures", "render", "cli", "probes"}),
        ("watching/", {"rules", "matrix", "diagnosis", "findings", "cures", "render", "cli", "probes"}),
        ("measuring/", {"rules", "matrix", "diagnosis", "findings", "cures", "render", "cli", "probes"}),
        ("installing/", {"rules", "matrix", "diagnosis", "findings", "cures", "render", "cli", "proposal"}),
    ],
)
def test_gather_judge_tell_is_one_direction(folder: str, never: set[str]) -> None:
    for name in OURS:
        if name.startswith(folder):
            ours = {module.split(".")[1] for module in imports(name) if module.startswith("doctor.")}
            assert ours & never == set(), name


@pytest.mark.parametrize("name", SOURCES)
def test_files_are_small_enough_to_read_in_one_sitting(name: str) -> None:
    assert len(SOURCES[name].read_text(encoding="utf-8").splitlines()) <= LINES_OF_A_FILE


@pytest.mark.parametrize("name", SOURCES)
def test_functions_are_small(name: str) -> None:
    long = {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > LINES_OF_A_FUNCTION
    }
    assert long == {}


@pytest.mark.parametrize("name", SOURCES)
def test_every_file_says_what_it_is(name: str) -> None:
    text = SOURCES[name].read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(tree(name))


TEXTS = {
    **SOURCES,
    **{f"compat_matrix/{path.relative_to(MATRIX)}": path for path in MATRIX.rglob("*.toml")},
    **{f"tests/{path.name}": path for path in Path(__file__).parent.glob("*.py")},
}


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_left_to_do_and_nothing_is_of_one_machine(name: str) -> None:
    text = TEXTS[name].read_text(encoding="utf-8")
    unfinished = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX:", "HA" + "CK")))
    of_one_machine = re.compile(r"""(?:^|["'\s=(])/(?:wo""" + r"rk|ro" + r"ot|tmp/lab)/", re.M)
    assert unfinished.findall(text) == []
    assert of_one_machine.findall(text) == []
