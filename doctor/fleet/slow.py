"""Which of many durations is too long to be chance.

Source: the median absolute deviation, scaled to a standard deviation, as a robust measure (Hampel 1974);
nodes that are slow do not move it as long as they are fewer than half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

FEWEST = 5  # of fewer nodes none is called slow
DEVIATIONS = 6.0
SCALE = 1.4826  # of the median absolute deviation to the standard deviation of a normal distribution
# A node may always take half as long again, and two seconds more: caches are cold, disks are shared.
FLOOR_SHARE, FLOOR_S = 0.5, 2.0


def limit_s(seconds: Sequence[float]) -> float:
    """The longest time that is not called slow, in seconds; infinite where there are too few to tell."""
    if len(seconds) < FEWEST:
        return float("inf")
    middle = median(seconds)
    deviation = SCALE * median(abs(one - middle) for one in seconds)
    return middle + max(DEVIATIONS * deviation, FLOOR_SHARE * middle, FLOOR_S)


def slowest_stage(seconds: Mapping[str, float], usual: Mapping[str, float]) -> str:
    """The stage that takes the most longer than it usually does."""
    return max(sorted(seconds), key=lambda stage: seconds[stage] - usual.get(stage, 0.0))
