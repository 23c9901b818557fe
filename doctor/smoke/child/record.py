"""First part of the trial's child: what a stage showed, and how it failed, in the words of what failed."""

import os
import sys
import traceback

MESSAGE_CHARACTERS = 2000
CHAIN_LENGTH = 16
FRAMES_NAMED = 8
STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))

MADE = {}  # what a stage that passed in this process left for the later ones
FAILED = set()  # the stages that did not pass in this process


class Blocked(Exception):
    """A stage cannot be tried, because an earlier stage of this process did not pass."""

    def __init__(self, stage):
        super().__init__(stage)
        self.stage = stage


class Record:
    """What one stage showed so far; it stands even where the stage fails later."""

    def __init__(self):
        self.details = {}
        self.proofs = []

    def prove(self, name, holds, seen, wanted):
        """Note one measured claim."""
        self.proofs.append({"name": name, "holds": bool(holds), "seen": seen, "wanted": wanted})

    def prove_all(self, name, good, count, noun="weights"):
        """Note a claim that must hold of every one of ``count`` things; of none at all it does not hold."""
        words = "%d of %d " + noun
        self.prove(name, len(good) == count > 0, words % (len(good), count), words % (count, count))

    def prove_below(self, name, value, limit, beside=""):
        """Note a measured difference against its limit; not-a-number does not hold."""
        self.prove(name, value <= limit, "%.3g%s" % (value, beside), "at most %.3g" % limit)


def need(stage, make):
    """What an earlier stage left, or the same made anew where that stage is not of this process."""
    if stage in FAILED:
        raise Blocked(stage)
    if MADE.get(stage) is None:
        MADE[stage] = make()
    return MADE[stage]


def causes_of(error):
    """The exceptions from the first cause to the one that surfaced, as Python itself would print them."""
    chain = []
    while error is not None and not any(error is known for known in chain):
        chain.append(error)
        if error.__cause__ is not None or error.__suppress_context__:
            error = error.__cause__
        else:
            error = error.__context__
    return chain[::-1]


def message_of(error):
    """The text of an exception, also of one that cannot say it."""
    try:
        return str(error)[:MESSAGE_CHARACTERS]
    except Exception as fault:
        return "(its message could not be had: %s)" % type(fault).__name__


def module_of(path, frame_globals):
    """The top-level module a file belongs to; None for the standard library.

    It is told by the entry of ``sys.path`` above the file. The rest is told by the name its code runs under:
    what an import hook found, as an editable install leaves one, and compiled code, whose path is that of a
    source elsewhere.
    """
    entries = [os.path.join(os.path.abspath(entry), "") for entry in sys.path]
    entry = max((entry for entry in entries if path.startswith(entry)), key=len, default=None)
    if entry is None:
        return str(frame_globals.get("__name__") or "").split(".")[0] or None
    if entry == os.path.join(STANDARD_LIBRARY, ""):
        return None
    return os.path.relpath(path, entry).split(os.sep)[0].split(".")[0]


def frames_of(error):
    """(file, line, function, top-level module) of an exception's frames in real files, outermost first."""
    found = [
        (frame.f_code.co_filename, line or 0, frame.f_code.co_name, frame.f_globals)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError) and error.filename:
        # The file that does not parse never ran, so that no frame names it.
        found.append((error.filename, error.lineno or 0, "<module>", {}))
    return [
        (path, line, function, module_of(path, known))
        for path, line, function, known in found
        if not path.startswith("<")
    ]


def describe(error):
    """An exception with its causes as the doctor reads it: chain, modules, frames."""
    chain = causes_of(error)
    modules = {}
    for link in reversed(chain):
        for *_, module in frames_of(link):
            # Said again, a module moves to the end: the order is that of the innermost mention.
            modules.pop(module, None)
            modules[module] = True
    modules.pop(None, None)
    named = chain if len(chain) <= CHAIN_LENGTH else chain[: CHAIN_LENGTH // 2] + chain[-CHAIN_LENGTH // 2 :]
    return {
        "chain": [[type(link).__name__, message_of(link)] for link in named],
        "modules": list(modules),
        "frames": ["%s:%d in %s" % frame[:3] for frame in frames_of(chain[0])[-FRAMES_NAMED:]],
    }
