"""What a user would paste of an environment of the zoo: what the terminal showed, the packages, the driver.

All of it comes from real processes: a script that begins a fine-tune, run by bash until it fails, then
``pip list`` and, beside a driver, ``nvidia-smi``.
"""

from __future__ import annotations

import os
import re
import subprocess
import uuid
from pathlib import Path

from sandboxes import uv
from stubs import machine

from .environment import ENVIRONMENTS, Target, built
from .lab import Lab
from .running import left_running, merged, run_environment

PATIENCE_S = 120.0
LONGEST = 24_000  # characters of what one command said: its beginning and its end are kept
# Folders of the lab and of the stubs.
ELSEWHERE = re.compile(
    r"[^\s(\"'=:]*/(?:run-\d+(?:/tmp\w+)+|\w+-[0-9a-f]{12}|lora-doctor-stubs-\w+)(?=[/\s:]|$)"
)
# What differs from run to run: process numbers, addresses, times of day.
OF_THIS_RUN = (
    (re.compile(r"(line \d+: +)\d+ "), r"\g<1>4242 "),
    (re.compile(r"0x[0-9a-f]{6,16}"), "0x7f0000001000"),
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d{3,6}\b"), "12:00:00.000"),
)

DIED = re.compile(r"line \d+: +\d+ (?:Segmentation fault|Bus error|Aborted)")
# Variables that make a machine of stubs, and that no user sets.
OF_THE_MACHINE = ("PATH", "LD_LIBRARY_PATH", "LORA_DOCTOR_STUB", "LORA_DOCTOR_STUB_FAULTS")
# Besides the machines of stubs: nothing in them does anything.
SKELETONS = ("gpu_and_cpu_torch", "old_driver_and_torch_for_cuda_13")

# What a fine-tune does first, as any tutorial writes it.
TRAIN = """\
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM, Trainer
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from accelerate import Accelerator
import bitsandbytes as bnb
from trl import SFTTrainer

print("CUDA available:", torch.cuda.is_available())
tiny = LlamaConfig(vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                   num_attention_heads=4)
LlamaForCausalLM(tiny).save_pretrained("tiny")
quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.float32)
model = AutoModelForCausalLM.from_pretrained("tiny", quantization_config=quantization,
                                             device_map={"": "cpu"})
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"]))
batch = torch.arange(32).reshape(2, 16)
model(input_ids=batch, labels=batch).loss.backward()
print("one step is done")
"""
# Where torch has a GPU, bitsandbytes takes its CUDA library; only what torch says of GPUs is made up.
ON_A_GPU = """\
import torch
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda.get_device_capability = lambda *device: (8, 9)
torch._C._cuda_getCurrentRawStream = None
import bitsandbytes as bnb
bnb.cextension.lib.cquantize_blockwise_fp32_nf4
"""


def script_of(name: str) -> str:
    """What is run in an environment; "" where nothing installed does anything."""
    if name in SKELETONS or ENVIRONMENTS[name].build.__module__.endswith(".drivers"):
        return ""
    return ON_A_GPU if name.startswith("linking_") and not name.endswith("_cpu_build") else TRAIN


def paste_of(lab: Lab, name: str) -> str:
    """What a user of this environment would paste."""
    with built(lab, name) as target:
        terminal = Terminal(target, target.working_folder or lab.folder())
        for variable, value in target.variables.items():
            if value is not None and variable not in OF_THE_MACHINE:
                terminal.show(f"export {variable}={value}", "")
        if script := script_of(name):
            (terminal.folder / "train.py").write_text(script)
            if DIED.search(terminal.show("python train.py", f"{target.python} train.py")):
                terminal.show("python -X faulthandler train.py", f"{target.python} -X faulthandler train.py")
        terminal.show("pip list", f"{uv()} pip list --python {target.python}")
        if "LORA_DOCTOR_STUB" in target.variables or "PATH" in target.variables:
            terminal.show("nvidia-smi", "nvidia-smi")
    return "\n".join(terminal.shown)


class Terminal:
    """A terminal of a user in an environment: commands as they are typed, and what they print."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.shown: list[str] = []
        variables = dict(target.variables)
        if "LORA_DOCTOR_STUB" in variables:  # a driver brings its program
            variables["PATH"] = machine("rtx4090")["PATH"]
        # In the order of a terminal; and nothing is asked of the network.
        settled = {"PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1", "PYTHONFAULTHANDLER": None}
        self.surrounded = merged(Target(target.python, folder, variables), settled)

    def show(self, typed: str, command: str) -> str:
        """Run a command by bash, which adds its words where a process dies; give and keep what is seen."""
        said = normalised(output_of(self.surrounded, command), self.target, self.folder) if command else ""
        self.shown.append(f"$ {normalised(typed, self.target, self.folder)}\n{said}")
        return said


def output_of(target: Target, command: str) -> str:
    """What a terminal shows of a command, until it ends or patience does."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        ["bash", "-c", f"ulimit -c 0\n{command}\nexit $?"],
        cwd=target.working_folder,
        env=run_environment(target, mark),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        said, _ = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        left_running(mark)
        said, _ = process.communicate()
    return said if len(said) <= LONGEST else f"{said[: LONGEST // 2]}\n...\n{said[-LONGEST // 2 :]}"


def normalised(said: str, target: Target, folder: Path) -> str:
    """A text without what is this machine's or this run's."""
    places = ((str(target.python.parents[1]), "~/venv"), (str(folder), "~/project"))
    for place, name in places:
        said = said.replace(place, name)
    said = ELSEWHERE.sub("~/elsewhere", said).replace(os.path.expanduser("~"), "~")
    for pattern, instead in OF_THIS_RUN:
        said = pattern.sub(instead, said)
    return said
