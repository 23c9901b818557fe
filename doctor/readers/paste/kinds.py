"""Names of exceptions: how one is told from other words before a colon, and which only pass others on."""

from __future__ import annotations

import re

NAMED = re.compile(r"([A-Za-z_][\w.]{0,160}(?:\([A-Za-z_]\w{0,60}\))?)(?:: ?(.*))?$", re.ASCII)
ENDINGS = (
    *("Error", "Exception", "Warning", "Interrupt", "Failed", "Failure", "Exit", "Expired", "NotFound"),
    *("Conflict", "ExceptionGroup", "RemoteTraceback", "Timeout", "InvalidVersion", "InvalidRequirement"),
    "Unsupported",
)
PLAIN = frozenset(
    (
        "StopIteration",
        "ArrowInvalid",
        "ResolutionImpossible",
        "UnsatisfiableError",
        "ResolvePackageNotFound",
        "BrokenProcessPool",
    )
)
# Words that are no exception of their own unless a module stands before them, or frames above.
WORDS = frozenset("Error Warning Exit Failed Failure NotFound Timeout Conflict Unsupported".split())
OF_ERRORS = re.compile(r"(?:^|\.)_?(?:exc|exceptions?|errors?|error)\.")

WRAPPERS = frozenset(
    (
        *("CalledProcessError", "ChildFailedError", "RemoteTraceback", "_RemoteTraceback", "ExceptionGroup"),
        *("ProcessRaisedException", "ProcessExitedException", "BaseExceptionGroup", "BackendCompilerFailed"),
        *("InductorError", "RetryError", "SystemExit", "Exit", "KeyboardInterrupt", "RayTaskError"),
        *("BrokenProcessPool", "ActorDiedError"),
    )
)
PASSES_ON = re.compile(
    r"^(?:Failed to import \S{1,200} because of the following error"
    r"|Could not import module '[^']{1,120}'\. Are this object's requirements defined correctly"
    r"|Unsloth: Please install unsloth_zoo"
    r"|Engine (?:core initialization|process) failed"
    r"|Caught \w{1,80} in (?:DataLoader worker|replica)"
    r"|Error (?:building extension|compiling objects for extension)"
    r"|subprocess-exited-with-error|metadata-generation-failed|legacy-install-failure"
    r"|ERROR: (?:Failed building wheel for|Could not build wheels for|Failed to build)"
    r"|Failed to build\b"
    r"|error: (?:subprocess-exited-with-error|metadata-generation-failed|legacy-install-failure)"
    r"|ERROR: Command errored out with exit status"
    r"|error: command '[^']{1,300}' failed with exit (?:code|status)"
    r"|(?:× )?(?:python setup\.py|Building wheel for|Building editable for|Getting requirements to build|"
    r"Preparing (?:metadata|editable metadata)|Encountered error while|Failed to build|Failed to download|"
    r"pip subprocess to install)"
    r"|ninja: build stopped|g?make(?:\[\d{1,3}\])?: \*\*\*|collect2: error: ld returned"
    r"|failed \(exitcode: [1-9]|.{0,400} exits with return code = [1-9]"
    r"|Process \S{1,80} exited with code [1-9]"
    r"|\S{1,200} FAILED$|EngineCore failed to start|EngineCore encountered a fatal error|See above for output"
    r"|Sending process \d{1,9} closing signal|process \d{1,9} terminated with exit code)"
)
CAUGHT = re.compile(r"Caught \w{1,80} in (?:DataLoader worker|replica|pin memory)")
MEMBERS = re.compile(r"\((\d{1,3}) sub-exceptions?\)")
# What stands behind one of these is the exception that is passed on.
INNER = re.compile(
    r"because of the following error(?: \(look up to see its traceback\))?:\s{0,20}"
    r"|terminated with the following error:\s{0,20}|Original (?:error|exception) was:\s{0,20}"
    r"|\braised:?\s{1,20}(?=[A-Za-z_][\w.]{0,100}(?:Error|Exception|Failed)\b)"
)


def exception_in(text: str, in_traceback: bool = False) -> tuple[str, str] | None:
    """The name of an exception and its message, where a line is nothing else.

    Below frames any name will do that Python could print; elsewhere it must look like an exception.
    """
    found = NAMED.match(text)
    if not found:
        return None
    name, message = found[1], found[2]
    if looks_like_exception(name):
        return (name, message or "") if message is not None or in_traceback or "." in name else None
    last = name.rpartition(".")[2]
    could_be = last[:1].isupper() or OF_ERRORS.search(name) is not None
    return (name, message or "") if in_traceback and could_be and not text.endswith(":") else None


def looks_like_exception(name: str) -> bool:
    """ "torch.cuda.OutOfMemoryError" does, "Name", "errors" and "Error" do not."""
    module, _, last = name.partition("(")[0].rpartition(".")
    if not last.lstrip("_")[:1].isupper():
        return False
    if last in WORDS:
        return bool(module)
    return last.endswith(ENDINGS) or last in PLAIN or OF_ERRORS.search(module + ".") is not None


def is_wrapper(kind: str, message: str) -> bool:
    """Does a complaint only pass on what another one says?"""
    last = kind.partition("(")[0].rpartition(".")[2]
    return last in WRAPPERS or PASSES_ON.match(message) is not None


def passed_on_below(kind: str, message: str) -> int:
    """How many exceptions stand below a wrapper with tracebacks of their own, 0 for what wraps nothing so."""
    last = kind.partition("(")[0].rpartition(".")[2]
    if last in ("ExceptionGroup", "BaseExceptionGroup"):
        members = MEMBERS.search(message)
        return int(members[1]) if members else 1
    is_known = last.endswith(("RemoteTraceback", "RayTaskError", "ProcessRaisedException"))
    return 1 if is_known or CAUGHT.match(message) else 0


def inner_of(message: str) -> tuple[int, str, str] | None:
    """The exception inside a message: how many lines below its first, name ("" where untold), message."""
    marked = INNER.search(message)
    at = marked.end() if marked else 0
    first, _, more = message[at:].partition("\n")
    named = exception_in(first.strip())
    if not named:
        return (message.count("\n", 0, at), "", message[at:].strip()) if marked and first.strip() else None
    kind, text = named
    return message.count("\n", 0, at), kind, f"{text}\n{more}".strip()
