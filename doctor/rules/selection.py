"""bitsandbytes selects a library that suits neither torch nor what there is to be linked to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.cures import reinstall, set_variable, torch_for_machine
from doctor.facts import BitsandbytesBuild, Facts
from doctor.findings import Evidence
from doctor.linking.choice import override_variable
from doctor.native import Dependency, LibraryChoice
from doctor.rules import Hit, rule
from doctor.rules.cures_by_words import cuda_torch, no_override
from doctor.rules.linked import absent, selection, torch_major, was_loaded, wheel_of

BREAKS = ("import-bitsandbytes", "load-4bit", "qlora-step")
CUDA_LIBRARY = re.compile(r"libbitsandbytes_cuda(\d{2})(\d+)")


def cuda_of(library: str) -> str:
    """The CUDA of a library: "12.6" of "libbitsandbytes_cuda126.so"; "" of another."""
    found = CUDA_LIBRARY.match(library)
    return f"{found[1]}.{found[2]}" if found else ""


def is_of_other_major(facts: Facts, library: str) -> bool:
    """Is a library for a CUDA of another major than torch's?"""
    major, cuda = torch_major(facts), cuda_of(library)
    return bool(major and cuda) and cuda.split(".")[0] != str(major)


def lost_by_choice(facts: Facts) -> list[Dependency]:
    """The CUDA libraries that the selected library needs and nobody finds, those apart that fail torch."""
    if facts.linkage is None or was_loaded(facts, "bitsandbytes"):
        return []
    torch = facts.linkage.library_of("torch")
    of_torch = {one.name for one in torch.missing} if torch else set()
    return [one for one in absent(facts.linkage.library_of("bitsandbytes")) if one.name not in of_torch]


@rule(
    "bitsandbytes/override-variable-wrong",
    "error",
    needs=("bitsandbytes", "torch"),
    breaks=BREAKS,
    symptoms=(
        "value must be digits only",
        r"re:libbitsandbytes_cuda\d{3}_nocublaslt\d{3}",
    ),
    cure=no_override,
)
def override_variable_wrong(facts: Facts) -> Iterator[Hit]:
    """BNB_CUDA_VERSION names a library that is absent, or that nothing here can be linked to

    Why: the variable bypasses bitsandbytes' own choice, and nothing stands in for a library that is not
    there. One for another CUDA major needs that CUDA's libraries, which torch does not bring. Where torch
    sees no GPU the variable is not read.

    Fix: unset it.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1312
    """
    build, torch = facts.bitsandbytes, facts.torch
    assert build and torch
    choice = selection(facts)
    if choice is None or choice == selection(facts, by_itself=True):
        return
    variable = override_variable(build.version, torch.hip_version)
    trouble = trouble_of(facts, build, choice)
    if trouble:
        suits = sorted({cuda.replace(".", "") for cuda in map(cuda_of, build.libraries) if cuda})
        mine = [digits for digits in suits if digits[:2] == str(torch_major(facts))]
        yield Hit(
            title=f"{variable}={build.override} {trouble}",
            evidence=(Evidence(variable, build.override or "set to nothing", unset_or(mine)),),
            fixes=(set_variable("Let bitsandbytes choose", variable, None),),
        )


def unset_or(values: list[str]) -> str:
    """What the variable may be."""
    return "unset" + (f", or one of {', '.join(values)}" if values else "")


def trouble_of(facts: Facts, build: BitsandbytesBuild, choice: LibraryChoice) -> str:
    """What is wrong with the library that the variable names, as the rest of a sentence; "" for nothing."""
    if not choice.library:
        return f"is no version that bitsandbytes {build.version} reads"
    asked = choice.asked or choice.library
    if choice.asked or not choice.is_there:
        return f"names {asked}, which bitsandbytes {build.version} does not have"
    if not is_of_other_major(facts, choice.library):
        return ""
    lost = lost_by_choice(facts)
    if lost:
        return f"selects {choice.library}, which needs {lost[0].name}, and the loader finds none"
    if facts.linkage is None and not was_loaded(facts, "bitsandbytes"):
        assert facts.torch
        return f"selects {choice.library} beside a torch for CUDA {facts.torch.cuda_version}"
    return ""


@rule("bitsandbytes/wrong-cuda-library", "warning", needs=("bitsandbytes", "torch"))
def wrong_cuda_library(facts: Facts) -> Iterator[Hit]:
    """bitsandbytes works with another CUDA major than torch

    Why: two CUDA runtimes stand in one process. Both find the driver, so that this may well run; memory is
    managed twice, and each upgrade of the driver has two to serve. Only BNB_CUDA_VERSION leads to it.

    Fix: unset the variable, so that torch's own CUDA libraries serve both.
    """
    build, torch, runtime = facts.bitsandbytes, facts.torch, facts.bitsandbytes_runtime
    assert build and torch
    choice = selection(facts)
    library = (runtime.library if runtime else None) or (choice.library if choice and choice.is_there else "")
    if not is_of_other_major(facts, library) or (choice and trouble_of(facts, build, choice)):
        return
    yield Hit(
        title=f"bitsandbytes {build.version} takes {library} beside a torch for CUDA {torch.cuda_version}",
        evidence=(Evidence("bitsandbytes", library, f"one for CUDA {torch_major(facts)}"),),
        fixes=(set_variable("Let bitsandbytes choose", override_variable(build.version, None), None),)
        if build.override
        else (),
    )


@rule(
    "bitsandbytes/cuda-libraries-not-found",
    "error",
    needs=("bitsandbytes", "torch", "linkage"),
    breaks=BREAKS,
    symptoms=(
        "CUDA SETUP ERROR: Missing dependency",
        r"re:lib(?:cudart|cublas|cublasLt|cusparse)\.so\.\d[\d.]*: cannot open shared object file",
        r"re:Could not find module '[^'\n]{0,200}libbitsandbytes_cuda\d{2,3}\.dll'",
    ),
    cure=cuda_torch,
)
def cuda_libraries_not_found(facts: Facts) -> Iterator[Hit]:
    """The CUDA libraries that bitsandbytes is linked to cannot be found

    Why: its library names libcudart, libcublas and others and says nowhere where they lie. They serve from
    what torch has mapped before. A torch that brings them under other names, or from a folder that is no
    longer there, leaves them to LD_LIBRARY_PATH and the system.

    Fix: install a torch whose CUDA libraries come as wheels, for the CUDA of a library that bitsandbytes
    has; or name the folder of that CUDA in LD_LIBRARY_PATH.

    Tried in vain: installing the CUDA toolkit in another version than the one in the library's name.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1452
    """
    build, torch, runtime = facts.bitsandbytes, facts.torch, facts.bitsandbytes_runtime
    assert build and torch and facts.linkage
    choice, lost = selection(facts), lost_by_choice(facts)
    if not lost or choice is None or is_of_other_major(facts, choice.library):
        return
    names = [one.name for one in lost]
    yield Hit(
        title=f"{choice.library} of bitsandbytes {build.version} needs {' and '.join(names[:2])}, "
        "and the loader finds none",
        confidence="confirmed" if runtime and runtime.library is None else "likely",
        evidence=(
            *(Evidence(one.name, f"not found for {one.asked_by}", "mapped by torch") for one in lost[:3]),
            Evidence("torch", torch.version, f"one that brings {wheel_of(facts, names[0])}"),
        ),
        fixes=torch_for_machine(facts) or (reinstall(facts, "torch"),),
    )
