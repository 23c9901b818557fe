"""Which matrices get an adapter: PEFT's rules of names (tuners_utils.py, check_target_module_exists)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from doctor.fact import Fact
from doctor.memory.plan import Plan
from doctor.memory.shapes import Matrix, ModelShape
from doctor.memory.validity import PlanInvalid

ALL_LINEAR = "all-linear"
# What counts in a pattern: an escaped character or a set of some is one thing, whatever it holds.
PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|.", re.DOTALL)
SIDE_BY_SIDE = re.compile(r"[*+]\??[()]*(?:\.|\\[wWDS])[*+]")


class Recipe(Fact, frozen=True, kw_only=True):
    """What decides an adapter's size, from a plan or from its adapter_config.json, whichever stands."""

    rank: int
    targets: (
        tuple[str, ...] | str
    )  # a str is "all-linear" or a pattern for whole paths; () is PEFT's own choice
    excluded: tuple[str, ...] | str = ()
    saved: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()  # names of stacked experts: PEFT's target_parameters
    dora: bool = False
    biases: str = "none"
    ranks: Mapping[str, int] = {}  # by patterns for the ends of paths
    layers: tuple[int, ...] | None = None
    layers_pattern: tuple[str, ...] = ()


class Adapted(NamedTuple):
    """Matrices that get an adapter of one rank."""

    matrix: Matrix
    rank: int
    times: int


def recipe(plan: Plan) -> Recipe:
    """The recipe of a plan. Raises PlanInvalid for an adapter that is no LoRA."""
    if plan.adapter is None:
        whole = ALL_LINEAR if plan.target_modules == (ALL_LINEAR,) else plan.target_modules
        return Recipe(rank=plan.rank, targets=whole, saved=plan.modules_to_save, dora=plan.dora)
    return _of_config(plan.adapter)


def _of_config(config: Mapping[str, Any]) -> Recipe:
    kind = config.get("peft_type", "LORA")
    if kind != "LORA":
        hint = "A trace with the installed PEFT counts it; of LoRA alone the sizes are known without."
        raise PlanInvalid(f"an adapter of the kind {str(kind)[:40]} is not counted from its config", hint)
    layers = config.get("layers_to_transform")
    ranks = config.get("rank_pattern") or {}
    return Recipe(
        rank=_rank(config.get("r", 8)),
        targets=_words(config.get("target_modules")),
        excluded=_words(config.get("exclude_modules")),
        saved=tuple(_words(config.get("modules_to_save"))),
        parameters=tuple(_words(config.get("target_parameters"))),
        dora=config.get("use_dora") is True,
        biases=str(config.get("bias", "none")),
        ranks={str(key): _rank(value) for key, value in ranks.items()} if isinstance(ranks, Mapping) else {},
        layers=None
        if layers is None or layers == []
        else tuple(layers if isinstance(layers, list) else [layers]),
        layers_pattern=_list(config.get("layers_pattern")),
    )


def _rank(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 20:
        raise PlanInvalid(f"the adapter's rank is {str(value)[:40]}", "a whole number above 0")
    return value


def _words(value: object) -> tuple[str, ...] | str:
    if isinstance(value, str):
        return ALL_LINEAR if value.lower() == ALL_LINEAR else value
    return _list(value)


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(word) for word in value) if isinstance(value, list | tuple | set) else ()


def adapted(shape: ModelShape, recipe: Recipe) -> Iterator[Adapted]:
    """Every matrix that gets an adapter, one item a rank. Raises PlanInvalid where none does."""
    from doctor.memory.expert_targets import converted

    chosen = recipe.targets or (() if recipe.parameters else _own_choice(shape))
    recipe = converted(msgspec.structs.replace(recipe, targets=chosen), shape)
    found = False
    for matrix in with_head(shape):
        ranks: Counter[int] = Counter()
        for path, times in places(matrix, shape):
            if _is_parameter(matrix, path, recipe) or _is_target(matrix, path, recipe):
                ranks[_rank_at(path, recipe)] += times
        for rank, times in ranks.items():
            found = True
            yield Adapted(matrix, rank, times)
    if not found:
        raise PlanInvalid(
            f"{shape.name} has no module called {_spoken(chosen)}", f"It has {_offered(shape)}."
        )


def unmatched(shape: ModelShape, plan: Plan) -> tuple[str, ...]:
    """The names in a plan's options that no module of the model has; PEFT passes over them in silence."""
    if plan.method == "full" or plan.adapter is not None:
        return ()
    paths = [path for matrix in with_head(shape) for path, _ in places(matrix, shape)]
    targets = () if plan.target_modules == (ALL_LINEAR,) else plan.target_modules
    missed = [name for name in targets if not any(matches(path, (name,)) for path in paths)]
    missed += [name for name in plan.modules_to_save if not any(_is_saved(path, (name,)) for path in paths)]
    return tuple(dict.fromkeys(missed))


def saved(shape: ModelShape, recipe: Recipe) -> Iterator[tuple[Matrix, int]]:
    """Matrices of which a copy is trained in full, and how many of each."""
    for matrix in with_head(shape):
        count = sum(times for path, times in places(matrix, shape) if _is_saved(path, recipe.saved))
        if count:
            yield matrix, count


