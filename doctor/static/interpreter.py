"""The interpreter put together."""

from __future__ import annotations

# Each registers its compilers.
from doctor.static import (
    comprehensions,
    definitions,
    exceptions,
    expressions,
    imports,
    loops,
    operators,
    statements,
)
from doctor.static.attributes import assign_attribute, attribute_of
from doctor.static.calls import call
from doctor.static.code import body_of
from doctor.static.machine import Machine, Operations
from doctor.static.modules import load
from doctor.static.world import World

GRAMMAR = (comprehensions, definitions, exceptions, expressions, imports, loops, operators, statements)
OPERATIONS = Operations(attribute_of, assign_attribute, call, load, body_of)


def machine_for(world: World) -> Machine:
    """A machine that has imported nothing yet."""
    return Machine(world, OPERATIONS)
