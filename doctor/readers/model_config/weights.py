"""A kind of weight in the words of a config, and what it is for one config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, Literal, NamedTuple

from doctor.memory.shapes import Matrix
from doctor.readers.model_config.document import ConfigInvalid

Role = Literal["linear", "expert", "embedding", "head", "norm", "vision", "other"]


class Weight(NamedTuple):
    """One kind of weight. ``rows``, ``columns``, ``times`` are sums of products: "heads*head_dim+2*qk_rope".

    ``bias`` and ``when`` are switches: "yes", the key of a config, or with "!" before it its opposite.
    """

    path: str  # "model.layers.*.self_attn.q_proj"
    rows: str
    columns: str = "1"
    times: str = "layers"
    bias: str = ""
    role: Role = "linear"
    when: str = "yes"
    fused: bool = False
    derived: bool = False
    float32: bool = False


class Family(NamedTuple):
    """Architectures of one make. ``defaults`` are what transformers takes for a key that a config leaves out.

    ``derived`` are sizes that follow from others where no key states them: {"intermediate": "4*hidden"}.
    """

    weights: tuple[Weight, ...]
    defaults: Mapping[str, Any] = {}
    derived: Mapping[str, str] = {}
    per_token: str = "intermediate"  # the width that one token passes in a layer


class Numbers(NamedTuple):
    """What the words stand for in one config."""

    sizes: Mapping[str, int]
    switches: Mapping[str, bool]

    def of(self, expression: str) -> int:
        """The value of a sum of products. Raises ConfigInvalid for a size that the config does not state."""
        return sum(prod(self._size(factor) for factor in term.split("*")) for term in expression.split("+"))

    def on(self, switch: str) -> bool:
        """Is a switch on? "" is off."""
        if switch.startswith("!"):
            return not self.on(switch[1:])
        return switch == "yes" or self.switches.get(switch, False)

    def _size(self, word: str) -> int:
        if word.isdigit():
            return int(word)
        if word not in self.sizes:
            from doctor.readers.model_config.sizes import KEYS

            raise ConfigInvalid(f"the config does not state {KEYS[word][0]}", "Give a whole config.json.")
        return self.sizes[word]


def matrices(weights: Sequence[Weight], numbers: Numbers, prefix: str = "") -> Iterator[Matrix]:
    """Every kind of weight that a model of these numbers has."""
    for weight in weights:
        times = numbers.of(weight.times) if numbers.on(weight.when) else 0
        if times:
            yield Matrix(
                name=weight.path.rpartition(".")[2],
                rows=numbers.of(weight.rows),
                columns=numbers.of(weight.columns),
                count=times,
                role=weight.role,
                bias=numbers.on(weight.bias),
                fused=weight.fused,
                derived=weight.derived,
                float32=weight.float32,
                path=prefix + weight.path,
            )
