"""One module fills one field of ``Facts`` from the live machine; :class:`Looks` is what they share.

The children whose answers probes read are started together, before anything heavy is imported here,
and awaited by the first probe that asks. This module therefore imports no fact type.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from doctor.child import Completed, Patience
from doctor.collectors import SURVEY, Collected, collect, program
from doctor.host import Host
from doctor.smoke.trial import Trial
from doctor.stack import STACK
from doctor.target import Target

T = TypeVar("T")

SURVEY_PATIENCE = Patience(limit_s=60.0, idle_s=15.0)
DRIVER_PATIENCE = Patience(limit_s=10.0)
CUDA_PATIENCE = Patience(limit_s=30.0)  # cuInit starts each GPU that sleeps
SMI_FIELDS = ("index", "name", "driver_version", "memory.total", "memory.free", "compute_cap")

SMI_ANSWERS = (0, 14)  # exit codes of nvidia-smi; 14 only warns of a corrupted infoROM
NVML_LIBRARY, CUDA_LIBRARY = "libnvidia-ml.so.1", "libcuda.so.1"
# What a child would answer, in NVML's own words and number, without the 40 ms of asking one.
NO_NVML = Collected(
    ({"section": "nvml", "error": "NVML Shared Library Not Found", "code": 12},),
    "",
    Completed(0, "", "", 0.0),
)
NO_CUDA = Collected((), "", Completed(0, "", "", 0.0))  # likewise: it would say nothing


class Later(Generic[T]):
    """Work that runs beside ours until its result is asked for."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: T | BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome = self._work()
        except Exception as error:  # handed to whoever asks for the result
            self._outcome = error

    def result(self) -> T:
        """Wait, then hand over the result or raise what the work raised."""
        self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome  # type: ignore[return-value]


class Smi(NamedTuple):
    """Two answers of nvidia-smi: its plain table and a query of named fields."""

    table: Completed
    query: Completed


class Looks:
    """The looks at one target that probes share."""

    def __init__(self, host: Host, target: Target, driver_of: Looks | None = None) -> None:
        """``driver_of``: looks at another target of this machine, whose driver is the same."""
        self.host, self.target = host, target
        self.quick = False  # leave out the trial and the hashes
        self.left_out_by = "--quick"  # the option that asked for it
        self.survey = Later(lambda: self._survey(hashes=False))
        self.nvml: Later[Collected] = driver_of.nvml if driver_of else Later(self._nvml)
        self.smi: Later[Smi | None] = driver_of.smi if driver_of else Later(self._smi)
        self._cuda: Later[Collected] | None = driver_of._cuda if driver_of else None
        self._hashes: Later[Collected] | None = None
        self.trial = Trial(host, target)
        self._trial_run: Later[None] | None = None

    def begin(self) -> None:
        """Start beside the survey what takes long and is not left out."""
        if not self.quick:
            self.cuda  # noqa: B018

    def stage(self, name: str) -> dict[str, Any] | None:
        """Wait for the outcome of one stage of the trial, which begins when first asked for."""
        self._trial_run = self._trial_run or Later(self._begin)
        return self.trial.outcome_of(name)

    def whole_trial(self) -> Trial:
        """Wait for all stages; raises what broke the trial off."""
        self._trial_run = self._trial_run or Later(self._begin)
        self._trial_run.result()
        return self.trial

    def _begin(self) -> None:
        try:
            self._try()
        except Exception:
            self.trial.end()  # whoever waits for a stage must not wait for a trial that never began
            raise

    def _try(self) -> None:
        survey = self.survey.result()
        packages = survey.section("packages") or {}
        installed = {one["name"] for one in packages.get("found", ())}
        installed.update((survey.section("shadows") or {}).get("unregistered", ()))
        folders = (survey.section("interpreter") or {}).get("site_folders", ())
        self.trial.run(installed, folders)

    @property
    def hashes(self) -> Later[Collected]:
        """The survey once more, with the hashes of shared objects: seconds, so only when asked."""
        self._hashes = self._hashes or Later(lambda: self._survey(hashes=True))
        return self._hashes

    def _survey(self, hashes: bool) -> Collected:
        config = {"stack": STACK, "hash": hashes}
        text, executable = program(SURVEY), self.target.executable
        return collect(self.host, executable, text, config, patience=SURVEY_PATIENCE)

    def _nvml(self) -> Collected:
        if self.host.os == "linux" and self.host.find_library(NVML_LIBRARY) is None:
            return NO_NVML
        from doctor.probes.nvml import gathered

        return gathered(self._ask_nvml)

    def _ask_nvml(self, first: int) -> Collected:
        """NVML's child, which tells of the GPUs from an index on."""
        text, config = program(("nvml", "end")), {"look": "nvml", "first": first}
        return collect(self.host, sys.executable, text, config, patience=DRIVER_PATIENCE)

    @property
    def cuda(self) -> Later[Collected]:
        """libcuda's own answer. Its start takes long on many GPUs, so only when asked."""
        self._cuda = self._cuda or Later(self._ask_cuda)
        return self._cuda

    def _ask_cuda(self) -> Collected:
        if self.host.os == "linux" and self.host.find_library(CUDA_LIBRARY) is None:
            return NO_CUDA
        # Hidden devices are told of elsewhere: here the driver is asked for all that it has.
        env = {name: value for name, value in self.host.env.items() if name != "CUDA_VISIBLE_DEVICES"}
        text = program(("libcuda", "end"))
        config = {"look": "libcuda"}
        return collect(self.host, sys.executable, text, config, patience=CUDA_PATIENCE, env=env)

    def _smi(self) -> Smi | None:
        path = self.host.find_program("nvidia-smi")
        if path is None:
            return None
        query = Later(lambda: self._smi_query(path))
        return Smi(self.host.run([path], patience=DRIVER_PATIENCE), query.result())

    def _smi_query(self, path: str) -> Completed:
        """GPUs by named fields. Drivers before 510 know no compute_cap and refuse the whole query for it."""

        def ask(fields: Sequence[str]) -> Completed:
            command = [path, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
            return self.host.run(command, patience=DRIVER_PATIENCE)

        answer = ask(SMI_FIELDS)
        refused = answer.code not in (*SMI_ANSWERS, None) and not answer.timed_out
        return ask(SMI_FIELDS[:-1]) if refused else answer
