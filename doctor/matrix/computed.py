"""Rows computed from the code of the releases on both sides: decoded here, and put into words.

``scripts/compute_matrix.py`` evaluates pairs of releases and stores where they clash, one clash a line, one
file for each consumer. A clash becomes an ordinary row: its texts are generated, so that they cannot disagree
with it.
"""

from __future__ import annotations

import datetime
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from doctor.facts import Stage
from doctor.matrix.rows import FOLDER, Remedy, Row, Term
from doctor.versions import Interval

Kind = Literal["name", "module", "attribute", "keyword", "argument", "version"]
Release = str
Releases = tuple[Release, Release | None]  # half-open; from "0" where nothing older works either


class Clash(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Releases of two packages of which none goes with any, and for one reason."""

    consumer: str  # the package that asks
    consumers: Releases
    provider: str  # the package that has not what is asked for
    providers: Releases
    kind: Kind
    symbol: str  # the name, keyword, module or bound that is asked for
    message: str  # what Python says
    breaks: tuple[Stage, ...]
    bad: tuple[Release, Release]  # a pair of consumer and provider that was evaluated and fails
    good: tuple[Release, Release]  # its nearest neighbour that does not
    fix: tuple[Remedy, ...]
    chain: tuple[str, ...] = ()  # modules, from the one that users import to the one that asks
    module: str = ""  # whose name or callable it is
    file: str = ""  # where it asks: "peft/peft_model.py"
    told_by: str = ""  # the written row that tells it as a whole, so that it is no row of its own


class Sweep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one file holds: the clashes of one consumer, and the day on which they were evaluated."""

    evaluated: datetime.date
    clashes: tuple[Clash, ...]


# Ids that do not follow from the direction: by consumer, provider, and whether the provider is too old.
IDS = {
    ("datasets", "huggingface-hub", False): "huggingface-hub/removed-symbol",
    ("datasets", "pyarrow", False): "datasets/pyarrow-mismatch",
    ("datasets", "pyarrow", True): "datasets/pyarrow-mismatch",
    ("peft", "bitsandbytes", False): "peft/too-old",
    ("transformers", "accelerate", False): "transformers/too-old-for-accelerate",
    ("transformers", "peft", True): "peft/too-old",
    ("trl", "peft", True): "peft/too-old",
}
# Packages below those that ask: whoever needs a newer one of them has one that is too old.
LOWER = {
    *("accelerate", "bitsandbytes", "huggingface-hub", "tokenizers", "numpy", "pyarrow", "fsspec", "dill"),
    *("datasets", "safetensors"),
}


class Home(NamedTuple):
    """Where the code of a package is read: repository, tag of a release, folder of the sources."""

    repository: str
    tag: str
    folder: str


HOMES = {
    "accelerate": Home("huggingface/accelerate", "v{}", "src/"),
    "bitsandbytes": Home("bitsandbytes-foundation/bitsandbytes", "{}", ""),
    "datasets": Home("huggingface/datasets", "{}", "src/"),
    "peft": Home("huggingface/peft", "v{}", "src/"),
    "transformers": Home("huggingface/transformers", "v{}", "src/"),
    "trl": Home("huggingface/trl", "v{}", ""),
}


@cache
def computed_rows() -> tuple[Row, ...]:
    """Every computed clash as a row, but for those that a written row tells as a whole."""
    return tuple(
        row_of(clash, number, sweep.evaluated)
        for sweep in sweeps()
        for number, clash in enumerate(sweep.clashes, 1)
        if not clash.told_by
    )


def sweeps() -> tuple[Sweep, ...]:
    """The sweep of each consumer, in the order of the files."""
    decoder = msgspec.json.Decoder(Sweep)
    return tuple(decoder.decode(file.read_bytes()) for file in sorted((FOLDER / "computed").glob("*.json")))


def row_of(clash: Clash, number: int, evaluated: datetime.date) -> Row:
    """One clash as a row; ``number`` is its place in its file and makes its name unique."""
    pair = (clash.consumer, clash.provider)
    return Row(
        row=f"computed-{clash.consumer}-{number}",
        id=id_of(clash),
        severity="error",
        title=title_of(clash),
        why=why_of(clash),
        breaks=clash.breaks,
        when={
            name: Term(*bounds) for name, bounds in zip(pair, (clash.consumers, clash.providers), strict=True)
        },
        basis="computed",
        references=(reference_of(clash),),
        checked=evaluated,
        example=dict(zip(pair, clash.bad, strict=True)),
        healthy=dict(zip(pair, clash.good, strict=True)),
        symptoms=(clash.message,),
        fix=clash.fix,
    )


def is_too_old(clash: Clash) -> bool:
    """Is it the provider that is behind? Then a newer one has what is asked for.

    Its releases may also end where later ones fail on something else: then its good neighbour is older.
    """
    consumer, provider = clash.good
    went_back = consumer == clash.bad[0] and not Interval(clash.providers[0]).contains(provider)
    return clash.providers[1] is not None and not went_back


def id_of(clash: Clash) -> str:
    """The id by direction: who is behind names the fault."""
    return id_by_direction(clash.consumer, clash.provider, is_too_old(clash), clash.kind)


def id_by_direction(consumer: str, provider: str, behind: bool, kind: Kind) -> str:
    """The id of a clash between two packages, where the provider is behind, or the consumer."""
    known = IDS.get((consumer, provider, behind))
    if known:
        return known
    if provider in LOWER and (behind or kind == "version"):
        return f"{provider}/too-old" if behind else f"{provider}/too-new"
    return f"{consumer}/needs-newer-{provider}" if behind else f"{consumer}/too-old-for-{provider}"


def title_of(clash: Clash) -> str:
    """One sentence with a place for each of the two releases."""
    asks, has = f"{clash.consumer} {{{clash.consumer}}}", f"{clash.provider} {{{clash.provider}}}"
    yet, longer = (" yet", "does not") if is_too_old(clash) else ("", "no longer")
    have, take = ("have", "take") if is_too_old(clash) else ("has", "takes")
    if clash.kind == "version":
        bound = f", which asks for {clash.symbol}" if clash.symbol else ""
        return f"{has} is too {'old' if is_too_old(clash) else 'new'} for {asks}{bound}"
    if clash.kind == "keyword":
        return f"{asks} passes {clash.symbol}, which {has} {longer} {take}{yet}"
    if clash.kind == "argument":
        return f"{asks} does not pass {clash.symbol}, which {has} asks for"
    verb = "uses" if clash.kind == "attribute" else "imports"
    return f"{asks} {verb} {clash.symbol}, which {has} {longer} {have}{yet}"


def why_of(clash: Clash) -> str:
    """The chain in plain words, and the release that changed it."""
    return f"{chain_in_words(clash)} {change_in_words(clash)}"


def chain_in_words(clash: Clash) -> str:
    """Who loads whom, and what the last one asks for: "transformers.trainer loads peft, which loads ..."."""
    asks = f"asks {clash.module or clash.provider} for {clash.symbol}"
    if clash.kind == "module":
        asks = f"asks for {clash.symbol}"
    elif clash.kind == "keyword":
        asks = f"calls {clash.module or clash.provider} with {clash.symbol}"
    elif clash.kind == "argument":
        asks = f"calls {clash.module or clash.provider} without {clash.symbol}"
    elif clash.kind == "version":
        asks = f"asks for {clash.symbol or 'another ' + clash.provider}"
    # What loads lazily stands in every chain and says nothing.
    modules = [one for one in clash.chain if not one.endswith("import_utils")] or [clash.consumer]
    return ", which ".join([*(f"loads {module}" for module in modules[1:]), asks]).join(
        (f"{modules[0]} ", ".")
    )


def change_in_words(clash: Clash) -> str:
    """Which releases that holds for, and what the other package did about it."""
    since, until = clash.providers
    ours, theirs = Interval(*clash.consumers), Interval(*clash.providers)
    told = f"So it is in {clash.consumer} {ours}, beside {clash.provider} {theirs}."
    has = "takes" if clash.kind == "keyword" else "has"
    if clash.kind in ("version", "argument"):
        return told
    if until:
        return f"{told} {clash.provider} {has} it from {until} on."
    return f"{told} {clash.provider} {since} removed it." if since != "0" else told


def reference_of(clash: Clash) -> str:
    """The line of code that asks, at the evaluated release."""
    home = HOMES.get(clash.consumer)
    if home is None:
        return f"https://pypi.org/project/{clash.consumer}/{clash.bad[0]}/"
    tree = f"https://github.com/{home.repository}/blob/{home.tag.format(clash.bad[0])}"
    return f"{tree}/{home.folder}{clash.file}" if clash.file else tree
