#!/usr/bin/env python3
"""Derive the coefficients of ``fit --estimator formula`` from traces, and write compat_matrix/memory/*.json.

    scripts/derive_memory_formula.py --python ENVIRONMENT/bin/python [--only FAMILY ...] [--check | --further]

ENVIRONMENT holds torch, transformers, peft and bitsandbytes. Nothing is fitted: each family is traced at
sizes that share no factor, every storage tells the term that it is, and the moments that are the highest
somewhere are kept. Then models and plans that were not derived from are traced, and the largest deviation is
stored as the error; ``--check`` does that alone. A trace takes about half a second.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec
from memory_formula.families import FAMILIES, LAYERS, SIZES, config, plans
from memory_formula.grid import Grid
from memory_formula.held_out import Deviation, deviations
from memory_formula.moments import Alive, highs
from memory_formula.symbols import Symbols

from doctor.facts import Gap
from doctor.host import LocalHost
from doctor.memory import formula_table
from doctor.memory.estimate import Device
from doctor.memory.formula_kinds import kind_of
from doctor.memory.formula_reserved import Spread
from doctor.memory.formula_table import FOLDER, Amounts, Family, Moment
from doctor.memory.kernels import for_child
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.stream import Stream
from doctor.target import Target
from doctor.tracing.run import traced

PLANS_OF_A_CHILD = 100
CAPABILITIES = {False: "8.0", True: "7.5"}  # whether keys are expanded to every query head


def main() -> None:
    """Derive, hold against traces and write each family."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--python", required=True, help="the interpreter whose libraries are traced")
    options.add_argument("--only", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    options.add_argument(
        "--check", action="store_true", help="derive nothing, hold the tables against traces"
    )
    options.add_argument("--further", action="store_true", help="derive only kinds that the tables lack")
    asked = options.parse_args()
    target = Target(asked.python, "--python")
    write_index()
    replayed: list[Deviation] = []
    for name in asked.only:
        if not asked.check:
            write(name, derived(name, target, formula_table.family(name) if asked.further else None))
        found = list(told(deviations(name, target)))
        write(name, judged(name, found))
        replayed += found
    if len(asked.only) == len(FAMILIES):
        write_json("reserved", spreads(replayed))


def judged(name: str, found: Sequence[Deviation]) -> Family:
    """The family with its error."""
    covered, between = (
        [abs(one.peak - 1) for one in found if one.is_between == is_between] for is_between in (False, True)
    )
    median = statistics.median(covered)
    print(f"{name}: {len(covered)} plans, median {median:.2%}, worst {max(covered):.2%}")
    return msgspec.structs.replace(
        formula_table.family(name),
        plans=len(covered),
        median=round(median, 4),
        error=round(max(covered), 4),
        between=round(max(between, default=0.0), 4),
    )


def told(found: Iterable[Deviation]) -> Iterator[Deviation]:
    """Print as they come."""
    for one in found:
        print(one.line, flush=True)
        yield one


def spreads(found: Iterable[Deviation]) -> dict[str, Spread]:
    """Reserved over allocated, of each kind of plan and of allocator."""
    ratios: dict[str, list[float]] = {}
    for one in found:
        for key, ratio in one.reserved.items():
            ratios.setdefault(key, []).append(round(ratio, 3))
    return {
        key: Spread(min(some), round(statistics.median(some), 3), max(some))
        for key, some in sorted(ratios.items())
    }


def write_index() -> None:
    """The family of every model type."""
    write_json("families", {kind: name for name, source in FAMILIES.items() for kind in source.model_types})


def write_json(name: str, content: object) -> None:
    """A small table, one entry a line."""
    (FOLDER / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def derived(name: str, target: Target, known: Family | None) -> Family:
    """The moments of every kind of one family; those that are known already are kept."""
    grid, symbols = Grid(), Symbols(letters(name))
    kinds = dict(known.kinds) if known else {}
    versions = dict(known.versions) if known else {}
    for expands, capability in CAPABILITIES.items() if FAMILIES[name].is_whole else ((False, "8.0"),):
        wanted = {key: plan for key, plan in by_kind(name, expands).items() if key not in kinds}
        found = streams(target, traced_shape(name), list(wanted.values()), capability)
        for key, stream in zip(wanted, found, strict=True):
            if isinstance(stream, Gap):
                print(f"{name}: {key}: {stream.reason}", file=sys.stderr)
                continue
            moments = grid.highest(list(highs(stream, symbols)))
            kinds[key] = tuple(written(grid.substantial(moment)) for moment in moments)
            versions.update(stream.versions)
            if len(kinds) % 50 == 0:
                print(f"{name}: {len(kinds)} kinds", file=sys.stderr)
    return Family(
        traced=datetime.date.today(),
        versions=versions,
        model_types=FAMILIES[name].model_types,
        kinds=kinds,
    )


def by_kind(name: str, expands_keys: bool) -> dict[str, Plan]:
    """One plan of each kind."""
    found: dict[str, Plan] = {}
    for plan in plans(name):
        kind = kind_of(plan, frozenset(plan.target_modules), expands_keys=expands_keys)
        found.setdefault(kind.key, plan)
    return found


def streams(
    target: Target, shape: ModelShape, plans: Sequence[Plan], capability: str
) -> Iterator[Stream | Gap]:
    """The traces of all plans, some of them in one child."""
    device = Device(compute_capability=capability)
    remaining = iter(plans)
    while some := list(islice(remaining, PLANS_OF_A_CHILD)):
        yield from traced(LocalHost(), target, shape, some, for_child(device.compute_capability))


def letters(name: str) -> dict[str, int]:
    """The value of each letter in the traces of a family."""
    experts, taken = FAMILIES[name].experts
    both = {"q": SIZES["n"] * SIZES["d"], "k": SIZES["j"] * SIZES["d"], "t": SIZES["b"] * SIZES["s"]}
    routed = {"e": experts, "x": taken, "w": SIZES["i"], "i": SIZES["i"] * taken} if experts else {}
    return {**SIZES, **both, **routed}


def traced_shape(name: str) -> ModelShape:
    """The traced model, as far as tracing asks."""
    values = letters(name)
    return ModelShape(
        name=name,
        config=config(name),
        source="config",
        layers=LAYERS,
        hidden=values["h"],
        heads=values["n"],
        kv_heads=values["j"],
        head_dim=values["d"],
        intermediate=values["i"],
        vocab=values["v"],
    )


def written(moment: Alive) -> Moment:
    """A moment in the form of the table."""
    layer = "" if moment.layer is None else "first" if moment.layer == 0 else "last"
    once, each = (amounts(moment, is_repeated) for is_repeated in (False, True))
    return Moment(moment.phase, layer, moment.operation, once, each)


def amounts(moment: Alive, is_repeated: bool) -> Amounts:
    """The largest term of each part first."""
    found: dict[str, list[str]] = {}
    for (part, term, repeats), size in sorted(moment.amounts.items(), key=lambda item: -item[1]):
        if repeats == is_repeated:
            found.setdefault(part, []).append(f"{size:g}{term}")
    return {part: " ".join(terms) for part, terms in sorted(found.items())}


def write(name: str, family: Family) -> None:
    """One kind a line, so that a difference between two derivations can be read."""
    formula_table.family.cache_clear()
    head = msgspec.json.encode(msgspec.structs.replace(family, kinds={}))[: -len("{}}")].decode()
    lines = [
        f"{msgspec.json.encode(key).decode()}: {msgspec.json.encode(moments).decode()}"
        for key, moments in family.kinds.items()
    ]
    (FOLDER / f"{name}.json").write_text(head + "{\n" + ",\n".join(lines) + "\n}}\n")
    print(f"{name}: {len(family.kinds)} kinds")


if __name__ == "__main__":
    main()
