"""Names and secrets out of a report, in one place for every format.

Masked: the user's home, other homes, the names of users and hosts, tokens, passwords, private keys, e-mail
and network addresses, values of settings that nobody knows, serial numbers and UUIDs of GPUs. Left: version
numbers, package names, all that a diagnosis stands on. Who wrote a paste is known by the paste alone: what
stands there in the form of a name (``doctor/private_forms.py``) is masked wherever the report repeats it.

A report that is published has its masks numbered: one name is ``<host-2>`` wherever it stands, and another
one is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar, get_origin

import msgspec

from doctor.facts import Facts
from doctor.findings import Report
from doctor.plain import plain
from doctor.private_forms import SECRET, Mask, hidden, unnumbered
from doctor.resolution import Resolution
from doctor.stack import STACK
from doctor.told_names import LONGEST_WORD, Names, is_odd, is_telling, masked_names

# Names that thousands share say nothing of a person, and masking them would hide the subject itself.
_SHARED_NAMES = """
admin administrator amd amdgpu anonymous app azureuser build builder centos ci cloud cluster colab common
conda container cpu cuda data datasets debian default desktop dev dgx docker driver ec2-user fedora gpu guest
head hgx home host intel jenkins jetson jovyan kaggle kernel lab laptop lib linux local localdomain localhost
login lora mac machine main mambauser master model models nobody node nouveau nvidia nvlink opc opt packages
pc pip pod public python redacted remote rocm root runner sagemaker-user secret server shared site-packages
slurm src student team tegra temp test tmp train training ubuntu unknown user username users usr vagrant venv
vscode windows work worker workspace workstation wsl"""
GENERIC_NAMES = frozenset([*_SHARED_NAMES.split(), *STACK, *Facts.__struct_fields__])

# Environments of conda that thousands call so.
_SHARED_ENVIRONMENTS = re.compile(
    r"(?i)base|default|env|venv|llms?|llama|nlp|qlora|fine-?tun(?:e|ing)|(?:py)?torch\d*|(?:py|python)[\d.]*"
)

# Words of our own: a host that is called "doctor" must not change the ids of findings.
OUR_FIELDS = frozenset({"id", "primary", "breaks", "blocked_by", "about"})
SHORT = 200  # characters of a text that is likely to come again
PASSES = 4  # one mask, or an escape sequence that is taken out, may bring the next to light

_T = TypeVar("_T")
Change = Callable[[str], str]
_Rule = tuple[re.Pattern[str], str]

_SECRET_KEY = re.compile(r"(?i)(?:token|secret|password|passwd|api_?key|access_key|credentials)$")
# CUDA accepts the first digits of a UUID too: GPU-8932f937.
_UUID = re.compile(r"(GPU|MIG)-([0-9a-fA-F]{6,8}(?:-[0-9a-fA-F]{1,12}){0,4})(?!\w)")
_NAME = r"[^\s/\\:*?\"'`<>|,;()\[\]{}=@$]{1,64}"
_OTHER_HOME = re.compile(
    rf"([/\\](?:homes?\d{{0,2}}|[Uu]sers|g?scratch\d?)(?:/|\\{{1,2}}))"
    rf"({_NAME}(?:[ ][\w.-]{{1,32}}){{0,2}}(?=[\\/])|{_NAME})"
)
_ENVIRONMENT = re.compile(rf"(?<=[/\\]envs[/\\])({_NAME})(?=[/\\\s\"']|$)")


class Identity(msgspec.Struct, frozen=True):
    """Who must not be recognised: the home folder, the user and the host, "" where it is not known."""

    home: str = ""
    user: str = ""
    host: str = ""


class Numbers:
    """Masks with a number for each name, in the order in which the names come."""

    def __init__(self, identity: Identity) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._written: dict[str, set[str]] = {"user": set(), "host": set()}
        for kind, name in (("user", identity.user), ("host", identity.host)):
            if name:
                self(kind, name)  # whoever makes the report comes first

    def __call__(self, kind: str, name: str) -> str:
        """The mask of one name."""
        name = name.partition(".")[0] if kind == "host" else name
        self._written.setdefault(kind, set()).add(name)
        count = 1 + sum(known == kind for known, _ in self._known)
        return self._known.setdefault((kind, name.lower()), f"<{kind}-{count}>")

    def names(self) -> Names:
        """The names so far that are sure to be names wherever else they stand."""
        users = frozenset(filter(is_telling, self._written["user"]))
        hosts = frozenset(one for one in self._written["host"] if len(one) > LONGEST_WORD and is_odd(one))
        return Names(users, hosts)


def redact(report: Report, identity: Identity, told: Names | None = None) -> Report:
    """The same report without names and secrets. Twice is the same as once. ``told`` are those of a paste."""
    return walk(report, _masker(identity, _generic_in(report), told))


def redact_numbered(report: Report, identity: Identity) -> Report:
    """The same, for publication: masks tell names apart, and those of conda's environments are masked too."""
    generic, numbers = _generic_in(report), Numbers(identity)
    named = (report.facts.environment or {}).get("CONDA_DEFAULT_ENV", "")
    rules = _environment_rules(named, generic, numbers)
    mask = _masker(identity, generic, None, numbers, rules)

    def of_environment(match: re.Match[str]) -> str:
        return match[0] if _is_shared(match[1], generic) else numbers("env", match[1])

    masked = walk(report, lambda text: mask(_ENVIRONMENT.sub(of_environment, text)))
    names = numbers.names().without(generic) or Names()
    words = [*names.users, *names.hosts]

    def elsewhere(text: str) -> str:
        return masked_names(text, names, numbers) if any(word in text for word in words) else text

    return walk(masked, elsewhere) if words else masked


