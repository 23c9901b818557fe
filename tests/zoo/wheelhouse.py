"""A folder of wheels that pip and uv take for an index: what an environment had, packed up again.

The index of torch's builds is not everywhere within reach, and what the stub machines hold are stand-ins of a
few bytes; so a cure finds here the very files that its environment had before one of them was broken.
"""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path

from .lab import Venv

WHEEL = "Wheel-Version: 1.0\nGenerator: lora-doctor's tests\nRoot-Is-Purelib: false\nTag: py3-none-any\n"


class Wheelhouse:
    """An index on disk, in the layout of PEP 503."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def url(self) -> str:
        """Its address."""
        return self.folder.as_uri()

    def offer(self, wheel: Path) -> None:
        """List a wheel that lies here or elsewhere."""
        name = wheel.name.split("-")[0].lower().replace("_", "-").replace(".", "-")
        page = self.folder / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        listed = page.read_text() if page.exists() else "<!DOCTYPE html>\n"
        page.write_text(f'{listed}<a href="{wheel.as_uri()}">{wheel.name}</a>\n')

    def pack(self, venv: Venv) -> None:
        """Offer every distribution of an environment, each as the files that its RECORD names."""
        for info in venv.find("*.dist-info"):
            name, version = info.name.removesuffix(".dist-info").split("-")
            rows = csv.reader((info / "RECORD").read_text(encoding="utf-8").splitlines())
            own = [row[0] for row in rows if row and not row[0].startswith(("..", "/", info.name))]
            files = {path: (venv.site / path).read_bytes() for path in own if (venv.site / path).is_file()}
            self.make(name, version, files, (info / "METADATA").read_text(encoding="utf-8"))

    def make(self, name: str, version: str, files: dict[str, bytes], metadata: str = "") -> None:
        """Offer a wheel of these files."""
        stem = f"{name.replace('-', '_')}-{version}"
        wheel = self.folder / f"{stem}-py3-none-any.whl"
        info = f"{stem}.dist-info"
        told = metadata or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        everything = {**files, f"{info}/METADATA": told.encode(), f"{info}/WHEEL": WHEEL.encode()}
        record = "".join(f"{path},,\n" for path in (*everything, f"{info}/RECORD"))
        self.folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel, "w") as archive:
            for path, content in everything.items():
                archive.writestr(path, content)
            archive.writestr(f"{info}/RECORD", record)
        self.offer(wheel)

    def make_torch(self, version: str, variant: str) -> None:
        """Offer what a quick check sees of a build of torch: its metadata and its version."""
        digits = variant.removeprefix("cu")
        cuda = None if variant == "cpu" else f"{digits[:-1]}.{digits[-1]}"
        told = f"__version__ = {version!r}\ncuda = {cuda!r}\nhip = None\n"
        self.make("torch", version, {"torch/version.py": told.encode(), "torch/__init__.py": b""})
