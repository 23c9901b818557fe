"""What a message that the tables explain says: the shapes of them, with their names and bounds taken out.

Messages are looked at in one line, so that a wrapped one is read as well. Quotes may be of any kind or
missing, and the end may be cut. Every quantifier is bounded.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.paste import Complaint

Q = "['\"`\u2018\u2019\u201c\u201d]{0,2}"  # a quote of whichever kind, or none
LONGEST = 4000


class MissingName(NamedTuple):
    """A module has not the name that is imported from it, or read of it."""

    name: str
    module: str  # "" where the message does not tell
    partial: bool = False  # the module was still being imported
    attribute: bool = False


class MissingModule(NamedTuple):
    """There is no module of this path."""

    module: str


class MissingAttribute(NamedTuple):
    """An object, or a class, has not the attribute."""

    owner: str  # the short name of the class
    name: str


class WrongCall(NamedTuple):
    """A callable was given what it does not take."""

    callable: str  # "SFTTrainer.__init__"; "" where the message does not tell
    keyword: str  # "" where it is about the number of arguments


class WrongVersion(NamedTuple):
    """A package is asked for in releases that it is not of."""

    package: str
    bounds: str  # as of pip: ">=0.20.1"; "" where the message does not tell
    found: str  # the version that was found; "" where the message does not tell
    asker: str = ""  # the package that asks, where the message tells


class UnknownModelType(NamedTuple):
    """transformers does not know what a checkpoint's configuration names."""

    name: str
    kind: str  # "model type", "tokenizer class"


class ImportLine(NamedTuple):
    """A line of code that imports names, where the error below it is cut off."""

    module: str
    names: tuple[str, ...]


Shape = (
    ImportLine | MissingName | MissingModule | MissingAttribute | WrongCall | WrongVersion | UnknownModelType
)

PACKAGE = r"[A-Za-z][A-Za-z0-9._-]{0,60}"
VERSION = r"v?[0-9](?:[0-9A-Za-z+!]|\.(?=[0-9A-Za-z])){0,60}"
BOUND = rf"(?:>=|<=|==|!=|~=|>|<) ?{VERSION}"
BOUNDS = rf"{BOUND}(?: ?, ?{BOUND}){{0,4}}"

