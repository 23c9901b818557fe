"""The options of ``fit``, and the plan that they make.

Annotations are values here, not texts, which typer would evaluate one by one at every start.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from doctor.cli import machine, options

if TYPE_CHECKING:
    from doctor.memory.plan import Plan

Whole = int | None
Switch = bool | None
PLAN, MODEL, ANSWER = "The plan", "The model", "The answer"


def said(*names: str, help: str, metavar: str | None = None, panel: str = PLAN) -> Any:
    """An option of a panel."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel)


class FitOptions(msgspec.Struct, kw_only=True):
    """What ``fit`` is asked; None for what is not said."""

    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help='A config.json, a folder, a model id in the local cache, or a name such as "llama-2-7b".',
        ),
    ] = None
    parameters: Annotated[
        str | None,
        said(
            "--parameters", metavar="7B", help="In place of a MODEL, with the error that brings.", panel=MODEL
        ),
    ] = None
    trust_remote_code: Annotated[
        bool,
        said("--trust-remote-code", help="Let the trace run code that comes with the model.", panel=MODEL),
    ] = False

    plan: Annotated[
        str | None, said("--plan", metavar="FILE", help="plan.toml or train.py; options take its place.")
    ] = None
    method: Annotated[Literal["lora", "qlora", "full"] | None, said("--method", help="What is trained.")] = (
        None
    )
    rank: Annotated[Whole, said("--rank", metavar="16", help="Of the adapter.")] = None
    target_modules: Annotated[
        str | None, said("--target-modules", metavar="all-linear", help="all-linear, or q_proj,v_proj,...")
    ] = None
    modules_to_save: Annotated[
        str | None, said("--modules-to-save", metavar="lm_head,...", help="Trained in full beside it.")
    ] = None
    lora_dropout: Annotated[
        str | None, said("--lora-dropout", metavar="0.05", help="Of the adapter's input.")
    ] = None
    dora: Annotated[Switch, said("--dora/--no-dora", help="Weight-decomposed adapters.")] = None
    adapter_config: Annotated[
        str | None,
        said("--adapter-config", metavar="FILE", help="An adapter_config.json, as PEFT writes it."),
    ] = None
    batch_size: Annotated[
        Whole, said("--batch-size", metavar="4", help="Sequences that a device holds at once.")
    ] = None
    accumulation: Annotated[Whole, said("--accumulation", metavar="1", help="Micro-batches a step.")] = None
    sequence_length: Annotated[Whole, said("--sequence-length", metavar="2048", help="Tokens.")] = None
    padded: Annotated[Switch, said("--padded/--no-padded", help="Batches carry a mask of padding.")] = None
    gradient_checkpointing: Annotated[
        Switch,
        said("--gradient-checkpointing/--no-gradient-checkpointing", help="Compute activations twice."),
    ] = None
    optimizer: Annotated[
        str | None, said("--optimizer", metavar="adamw_torch", help="As transformers names it.")
    ] = None
    attention: Annotated[
        Literal["eager", "sdpa", "flash_attention_2"] | None, said("--attention", help="Its implementation.")
    ] = None
    dtype: Annotated[
        Literal["bfloat16", "float16", "float32"] | None,
        said("--dtype", help="Of the weights that are not quantised."),
    ] = None
    double_quant: Annotated[
        Switch, said("--double-quant/--no-double-quant", help="Quantise the scales too.")
    ] = None
    kbit_upcast: Annotated[
        Switch,
        said("--kbit-upcast/--no-kbit-upcast", help="prepare_model_for_kbit_training is called."),
    ] = None
    loop: Annotated[
        Literal["bare", "trainer", "sft"] | None,
        said("--loop", help="Who trains: a loop of your own, Trainer, SFTTrainer."),
    ] = None
    fused_loss: Annotated[
        Switch, said("--fused-loss/--no-fused-loss", help="Logits are never there as a whole.")
    ] = None
    expandable_segments: Annotated[
        Switch,
        said("--expandable-segments/--no-expandable-segments", help="As set in PYTORCH_ALLOC_CONF."),
    ] = None
    gpus: Annotated[Whole, said("--gpus", metavar="1", help="GPUs that train together.")] = None
    sharding: Annotated[
        Literal["none", "zero2", "zero3", "fsdp"] | None, said("--sharding", help="What they divide.")
    ] = None
    offload: Annotated[
        Literal["none", "optimizer", "parameters"] | None, said("--offload", help="What the CPU keeps.")
    ] = None

    estimator: Annotated[
        Literal["auto", "formula", "trace"],
        said("--estimator", help="auto: the trace where the target has torch.", panel=ANSWER),
    ] = "auto"
    best: Annotated[
        bool, said("--best", help="Search the best plan that fits; options stay as given.", panel=ANSWER)
    ] = False
    table: Annotated[
        bool, said("--table", help="Sequence length against batch: what fits.", panel=ANSWER)
    ] = False
    levers: Annotated[
        Literal["formula", "traced", "none"],
        said("--levers", help="How what each lever saves is estimated.", panel=ANSWER),
    ] = "formula"
    measure: Annotated[
        bool, said("--measure", help="Run two steps on this machine and compare.", panel=ANSWER)
    ] = False
    bisect: Annotated[
        bool, said("--bisect", help="Find the largest length and batch that run, by running.", panel=ANSWER)
    ] = False
    limit: Annotated[
        str | None,
        said("--limit", metavar="4GiB", help="Memory that a measured run may take at most.", panel=ANSWER),
    ] = None
    image: Annotated[
        str | None, said("--image", metavar="FILE.svg", help="Draw the parts of the peak.", panel=ANSWER)
    ] = None

    python: options.Python = None
    cpu: Annotated[bool, typer.Option("--cpu", help="Hold it against the system's memory, not a GPU's.")] = (
        False
    )
    python_version: machine.PythonVersion = None
    os: machine.Os = None
    arch: machine.Arch = None
    driver: machine.DriverVersion = None
    gpu: machine.GpuName = None
    compute_capability: machine.ComputeCapability = None
    gpu_memory: machine.GpuMemory = None
    torch_cuda: machine.TorchCuda = None
    format: options.FormatOption = "terminal"
    output: options.Output = None
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 for a tight fit as well.")] = False
    no_color: options.NoColor = False


