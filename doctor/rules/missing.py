"""Libraries of a LoRA fine-tune that are not installed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from doctor.cures import install, torch_for_machine
from doctor.facts import Facts
from doctor.findings import Evidence, Fix, Severity
from doctor.rules import Hit, rule
from doctor.stack import STACK

# How grave the absence of each is: LoRA runs without the last two, QLoRA not without bitsandbytes.
GRAVITY: dict[str, Severity] = dict.fromkeys(STACK, "error")
GRAVITY.update(bitsandbytes="warning", trl="note")


def absent_libraries(facts: Facts) -> list[str]:
    """Libraries without which no LoRA fine-tune runs, and that are not there."""
    return [name for name in STACK if GRAVITY[name] == "error" and is_absent(name, facts)]


def is_absent(name: str, facts: Facts) -> bool:
    """Is a library neither registered nor importable?"""
    packages = facts.packages
    if packages is None or packages.wanted:  # a file says what it asks for, and another may ask for the rest
        return False
    if packages.is_partial:
        return name in packages.absent
    return name not in packages.installed and name not in packages.unregistered


@rule(
    "python/stack-missing", "error", needs=("packages",), breaks=("import-torch", "lora-step", "qlora-step")
)
def stack_missing(facts: Facts) -> Iterator[Hit]:
    """The libraries of a LoRA fine-tune are not installed

    Why: the target is the interpreter that was found first, which may not be the one you train with.

    Fix: install them, or name the interpreter that has them with --python.
    """
    absent = absent_libraries(facts)
    if len(absent) > 1:
        look = ("lora-doctor", "check", "--all-environments")
        yield Hit(
            title=f"{', '.join(absent[:-1])} and {absent[-1]} are not installed in the target",
            evidence=tuple(Evidence(name, "not installed", "installed") for name in absent),
            fixes=(
                install_all(facts, "Install what is missing", absent),
                Fix("Look for the interpreter that has them", (look,), "setting"),
            ),
        )


def install_all(facts: Facts, title: str, libraries: list[str]) -> Fix:
    """Install libraries, and torch in the build for this driver and GPU: PyPI has but the newest."""
    chosen = [fix for fix in torch_for_machine(facts) if fix.scope == "environment"]
    if "torch" not in libraries or not chosen:
        return install(facts, title, *libraries)
    rest = [name for name in libraries if name != "torch"]
    if not rest:
        return chosen[0]
    commands = (*chosen[0].commands, *install(facts, title, *rest).commands)
    return Fix(title, tuple(dict.fromkeys(commands)), "environment", verified=False)


def missing(library: str, facts: Facts) -> Iterator[Hit]:
    """A library of the stack is not installed

    Why: the fine-tune imports it, or transformers needs it for what is asked: accelerate for Trainer and
    device_map, bitsandbytes for 4 and 8 bits.

    See: python -m pip show, with the interpreter that runs the script, finds nothing.

    Fix: install it with that interpreter: python -m pip install.

    Tried in vain: installing it with the pip of another Python, or without restarting the notebook.
    """
    assert facts.packages is not None
    absent = absent_libraries(facts)
    if is_absent(library, facts) and absent in ([], [library]):
        yield Hit(
            title=f"{library} is not installed in the target",
            evidence=(Evidence(library, "not installed", "installed"),),
            fixes=(install_all(facts, f"Install {library}", [library]),),
        )


def installed(library: str, facts: Facts) -> tuple[Fix, ...]:
    """The library, put into the target."""
    return (install_all(facts, f"Install {library}", [library]),)


# What is said of one where it is asked for in vain; of most only that there is no such module.
ASKED_FOR = {
    "accelerate": ("re:quantization requires [Aa]ccelerate: `pip install", "requires the accelerate library"),
    "bitsandbytes": (
        "re:tried to instantiate bnb .{0,20}but `bitsandbytes` is not installed",
        "bitsandbytes is not installed but it",
    ),
    "peft": ("PEFT is not available. Please install PEFT", "PEFT is not installed and you passed a"),
}
for _library in STACK:
    _judge = partial(missing, _library)
    _judge.__doc__ = missing.__doc__
    rule(
        f"{_library}/missing",
        GRAVITY[_library],
        needs=("packages",),
        breaks=(f"import-{_library}",),
        symptoms=(rf"re:No module named ['\"`]?{_library}\b(?!\.)", *ASKED_FOR.get(_library, ())),
        cure=partial(installed, _library),
        question=f"What does python -m pip show {_library} print, with the interpreter that runs the script?",
    )(_judge)
