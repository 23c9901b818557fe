"""Environments made for one test: a real interpreter and distributions that are written by hand."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import venv
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from doctor.collectors import SURVEY, Collected, collect, program
from doctor.host import LocalHost, Patience
from doctor.stack import STACK

PATIENT = Patience(limit_s=30.0)


class Environment:
    """A virtual environment without pip, with nothing in it but what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        [self.site] = folder.glob("lib/python*/site-packages")

    def survey(self, *, hashes: bool = False, env: Mapping[str, str] | None = None) -> Collected:
        """The survey of this environment, run for real in the current folder."""
        return survey(str(self.python), hashes=hashes, env=env)

    def install(self, name: str, version: str = "1.0", **options: Any) -> Path:
        """Write one distribution into the site folder."""
        return install(self.site, name, version, **options)


def survey(python: str, *, hashes: bool = False, env: Mapping[str, str] | None = None) -> Collected:
    """The survey of any interpreter."""
    host = LocalHost()
    clean = {name: value for name, value in host.env.items() if not name.startswith("PYTHON")}
    host.env = {**clean, **(env or {})}
    return collect(host, python, program(SURVEY), {"stack": STACK, "hash": hashes}, patience=PATIENT)


def install(
    site: Path,
    name: str,
    version: str = "1.0",
    *,
    files: Mapping[str, bytes] | None = None,
    requires: Iterable[str] = (),
    installer: str = "pip",
    direct_url: Any = None,
    record: bool = True,
) -> Path:
    """Write a distribution as an installer would; its dist-info folder.

    Without ``files`` it is a package of its own name with one module and one shared object.
    """
    module = name.replace("-", "_").lower()
    if files is None:
        files = {f"{module}/__init__.py": b"x = 1\n", f"{module}/lib/lib{module}.so": b"\x7fELF" + b"0" * 500}
    info = site / f"{module}-{version}.dist-info"
    beside = {"METADATA": metadata(name, version, requires), "INSTALLER": f"{installer}\n".encode()}
    if direct_url is not None:
        beside["direct_url.json"] = json.dumps(direct_url).encode()
    everything = {**files, **{f"{info.name}/{file}": data for file, data in beside.items()}}
    for path, data in everything.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
    if record:
        (info / "RECORD").write_text(record_of(everything, f"{info.name}/RECORD"), encoding="utf-8")
    return info


def metadata(name: str, version: str, requires: Iterable[str] = ()) -> bytes:
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", "Requires-Python: >=3.8"]
    lines += [f"Requires-Dist: {need}" for need in requires]
    return "\n".join([*lines, "", "# A heading", "Version: 99 of the text", ""]).encode()


def record_of(files: Mapping[str, bytes], own: str) -> str:
    """RECORD as PEP 376 and the wheel specification have it, cells quoted where they must be."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for path, data in files.items():
        digest = urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([path, f"sha256={digest}", len(data)])
    rows.writerow([own, "", ""])
    rows.writerow(["../../../bin/tool", "sha256=abc", 3])
    return text.getvalue()
