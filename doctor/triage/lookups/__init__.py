"""Messages whose meaning is not written down in a row but looked up in the tables of releases.

"cannot import name", "unexpected keyword argument", "has no attribute", "requires X>=Y": the api tables say
what became of a name or an argument; the frames, the shown code and the computed clashes say who asks for it.
With the stated versions that tells which package is behind; without versions, which may be.
"""

from __future__ import annotations

from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups.architectures import unknown_model_type
from doctor.triage.lookups.arguments import wrong_call
from doctor.triage.lookups.attributes import missing_attribute
from doctor.triage.lookups.bounds import wrong_version
from doctor.triage.lookups.imports import not_whole, of_an_import
from doctor.triage.lookups.installers import of_an_installer
from doctor.triage.lookups.messages import (
    ImportLine,
    MissingAttribute,
    MissingModule,
    MissingName,
    UnknownModelType,
    WrongCall,
    WrongVersion,
    shape_of,
)
from doctor.triage.lookups.names import import_line, missing_module, missing_name


def look_up(complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """What the tables say of a complaint, the likeliest first; () where nothing is known."""
    if told := of_an_installer(complaint, case) or of_an_import(complaint, case):
        return told
    shape = shape_of(complaint)
    if isinstance(shape, ImportLine):
        return import_line(shape, complaint, case)
    if isinstance(shape, MissingName):
        return missing_name(shape, complaint, case)
    if isinstance(shape, MissingModule):
        return missing_module(shape, complaint, case) or not_whole(shape, complaint, case)
    if isinstance(shape, MissingAttribute):
        return missing_attribute(shape, complaint, case)
    if isinstance(shape, WrongCall):
        return wrong_call(shape, complaint, case)
    if isinstance(shape, WrongVersion):
        return wrong_version(shape, complaint, case)
    return unknown_model_type(shape, complaint, case) if isinstance(shape, UnknownModelType) else ()
