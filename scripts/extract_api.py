"""Writes `compat_matrix/api/`: which release exports which name and takes which arguments.

Reads zips of the sources of releases (`NAME-VERSION.zip`, as `scripts/harvest.py` leaves them in its cache)
and runs none of them. The form of what it writes is in `doctor/matrix/api_table.py`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from api.merge import lines
from api.release import Release, is_model
from packaging.version import Version
from releases import sources

OUT = Path(__file__).parents[1] / "compat_matrix" / "api"
PACKAGES = ("transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets", "huggingface-hub")
COVERED = {package.replace("-", "_") for package in PACKAGES}
# Of these folders only the names of their modules are kept.
UNREAD = re.compile(
    r"^(transformers\.(agents|benchmark|cli|commands|convert_\w+|exporters|keras|kernels|onnx|sagemaker|testing_utils"
    r"|tools|pipelines\.\w+|data\.(?!data_collator)|modeling_(tf|flax)|generation\.(tf|flax|continuous_batching)"
    r"|quantizers\.quantizer_"
    r"|models(\.|\.\w+\.(convert|modular|modeling_tf|modeling_flax)_\w+\.)$)"
    r"|datasets\.(commands|packaged_modules|tasks|filesystems|parallel)|huggingface_hub\.(commands|cli|serialization)"
    r"|huggingface_hub\.inference\._|accelerate\.(commands|test_utils)|trl\.(scripts|cli|commands)"
    r"|peft\.tuners\.(?!lora)\w+\.|bitsandbytes\.(backends|diagnostics|research))"
)
# Classes of other frameworks and of the hub's answers, which nobody makes by hand.
NOT_TAKEN = re.compile(r"\.(TF|Flax)[A-Z]|huggingface_hub\.inference\._generated")
PRIVATE = re.compile(r"\._(?!BaseAutoModelClass)|\.dummy_")
# Classes whose every public method is kept, besides those of the small packages.
SMALL = {"trl", "peft", "accelerate", "bitsandbytes"}
METHODS_OF = {
    *("transformers.Trainer", "transformers.Seq2SeqTrainer", "transformers.TrainerCallback"),
    *(
        "transformers.PreTrainedModel",
        "transformers.PreTrainedTokenizerBase",
        "transformers.PretrainedConfig",
    ),
    *("transformers.PreTrainedConfig", "transformers.ProcessorMixin", "transformers.GenerationConfig"),
    *("transformers.models.auto.auto_factory._BaseAutoModelClass", "transformers.utils.PushToHubMixin"),
    *("transformers.AutoTokenizer", "transformers.AutoConfig", "transformers.AutoProcessor"),
    *(
        "transformers.generation.GenerationMixin",
        "transformers.TrainingArguments",
        "transformers.BitsAndBytesConfig",
    ),
    *("datasets.Dataset", "datasets.DatasetDict", "datasets.IterableDataset", "datasets.IterableDatasetDict"),
    *("huggingface_hub.HfApi", "huggingface_hub.ModelHubMixin", "huggingface_hub.HfFolder"),
}
# What **kwargs of a callable are passed to, and whether it refuses what it does not know.
MODEL_LOADER = "transformers.PreTrainedModel.from_pretrained"
PASSED_ON = {"transformers.models.auto.auto_factory._BaseAutoModelClass.from_pretrained": MODEL_LOADER}
# A model's constructor refuses what its loader leaves in **kwargs, unless its configuration knows it.
REFUSES = {MODEL_LOADER}
MAY_BE_CONFIGURATION = {
    "attn_implementation",
    "experts_implementation",
    "tp_plan",
    "tp_size",
    "fusion_config",
}


class Found(NamedTuple):
    """All that is kept of one release: words by module, class and callable."""

    modules: dict[str, list[str]]
    classes: dict[str, list[str]]
    callables: dict[str, list[str]]
    names: dict[str, str]  # dotted names that the modules export: the key of the callable they mean
    foreign: set[str]


class Extraction:
    """Reads one release."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.found = Found({}, {}, {}, {}, set())
        self.keys: dict[str, str] = {}  # of each definition that was taken
        self.exported: dict[str, dict[str, str]] = {}

    def run(self) -> Found:
        """Every module, then every class and function that is exported where people import from."""
        modules = [*self.release.children, *self.release.files]
        for module in sorted(set(modules)):
            self.module(module)
        on_demand(self.found.modules, self.release)
        return self.found

    def module(self, module: str) -> None:
        """The names of one module, and the callables that it makes public."""
        children = [f"{name}/" for name in self.release.children.get(module, ())]
        if PRIVATE.search(module) or UNREAD.search(module + ".") or is_model(module):
            if children:
                self.found.modules[module] = ["*", *children]
            return
        exports = self.exports_of(module)
        kept = [name for name in exports if self.is_kept(module, name, exports[name])]
        if module in self.release.files or children:
            self.found.modules[module] = sorted(kept) + children
        for name in kept:
            if self.is_public(module, name) and not is_model(exports[name]):
                key = self.take(self.release.definition(exports[name]))
                if key:
                    self.found.names[f"{module}.{name}"] = key

    def is_kept(self, module: str, name: str, target: str) -> bool:
        """Names of our packages; what a module imports from elsewhere is remembered apart."""
        home = target.partition(".")[0]
        if name.startswith("*"):
            return True
        if home and home not in COVERED and "." in target or home not in COVERED and target == name:
            self.found.foreign.add(name.rstrip("?"))
            return False
        return not name.startswith("_") or module == self.release.package

    def is_public(self, module: str, name: str) -> bool:
        """Is this a place that people import callables from?"""
        package = self.release.package
        if "?" in name or "*" in name or name.startswith("_"):
            return False
        if package == "transformers":
            return module in ("transformers", "transformers.generation", "transformers.trainer_utils")
        return self.release.is_package(module) if package in SMALL else module == package

    def take(self, definition: str) -> str:
        """Keeps a class or function, and the classes it stands on; returns its key, "" for anything else."""
        if definition in self.keys:
            return self.keys[definition]
        if (
            definition.partition(".")[0] != self.release.package
            or is_model(definition)
            or NOT_TAKEN.search(definition)
        ):
            return ""
        words, own = self.release.function_at(definition), self.release.class_at(definition)
        if words is None and own is None:
            return ""
        key = self.keys[definition] = self.found.names[definition] = self.key(definition)
        if own is None:
            self.found.callables[key] = passed_on(key, words or [])
            return key
        module = definition.rpartition(".")[0]
        bases = [self.base(self.release.base(module, base)) for base in own.bases]
        self.found.classes[key] = [base for base in bases if base] if own.known else ["?"]
        self.methods(key, own.methods, own.fields)
        return key

    def methods(self, key: str, methods: dict[str, list[str]], fields: list[str] | None) -> None:
        """The constructor, and the public methods where they are kept."""
        init = fields if fields is not None else methods.get("__init__", methods.get("__new__"))
        if init is not None:
            self.found.callables[key] = init
        if key in METHODS_OF or self.release.package in SMALL:
            for name, words in methods.items():
                if not name.startswith("_"):
                    self.found.callables[f"{key}.{name}"] = passed_on(f"{key}.{name}", words)

    def key(self, definition: str) -> str:
        """The shortest of the packages above a definition that exports it, then its name."""
        module, _, name = definition.rpartition(".")
        parts = module.split(".")
        for size in range(1, len(parts)):
            above = ".".join(parts[:size])
            if self.release.is_module(above) and not PRIVATE.search(above):
                target = self.exports_of(above).get(name)
                if target and self.release.definition(target) == definition:
                    return f"{above}.{name}"
        return definition

    def exports_of(self, module: str) -> dict[str, str]:
        """What a module exports, asked for once."""
        if module not in self.exported:
            self.exported[module] = self.release.exports(module)
        return self.exported[module]

    def base(self, dotted: str) -> str:
        """A base class as a word: "" for one that adds no parameters, "?" for one that is not covered."""
        if dotted.rpartition(".")[2] in ("object", "ABC", "Generic", "Protocol"):
            return ""
        if dotted.partition(".")[0] == self.release.package:
            return self.take(dotted) or "?"
        return dotted if dotted.partition(".")[0] in COVERED and "." in dotted else "?"