def with_head(shape: ModelShape) -> Iterator[Matrix]:
    """The matrices of a model and, where it shares its weight with the embedding, the head's module too."""
    yield from shape.matrices
    words = next((m for m in shape.matrices if m.role == "embedding" and m.rows == shape.vocab), None)
    if shape.tied and words is not None:
        yield Matrix(name="lm_head", path="lm_head", rows=words.rows, columns=words.columns, role="head")


def places(matrix: Matrix, shape: ModelShape) -> Iterator[tuple[str, int]]:
    """Each layer's path of a matrix, and how many a path stands for: experts are not told apart."""
    if "*" not in matrix.path:
        yield matrix.path, matrix.count
        return
    inner = shape.experts if matrix.role == "expert" and shape.experts else 1
    layers = max(matrix.count // inner, 1)
    first = shape.layers - layers if matrix.role == "expert" else 0  # layers without experts come first
    for layer in range(max(first, 0), max(first, 0) + layers):
        yield matrix.path.replace("*", str(layer), 1).replace("*", "0"), matrix.count // layers


def _is_target(matrix: Matrix, path: str, recipe: Recipe) -> bool:
    targets = recipe.targets
    if (
        matrix.fused
        or matrix.role == "norm"
        or _is_saved(path, recipe.saved)
        or matches(path, recipe.excluded)
    ):
        return False
    if targets == ALL_LINEAR:
        return matrix.is_linear
    return matches(path, targets) and (isinstance(targets, str) or _in_layers(path, recipe))


def _is_parameter(matrix: Matrix, path: str, recipe: Recipe) -> bool:
    return bool(recipe.parameters) and matches(path if matrix.fused else f"{path}.weight", recipe.parameters)


def matches(path: str, names: tuple[str, ...] | str) -> bool:
    """Does a path end with one of the names, or follow the one pattern as a whole?"""
    if isinstance(names, str):
        return bool(names) and _pattern(names).fullmatch(path) is not None
    return any(path == name or path.endswith(f".{name}") for name in names)


def _is_saved(path: str, names: tuple[str, ...]) -> bool:
    if not names:
        return False
    parts = path.split(".")
    modules = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(module.endswith(name) for module in modules for name in names)


def _in_layers(path: str, recipe: Recipe) -> bool:
    if recipe.layers is None:
        return True
    patterns = [rf"(?:^|.*?\.){name}\.(\d+)\." for name in recipe.layers_pattern] or [r".*?\.[^.]*\.(\d+)\."]
    found = next((match for pattern in patterns if (match := _pattern(pattern).match(path))), None)
    return found is not None and int(found[1]) in recipe.layers


def _rank_at(path: str, recipe: Recipe) -> int:
    matching = (rank for key, rank in recipe.ranks.items() if _pattern(rf"(.*\.)?({key})$").match(path))
    return next(matching, recipe.rank)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    if may_be_endless(text):
        raise PlanInvalid(
            f"{text[:60]!r} repeats what repeats: to match it may take forever",
            "Give the ends of module names instead.",
        )
    try:
        return re.compile(text)
    except re.error as error:
        raise PlanInvalid(
            f"{text[:60]!r} is no pattern: {error}", "Give the ends of module names instead."
        ) from None


def may_be_endless(pattern: str) -> bool:
    """Has it repetitions within or right after one another, whose ways to match multiply?"""
    if SIDE_BY_SIDE.search(pattern):
        return True
    groups, closed = [False], False  # does each open group repeat something; did the last one to close
    for token in (found[0] for found in PIECE.finditer(pattern)):
        repeats = token in ("*", "+") or token.endswith(",}")
        if repeats and closed:
            return True
        closed = token == ")" and groups.pop() if len(groups) > 1 else False
        if token == "(":
            groups.append(False)
        elif repeats or closed:
            groups[-1] = True
    return False


def _own_choice(shape: ModelShape) -> tuple[str, ...] | str:
    """What PEFT takes where nothing is asked for, by its own table."""
    from doctor.matrix.rows import FOLDER, read_toml

    known: Mapping[str, Sequence[str]] = read_toml(FOLDER / "api" / "lora_targets.toml")
    # Mixtral's is lost in PEFT 0.19 to 0.21, which carry names over to stacked experts (expert_targets).
    lost = shape.model_type == "mixtral" and any(matrix.fused for matrix in shape.matrices)
    if shape.model_type not in known or lost:
        hint = "Name them: all-linear, or q_proj,v_proj."
        raise PlanInvalid(f"PEFT has no target modules of its own for {shape.model_type or shape.name}", hint)
    return tuple(known[shape.model_type])


def _spoken(targets: tuple[str, ...] | str) -> str:
    return targets if isinstance(targets, str) else ", ".join(targets)


def _offered(shape: ModelShape) -> str:
    return ", ".join(dict.fromkeys(matrix.name for matrix in shape.matrices if matrix.is_linear))
