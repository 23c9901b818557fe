"""Messages of the libraries, of pip and of Python that several faults print.

What the tables of releases decide ("cannot import name", "requires X>=Y") is looked up, not told apart here.
"""

from __future__ import annotations

from doctor.triage.suspects import Ambiguous, Suspect
from doctor.triage.suspects.modules import MODULES
from doctor.triage.suspects.stated import (
    SAYS_INSTALLED,
    STALE,
    has,
    is_absent,
    is_all_before,
    is_before,
    is_from,
    missing_or_mixed,
    unless,
)
from doctor.triage.suspects.telling import (
    all_of,
    any_of,
    certainly,
    on_windows,
    one_of,
    opposite,
    says,
    torch_is_cpu,
    untold,
    without,
)

EARLY = "2023-07"  # the first half year of LoRA on quantised models, when everything was young
LATE = "2024"  # bitsandbytes 0.45, of December, is not far
OF_TRANSFORMERS_5 = "2025-12"  # its first month

EARLY_WORDS = says(
    "prepare_model_for_int8_training",
    "decapoda-research",
    r"re:\b(?:alpaca-lora|LLaMATokenizer|guanaco|chatglm-6b|vicuna-13b-delta)\b",
)
DISTRIBUTED = says(
    r"re:\b(?:torchrun|accelerate launch|deepspeed|mpirun|DistributedDataParallel|DDP)\b",
    r"re:torch\.distributed\.(?:launch|run)",
    r"re:device_map ?= ?[\"']auto",
    r"re:LOCAL_RANK|num_processes|\[rank\d{1,3}\]",
)
SEES_NO_GPU = says(
    r"re:Unsloth: (?:No NVIDIA GPU found|Unsloth currently only (?:works|supports))",
    r"re:NotImplementedError: Unsloth[^\n]{0,60}(?:GPU|accelerator)",
    "Unsloth cannot find any torch accelerator",
    r"re:is_available\(\)[^\n]{0,12}False",
    "Torch not compiled with CUDA enabled",
)
FIRST_TO_TELL_DEVICES = "0.20.0"  # of accelerate: before, cuda:0 and 0 were two devices to it
WORDS_SINCE_THEN = says(
    "precision on multiple devices in any distributed mode",
    r"re:or `?device_map=\{'':torch\.xpu",
    "8-bit or 4-bit precision",
)
SPREAD = "script/quantized-model-spread-over-devices"

BACKWARD_FIELD = Ambiguous(
    r"re:MatmulLtState.? object has no attribute .?memory_efficient_backward",
    (
        Suspect(
            "bitsandbytes/too-old",
            certainly(
                any_of(
                    is_before("bitsandbytes", "0.37.0"),
                    all_of(without(has("bitsandbytes")), any_of(is_all_before(EARLY), EARLY_WORDS)),
                )
            ),
            "bitsandbytes below 0.37 does not have the field yet",
        ),
        Suspect(
            "peft/too-old",
            certainly(
                any_of(
                    all_of(is_before("peft", "0.14.0"), is_from("bitsandbytes", "0.45.0")),
                    all_of(is_before("peft", "0.14.0"), opposite(is_all_before(EARLY))),
                    all_of(without(has("peft")), is_from("bitsandbytes", "0.45.0")),
                    all_of(without(has("peft")), without(EARLY_WORDS), opposite(is_all_before(LATE))),
                )
            ),
            "peft below 0.14 reads the field, which bitsandbytes 0.45 removed",
        ),
        Suspect("peft/too-old", unless(is_from("peft", "0.14.0"))),
        Suspect("bitsandbytes/too-old", unless(has("bitsandbytes"))),
    ),
    "Which versions of peft and bitsandbytes are installed?",
    ("python", "-m", "pip", "show", "peft", "bitsandbytes"),
)

NEEDS_ACCELERATE = Ambiguous(
    one_of(
        r"Using `?low_cpu_mem_usage=True`?[^\n]{0,80}requires Accelerate",
        r"Using a `?device_map`?[^\n]{0,160}requires `?[Aa]ccelerate",
        r"--deepspeed requires Accelerate to be installed",
        r"Using the `?Trainer`? with `?PyTorch`? requires `?accelerate",
        r"accelerate is required when loading a GGUF",
    ),
    (
        Suspect(
            "accelerate/too-old",
            certainly(is_before("accelerate", "0.20.1")),
            "accelerate is older than what any of these messages asks for",
        ),
        *missing_or_mixed("accelerate"),
    ),
    "What does this print, with the interpreter that runs the script?",
    ("python", "-c", "import accelerate; print(accelerate.__version__, accelerate.__file__)"),
)