def on_demand(modules: dict[str, list[str]], release: Release) -> None:
    """Adds the modules that a package serves in the place of files that are gone."""
    for module in release.aliased():
        parent, _, name = module.rpartition(".")
        modules[parent].append(f"{name}/")
        if not name.startswith("*"):
            modules[module] = ["*"]


def passed_on(key: str, words: list[str]) -> list[str]:
    """The words of a callable, with what its `**kwargs` go to where that is known."""
    return [*words, f">{PASSED_ON[key]}"] if key in PASSED_ON else words


def with_refused(history: list[dict[str, list[str]]], key: str) -> None:
    """Adds to each release the names that others take out of `**kwargs` and it does not."""
    lists = [each[key] for each in history if key in each]
    once = {word[1:] for words in lists for word in words if word.startswith("~")} - MAY_BE_CONFIGURATION
    for words in lists:
        known = {word.strip("~=") for word in words}
        words += [f"!{name}" for name in sorted(once - known) if not name.startswith("_")]


def aliases(found: list[Found], keys: set[str]) -> dict[str, str]:
    """Names whose callable is not the one that the shortest name above them would suggest."""
    latest = {name: key for each in found for name, key in each.names.items()}
    return {name: key for name, key in sorted(latest.items()) if suggested(name, keys) != key}


