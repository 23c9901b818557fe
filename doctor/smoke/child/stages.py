"""Last part of the trial's child: the stages in turn, each told to the doctor as it starts and ends."""

import contextlib
import faulthandler
import os
import sys
import tempfile
import time

STAGES = {
    "import-torch": import_torch,
    "see-gpu": see_gpu,
    "import-bitsandbytes": import_bitsandbytes,
    "import-transformers": import_transformers,
    "import-accelerate": import_accelerate,
    "import-peft": import_peft,
    "import-trl": import_trl,
    "load-4bit": load_4bit,
    "lora-step": lora_step,
    "qlora-step": qlora_step,
    "save-load": save_load,
    "trainer-step": trainer_step,
    "sft-step": sft_step,
    "import-flash-attn": import_flash_attn,
}


def peak_bytes():
    """The most memory this process held so far; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def flush():
    """Send on what the libraries printed, so that it stands before the event that follows it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a library may have closed or replaced it
            stream.flush()


def run_stage(stage):
    """Try one stage and tell how it went; True where it passed."""
    flush()
    emit({"event": "start", "stage": stage})
    record, outcome, blocked_by, failure = Record(), "ok", "", None
    began = time.perf_counter()
    try:
        MADE[stage] = STAGES[stage](record)
    except Blocked as missing:
        outcome, blocked_by = "blocked", missing.stage
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a library may answer an import with SystemExit
        outcome, failure = "raised", describe(error)
    seconds = time.perf_counter() - began
    flush()
    emit(
        {
            "event": "end",
            "stage": stage,
            "outcome": outcome,
            "blocked_by": blocked_by,
            "seconds": seconds,
            "peak_bytes": peak_bytes(),
            "failure": failure,
            "details": record.details,
            "proofs": record.proofs,
        }
    )
    return outcome == "ok"


def run_stages(stages):
    """Try the stages in turn; a failed import ends the process, for it leaves half-made modules behind."""
    for stage in stages:
        if run_stage(stage):
            continue
        FAILED.add(stage)
        if stage.startswith("import-"):
            return


faulthandler.enable(2)  # a fatal signal prints the stack on the real standard error
tempfile.tempdir = CONFIG["folder"]
restore_local_entries()
run_stages(CONFIG["stages"])
flush()
os._exit(0)  # the teardown of torch takes long, and nothing is left to be seen
