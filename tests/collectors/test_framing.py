"""What a collector emits comes through whatever the interpreter prints besides."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import HUNG, NOT_STARTED, Call, FakeHost, emits, ended
from hypothesis import given
from hypothesis import strategies as st

import doctor.collectors
from doctor.collectors import NOISE_KEPT, SURVEY, Collected, collect, program
from doctor.host import Completed, LocalHost, Patience
from doctor.smoke.child import PARTS

PATIENT = Patience(limit_s=30.0)
PYTHON = "/env/bin/python"
FOLDER = Path(doctor.collectors.__file__).parent
ALONE = ("frame", "nvml", "libcuda", "device_memory", "environment")
TEXTS = {
    **{name: ((name,), "doctor.collectors") for name in (*ALONE, *SURVEY)},
    **{f"child/{name}": ((name,), "doctor.smoke.child") for name in PARTS},
    "the survey": (SURVEY, "doctor.collectors"),
    "the trial's child": (PARTS, "doctor.smoke.child"),
}


def collected(reply: Callable[[Call], Completed] | Completed, **options: Any) -> Collected:
    host = FakeHost().on(PYTHON, replies=reply)
    return collect(host, PYTHON, "", {}, patience=PATIENT, **options)


def run(body: str, **options: Any) -> Collected:
    """A collector of our own, behind the true frame, in a real interpreter."""
    return collect(
        LocalHost(), sys.executable, f"{program(())}\n{body}", {"n": 7}, patience=PATIENT, **options
    )


EVENT = {"section": "x", "text": "é\n\0<", "n": None}


@pytest.mark.parametrize(
    "noise",
    [
        "before\n",
        "no line break",
        '{"section": "x"}\n',
        "<0123456789abcdef01234567>{}<0123456789abcdef01234567>\n",
        "\0\0\0",
        "\x1b[31mred\x1b[0m\n",
        "\n\n\n",
        "é" * 5000 + "\n",
        "x" * 100_000 + "\n",
    ],
)
def test_events_survive_noise_on_either_side(noise: str) -> None:
    answer = collected(emits(noise, EVENT, noise, {**EVENT, "n": 2}, noise))
    assert answer.events == (EVENT, {**EVENT, "n": 2})
    assert answer.noise == "".join([noise[:NOISE_KEPT], "\n"] * 3).strip()[: len(answer.noise)]
    assert len(answer.noise) <= NOISE_KEPT
    assert bool(answer.noise) is bool(noise.strip())


@given(st.lists(st.one_of(st.text(max_size=40), st.dictionaries(st.text(max_size=5), st.integers()))))
def test_all_events_come_in_their_order_whatever_is_printed_between(items: list[Any]) -> None:
    answer = collected(emits(*items))
    assert list(answer.events) == [item for item in items if isinstance(item, dict)]


def printing(*texts: str) -> Callable[[Call], Completed]:
    """A child that prints these, with the run's own mark in place of ``MARK``."""
    return lambda call: ended("".join(text.replace("MARK", call.config["mark"]) for text in texts))


@pytest.mark.parametrize(
    "forged",
    [
        "MARK\n",
        "MARK MARK\n",
        "MARKMARK\n",
        'MARK{"section": "x"}\n',
        'MARK{"section": MARK\n',
        "MARK[1, 2]MARK\n",
        'MARK"text"MARK\n',
        "MARKnullMARK\n",
        "MARK{}{}MARK\n",
        "MARK\nMARK\n",
    ],
)
def test_what_is_no_event_between_marks_is_noise(forged: str) -> None:
    answer = collected(printing(forged, 'MARK{"true": 1}MARK\n'))
    assert answer.events == ({"true": 1},)
    assert answer.noise


def test_text_before_and_after_the_marks_of_a_line_is_cut_off() -> None:
    assert collected(printing('50%|##  MARK{"n": 1}MARK banner\n')).events == ({"n": 1},)


def test_the_mark_differs_from_run_to_run() -> None:
    host = FakeHost().on(PYTHON, replies=ended())
    for _ in range(3):
        collect(host, PYTHON, "", {}, patience=PATIENT)
    assert len({call.config["mark"] for call in host.calls}) == 3


def test_events_and_noise_are_handed_on_as_they_come() -> None:
    heard: list[Any] = []
    collected(emits("one\n", {"n": 1}, "two\n", {"n": 2}), on_event=heard.append, on_noise=heard.append)
    assert [item for item in heard if item != "\n"] == ["one\n", {"n": 1}, "two\n", {"n": 2}]


def test_of_much_noise_little_is_kept() -> None:
    answer = collected(emits(*(f"line {n}\n" for n in range(10_000)), {"n": 1}))
    assert answer.events == ({"n": 1},)
    assert answer.noise.startswith("line 0\n") and len(answer.noise) <= NOISE_KEPT