def suggested(dotted: str, keys: set[str]) -> str:
    """The first of the packages above a dotted name that has a callable of this name."""
    parts = dotted.split(".")
    above = (".".join([*parts[:size], parts[-1]]) for size in range(1, len(parts)))
    return next((name for name in above if name in keys), dotted)


def table(package: str, archives: list[tuple[str, Path]]) -> dict[str, Any]:
    """The table of one package from the zips of its releases, ascending."""
    found = []
    for version, archive in archives:
        print(f"  {package} {version}", file=sys.stderr)
        found.append(Extraction(Release(archive, package.replace("-", "_"))).run())
    for key in REFUSES:
        with_refused([each.callables for each in found], key)
    classes, callables = lines([each.classes for each in found]), lines([each.callables for each in found])
    bases = {word.partition("@")[0] for own in classes.values() for word in own.split(" ")[1:]}
    own = package.replace("-", "_")
    leans = sorted({base.partition(".")[0] for base in bases if "." in base} - {own})
    foreign = set[str]().union(*(each.foreign for each in found))
    return {
        "releases": [version for version, _ in archives],
        "leans_on": [name.replace("_", "-") for name in leans],
        "foreign": " ".join(sorted(foreign)),
        "modules": lines([each.modules for each in found], ordered=False),
        "classes": classes,
        "callables": callables,
        "aliases": aliases(found, {*classes, *callables}),
    }


def archives_of(package: str, sources: Path) -> list[tuple[str, Path]]:
    """The zips of a package by version, ascending."""
    named = ((path.stem.removeprefix(package + "-"), path) for path in sources.glob(f"{package}-[0-9]*.zip"))
    return sorted(named, key=lambda pair: Version(pair[0]))


def written(document: dict[str, Any]) -> Iterator[str]:
    """JSON with one line a module, class and callable, so that a new release changes few lines."""
    for number, (key, value) in enumerate(document.items()):
        yield ("{" if not number else ",") + json.dumps(key) + ":"
        if isinstance(value, dict):
            rows = ",\n".join(f"{json.dumps(name)}:{json.dumps(own)}" for name, own in value.items())
            yield "{\n" + rows + "}"
        else:
            yield json.dumps(value)
    yield "}"


def went(found: dict[str, dict[str, str]], place: int) -> Iterator[str]:
    """What the release before this place has and this one has not: each may want a row in `renamed.toml`."""
    ends = re.compile(rf"[@,]\d*:{place}(,|$)")
    for key, line in ((key, line) for own in found.values() for key, line in own.items()):
        gone = [word.partition("@")[0] for word in line.split(" ")[1:] if ends.search(word)]
        if gone:
            yield f"  {key}: {' '.join(gone)}"


def changes(package: str, document: dict[str, Any]) -> Iterator[str]:
    """One line of a package, then what went with each release that its table did not have yet."""
    file = OUT / f"{package}.json"
    before = set(json.loads(file.read_text(encoding="utf-8"))["releases"]) if file.is_file() else set()
    added = [own for own in document["releases"] if before and own not in before]
    yield f"{package}: {len(document['releases'])} releases, new: {', '.join(added) or 'none'}"
    for release in added:
        yield f"{release} went without"
        kinds = {kind: document[kind] for kind in ("modules", "callables")}
        yield from went(kinds, document["releases"].index(release))


def main() -> None:
    """Reads the releases in a folder and writes one file a package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, default=sources.FOLDER, help="folder of NAME-VERSION.zip")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    options = parser.parse_args()
    for package in options.packages:
        archives = archives_of(package, options.sources)
        if archives:
            document = table(package, archives)
            for line in changes(package, document):
                print(line)
            text = "\n".join(written(document)) + "\n"
            (OUT / f"{package}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
