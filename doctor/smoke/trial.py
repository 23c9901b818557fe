"""Runs the trial stage by stage, and turns a child's exception, death or silence into a fact.

One child runs as many stages as it survives. After a failed import it ends, since a half-imported
library would colour whatever follows; after a death or a hang it has ended. Either way the next child
takes up the stages that are left. A healthy target therefore pays for one interpreter, and a broken
one still gets an answer for each stage.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from doctor.child import Patience
from doctor.collectors import Collected, Event, collect, program
from doctor.host import Host
from doctor.smoke.child import PARTS
from doctor.target import Target

NOISE_KEPT = 2000  # characters of what a stage prints, its end
STAGE_LIMIT_S = 90.0  # of one stage that computes or reads all the while
IDLE_S = 20.0  # a child that neither computes nor reads for so long hangs

# Every stage in its order, with the stages that must have passed and the packages it needs.
STAGES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "import-torch": ((), ("torch",)),
    "see-gpu": (("import-torch",), ()),
    "import-bitsandbytes": (("import-torch",), ("bitsandbytes",)),
    "import-transformers": (("import-torch",), ("transformers",)),
    "import-accelerate": (("import-torch",), ("accelerate",)),
    "import-peft": (("import-torch",), ("peft",)),
    "import-trl": (("import-torch",), ("trl",)),
    "load-4bit": (("import-transformers", "import-accelerate", "import-bitsandbytes"), ()),
    "lora-step": (("import-transformers", "import-peft"), ()),
    "qlora-step": (("load-4bit", "import-peft"), ()),
    "save-load": (("qlora-step",), ()),
    "trainer-step": (("import-transformers", "import-accelerate", "import-peft"), ()),
    "sft-step": (("import-trl", "import-peft"), ("datasets",)),
    # Last: where it was built for another torch, it may kill the process.
    "import-flash-attn": (("import-torch",), ("flash-attn",)),
}

# Nothing is fetched, nothing is written outside the trial's folder, no launcher's ranks leak in.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "WANDB_DISABLED": "true",
    "WANDB_MODE": "disabled",
    "OMP_NUM_THREADS": "1",  # a tiny model gains nothing from threads and loses much on a busy machine
    "MPLBACKEND": "agg",
}
FOLDERS = ("HF_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "MPLCONFIGDIR", "TMPDIR")
LAUNCHER = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

FATAL = re.compile(r"^Fatal Python error: .{0,200}$", re.M)
# faulthandler tells of every thread; the one that died or was asked is called the current one.
CURRENT_THREAD = re.compile(r"^(?:Current thread|Stack) .{0,200}\n(?:  .{0,800}\n?)*", re.M)
STACK_FRAME = re.compile(r'^  File "([^"\n]{1,500})", line (\d{1,7}) in (.{1,200})$', re.M)


class Trial:
    """One trial of one target: outcomes gather here, stage by stage, as plain dictionaries."""

    def __init__(self, host: Host, target: Target) -> None:
        self.host, self.target = host, target
        self.stage_limit_s = STAGE_LIMIT_S
        self.on_stage: Callable[[str], None] | None = None  # told each stage as it starts
        self.runs: dict[str, dict[str, Any]] = {}
        self.details: dict[str, Mapping[str, Any]] = {}
        self._installed: Collection[str] = ()
        self._site_folders: Sequence[str] = ()
        self._noise: dict[str, list[str]] = {}
        self._current, self._began = "", 0.0
        self._ended = False
        self._changed = threading.Condition()

    def run(self, installed: Collection[str], site_folders: Sequence[str]) -> None:
        """Start children until every stage has an outcome; each child settles at least one."""
        self._installed, self._site_folders = installed, site_folders
        try:
            with self.host.temporary_folder() as folder:
                while pending := [stage for stage in self._stages() if stage not in self.runs]:
                    ready = self._without_blocked(pending)
                    if ready:
                        self._current, self._began = "", time.monotonic()
                        self._settle(self._child(ready, folder), ready)
        finally:
            self.end()

    def end(self) -> None:
        """Let go whoever waits for a stage that will have no outcome."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _stages(self) -> list[str]:
        """The stages of this target: a step of trl's trainer is one of transformers' as well."""
        needless = {"trainer-step"} if "trl" in self._installed else set()
        if "flash-attn" not in self._installed:
            needless.add("import-flash-attn")  # nobody lacks it
        return [stage for stage in STAGES if stage not in needless]

    def outcome_of(self, stage: str) -> dict[str, Any] | None:
        """Wait until a stage has its outcome; None where the trial broke off before."""
        with self._changed:
            self._changed.wait_for(lambda: stage in self.runs or self._ended)
            return self.runs.get(stage)

    def _record(self, stage: str, **outcome: Any) -> None:
        with self._changed:
            self.runs[stage] = {"stage": stage, **outcome}
            self._changed.notify_all()

    def _without_blocked(self, pending: Sequence[str]) -> list[str]:
        """The stages whose needs hold or may still come to hold; the others get their outcome now."""
        ready: list[str] = []
        for stage in pending:
            reason = self._obstacle(stage)
            if reason:
                self._record(stage, outcome="blocked", blocked_by=reason)
            else:
                ready.append(stage)
        return ready

    def _obstacle(self, stage: str) -> str:
        stages, packages = STAGES[stage]
        absent = [name for name in packages if name not in self._installed]
        if absent:
            return f"{absent[0]} is not installed"
        unmet = (need for need in stages if self.runs.get(need, {"outcome": "ok"})["outcome"] != "ok")
        return next(unmet, "")

    def _child(self, stages: Sequence[str], folder: str) -> Collected:
        env = {name: value for name, value in self.host.env.items() if name not in LAUNCHER}
        return collect(
            self.host,
            self.target.executable,
            program(PARTS, "doctor.smoke.child"),
            {"stages": list(stages), "folder": folder, "quantised": self._may_quantise()},
            patience=Patience(self.stage_limit_s, min(IDLE_S, self.stage_limit_s), ask_stack=True),
            env={**env, **OFFLINE, **dict.fromkeys(FOLDERS, folder)},
            merge=True,
            on_event=self._take,
            on_noise=lambda line: self._noise.setdefault(self._current, []).append(line),
        )

    def _may_quantise(self) -> bool:
        """Has no earlier child failed at the 4-bit load? One that died there would die there again."""
        run = self.runs.get("load-4bit")
        return run is None or bool(run["outcome"] == "ok")

    def _take(self, event: Event) -> None:
        stage = str(event.get("stage"))
        if event.get("event") == "start":
            self._current, self._began = stage, time.monotonic()
            if self.on_stage:
                self.on_stage(stage)
            return
        self.details[stage] = event.get("details") or {}
        failure = event.get("failure")
        self._record(
            stage,
            outcome="failed" if event["outcome"] == "raised" else event["outcome"],
            seconds=event.get("seconds", 0.0),
            peak_bytes=event.get("peak_bytes", 0),
            failure={"kind": "raised", **failure} if failure else None,
            blocked_by=event.get("blocked_by", ""),
            proofs=event.get("proofs") or [],
            noise=self._noise_of(stage),
        )

    def _noise_of(self, stage: str) -> str:
        return "".join(self._noise.pop(stage, ())).strip()[-NOISE_KEPT:]

    def _settle(self, child: Collected, ready: Sequence[str]) -> None:
        """Give the stage in which a child died or hung its outcome, so that no child changes nothing."""
        done, stage = child.completed, self._current or ready[0]
        if stage in self.runs:
            # It ended between stages: as it should after a failed import, and else for no known reason.
            left = [name for name in ready if name not in self.runs]
            failed_now = stage in ready and self.runs[stage]["outcome"] == "failed"
            if not left or (failed_now and done.code == 0 and not done.timed_out):
                return
            stage = left[0]
        noise = "".join(self._noise.pop(stage, ())).strip() or child.noise
        seconds = time.monotonic() - self._began
        death = self._death(child, noise, seconds)
        self._record(stage, outcome="failed", seconds=seconds, failure=death, noise=noise[-NOISE_KEPT:])

    def _death(self, child: Collected, noise: str, seconds: float) -> dict[str, Any]:
        done = child.completed
        start = FATAL.search(noise)
        stack = CURRENT_THREAD.search(noise, start.start()) if start else None
        frames = STACK_FRAME.findall(stack.group(0)) if stack else []
        words = start.group(0) if start else done.error or f"exit code {done.code}"
        if done.timed_out:
            still = "neither computes nor reads" if done.idle else "is not done, and still computes,"
            words = f"{still} after {seconds:.0f} s"
        return {
            "kind": "hung" if done.timed_out else "died",
            "chain": [["", words]],
            "signal": done.signal,
            # faulthandler names the innermost frame first; ours come last, as in a traceback.
            "modules": self._modules([path for path, _, _ in reversed(frames)]),
            "frames": [f"{path}:{line} in {name}" for path, line, name in reversed(frames[:8])],
            "deadline_s": seconds,
        }

    def _modules(self, paths: Sequence[str]) -> list[str]:
        """Top-level modules of files below a site folder, in their order, the last of each kept."""
        names: dict[str, None] = {}
        for path in paths:
            folder = next((folder for folder in self._site_folders if path.startswith(folder)), None)
            if folder:
                name = re.split(r"[/\\.]", path[len(folder) :].lstrip("/\\"), maxsplit=1)[0]
                names.pop(name, None)
                names[name] = None
        return list(names)