def test_the_child_gets_its_configuration_its_text_and_the_environment() -> None:
    host = FakeHost(env={"A": "1"}).on(PYTHON, replies=ended())
    collect(host, PYTHON, "the text", {"k": "é\n"}, patience=PATIENT)
    collect(host, PYTHON, "", {}, patience=PATIENT, env={"B": "2"}, merge=True)
    first, second = host.calls
    assert first.argv[:2] == (PYTHON, "-") and first.config["k"] == "é\n"
    assert first.stdin == "the text" and first.merge is False
    assert first.env == {"A": "1", "PYTHONUTF8": "1"}
    assert second.env == {"B": "2", "PYTHONUTF8": "1"} and second.merge is True


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (NOT_STARTED, "cannot be started: [Errno 2] No such file or directory"),
        (HUNG, "no answer within 10 s and was killed"),
        (ended(code=-11), "was killed by SIGSEGV and said nothing"),
        (ended(code=1), "ended with exit code 1 and said nothing"),
        (ended("noise\nlast line\n", "error line", code=3), "exit code 3: last line"),
        (ended(stderr="Traceback\nKeyError: 1\n", code=1), "exit code 1: KeyError: 1"),
        (ended(), "ended with exit code 0 and said nothing"),
    ],
)
def test_why_a_section_is_absent(reply: Completed, words: str) -> None:
    answer = collected(reply)
    assert answer.section("interpreter") is None
    assert words in answer.trouble


def test_the_last_line_of_trouble_is_bounded() -> None:
    assert len(collected(ended("x" * 5000, code=1)).trouble) < 400


@pytest.mark.parametrize(
    "body",
    [
        "import sys; sys.stdout.close(); emit({'n': CONFIG['n']})",
        "import sys; sys.stdout = None; emit({'n': CONFIG['n']})",
        "import os; os.dup2(2, 1); emit({'n': CONFIG['n']})",
        "import sys; sys.stdout.write('half a line'); sys.stdout.flush(); emit({'n': CONFIG['n']})",
        "import os; os.write(1, b'\\0\\xff\\xfe'); emit({'n': CONFIG['n']})",
        "print(__import__('sys').argv, flush=True); emit({'n': CONFIG['n']})",
        "emit({'n': CONFIG['n']}); import os; os.write(1, b'rest'); os.abort()",
        "import threading\nfor _ in range(3): threading.Thread(target=print, args=('x' * 9000,)).start()\n"
        "emit({'n': CONFIG['n']})",
    ],
    ids=["closed", "none", "redirected", "half a line", "bytes", "marks in noise", "death after", "threads"],
)
def test_an_event_comes_through_a_real_interpreter(body: str) -> None:
    assert run(body).events == ({"n": 7},)


def test_an_event_far_larger_than_a_pipe() -> None:
    [event] = run("emit({'long': ['é\\n' * 1000] * 500})").events
    assert event["long"] == ["é\n" * 1000] * 500


def test_what_json_does_not_know_is_told_by_its_representation() -> None:
    assert run("emit({'path': {1, }, 'bad': '\\udcff'})").events == ({"path": "{1}", "bad": "\udcff"},)


@pytest.mark.parametrize("name", ["json.py", "os.py", "sys.py", "resource.py", "re.py"])
def test_a_file_in_the_working_folder_does_not_break_the_collector(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("raise RuntimeError('a local file was imported')")
    monkeypatch.chdir(tmp_path)
    answer = run("import re; emit({'n': 7})")
    assert answer.events == ({"n": 7},), answer.trouble


def test_the_users_own_folder_is_restored_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_mine.py").write_text("here = True")
    monkeypatch.chdir(tmp_path)
    answer = run(
        "import importlib.util\n"
        "emit({'before': importlib.util.find_spec('of_mine') is not None})\n"
        "restore_local_entries()\n"
        "emit({'after': importlib.util.find_spec('of_mine') is not None})"
    )
    assert answer.events == ({"before": False}, {"after": True})


@pytest.mark.parametrize("name", TEXTS)
def test_collectors_keep_to_the_grammar_of_python_3_8(name: str) -> None:
    parts, package = TEXTS[name]
    ast.parse(program(parts, package), feature_version=(3, 8))


@pytest.mark.parametrize("name", TEXTS)
def test_collectors_import_the_standard_library_alone_until_they_run(name: str) -> None:
    parts, package = TEXTS[name]
    for statement in ast.parse(program(parts, package)).body:
        for module in (
            imported(statement) if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else ()
        ):
            assert module in sys.stdlib_module_names


def imported(statement: ast.AST) -> set[str]:
    """Top-level modules that a statement imports when it runs."""
    names: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


def test_every_part_in_the_folders_is_tried_here() -> None:
    in_folders = {path.stem for path in FOLDER.glob("[!_]*.py")}
    in_folders |= {f"child/{path.stem}" for path in (FOLDER.parent / "smoke" / "child").glob("[!_]*.py")}
    assert in_folders <= set(TEXTS)


def test_a_program_begins_with_the_frame() -> None:
    frame = (FOLDER / "frame.py").read_text(encoding="utf-8")
    literal = ast.parse(program(("nvml",))).body[-1].value.args[0].args[0]  # type: ignore[attr-defined]
    text = ast.literal_eval(literal)
    assert text.startswith(frame)
    assert text.endswith((FOLDER / "nvml.py").read_text(encoding="utf-8"))
    assert json.dumps(program(SURVEY)).count("sys.version_info < (3, 8)") == 1
