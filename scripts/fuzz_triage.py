# /// script
# requires-python = ">=3.10,<3.14"
# dependencies = ["atheris"]
# ///
"""Coverage-guided fuzzing of ``triage``: bytes in, and out come reports that keep their promises, or a crash.

    uv run --with atheris scripts/fuzz_triage.py -atheris_runs=20000 [FOLDER_OF_SEEDS]...

Without a folder the seeds are what the tests have captured and the pastes that stand in the tests. Arguments
that begin with "-" go to atheris (libFuzzer: ``-max_len``, ``-max_total_time``). Exits with 2 without it.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SECRET = "hf_" + "Ab3dE6gH9jK2mN5pQ8s"
LONGEST = 6_000  # bytes of one input: several blocks of a paste
SEEDS = 400
# Of terminals, and what reorders or hides text.
CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def once(data: bytes) -> None:
    """One paste through all of triage. Raises where a promise is broken."""
    from doctor.facts import Facts
    from doctor.render import html, json_report, paste_markdown, paste_terminal, reply
    from doctor.triage.inputs import of_stream
    from doctor.triage.run import judged

    for source in of_stream(io.BytesIO(data), "fuzz"):
        report = judged(source, Facts())
        told = json_report.render(report)
        if json_report.read(told) != report:
            raise AssertionError("the report does not come back from JSON")
        pages = [paste_markdown.render([report]), reply.render(report)]
        pages += [html.render(pages[0]), paste_terminal.render([report], width=80), reply.labels(report)]
        for page in pages:
            if CONTROL.search(page):
                raise AssertionError("a control character is told")
        if SECRET in source.text and any(SECRET in page for page in (told, *pages)):
            raise AssertionError("a secret is told")


def pastes() -> list[bytes]:
    """Seeds: captured output, and the longer texts in the tests."""
    tests = ROOT / "tests"
    found = [path.read_bytes() for path in sorted((tests / "triage").glob("captured/**/*")) if path.is_file()]
    for folder in ("triage", "readers/paste"):
        for path in sorted((tests / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
            found += [text.encode() for text in texts if isinstance(text, str) and text.count("\n") > 1]
    found += [f"export HF_TOKEN={SECRET}\nImportError: {SECRET}\n".encode()]
    return [one[:LONGEST] for one in found[-SEEDS:]]


def main(arguments: list[str]) -> int:
    """Fuzz until atheris ends; what it finds it leaves as a file ``crash-...``."""
    try:
        atheris: Any = import_module("atheris")
    except ImportError:
        print("atheris is not installed: pip install atheris, or uv run --with atheris", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["doctor"]):
        once(
            b"ImportError: cannot import name 'HybridCache' from 'transformers'\n"
        )  # loads all that is needed
    options = [one for one in arguments if one.startswith("-")]
    folders = [one for one in arguments if not one.startswith("-")]
    with tempfile.TemporaryDirectory() as seeds:
        if not folders:
            folders = [seeds]
            for number, paste in enumerate(pastes()):
                (Path(seeds) / str(number)).write_bytes(paste)
        atheris.Setup([sys.argv[0], f"-max_len={LONGEST}", *options, *folders], once)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