NEEDS_BOTH = Ambiguous(
    r"re:Using `?load_in_8bit=True`? requires Accelerate",
    (
        Suspect("accelerate/missing", certainly(is_absent("accelerate")), "accelerate is not installed"),
        Suspect("bitsandbytes/missing", certainly(is_absent("bitsandbytes")), "there is no bitsandbytes"),
        Suspect("torch/cpu-only-build", certainly(torch_is_cpu), "torch is a build for the CPU"),
        Suspect(
            STALE,
            certainly(any_of(all_of(has("accelerate"), has("bitsandbytes")), SAYS_INSTALLED)),
            "both are told as installed",
        ),
        Suspect("bitsandbytes/missing", unless(has("bitsandbytes"))),
        Suspect("accelerate/missing", unless(has("accelerate"))),
        Suspect("torch/cpu-only-build", untold),
    ),
    "Which releases of accelerate and bitsandbytes are there, and does torch see a GPU?",
    ("python", "-m", "pip", "show", "accelerate", "bitsandbytes", "torch"),
)

ON_ANOTHER_DEVICE = Ambiguous(
    r"re:can.t train a model that has been loaded in 8-bit (?:or 4-bit )?precision on"
    r" (?:a different device|multiple devices)",
    (
        Suspect(
            "accelerate/too-old",
            certainly(is_before("accelerate", FIRST_TO_TELL_DEVICES)),
            "this accelerate takes a device for another one",
        ),
        Suspect(
            SPREAD,
            certainly(is_from("accelerate", FIRST_TO_TELL_DEVICES)),
            "this accelerate refuses it for that reason alone",
        ),
        Suspect(SPREAD, certainly(WORDS_SINCE_THEN), "an accelerate of 0.20 or newer words it so"),
        Suspect(SPREAD, certainly(DISTRIBUTED), "several processes or devices are used"),
        Suspect(
            "accelerate/too-old",
            certainly(says(r"re:(?m:8-bit precision on multiple devices\.?[ \t]{0,3}$)")),
            "accelerate below 0.20 words it so, and takes no model over several devices at all",
        ),
        Suspect("accelerate/too-old", untold),
        Suspect(SPREAD, untold),
    ),
    "Which accelerate is installed, how many processes are started, and with which device_map?",
    ("python", "-m", "pip", "show", "accelerate"),
)

UNSLOTH_ZOO = Ambiguous(
    r"re:[Pp]lease install `?unsloth[_-]zoo",
    (
        Suspect("torch/cpu-only-build", certainly(torch_is_cpu), "torch is a build for the CPU"),
        Suspect(
            "unsloth/zoo-mismatch",
            certainly(
                says(
                    r"re:cannot import name .\w{1,80}. from .unsloth",
                    r"re:No module named .unsloth_zoo\.\w",
                )
            ),
            "the one asks for a name that the other lacks",
        ),
        Suspect("torch/cpu-only-build", certainly(SEES_NO_GPU), "unsloth sees no GPU"),
        Suspect(
            "unsloth/zoo-missing",
            certainly(any_of(says(r"re:No module named .unsloth_zoo.(?!\w)"), is_absent("unsloth-zoo"))),
            "there is no module unsloth_zoo",
        ),
        Suspect(
            "torch/cpu-only-build",
            certainly(all_of(on_windows, without(says(r"re:\+cu1[123]\d")))),
            "on Windows the index has torch for the CPU alone, and unsloth wants a GPU",
        ),
        Suspect("torch/cpu-only-build", untold),
        Suspect("unsloth/zoo-mismatch", untold),
        Suspect("unsloth/zoo-missing", unless(has("unsloth-zoo"))),
    ),
    "unsloth hides the first error behind this one. Which error does this print first?",
    (
        "python",
        "-c",
        "import torch; print(torch.__version__, torch.cuda.is_available()); import unsloth_zoo",
    ),
)

BITS_NOT_TAKEN = Ambiguous(
    r"re:unexpected keyword argument:? .?load_in_[48]bit",
    (
        Suspect(
            "transformers/removed-argument",
            certainly(is_from("transformers", "5.0.0")),
            "transformers 5 dropped the argument",
        ),
        Suspect(
            "transformers/too-old",
            certainly(is_before("transformers", "4.30.0")),
            "transformers 4.30 is the first that takes it",
        ),
        Suspect(
            "transformers/removed-argument",
            certainly(all_of(without(has("transformers")), opposite(is_all_before(OF_TRANSFORMERS_5)))),
            "what is told of is of the time of transformers 5",
        ),
        Suspect("transformers/too-old", unless(has("transformers"))),
        Suspect("transformers/removed-argument", unless(has("transformers"))),
    ),
    "Which transformers is imported?",
    ("python", "-c", "import transformers; print(transformers.__version__, transformers.__file__)"),
)

AMBIGUOUS: tuple[Ambiguous, ...] = (
    BACKWARD_FIELD,
    NEEDS_ACCELERATE,
    NEEDS_BOTH,
    ON_ANOTHER_DEVICE,
    UNSLOTH_ZOO,
    BITS_NOT_TAKEN,
    *MODULES,
)
