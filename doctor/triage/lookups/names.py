"""Names, modules and attributes that are not there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.matrix.api import exports, has_module, history
from doctor.matrix.api_table import COVERED, package_of, table_of
from doctor.paste import Complaint
from doctor.rules.script.fate import close_name
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups.asking import UNKNOWN, USER, Asker, asker_of, lines_of_code, with_model
from doctor.triage.lookups.attributes import TOP
from doctor.triage.lookups.clashes import clashes_of, releases_with
from doctor.triage.lookups.fates import fate_at
from doctor.triage.lookups.further_names import further_name, module_of
from doctor.triage.lookups.judging import Wanted, judge, never
from doctor.triage.lookups.messages import (
    IMPORT,
    ImportLine,
    MissingModule,
    MissingName,
)
from doctor.triage.lookups.packages import hides, not_installed, out_of_step, shadowed, shadowed_module
from doctor.versions import Interval

# Names that came shortly before the first release of the table, and that people miss in older ones.
SHORTLY_BEFORE = ("Llama", "BitsAndBytes", "GenerationConfig", "Blip2", "GPTNeoX")
WRAPPED = re.compile(r"Failed to import (?P<module>transformers[\w.]{0,150}) because of")


def missing_name(shape: MissingName, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A name that a module does not have."""
    asker = asker_of(complaint, case)
    module = shape.module or module_in_code(shape.name, complaint, case) or module_of_name(shape.name, case)
    if found := shadowed(shape, complaint) or out_of_step(module, shape.name, complaint):
        return found
    if not module or shape.partial:
        return ()
    wanted = wanted_name(module, shape.name)
    if wanted and wanted.has == (Interval(),) and is_elsewhere(shape, case):
        return hides(shape, complaint)
    if wanted is None or not wanted.has:
        found = further_name(module, shape.name, asker, complaint, case)
        return found or (never_there(wanted, asker, complaint, case) if wanted else ())
    return judge(marked(wanted, asker, complaint), with_model(asker, case), complaint, case)


def is_elsewhere(shape: MissingName, case: Case) -> bool:
    """A name that every release has: was it rather another thing that was imported than an older release?"""
    package = package_of(shape.module)
    version = case.version(package)
    if shape.attribute:
        return True
    return version is None and not (package == "transformers" and shape.name.startswith(SHORTLY_BEFORE))


def import_line(shape: ImportLine, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """The first name of an import that the stated release of its module lacks."""
    version = case.version(package_of(shape.module))
    if version is None:
        return ()
    if has_module(shape.module, version) is False:
        return missing_module(MissingModule(shape.module), complaint, case)
    for name in shape.names:
        wanted = wanted_name(shape.module, name)
        fate = fate_at(wanted.has, wanted.provider, version).kind if wanted else "never"
        if fate in ("gone", "not-yet"):
            return missing_name(MissingName(name, shape.module), complaint, case)
    return ()


def missing_module(shape: MissingModule, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A module that is not found: of a package that is not installed, or of none of its releases at hand."""
    module = shape.module
    if found := out_of_step(module, module, complaint) or shadowed_module(shape, complaint):
        return found
    asker = asker_of(complaint, case)
    if "." not in module:
        return not_installed(module, complaint, case)
    if found := further_name(module, "", asker, complaint, case):
        return found
    package = package_of(module)
    for parent, name in steps(module):
        has = history(parent, name)
        bounded = [one for one in has if one.introduced != "0" or one.fixed]
        if bounded:
            clashes = clashes_of(f"{parent}.{name}", "")
            label = f"the module {parent}.{name}"
            wanted = Wanted(label, parent, name, package, "name", has, clashes)
            return judge(marked(wanted, asker, complaint), with_model(asker, case), complaint, case)
    return ()


def wanted_name(module: str, name: str) -> Wanted | None:
    """A name as the tables know it, None where no table has its package."""
    package = package_of(module)
    clashes = clashes_of(name, f"'{module}'")
    has = history(module, name) or history(module, name + "?") or releases_with(clashes)
    if package not in COVERED and not has:
        return None
    return Wanted(f"{module}.{name}", module, name, package, "name", has, clashes)


def marked(wanted: Wanted, asker: Asker, complaint: Complaint) -> Wanted:
    """The same, noted where another module of the same package asks: then files of two releases are mixed."""
    wrapped = WRAPPED.search(complaint.message)
    inside = wrapped is not None and asker.who == UNKNOWN and wanted.provider == "transformers"
    same = asker.who == wanted.provider
    return wanted._replace(internal=(same or inside) and not wanted.clashes)


def never_there(wanted: Wanted, asker: Asker, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A public name that no release of the tables has, asked for by the user's own code."""
    table = table_of(wanted.provider)
    version = case.version(wanted.provider) or (table.releases[-1] if table else "")
    if asker.who not in (USER, UNKNOWN) or exports(wanted.owner, wanted.name, version) is not False:
        return ()
    if has_module(wanted.owner, version) is False:
        return missing_module(MissingModule(wanted.owner), complaint, case)
    return (never(wanted, complaint, case, close_name(wanted.owner, wanted.name, version)),)


def module_in_code(name: str, complaint: Complaint, case: Case) -> str:
    """The module that a shown line imports a name from, "" where none does."""
    for line in lines_of_code(complaint, case):
        found = IMPORT.match(line.strip())
        if found and name in re.split(r", ?", found["names"]):
            return found["module"]
    return ""


def module_of_name(name: str, case: Case) -> str:
    """The one module that people import a name from, "" where it is no name or stands in several packages."""
    clashing = {clash.module for clash in clashes_of(name, "cannot import name")}
    if len(clashing) == 1:
        return clashing.pop()
    having = [module for module in TOP if history(module, name)]
    return having[0] if len(having) == 1 else module_of(name, case)


def steps(module: str) -> Iterator[tuple[str, str]]:
    """The parts of a path, outermost first: ("transformers", "models"), ("transformers.models", "qwen3")."""
    parts = module.split(".")
    for size in range(1, len(parts)):
        yield ".".join(parts[:size]), parts[size]
