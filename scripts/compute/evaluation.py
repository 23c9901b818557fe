"""Evaluates sets of releases with the interpreter, and keeps what came of it: none is evaluated twice."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

import doctor.static
from compute.fingerprints import Question
from compute.sets import BESIDE, INTERPRETED, names_declared
from compute.sources import Sources
from doctor.static.outcomes import Event, Failed, Passed
from doctor.static.run import run_with_observations
from doctor.static.stages import ALL, StaticStage
from doctor.static.world import Cache, World

# Installed in every set, in whatever release: no code of theirs is read. What is declared comes to these.
AROUND = (
    *(
        "httpcore",
        "httpcore2",
        "httpx2",
        "h11",
        "anyio",
        "certifi",
        "idna",
        "urllib3",
        "attrs",
        "click",
        "typer",
    ),
    *(
        "pygments",
        "markdown-it-py",
        "docstring-parser",
        "markupsafe",
        "networkx",
        "sympy",
        "setuptools",
        "scipy",
    ),
    *("rich", "jinja2", "typing-extensions", "python-dateutil"),
)
TREES = 30  # releases whose trees stay in memory, beside those of the set at hand


class Failure(msgspec.Struct, frozen=True):
    """Why a stage fails."""

    consumer: str
    provider: str
    kind: str
    module: str
    symbol: str
    message: str
    where: str
    chain: tuple[str, ...]


class Evaluation(msgspec.Struct, frozen=True):
    """What came of one set."""

    versions: dict[str, str]
    passed: tuple[str, ...]
    failures: dict[str, Failure]
    undecided: dict[str, str]
    asked: dict[str, tuple[Question, ...]]  # by "consumer>provider"

    def questions(self, consumer: str, provider: str) -> frozenset[Question]:
        """What one package asked another."""
        return frozenset(self.asked.get(f"{consumer}>{provider}", ()))


def fingerprint_of_interpreter() -> str:
    """Changes with the interpreter's code: what another one found is not taken over."""
    folder = Path(doctor.static.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Evaluator:
    """Evaluates sets, or finds them in the cache."""

    def __init__(self, sources: Sources, cache: Path) -> None:
        self.sources = sources
        self.folder = cache / fingerprint_of_interpreter()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trees = Cache()
        self.recent: dict[tuple[str, str], None] = {}  # releases, those used last at the end

    def file(self, versions: Mapping[str, str], stages: Sequence[StaticStage]) -> Path:
        """Where a set is kept."""
        name = hashlib.sha256(repr(sorted(versions.items())).encode()).hexdigest()[:24]
        return self.folder / (name if stages == ALL else f"{name}-{len(stages)}-{stages[-1]}")

    def known(self, versions: Mapping[str, str], stages: Sequence[StaticStage] = ALL) -> Evaluation | None:
        """A set that was evaluated before."""
        file = self.file(versions, stages)
        try:
            return msgspec.json.decode(zlib.decompress(file.read_bytes()), type=Evaluation)
        except (OSError, zlib.error, msgspec.MsgspecError):
            return None

    def evaluate(self, versions: Mapping[str, str], stages: Sequence[StaticStage] = ALL) -> Evaluation:
        """One set."""
        known = self.known(versions, stages)
        if known:
            return known
        done = self.anew(dict(versions), stages)
        file = self.file(versions, stages)
        part = file.with_suffix(".part")
        part.write_bytes(zlib.compress(msgspec.json.encode(done)))
        part.replace(file)
        return done

    def anew(self, versions: dict[str, str], stages: Sequence[StaticStage] = ALL) -> Evaluation:
        """One set, whatever was known of it."""
        self.make_room(versions)
        packages = [self.sources.distribution(name, version) for name, version in versions.items()]
        others = {*AROUND, *names_declared()} - set(versions) - set(INTERPRETED) - set(BESIDE)
        packages += [self.sources.distribution(name, "9999") for name in sorted(others)]
        result = run_with_observations(World(packages, cache=self.trees), stages)
        asked: dict[str, set[Question]] = {}
        for one in result.observations:
            asked.setdefault(f"{one.consumer}>{one.provider}", set()).add(
                Question(one.kind, one.module, one.name)
            )
        return Evaluation(
            versions=versions,
            passed=tuple(stage for stage, outcome in result.outcomes.items() if isinstance(outcome, Passed)),
            failures={
                stage: failure_of(outcome.event)
                for stage, outcome in result.outcomes.items()
                if isinstance(outcome, Failed)
            },
            undecided={
                stage: outcome.reason
                for stage, outcome in result.outcomes.items()
                if not isinstance(outcome, (Failed, Passed))
            },
            asked={pair: tuple(sorted(questions)) for pair, questions in asked.items()},
        )

    def make_room(self, versions: dict[str, str]) -> None:
        """Forget the trees of releases that were not used for long."""
        for release in versions.items():
            self.recent.pop(release, None)
            self.recent[release] = None
        for release in list(self.recent)[: -TREES or None]:
            if release not in versions.items():
                del self.recent[release]
                self.trees.drop(*release)


def failure_of(event: Event) -> Failure:
    """What is kept of an event."""
    return Failure(
        consumer=event.consumer,
        provider=event.provider,
        kind=event.kind,
        module=event.module,
        symbol=event.symbol,
        message=event.message,
        where=event.where,
        chain=event.chain,
    )
