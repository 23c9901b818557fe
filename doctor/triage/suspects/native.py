"""Messages of the driver, of CUDA and of native libraries that several faults print."""

from __future__ import annotations

from doctor.triage.suspects import Ambiguous
from doctor.triage.suspects.linking import LINKING
from doctor.triage.suspects.loading import LOADING
from doctor.triage.suspects.quantising import QUANTISING
from doctor.triage.suspects.running import RUNNING
from doctor.triage.suspects.sharing import SHARING
from doctor.triage.suspects.starting import STARTING
from doctor.triage.suspects.visibility import VISIBILITY

AMBIGUOUS: tuple[Ambiguous, ...] = (
    *VISIBILITY,
    *STARTING,
    *LINKING,
    *LOADING,
    *QUANTISING,
    *SHARING,
    *RUNNING,
)
