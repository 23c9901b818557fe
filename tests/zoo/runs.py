"""The doctor's runs over the environments, each made once and two at a time, ahead of the tests that ask."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from .environment import ENVIRONMENTS, built
from .lab import Lab
from .running import Outcome, run_doctor

AT_A_TIME = 2  # of a machine with two cores; a run mostly keeps one busy
Key = tuple[str, ...]  # the environment's name, then options of the check


class Runs:
    """Outcomes by environment and options."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._pool = ThreadPoolExecutor(AT_A_TIME)
        self._outcomes: dict[Key, Future[Outcome]] = {}

    def begin(self, names: Sequence[str]) -> None:
        """Start upon the standard runs of these environments, in their order."""
        for name in names:
            self._outcome_of((name, *ENVIRONMENTS[name].expected.options))

    def __call__(self, name: str, *options: str) -> Outcome:
        """Wait for one run; raises what kept the environment from being built."""
        return self._outcome_of((name, *options)).result()

    def close(self) -> None:
        """Begin no further run, and wait for those under way."""
        self._pool.shutdown(cancel_futures=True)

    def _outcome_of(self, key: Key) -> Future[Outcome]:
        if key not in self._outcomes:
            self._outcomes[key] = self._pool.submit(self._run, key)
        return self._outcomes[key]

    def _run(self, key: Key) -> Outcome:
        name, *options = key
        with built(self._lab, name) as target:
            folder = target.working_folder or self._lab.folder()
            return run_doctor(target, folder, "--format", "json", *options)