def _generic_in(report: Report) -> frozenset[str]:
    installed = report.facts.packages.installed if report.facts.packages else {}
    return GENERIC_NAMES.union(installed)


def redact_resolution(resolution: Resolution, identity: Identity) -> Resolution:
    """The same set without names and secrets."""
    return walk(resolution, _masker(identity, GENERIC_NAMES.union(resolution.pins)))


def redact_fact(fact: _T, identity: Identity) -> _T:
    """A fact of its own, such as an estimate, without names and secrets."""
    return walk(fact, _masker(identity, GENERIC_NAMES))


def redact_text(text: str, identity: Identity) -> str:
    """One text without names and secrets: what is said outside a report."""
    return _masker(identity, GENERIC_NAMES)(text)


def walk(value: _T, mask: Change) -> _T:
    """Every string that came from outside, keys too; the words of the schema stay as they are."""
    changed: Any = value
    if isinstance(value, str):
        changed = mask(value)
    elif isinstance(value, (tuple, list)):
        changed = tuple(walk(item, mask) for item in value)
    elif isinstance(value, Mapping):
        changed = {mask(key): _value_of(key, item, mask) for key, item in value.items()}
    elif isinstance(value, msgspec.Struct):
        fields = {name: walk(getattr(value, name), mask) for name in _foreign_fields(type(value))}
        changed = msgspec.structs.replace(value, **fields)
    return changed  # type: ignore[no-any-return]


def _value_of(key: str, item: Any, mask: Change) -> Any:
    # As it will be told too: an escape sequence behind a name hides it from the first look.
    is_secret = _SECRET_KEY.search(key) or _SECRET_KEY.search(mask(key))
    return SECRET if item and isinstance(item, str) and is_secret else walk(item, mask)


@cache
def _foreign_fields(kind: type[msgspec.Struct]) -> list[str]:
    fields = msgspec.structs.fields(kind)
    return [f.name for f in fields if f.name not in OUR_FIELDS and get_origin(f.type) is not Literal]


