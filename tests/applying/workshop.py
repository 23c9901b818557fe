"""Tiny environments, wheels and plans with which the carrying out of a plan is put to the test."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from sandboxes import uv

from doctor.facts import Facts
from doctor.findings import Finding, Report, Subject
from doctor.treatment.plan import Command, Plan, Step

OLD, NEW = "1.0", "2.0"
HELPER = "1.0"
ILL = "demo/old"
# What a healthy demo prints; an ill one is older.
ASK = "import demo; print(demo.__version__)"
NO_HOME = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "PIP_NO_CACHE_DIR": "1"}


def digest(content: bytes) -> str:
    """As RECORD writes it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    requires: Sequence[str] = (),
    changed: Mapping[str, str | None] = {},
) -> Path:
    """A wheel with a module and a console script; ``changed`` are files that are otherwise, or not there."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    texts: dict[str, str | None] = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n\n\ndef main():\n    print(__version__)\n",
        f"{name}/only_in_{version.replace('.', '_')}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:main\n",
        f"{name}-{version}.data/data/share/{name}/{version}.txt": version,
        **changed,
    }
    files = {path: text.encode() for path, text in texts.items() if text is not None}
    rows = [f"{path},{digest(content)},{len(content)}\n" for path, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in files.items():
            archive.writestr(member, content)
    return path


def make_wheels(folder: Path) -> Path:
    """The wheels of all tests: demo in two releases, of which the second needs a newer helper."""
    make_wheel(folder, "demo", OLD, ["helper"])
    make_wheel(folder, "demo", NEW, ["helper>=2"])
    make_wheel(folder, "helper", OLD)
    make_wheel(folder, "helper", NEW)
    make_wheel(folder, "bystander", OLD)
    return folder


def run(*argv: str | Path, env: Mapping[str, str] | None = None) -> str:
    """The output of a program that must succeed."""
    done = subprocess.run(
        argv, capture_output=True, text=True, env={**os.environ, **NO_HOME, **(env or {})}, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Patient:
    """A virtual environment with an old demo in it."""

    def __init__(self, folder: Path, wheels: Path, *, pip: bool = True) -> None:
        self.folder, self.wheels = folder, wheels
        self.python = folder / "bin" / "python"
        run(uv(), "venv", "--quiet", "--python", sys.executable, *(["--seed"] if pip else []), folder)
        if pip:
            self.compile_pip()
        self.install(f"demo=={OLD}", f"helper=={OLD}", "bystander")

    def compile_pip(self) -> None:
        """Give pip its compiled code, once for all: it would take a second in each environment."""
        compiled = self.wheels / "compiled"
        if not compiled.exists():
            run(self.python, "-m", "compileall", "-q", self.site / "pip")
            for folder in self.site.glob("pip/**/__pycache__"):
                shutil.copytree(folder, compiled / folder.relative_to(self.site))
        else:
            shutil.copytree(compiled, self.site, dirs_exist_ok=True, copy_function=os.link)

    def install(self, *requirements: str) -> None:
        """Install from the folder of wheels."""
        options = ("--quiet", "--no-index", "--find-links", self.wheels, "--python", self.python)
        run(uv(), "pip", "install", *options, *requirements)

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return next((self.folder / "lib").glob("python3*/site-packages"))

    def pip(self, *words: str) -> Command:
        """A command of its pip that knows the folder of wheels alone."""
        local = ("--no-index", "--find-links", str(self.wheels))
        return (str(self.python), "-m", "pip", "install", *local, *words)

    def uv(self, *words: str) -> Command:
        """The same in the words of uv."""
        local = ("--no-index", "--find-links", str(self.wheels), "--python", str(self.python))
        return (uv(), "pip", "install", *local, *words)


def plan(python: str | Path, *commands: Command, language: str = "pip") -> Plan:
    """A plan of one step for each command, which cures that demo is old."""
    steps = tuple(
        Step(title=f"Step {number}", kind="install", scope="environment", cures=(ILL,), commands=(command,))
        for number, command in enumerate(commands, 1)
    )
    return Plan(tool_version="0", target=str(python), language=language, steps=steps)  # type: ignore[arg-type]


def finding(name: str) -> Finding:
    return Finding(id=name, severity="error", confidence="confirmed", title=name)


def report(*ids: str) -> Report:
    """A report with these findings."""
    return Report(
        tool_version="0",
        matrix_reviewed="",
        subject=Subject("live", "python"),
        verdict="broken" if ids else "healthy",
        primary=None,
        findings=tuple(map(finding, ids)),
        facts=Facts(),
    )


def recheck(python: str) -> Report:
    """What a check finds: demo is old, cannot be imported, or the interpreter does not run."""
    try:
        done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=False)
    except OSError:
        return msgspec.structs.replace(report(), verdict="undetermined")
    if done.returncode:
        return report("demo/broken")
    return report() if done.stdout.strip() == NEW else report(ILL)


def fingerprint(folder: Path) -> dict[str, str]:
    """Every path below a folder with its mode and its content or where it leads; compiled code apart."""
    told = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if "__pycache__" in name or name.startswith(".lora-doctor") or name == ".lock":
            continue
        mode = f"{path.lstat().st_mode:o}"
        if path.is_symlink():
            told[name] = f"{mode} -> {os.readlink(path)}"
        elif path.is_file():
            told[name] = f"{mode} {digest(path.read_bytes())}"
        else:
            told[name] = mode
    return told


def records_that_lie(site: Path) -> list[str]:
    """Rows of RECORDs with which the files do not agree."""
    wrong = []
    for record in site.glob("*.dist-info/RECORD"):
        for name, expected, size in csv.reader(record.read_text().splitlines()):
            path = site / name
            if "__pycache__" not in name and not path.is_file():
                wrong.append(f"{name} is missing")
            elif expected and (digest(path.read_bytes()) != expected or path.stat().st_size != int(size)):
                wrong.append(f"{name} is not as {record.parent.name} says")
    return wrong


def normalised(folder: Path) -> dict[str, str]:
    """The same for comparison with an environment elsewhere: paths and what hangs on them set aside."""
    told = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if "__pycache__" in name or name.startswith(".lora-doctor") or name == ".lock":
            continue
        if path.is_symlink() or not path.is_file():
            told[name] = os.readlink(path) if path.is_symlink() else ""
            continue
        content = path.read_bytes().replace(bytes(folder), b"@")
        if path.name == "RECORD":
            rows = csv.reader(content.decode().splitlines())
            content = repr(sorted(row[:1] if "/bin/" in row[0] else row for row in rows)).encode()
        told[name] = f"{path.stat().st_mode:o} {digest(content)}"
    return told
