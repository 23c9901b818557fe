"""Who is who in a training script: the trainer, its arguments, and what loaded and prepared the model."""

from __future__ import annotations

from doctor.memory.following import Following, argument_of
from doctor.memory.plan import Loop
from doctor.memory.validity import PlanInvalid
from doctor.script import Call, Script

TRAINERS: dict[str, Loop] = {
    "SFTTrainer": "sft",
    "UnslothTrainer": "sft",
    "Trainer": "trainer",
    "Seq2SeqTrainer": "trainer",
}
ARGUMENTS = ("SFTConfig", "TrainingArguments", "Seq2SeqTrainingArguments", "UnslothTrainingArguments")
OPTIMIZER_CALLS = ("AdamW8bit", "Adam8bit", "PagedAdamW8bit", "PagedAdamW32bit", "PagedAdamW", "Lion8bit")
PREPARING = ("prepare_model_for_kbit_training", "prepare_model_for_int8_training")
UNSLOTH = ("FastLanguageModel", "FastModel", "FastVisionModel")
# Their trainers hold further models or generate, which no estimate here counts.
BEYOND = (
    "DPO",
    "GRPO",
    "PPO",
    "KTO",
    "ORPO",
    "CPO",
    "RLOO",
    "Online",
    "GKD",
    "Reward",
    "BCO",
    "XPO",
    "Nash",
    "PRM",
)


class Roles:
    """The calls that decide the memory of one run. Raises PlanInvalid for a trainer that is not estimated."""

    def __init__(self, script: Script) -> None:
        self.follow = Following(script)
        self.loop: Loop = "bare"
        self.trainer = self._trainer()
        self.args = self._args()
        self.loading: Call | None = None  # from_pretrained of the model
        self.adapting: Call | None = None  # the LoraConfig, or Unsloth's get_peft_model
        self.preparing: Call | None = None  # prepare_model_for_kbit_training
        self._walk_back()

    @property
    def unsloth(self) -> bool:
        """Is the model loaded by Unsloth, which brings kernels and defaults of its own?"""
        return self.loading is not None and owner_of(self.loading.callable) in UNSLOTH

    @property
    def has_adapter(self) -> bool:
        """Is there an adapter, even where what it is like could not be followed?"""
        return self.adapting is not None or any(
            call.argument("peft_config") for call in (self.trainer,) if call is not None
        )

    @property
    def trains(self) -> bool:
        """Is anything trained: by a trainer, or by a loop that shows itself by an adapter or a backward?"""
        signs = (*OPTIMIZER_CALLS, "backward", "train", "Accelerator.prepare")
        loops = self.loading is not None and next(self.follow.named(*signs), None) is not None
        return self.trainer is not None or self.adapting is not None or loops

    def _trainer(self) -> Call | None:
        """The trainer of the run. Without one it is a loop of the script's own."""
        for call in self.follow.named(*TRAINERS):
            self.loop = TRAINERS[last_of(self.follow.name_of(call))]
            return call
        for call in self.follow.script.calls:
            name = last_of(self.follow.name_of(call))
            if name.endswith("Trainer") and name.startswith(BEYOND):
                hint = "Trainer and SFTTrainer are, and loops of one's own"
                raise PlanInvalid(
                    f"the memory of a {name} is not estimated ({self.follow.where(call)})", hint
                )
        return None

    def _args(self) -> Call | None:
        """The trainer's arguments; those that the script makes where the way between them is lost."""
        if self.trainer is None:
            return None
        given = self.follow.maker(argument_of(self.trainer, "args", position=1))
        made = list(self.follow.named(*ARGUMENTS))
        return given or (made[0] if len(made) == 1 else None)

    def _walk_back(self) -> None:
        """From the trainer's model to what loaded it, by way of what was done to it."""
        self.adapting = self.follow.maker(self.trainer.argument("peft_config")) if self.trainer else None
        argument = argument_of(self.trainer, "model", position=0) if self.trainer else None
        seen: set[int] = set()
        while (call := self.follow.maker(argument)) and call.number not in seen:
            seen.add(call.number)
            self._note(call)
            argument = argument_of(call, "model", position=0)
        for call in self.follow.script.calls:  # where the way is lost, the first that could be it
            self._note(call)

    def _note(self, call: Call) -> None:
        """Give a call the role that its name speaks of, unless another has it."""
        name = self.follow.name_of(call)
        if name.endswith(".from_pretrained") and loads_a_model(name):
            self.loading = self.loading or call
        elif last_of(name) in PREPARING:
            self.preparing = self.preparing or call
        elif last_of(name) in ("get_peft_model", "add_adapter"):
            self.adapting = self.adapting or self._adapter_of(call, name)
        elif last_of(name) == "LoraConfig" and self.has_adapter:
            self.adapting = self.adapting or call

    def _adapter_of(self, call: Call, name: str) -> Call | None:
        if owner_of(name) in UNSLOTH:
            return call
        position = 1 if name.endswith(".get_peft_model") else 0
        return self.follow.maker(argument_of(call, "peft_config", "adapter_config", position=position))


def last_of(name: str) -> str:
    """The last part of a dotted name."""
    return name.rpartition(".")[2]


def owner_of(name: str) -> str:
    """The part before the last: the class of a method."""
    return name.split(".")[-2] if "." in name else ""


def loads_a_model(name: str) -> bool:
    """Is a from_pretrained that of a model that may be trained, not of a tokenizer or a finished adapter?"""
    owner = owner_of(name)
    return owner in UNSLOTH or (owner.startswith("AutoModel") or "For" in owner) and "Peft" not in owner