# Options that are the plan's field of the same name as they stand.
AS_THEY_ARE = (
    "method rank dora batch_size accumulation sequence_length padded gradient_checkpointing optimizer "
    "attention dtype double_quant kbit_upcast loop fused_loss expandable_segments gpus sharding offload"
).split()


def plan_of(asked: FitOptions, start: "Plan") -> "tuple[Plan, tuple[str, ...]]":
    """The plan with what the options say in it, and the fields that they set.

    Raises :class:`~doctor.memory.validity.PlanInvalid`.
    """
    from doctor.memory.validity import validated

    found = {name: value for name in AS_THEY_ARE if (value := getattr(asked, name)) is not None}
    for name in ("target_modules", "modules_to_save"):
        if (text := getattr(asked, name)) is not None:
            found[name] = names(text, name)
    if asked.lora_dropout is not None:
        found["lora_dropout"] = share(asked.lora_dropout)
    return validated(msgspec.structs.replace(start, **found)), tuple(found)


def names(text: str, field: str) -> tuple[str, ...]:
    """Names between commas. Raises :class:`~doctor.memory.validity.PlanInvalid` where there are none."""
    from doctor.memory.validity import PlanInvalid

    parts = tuple(part for part in (piece.strip() for piece in text.split(",")) if part)
    if not parts:
        option = f"--{field.replace('_', '-')}"
        raise PlanInvalid(f"{option} names nothing", "name modules between commas: q_proj,v_proj")
    return parts


def share(text: str) -> float:
    """A number; whether it can be a share is for the plan to say. Raises as :func:`names` does."""
    from doctor.memory.validity import PlanInvalid

    try:
        return float(text)
    except ValueError:
        raise PlanInvalid(f"--lora-dropout {text!r} is no number", "give a share such as 0.05") from None
