"""Which written row of the matrix tells a computed clash already, so that one fault is told once."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doctor.failures import shows
from doctor.matrix.computed import Sweep, row_of
from doctor.matrix.rows import Row, Term, load_rows
from doctor.versions import comparable


def with_tellers(sweep: Sweep) -> Sweep:
    """The clashes with the name of the written row beside each that one tells."""
    rows = (row_of(clash, number, sweep.evaluated) for number, clash in enumerate(sweep.clashes, 1))
    clashes = (
        msgspec.structs.replace(clash, told_by=next(tellers(row), ""))
        for clash, row in zip(sweep.clashes, rows, strict=True)
    )
    return msgspec.structs.replace(sweep, clashes=tuple(clashes))


def tellers(computed: Row) -> Iterator[str]:
    """The names of the written rows that tell a computed one as a whole."""
    for written in load_rows():
        if set(written.when) == set(computed.when) and tells(written, computed):
            yield written.row


def tells(written: Row, computed: Row) -> bool:
    """Does a written row speak of the same words, of all these releases, and of all these stages?"""
    return (
        written.severity == "error"
        and not written.withdrawn
        and set(computed.breaks) <= set(written.breaks)
        and all(within(term, written.when[name]) for name, term in computed.when.items())
        and speak_alike(written, computed)
    )


def speak_alike(written: Row, computed: Row) -> bool:
    """Is it one message? A computed one may end where the release that was found is named."""
    said = [
        end
        for one in computed.symptoms
        for end in (one, *(one + found for found in computed.example.values()))
    ]
    return any(shows(symptom, one) for symptom in written.symptoms for one in said)


def within(inner: Term, outer: Term) -> bool:
    """Does an interval lie in another one? Those of clashes are half-open."""
    low, high = comparable(inner.introduced), comparable(inner.fixed or "")
    outer_low, outer_high = comparable(outer.introduced), comparable(outer.fixed or "")
    if low is None or outer_low is None or outer.last_affected:
        return False
    return low >= outer_low and (outer_high is None or (high is not None and high <= outer_high))