CANNOT_IMPORT = re.compile(
    rf"(?i:can(?:no|')t import name):? {Q}(?P<name>\w{{1,100}}){Q}"
    rf"(?: from (?P<partial>partially initialized module )?{Q}(?P<module>[A-Za-z_][\w.]{{0,200}}))?"
)
CANNOT_BE_FOUND = re.compile(
    rf"{Q}\b(?P<name>\w{{3,100}}){Q} (?:function|class|method|name) (?:cannot|could not|can't) be "
    rf"(?:found|imported) (?:in|from) {Q}(?P<module>[A-Za-z_][\w.]{{0,200}})"
)
NAME_NOT_FOUND = re.compile(
    r"(?:^|: |\bImportError:? )[`'\"](?P<name>[A-Za-z]\w{5,100})[`'\"] (?:is |was )?not found"
    rf"(?: (?:in|from) {Q}(?P<module>[A-Za-z_][\w.]{{0,200}}))?"
)
MODULE_HAS_NOT = re.compile(
    rf"(?P<partial>partially initialized )?module {Q}(?P<module>[A-Za-z_][\w.]{{0,200}}){Q} has no attribute "
    rf"{Q}(?P<name>\w{{1,100}})"
)
NO_MODULE = re.compile(rf"(?i:no module named):? {Q}(?P<module>[A-Za-z_][\w.]{{0,200}})")
OBJECT_HAS_NOT = re.compile(
    rf"(?:{Q}(?P<owner>[A-Za-z_]\w{{0,100}}){Q} object|type object {Q}(?P<type>[A-Za-z_]\w{{0,100}}){Q})"
    rf" has no attribute {Q}(?P<name>\w{{1,100}})"
)
# Markdown may have eaten underscores: "Accelerator.init got an unexpected keyword argument 'split batches'".
UNEXPECTED = re.compile(
    rf"(?:(?P<callable>(?<![\w.])[A-Za-z_][\w.]{{0,150}})(?:\(\))? got an )?unexpected keyword argument:? "
    rf"(?:['\"`](?P<quoted>[A-Za-z_]\w{{0,60}}(?: \w{{1,40}}){{0,5}})['\"`]"
    rf"|{Q}(?P<keyword>\w{{1,100}}))"
)
NUMBER = re.compile(
    r"(?P<callable>(?<![\w.])[A-Za-z_][\w.]{0,150})\(\) (?:missing \d{1,3} required positional arguments?"
    r"|takes (?:from )?\d{1,3} (?:to \d{1,3} )?positional arguments? but)"
)
NORMAL_FUNCTIONING = re.compile(
    rf"(?P<package>{PACKAGE}?)(?P<bounds>{BOUNDS}) is required for a normal functioning of this module"
    rf"(?:, but found {PACKAGE}==(?P<found>{VERSION}))?"
)
INCOMPATIBLE = re.compile(
    rf"incompatible version of {Q}(?P<package>[A-Za-z][A-Za-z0-9_-]{{0,60}}){Q}"
    rf"(?:\. Found version {Q}(?P<found>{VERSION}?){Q},? but only versions? above (?P<floor>{VERSION})?)?"
)
FLASH_ATTENTION = re.compile(
    rf"flash_attn package version to be greater or equal than (?P<floor>{VERSION})"
    rf"(?:\. Detected version (?P<found>{VERSION}))?"
)
DISABLING = re.compile(
    rf"(?:PyTorch|torch) ?(?P<bounds>>= ?{VERSION}) is required but found (?P<found>{VERSION})"
)
NOT_COMPATIBLE_PEFT = re.compile(
    rf"version of PEFT you (?:are using|have installed)(?: \((?P<found>{VERSION})\))? is not compatible, "
    rf"please use a version (?:that is )?(?:greater than|higher than|>=?) {Q}(?P<floor>{VERSION})"
)
REQUIRES = re.compile(
    rf"requires? {Q}(?P<package>{PACKAGE}?)(?:\[[\w,]{{1,40}}\])? ?(?P<bounds>{BOUNDS}){Q}"
    rf"(?:,? (?:but|and) (?:you have|found|you've|the installed version is)(?: {PACKAGE})?(?:==| )"
    rf"(?:version )?{Q}(?P<found>{VERSION}))?"
)
LATEST = re.compile(r"requires the latest version of (?P<package>[A-Za-z][\w-]{1,40})")
MODEL_TYPE = re.compile(rf"model type {Q}(?P<name>[\w.-]{{1,80}}?){Q} but Transformers does not recognize")
TOKENIZER_CLASS = re.compile(
    rf"Tokenizer class {Q}(?P<name>\w{{1,80}}){Q} does not exist or is not currently imported"
)


IMPORT = re.compile(
    r"(?:>>> ?)?from (?P<module>[A-Za-z_][\w.]{0,150}) import \(?(?P<names>\w{1,100}(?:, ?\w{1,100}){0,40})"
)
# transformers does not check these in such words, but packages do that borrow its check.
OF_OTHERS = ("transformers", "peft", "trl", "datasets")
# pip's own words on what it left behind name bounds as well.
OF_PIP = ("which is incompatible", "which is not installed", "already satisfied")


def shape_of(complaint: Complaint) -> Shape | None:
    """What a complaint says, None where it is of no shape that the tables explain."""
    text = in_one_line(complaint)
    if any(words in text for words in OF_PIP):
        return None
    told = name_in(text) or call_in(text) or version_in(text) or model_type_in(text, complaint.kind)
    return told or import_in(text, complaint)


def import_in(text: str, complaint: Complaint) -> ImportLine | None:
    """An import that failed for a reason that is not shown."""
    found = IMPORT.match(text)
    if found is None and not text and complaint.kind in ("ImportError", "ModuleNotFoundError"):
        found = IMPORT.match(complaint.frames[-1].code.strip()) if complaint.frames else None
    return ImportLine(found["module"], tuple(re.split(r", ?", found["names"]))) if found else None


