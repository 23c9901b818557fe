"""How PEFT carries names of experts over to transformers 5, where the experts of a layer are one tensor.

peft/utils/transformers_weight_conversion.py of PEFT 0.20 and later, which 0.19 begins for lists of names.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doctor.memory.shapes import ModelShape
from doctor.memory.targets import ALL_LINEAR, Recipe, matches, places
from doctor.memory.validity import PlanInvalid

# What each name of transformers 4 has become. Two that have become one share a matrix of twice the rank.
MIXTRAL = {"gate": "gate.weight", "w1": "gate_up_proj", "w3": "gate_up_proj", "w2": "down_proj"}
OTHERS = {
    "gate": "gate.weight",
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
    "down_proj": "down_proj",
}
TOGETHER = "gate_up_proj"
CARRIED: Mapping[str, Mapping[str, str]] = {
    "mixtral": MIXTRAL,
    **dict.fromkeys(("qwen3_moe", "deepseek_v2", "deepseek_v3", "glm4_moe"), OTHERS),
}


def converted(recipe: Recipe, shape: ModelShape) -> Recipe:
    """The recipe as PEFT has it for stacked experts; unchanged for any other model. Raises PlanInvalid."""
    names = CARRIED.get(shape.model_type)
    if names is None or not any(matrix.fused for matrix in shape.matrices):
        return recipe
    leaves = _leaves(recipe, shape, names)
    old = {leaf: _old_name(leaf, names) for leaf in leaves}
    carried = {name for name in old.values() if name}
    if not carried:
        return msgspec.structs.replace(recipe, targets=leaves)
    pair = {name for name, new in names.items() if new == TOGETHER}
    if carried & pair and carried & pair != pair:
        raise PlanInvalid(f"PEFT adapts {' and '.join(sorted(pair))} together or not at all", "Name both.")
    if recipe.dora:
        raise PlanInvalid("PEFT has no DoRA for stacked experts", "Name modules of the attention alone.")
    ranks = {**recipe.ranks, rf".*\.{TOGETHER}": 2 * recipe.rank} if carried & pair else recipe.ranks
    return msgspec.structs.replace(
        recipe,
        targets=tuple(leaf for leaf, name in old.items() if not name),
        parameters=(*recipe.parameters, *{names[name] for name in carried}),
        ranks=ranks,
    )


def _leaves(recipe: Recipe, shape: ModelShape, names: Mapping[str, str]) -> tuple[str, ...]:
    """The names that a recipe means: those of all linear layers, of a pattern, or its own."""
    if not isinstance(recipe.targets, str):
        return recipe.targets
    if recipe.targets == ALL_LINEAR:
        linear = [matrix.name for matrix in shape.matrices if matrix.is_linear]
        return tuple(dict.fromkeys([*linear, *names]))
    found = []
    for matrix in shape.matrices:
        for path, _ in places(matrix, shape):
            known = [matrix.name, *(old for old, new in names.items() if matrix.fused and new == matrix.name)]
            home = path.rpartition(".")[0]
            found += [name for name in known if matches(f"{home}.{name}", recipe.targets)]
    return tuple(dict.fromkeys(found))


def _old_name(leaf: str, names: Mapping[str, str]) -> str:
    return next((name for name in names if leaf == name or leaf.endswith(f".{name}")), "")
