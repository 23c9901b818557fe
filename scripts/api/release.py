"""One release of a package, from a zip of its sources: what its modules export, what stands behind a name."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from api.callables import ClassRead
from api.modules import ModuleRead, read_module

# A file that did not change between releases is read once.
SEEN: dict[tuple[str, int, int], ModuleRead | None] = {}
# Modules that 5.x makes on demand in the place of files that are gone.
ALIASED = ("tokenization_utils_fast", "tokenization_utils", "image_processing_utils_fast")
# Endings of names that the lazy module of transformers 5 makes on demand.
ON_DEMAND = ("TokenizerFast", "Tokenizer", "ImageProcessorFast")

# `__all__` and what `@requires` decorates, in a model's file.
ALL = re.compile(r"^__all__ *\+?= *[\[(](.*?)[\])]", re.M | re.S)
PUBLIC = re.compile(r"[\"'](\w+)[\"']")
REQUIRED = re.compile(r"^@requires\b.*?\n(?:class|def) (\w+)", re.M | re.S)
# Models whose own modules people import from.
READ_MODELS = (
    *(
        "auto",
        "bert",
        "bloom",
        "falcon",
        "gemma",
        "gemma2",
        "gemma3",
        "gpt2",
        "gpt_neox",
        "gpt_oss",
        "llama",
        "mistral",
    ),
    *("mixtral", "opt", "phi", "phi3", "qwen2", "qwen2_vl", "qwen3", "roberta", "t5", "whisper"),
)


class Release:
    """The modules of one release by their dotted names."""

    def __init__(self, archive: Path, package: str) -> None:
        self.package = package
        with zipfile.ZipFile(archive) as source:
            files = [info for info in source.infolist() if info.filename.startswith(package + "/")]
            self.files = {module_of(info.filename): info for info in files if info.filename.endswith(".py")}
        self.archive = archive
        self.texts: zipfile.ZipFile | None = None

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """The submodules of each package, by their own names."""
        found: dict[str, list[str]] = {}
        for module in sorted(self.files):
            parent, _, name = module.rpartition(".")
            while parent and name not in found.setdefault(parent, []):
                found[parent].append(name)
                parent, _, name = parent.rpartition(".")
        return found

    def text(self, module: str) -> str:
        """The source of a module."""
        self.texts = self.texts or zipfile.ZipFile(self.archive)
        return self.texts.read(self.files[module]).decode("utf-8", "replace")

    def read(self, module: str) -> ModuleRead | None:
        """A module as it is written, None where it cannot be parsed or is not there."""
        info = self.files.get(module)
        if info is None:
            return None
        key = (module, info.CRC, info.file_size)
        if key not in SEEN:
            SEEN[key] = self.parse(module, self.is_package(module))
        return SEEN[key]

    def parse(self, module: str, is_package: bool) -> ModuleRead | None:
        """A module's text as it is written."""
        text = self.text(module)
        if is_model(module) and not is_package:  # thousands: only what they export is asked for
            return ModuleRead(
                public=PUBLIC.findall(" ".join(ALL.findall(text))), required=REQUIRED.findall(text)
            )
        try:
            return read_module(text, module, is_package)
        except (SyntaxError, ValueError):  # ValueError: NUL bytes, below Python 3.12
            return None

    def is_module(self, dotted: str) -> bool:
        """Is there such a module or folder?"""
        return dotted in self.files or dotted in self.children

    def is_package(self, module: str) -> bool:
        """Is this a folder with an `__init__.py`?"""
        return module in self.files and self.files[module].filename.endswith("/__init__.py")

    def exports(self, module: str) -> dict[str, str]:
        """Each name of a module and the dotted name that it stands for; "name?" where it may not be there.

        "*" is among them where the module makes names on demand.
        """
        read = self.read(module)
        if read is None:
            return {"*": ""} if module in self.files else {}
        if read.lazy is not None:
            return self.lazy_exports(module, read)
        names = {
            name if binding.sure else f"{name}?": binding.target or f"{module}.{name}"
            for name, binding in read.bindings.items()
        }
        for star in read.stars:
            for name, target in self.star_exports(star).items():
                if name.rstrip("?") not in names:
                    names[name] = target
        return {**names, "*": ""} if read.open else names

    def star_exports(self, module: str) -> dict[str, str]:
        """What `from module import *` brings."""
        if not self.is_module(module):
            return {"*": ""}
        read = self.read(module)
        found = {name: f"{module}.{name.rstrip('?')}" for name in self.exports(module)}
        # Submodules come along where they were imported before.
        found |= {
            f"{name}?": f"{module}.{name}" for name in self.children.get(module, ()) if name not in found
        }
        if read is not None and read.public is not None and read.lazy is None:
            found = {name: f"{module}.{name}" for name in read.public}
        return {name: target for name, target in found.items() if not name.startswith("_")}

    def lazy_exports(self, module: str, read: ModuleRead) -> dict[str, str]:
        """What a lazy module makes of its structure."""
        names: dict[str, str] = {}
        assert read.lazy is not None
        for folder in read.lazy.folders:
            names |= self.folder_exports(f"{module}.{folder}" if folder else module)
        for submodule, own in read.lazy.names.items():
            home = f"{module}.{submodule}" if submodule else module
            names |= {name: f"{home}.{name}" for name in own}
        if module == "transformers" and "TokenizerFast" in self.lazy_code:
            names |= {f"*{ending}": "" for ending in ON_DEMAND}
        return names

    @cached_property
    def lazy_code(self) -> str:
        """The code of transformers' lazy module."""
        return self.text(f"{self.package}.utils.import_utils")

    def folder_exports(self, folder: str) -> dict[str, str]:
        """What `define_import_structure` finds in a folder: `__all__` and what `@requires` decorates."""
        found: dict[str, str] = {}
        for name in self.children.get(folder, ()):
            module = f"{folder}.{name}"
            if module in self.children:
                found |= self.folder_exports(module)
            elif not name.startswith(("convert_", "modular_")):
                read = self.read(module)
                public = [*(read.public or ()), *read.required] if read else ()
                found |= {own: f"{module}.{own}" for own in public}
        return found

    def aliased(self) -> Iterator[str]:
        """Modules made on demand in the place of files that are gone; "*_fast" is every such name."""
        text = self.text(self.package) if self.package == "transformers" else ""
        for name in ALIASED:
            if not self.is_module(f"{self.package}.{name}") and re.search(rf"\b{name}\b", text):
                yield f"{self.package}.{name}"
        if "_LegacyModuleAliasFinder" in text:
            models = (f"{self.package}.models.{name}" for name in self.children[f"{self.package}.models"])
            yield from (f"{model}.*_fast" for model in models if model in self.children)

    def definition(self, dotted: str, depth: int = 0) -> str:
        """Follows imports to where a name is defined; the name itself where it leads out of the package."""
        if depth > 20 or dotted.partition(".")[0] != self.package or self.is_module(dotted):
            return dotted
        module, _, name = dotted.rpartition(".")
        if not self.is_module(module):
            outer = self.owner(module, depth) if module else ""
            return f"{outer}.{name}" if outer not in ("", module) else dotted
        read = self.read(module)
        own = read.bindings.get(name) if read and read.lazy is None else None
        if own is not None and not own.target:
            return dotted
        target = (own and own.target) or self.exports(module).get(name, "")
        return self.definition(target, depth + 1) if target not in ("", dotted) else dotted

    def owner(self, dotted: str, depth: int) -> str:
        """What an attribute is looked up in: a class, a module, the class of an instance."""
        found = self.definition(dotted, depth + 1)
        module, _, name = found.rpartition(".")
        read = self.read(module)
        return f"{module}.{read.instances[name]}" if read and name in read.instances else found

    def base(self, module: str, text: str) -> str:
        """The dotted name of a base class as it is written in a module."""
        first, _, rest = text.partition(".")
        read = self.read(module)
        own = read.bindings.get(first) if read else None
        if own is None or text == "?":
            return text
        return self.definition((own.target or f"{module}.{first}") + (f".{rest}" if rest else ""))

    def class_at(self, dotted: str) -> ClassRead | None:
        """The class of this name, where it is defined there."""
        module, _, name = dotted.rpartition(".")
        read = self.read(module)
        return read.classes.get(name) if read else None

    def function_at(self, dotted: str) -> list[str] | None:
        """The words of the function or method of this name, where it is defined there."""
        module, _, name = dotted.rpartition(".")
        read, own = self.read(module), self.class_at(module)
        return own.methods.get(name) if own else read.functions.get(name) if read else None


def is_model(dotted: str) -> bool:
    """Is this of one of the many models of transformers of which only the exports are read?"""
    parts = dotted.split(".")
    return parts[:2] == ["transformers", "models"] and len(parts) > 2 and parts[2] not in READ_MODELS


def module_of(file: str) -> str:
    """The dotted name of a source file."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
