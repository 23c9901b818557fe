"""Lines that begin as programs complain: compilers, linkers, installers, containers, shells, the kernel."""

from __future__ import annotations

import re

TOOLS = (
    r"ld|ld\.lld|lld|collect2|cc1plus|gcc|g\+\+|clang(?:\+\+)?|nvcc|ptxas|nvlink|ninja|g?make|cmake|rustc|cargo"
    r"|docker|conda|mamba|uv|pip3?"
)
DEATHS = (
    r"Killed|Segmentation fault|Bus error|Illegal instruction|Aborted|Floating point exception"
    r"|Trace/breakpoint trap"
)
BEGINNINGS = (
    # /usr/bin/ld: ..., ptxas fatal   : ..., make[1]: ...
    rf"(?:[^\s:]{{0,200}}/)?(?:{TOOLS})(?:\[\d{{1,3}}\])?(?:-\d{{1,3}})? ?"
    r"(?:error|fatal {0,8}|warning)?: {0,4}(?=\S)",
    # a.c:6:10: fatal error: ..., a.cu(12): error ...
    r"[^\s:]{1,300}:\d{1,7}(?::\d{1,6})?: (?:fatal )?error: ",
    r"[^\s()]{1,300}\(\d{1,7}\)(?: ?:)? (?:fatal )?error\b",
    r"(?:LLVM ERROR|(?:nvcc|ptxas|nvlink) fatal|[Ff]atal (?:Python )?error|CMake Error) {0,4}[:a-z(]",
    r"Error response from daemon|OCI runtime create failed|nvidia-container-cli: ",
    r"NVRM: |NVIDIA-SMI has failed|Failed to initialize NVML|No devices were found",
    r"Unable to determine the device handle",
    r"(?:ERROR|Error|error|FATAL|CRITICAL)(?:\[\w{1,12}\])?: (?=\S)",
    # bitsandbytes' own kernels
    r"Error [a-z][\w ,'-]{1,160} at line \d{1,6} in file ",
    r"-?(?:/bin/)?(?:zsh|bash|sh): ",
    rf"(?:\S{{1,160}}: line \d{{1,6}}: +\d{{1,9}} )?(?:{DEATHS})(?: {{0,40}}\(core dumped\)|$| {{2,40}}\S)",
    r"\[\d\] {1,4}\+? {0,4}\d{1,9} {1,4}(?:killed|segmentation|illegal hardware|abort|bus error)",
    r"(?:free|malloc|munmap_chunk|double free or corruption|corrupted)[( ][^\n]{0,40}\):? ",
    r"terminate called |what\(\): |dlopen\(|Process finished with exit code (?:-|1[3-9]\d)",
    r"ImportError while loading",
    # pip, uv and conda
    r"× |The following specifications|Package \S{1,80} conflicts for|Could not solve for environment",
)
PROGRAMS = re.compile("|".join(BEGINNINGS))
NAMED = re.compile(
    rf"(?:[^\s:]{{0,200}}/)?(?:{TOOLS})(?:\[\d{{1,3}}\])?: {{0,4}}|-?(?:/bin/)?(?:zsh|bash|sh): "
)
BAD = re.compile(
    r"error|fatal|cannot|not found|no such|undefined|unsupported|unrecognized|fail|denied|invalid"
    r"|illegal|killed|abort|\*{3}",
    re.I,
)
TECHNICAL = re.compile(
    r"['\"`/\\_\d(]|\w-\w|[a-z][A-Z]|[A-Z]{3}"
    r"|(?i:\b(?:torch|cuda|gpu|driver|library|module|version|wheel)\b)"
)


def complains(text: str) -> bool:
    """Does a program complain? "Error: it does not work" is of a person, "nvcc: release 12.4" of a list."""
    found = PROGRAMS.match(text)
    if not found:
        return False
    if found[0].rstrip(": ").lower() in ("error", "fatal", "critical"):
        return found[0].isupper() or TECHNICAL.search(text, found.end()) is not None
    return not NAMED.fullmatch(found[0]) or BAD.search(text, found.end()) is not None
