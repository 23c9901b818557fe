"""A set of releases that works together on one machine, or the reasons why there is none.

``shelf`` has the releases of a package that a machine can take, ``bans`` what rows of the matrix exclude,
``catalog`` both, with what packages declare; ``solving`` hands them to resolvelib. ``closest`` changes the
least, ``blame`` finds the pins that are in the way, ``reasons`` and ``telling`` put the outcome into words.
"""

from doctor.matrix.machine import Machine
from doctor.matrix.resolver.blame import blame
from doctor.matrix.resolver.closest import closest
from doctor.matrix.resolver.solving import Conflict, Solution, Wish, is_known, solve
from doctor.matrix.resolver.telling import because

__all__ = ["Conflict", "Machine", "Solution", "Wish", "because", "blame", "closest", "is_known", "solve"]