def _masker(
    identity: Identity,
    generic: frozenset[str],
    told: Names | None = None,
    name_mask: Mask = unnumbered,
    more: tuple[_Rule, ...] = (),
) -> Change:
    """The function that masks one text; a GPU keeps its number through the whole report."""
    rules = (*_home_rules(identity.home), *_name_rules(identity, generic, name_mask), *more)
    names = told.without(generic) if told else None
    settled = _settled(rules, generic) if name_mask is unnumbered else {}
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return f"{match[1]}-<{numbers.setdefault(match[2][:8].lower(), str(len(numbers) + 1))}>"

    def mask_once(text: str) -> str:
        text = hidden(text, generic, name_mask)
        for pattern, masked in rules:
            text = pattern.sub(masked, text)
        # Only now, since a broken escape sequence may swallow the first letter of a token.
        return plain(_OTHER_HOME.sub(other_home, _UUID.sub(number, text)))

    def other_home(match: re.Match[str]) -> str:
        return match[0] if match[2].lower() in GENERIC_NAMES else match[1] + name_mask("user", match[2])

    @cache
    def mask(text: str) -> str:
        return masked_names(masked(text), names) if names else masked(text)

    def masked(text: str) -> str:
        if text in settled:
            return settled[text]
        given = text
        for _ in range(PASSES):
            before, text = text, mask_once(text)
            if text == before:
                break
        if "-<" not in text and len(given) < SHORT:  # no number of a GPU, which holds for one report alone
            settled[given] = text
        return text

    return mask


@lru_cache(maxsize=8)
def _settled(rules: tuple[_Rule, ...], generic: frozenset[str]) -> dict[str, str]:
    """What became of short texts under these rules: the files of one run repeat each other's."""
    return {}


def _home_rules(home: str) -> list[_Rule]:
    """The home folder as a shell, Windows, or JSON with its escapes writes it."""
    parts = [part for part in re.split(r"[/\\]+", home) if part]
    windows = bool(parts) and parts[0].endswith(":")
    if len(parts) < 1 + windows or not (windows or home.startswith("/")):
        return []
    separator = r"(?:/|\\{1,2}/?)"
    body = separator.join(map(re.escape, parts))
    path = rf"(?i:{body})" if windows else separator + body
    # "/data/home/ann" is another folder; "~" and "<user>" before it are what we wrote ourselves.
    return [(re.compile(rf"(?<![\w.~-])(?<!<user>)(?<!<user-\d>){path}(?![\w-]|\.\w)"), "~")]


def _name_rules(identity: Identity, generic: frozenset[str], name_mask: Mask) -> list[_Rule]:
    rules = []
    if _is_telling(identity.user, generic):
        user, masked = re.escape(identity.user), name_mask("user", identity.user)
        rules.append((re.compile(rf"(?<=[/\\]){user}(?=[/\\\s\"'`:;,)\]]|$)"), masked))
        rules.append((re.compile(rf"(?<![\w.-]){user}(?=@)"), masked))
        rules.append((re.compile(rf"((?i:user|logname|username)=){user}(?![\w.-])"), rf"\1{masked}"))
        if len(identity.user) > 3:  # a shorter one is as often a word
            rules.append((re.compile(rf"(?<![\w./\\@-]){user}(?![\w@-]|\.\w)"), masked))
    for host in dict.fromkeys((identity.host, identity.host.split(".")[0])):
        if _is_telling(host, generic):
            domain = r"(?:(?:\.[\w-]{1,63}){2,8}|\.(?:local|lan|home|internal|localdomain))?"
            pattern = rf"(?i)(?<![\w.-]){re.escape(host)}{domain}(?![\w-]|\.\w)"
            rules.append((re.compile(pattern), name_mask("host", host)))
    return rules


def _environment_rules(name: str, generic: frozenset[str], mask: Mask) -> tuple[_Rule, ...]:
    """The name of conda's environment, wherever it stands; a short one is as often a word."""
    if len(name) < 4 or _is_shared(name, generic) or re.search(r"[/\\<]", name):
        return ()
    return ((re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)"), mask("env", name)),)


def _is_shared(environment: str, generic: frozenset[str]) -> bool:
    return environment.lower() in generic or _SHARED_ENVIRONMENTS.fullmatch(environment) is not None


def _is_telling(name: str, generic: frozenset[str]) -> bool:
    return len(name) > 2 and name.lower() not in generic
