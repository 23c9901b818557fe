"""A step in the words of the target: of its installer, of its project's tool, or of a file. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from doctor.cures import installer_of
from doctor.facts import Facts
from doctor.treatment import settings
from doctor.treatment.by_hand import spelled_out
from doctor.treatment.languages import conda, dockerfile, pdm, pip, pixi, poetry, requirements, uv
from doctor.treatment.languages.lasting import lasting as lasting
from doctor.treatment.languages.lasting import project_of
from doctor.treatment.languages.owners import is_conda, parted
from doctor.treatment.plan import Command, Language, Step

Programs = Collection[str] | None  # names of what is on PATH; None where nobody looked

# What an installer takes for a package: no option, and nothing that breaks a line.
PACKAGE = re.compile(r"[A-Za-z0-9][^\x00-\x1f\x7f-\x9f\u2028\u2029]*")


def language_of(facts: Facts, project_files: Collection[str] = (), programs: Programs = None) -> Language:
    """The target's own language: that of its project where ``project_files`` tells, else of its installer.

    Without ``project_files`` it speaks of the environment alone, as what changes nothing else must.
    """
    if is_pixis(facts):
        return "pixi"
    project = project_of(project_files)
    if project:
        return project
    installer = installer_of(facts)
    if installer == "conda":
        return "mamba" if has_mamba(programs) else "conda"
    return "uv" if installer == "uv" and (programs is None or "uv" in programs) else "pip"


def is_pixis(facts: Facts) -> bool:
    """Does the environment belong to pixi, which makes it from its own file alone?"""
    parts = re.split(r"[\\/]", facts.interpreter.prefix) if facts.interpreter else []
    return (".pixi", "envs") in zip(parts, parts[1:], strict=False)


def has_mamba(programs: Programs) -> bool:
    """Is mamba or micromamba at hand, which say the same as conda, faster?"""
    return bool({"mamba", "micromamba"} & set(programs or ()))


def worded(step: Step, facts: Facts, language: Language, programs: Programs = None) -> Step:
    """The step with its commands, lines and place. Where there are both, the lines are written first.

    A package that no installer can name leaves it without, and ``said`` tells why.
    """
    if step.kind == "hand":
        return by_hand(step, facts, language)
    if step.kind == "delete":
        return deletion(step, facts, language)
    if step.kind == "set":
        return setting(step, facts, language, programs)
    odd = [one for one in step.packages if not PACKAGE.fullmatch(one)]
    if odd:
        return msgspec.structs.replace(step, said=f"{odd[0]!r} is no package that an installer can name")
    if language == "dockerfile":
        lines = dockerfile.run(in_image(step, facts, programs))
        return msgspec.structs.replace(step, commands=(), lines=lines, place=dockerfile.PLACE)
    if language == "requirements":
        told = tuple(requirements.lines(step, facts))
        place = requirements.place(facts) if told else ""
        return msgspec.structs.replace(step, commands=(), lines=told, place=place)
    return in_words(step, facts, language, programs)


def in_words(step: Step, facts: Facts, language: Language, programs: Programs) -> Step:
    """A step that changes packages, in commands."""
    if language == "pixi":
        lines = pixi.lines(step, facts)
        commands = tuple(pixi.commands(step, facts))
        return msgspec.structs.replace(
            step, commands=commands, lines=lines, place=pixi.PLACE if lines else ""
        )
    if language == "poetry":
        return msgspec.structs.replace(step, commands=poetry.commands(step, facts))
    if language == "pdm":
        lines = pdm.source_lines(step) if step.index_url and step.kind == "install" else ()
        return msgspec.structs.replace(
            step, commands=pdm.commands(step, facts), lines=lines, place="pyproject.toml" if lines else ""
        )
    return msgspec.structs.replace(step, commands=in_environment(step, facts, language, programs))


def in_environment(
    step: Step, facts: Facts, language: Language, programs: Programs = None
) -> tuple[Command, ...]:
    """The commands that change the environment: conda's for what is conda's, then those for wheels."""
    ours, wheels = parted(step, facts, wants_conda=language in ("conda", "mamba"))
    told: tuple[Command, ...] = ()
    if ours:
        told = conda.commands(ours, facts, conda_program(language, programs))
    if wheels:
        speaks_uv = language == "uv" or (language != "pip" and installs_by_uv(facts, programs))
        told += (uv if speaks_uv else pip).commands(wheels, facts)
    return told


def installs_by_uv(facts: Facts, programs: Programs) -> bool:
    """Did uv put more into a conda environment than pip, and is it at hand?"""
    made_by = [one.installer for one in facts.packages.installed.values()] if facts.packages else []
    return made_by.count("uv") > made_by.count("pip") and (programs is None or "uv" in programs)


def conda_program(language: Language, programs: Programs) -> str:
    """The program that changes a conda environment."""
    if language == "mamba":
        return "micromamba" if programs and "micromamba" in programs and "mamba" not in programs else "mamba"
    known = [one for one in ("conda", "mamba", "micromamba") if one in (programs or ())]
    return known[0] if known and language != "conda" else "conda"


def in_image(step: Step, facts: Facts, programs: Programs) -> tuple[Command, ...]:
    """The commands for an image: those of this target where it lives in one, else pip's."""
    if facts.system and facts.system.container:
        return in_environment(step, facts, language_of(facts, programs=programs), programs)
    return pip.commands(step, msgspec.structs.replace(facts, interpreter=None))


