"""What was seen of native code: libraries that will load, the CUDA versions, what can be compiled."""

from __future__ import annotations

from doctor.facts import Compiling, Facts, Linkage
from doctor.native import NativeLibrary
from doctor.render.describe import listed, reason


def libraries(facts: Facts) -> str:
    """Which native libraries find all that they need, and what the others lack."""
    seen = facts.linkage
    if seen is None:
        return reason(facts, "linkage")
    whole = [_name(seen, one) for one in seen.libraries if not one.fault and not one.missing]
    told = [f"{listed(whole)} {'finds' if len(whole) == 1 else 'find'} all that is needed"] if whole else []
    told += [f"{_name(seen, one)} {_lack(one)}" for one in seen.libraries if one.fault or one.missing]
    return "; ".join(told) or "none was read"


def _name(linkage: Linkage, library: NativeLibrary) -> str:
    """The package; of bitsandbytes, which ships many, the library as well."""
    chosen = linkage.choice.library if linkage.choice else ""
    return f"bitsandbytes ({chosen})" if library.package == "bitsandbytes" and chosen else library.package


def _lack(library: NativeLibrary) -> str:
    if library.fault:
        return library.fault
    absent = [one.name for one in library.missing if not one.path]
    told = [f"lacks {listed(absent)}"] if absent else []
    told += [f"finds a {one.name} that {one.fault}" for one in library.missing if one.path]
    return ", ".join(told)


def cuda_versions(facts: Facts) -> str:
    """The driver's CUDA, torch's and the toolkits', and which of them matters for what."""
    toolkits = [f"{one.version} in {one.path}" for one in facts.toolkits or () if one.version]
    told = [_offered(facts), _brought(facts), f"only for compiling: {listed(toolkits)}" if toolkits else ""]
    return "; ".join(dict.fromkeys(part for part in told if part))


def _offered(facts: Facts) -> str:
    if not facts.driver:
        return reason(facts, "driver")
    offered = facts.driver.cuda_version
    return f"the driver offers up to {offered}" if offered else "what the driver offers is not known"


def _brought(facts: Facts) -> str:
    if not facts.torch:
        return reason(facts, "torch")
    brought = facts.torch.cuda_version
    return f"torch brings {brought}, which is what runs" if brought else "torch brings none"


def compiling(facts: Facts) -> str:
    """What triton and extensions find for their work, and what they lack."""
    seen = facts.compiling
    if seen is None:
        return reason(facts, "compiling")
    found = [part for part in (seen.compiler, seen.python_header and "Python.h", _ptxas(seen)) if part]
    absent = [
        name for name, one in (("C compiler", seen.compiler), ("Python.h", seen.python_header)) if not one
    ]
    told = [listed(found)] if found else []
    told += [f"no {listed(absent, 'and no')}"] if absent else []
    told += [f"{seen.cache_folder} is {seen.cache_fault}"] if seen.cache_fault else []
    return "; ".join(told)


def _ptxas(seen: Compiling) -> str:
    return f"ptxas {seen.ptxas_version}".strip() if seen.ptxas else ""