def in_one_line(complaint: Complaint) -> str:
    """The message with its line breaks and runs of blanks as one blank."""
    return " ".join(complaint.message[:LONGEST].split())


def name_in(text: str) -> Shape | None:
    """A name, a module or an attribute that is not there."""
    if found := CANNOT_IMPORT.search(text):
        return MissingName(found["name"], trimmed(found["module"]), bool(found["partial"]))
    if found := MODULE_HAS_NOT.search(text):
        return MissingName(found["name"], found["module"], bool(found["partial"]), attribute=True)
    if found := NO_MODULE.search(text):
        return MissingModule(trimmed(found["module"]))
    if found := OBJECT_HAS_NOT.search(text):
        return MissingAttribute(found["owner"] or found["type"], found["name"])
    if found := CANNOT_BE_FOUND.search(text) or NAME_NOT_FOUND.search(text):
        return MissingName(found["name"], trimmed(found["module"]))
    return None


def call_in(text: str) -> WrongCall | None:
    """An argument that is not taken, or a number of them."""
    if found := UNEXPECTED.search(text):
        keyword = found["keyword"] or found["quoted"].replace(" ", "_")
        return WrongCall(re.sub(r"\binit$", "__init__", found["callable"] or ""), keyword)
    if found := NUMBER.search(text):
        return WrongCall(found["callable"], "")
    return None


def version_in(text: str) -> WrongVersion | None:
    """A package of a release that is not accepted."""
    if found := NORMAL_FUNCTIONING.search(text):
        bounds, have = close(found["bounds"]), trimmed(found["found"])
        package = named(found["package"])
        return WrongVersion(package, bounds, have, "" if package in OF_OTHERS else "transformers")
    if found := INCOMPATIBLE.search(text):
        floor = trimmed(found["floor"])
        return WrongVersion(named(found["package"]), floor and f">={floor}", trimmed(found["found"]))
    if found := FLASH_ATTENTION.search(text):
        return WrongVersion(
            "flash-attn", f">={trimmed(found['floor'])}", trimmed(found["found"]), "transformers"
        )
    if found := DISABLING.search(text):
        return WrongVersion("torch", close(found["bounds"]), trimmed(found["found"]), "transformers")
    if found := NOT_COMPATIBLE_PEFT.search(text):
        return WrongVersion("peft", f">={trimmed(found['floor'])}", found["found"] or "", "transformers")
    if found := LATEST.search(text):
        return WrongVersion(named(found["package"]), "", "", "transformers")
    if found := REQUIRES.search(text):
        asker = "transformers" if "Using the `Trainer`" in text or "Using the Trainer" in text else ""
        return WrongVersion(named(found["package"]), close(found["bounds"]), trimmed(found["found"]), asker)
    return None


def model_type_in(text: str, kind: str) -> UnknownModelType | None:
    """A model type or a tokenizer's class that is not known; the bare KeyError of older releases included."""
    if found := MODEL_TYPE.search(text):
        return UnknownModelType(found["name"], "model type")
    if found := TOKENIZER_CLASS.search(text):
        return UnknownModelType(found["name"], "tokenizer class")
    bare = re.fullmatch(r"(?:KeyError: )?['\"](?P<name>[\w.-]{2,80})['\"]", text)
    if bare and (kind == "KeyError" or text.startswith("KeyError")):
        return UnknownModelType(bare["name"], "key")
    return None


def named(package: str) -> str:
    """A package as on the index: "huggingface-hub" of "huggingface_hub"."""
    name = re.sub(r"[-_.]{1,9}", "-", package.strip("-_.")).lower()
    return {"pytorch": "torch"}.get(name, name)


def trimmed(text: str | None) -> str:
    """Without the full stop of the sentence that it ends."""
    return (text or "").rstrip(".,")


def close(bounds: str) -> str:
    """Bounds without blanks: ">=2.4"."""
    return trimmed(bounds.replace(" ", ""))


def specifier(text: str) -> SpecifierSet | None:
    """Bounds as an installer reads them, None where they are none."""
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None