def deletion(step: Step, facts: Facts, language: Language) -> Step:
    """Folders that go, in the words of this system; a file of requirements cannot tell of them."""
    windows = facts.system is not None and facts.system.os == "win32"
    one_each = tuple(("cmd", "/c", "rmdir", "/s", "/q", path) for path in step.paths)
    commands: tuple[Command, ...] = one_each if windows else (("rm", "-r", *step.paths),)
    if language == "dockerfile":
        lines = dockerfile.run(commands)
        return msgspec.structs.replace(step, commands=(), lines=lines, place=dockerfile.PLACE)
    return msgspec.structs.replace(step, commands=() if language == "requirements" else commands)


def setting(step: Step, facts: Facts, language: Language, programs: Programs) -> Step:
    """A variable in the place that keeps it, and in the shell that runs now."""
    if not settings.NAME.fullmatch(step.variable):
        return msgspec.structs.replace(step, said=f"{step.variable!r} is no name of a variable")
    if language == "dockerfile":
        lines = dockerfile.environment(step.variable, step.value)
        return msgspec.structs.replace(step, lines=lines, place=dockerfile.PLACE)
    if language == "pixi":
        lines = pixi.variable_lines(step.variable, step.value)
        return msgspec.structs.replace(step, lines=lines, place=pixi.PLACE)
    place = kept_in(step, facts, programs)
    now = settings.this_shell(step.variable, step.value, facts)
    return msgspec.structs.replace(
        step, commands=(*place.commands, now), lines=place.lines, place=place.where
    )


def kept_in(step: Step, facts: Facts, programs: Programs) -> settings.Place:
    """The first place that holds the variable here; where conda is not at hand, one that mamba reads too."""
    places = settings.where_to_set(step.variable, step.value, facts)
    without_conda = is_conda(facts) and programs is not None and "conda" not in programs
    fit = [one for one in places if one.lines or not without_conda]
    return fit[0]


def by_hand(step: Step, facts: Facts, language: Language) -> Step:
    """What a person does, with the distribution's own commands where the step has none."""
    step = spelled_out(step, facts)
    if language != "dockerfile":
        return step
    lines = dockerfile.of_the_system(step.commands)
    if not lines:
        return step
    return msgspec.structs.replace(step, commands=(), lines=lines, place=dockerfile.PLACE)
