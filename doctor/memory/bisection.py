"""The search for the largest run that a device holds, by trials: which to make next, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from doctor.fact import Fact
from doctor.memory.measured import Outcome

GRID = 64  # tokens: lengths are multiples of it, as tensor cores like them
MOST_BATCH = 1024


class Trial(Fact, frozen=True, kw_only=True):
    """One plan that was run, and whether it ran."""

    batch_size: int
    sequence_length: int
    outcome: Outcome
    peak_bytes: int = 0
    seconds: float = 0.0
    reason: str = ""

    @property
    def ran(self) -> bool:
        """To its end, on the memory that was there."""
        return self.outcome == "ok"


class Found(Fact, frozen=True, kw_only=True):
    """What a search found; lengths in tokens, 0 where nothing ran."""

    length: int = 0  # the largest at batch 1
    batch_size: int = 0  # the largest at ``batch_length``; 0 where it was not searched
    batch_length: int = 0
    trials: tuple[Trial, ...] = ()
    ended: Literal["complete", "interrupted", "failed"] = "complete"
    reason: str = ""  # of a trial that failed for another reason than memory


Run = Callable[[int, int], Trial]  # (batch size, sequence length)


class TrialFailed(Exception):
    """A trial ended for another reason than memory, so that no further one says anything."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.reason)
        self.trial = trial


def largest(runs: Callable[[int], bool], first: int, most: int) -> int:
    """The largest number from 1 to ``most`` that runs, where all below it run and none above; 0 for none.

    Begins at ``first`` and doubles until one does not run, then halves what is left between.
    """
    good, bad = 0, most + 1
    guess = min(max(first, 1), most)
    while bad - good > 1:
        if runs(guess):
            good = guess
        else:
            bad = guess
        guess = (good + bad) // 2 if bad <= most else min(2 * good, most)
    return good


class Bisection:
    """One search. What is known of a trial is not tried again, nor what follows from it."""

    def __init__(self, run: Run, wanted_length: int, most_length: int, known: tuple[Trial, ...] = ()) -> None:
        self.run = run
        self.wanted_length = wanted_length
        self.most_length = most_length
        self.known = list(known)
        self.made: list[Trial] = []

    def search(self) -> Found:
        """The largest length at batch 1, then the largest batch at the wanted length or what ran of it.

        Ctrl-C and a trial that fails for another reason end it with the best so far.
        """
        try:
            length = self.length()
            batch_length = min(length, -(-self.wanted_length // GRID) * GRID)
            batch = self.batch_size(batch_length) if batch_length else 0
        except KeyboardInterrupt:
            return self._best("interrupted")
        except TrialFailed as failed:
            return self._best("failed", failed.trial.reason)
        return Found(length=length, batch_size=batch, batch_length=batch_length, trials=tuple(self.made))

    def length(self) -> int:
        """In tokens; begins with half of what is wanted."""
        first = self.wanted_length // 2 // GRID
        return GRID * largest(lambda units: self.ran(1, GRID * units), first, self.most_length // GRID)

    def batch_size(self, length: int) -> int:
        """Sequences of that length that run together."""
        return largest(lambda size: self.ran(size, length), 1, MOST_BATCH)

    def ran(self, batch_size: int, length: int) -> bool:
        """Does it run? By what is known, else by a trial."""
        told = self._told(batch_size, length)
        if told is not None:
            return told
        trial = self.run(batch_size, length)
        self.made.append(trial)
        if trial.outcome == "failed":
            raise TrialFailed(trial)
        self.known.append(trial)
        return trial.ran

    def _told(self, batch_size: int, length: int) -> bool | None:
        """What earlier trials say: less than what ran runs, more than what did not does not."""
        for trial in self.known:
            sizes = (trial.batch_size, trial.sequence_length)
            if trial.ran and batch_size <= sizes[0] and length <= sizes[1]:
                return True
            if not trial.ran and batch_size >= sizes[0] and length >= sizes[1]:
                return False
        return None

    def _best(self, ended: Literal["interrupted", "failed"], reason: str = "") -> Found:
        ran = [trial for trial in self.known if trial.ran]
        length = max((trial.sequence_length for trial in ran if trial.batch_size == 1), default=0)
        many = max(
            (trial for trial in ran if trial.batch_size > 1),
            key=lambda trial: (trial.batch_size, trial.sequence_length),
            default=None,
        )
        return Found(
            length=length,
            batch_size=many.batch_size if many else 0,
            batch_length=many.sequence_length if many else 0,
            trials=tuple(self.made),
            ended=ended,
            reason=reason,
        )
