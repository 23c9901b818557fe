"""What a fine-tune that is planned will need of the device, and what would make it need less."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.fact import Fact


class Relief(Fact, frozen=True, kw_only=True):
    """One change of the plan: what it saves, and what it costs in words."""

    title: str
    cost: str
    saves_bytes: int
    fits: bool  # with this change alone


class Workload(Fact, frozen=True, kw_only=True):
    """The peak of one plan, held against the device. None where nothing tells."""

    source: str  # the file that states the plan
    model: str
    plan: str  # "qlora, rank 16, batch 4 of 2048 tokens, SFTTrainer"
    tier: str  # "trace", "formula"
    needed_bytes: int
    error: float  # relative, to either side
    device: str = ""  # "Tesla T4"
    free_bytes: int | None = None
    total_bytes: int | None = None
    holders: Mapping[str, int] = {}  # who holds the rest: {"python": 3221225472}
    moment: str = ""  # "backward, in lm_head"
    parts: Mapping[str, int] = {}  # bytes by part
    reliefs: tuple[Relief, ...] = ()  # in the order of what they cost
    assumed: tuple[str, ...] = ()  # sentences

    @property
    def least_bytes(self) -> int:
        """The lowest peak that the estimate allows."""
        return int(self.needed_bytes * (1 - self.error))

    @property
    def most_bytes(self) -> int:
        """The highest peak that the estimate allows."""
        return int(self.needed_bytes * (1 + self.error))
