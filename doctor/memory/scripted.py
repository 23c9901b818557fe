"""A training script to the plan that it carries out: what it says, and what its libraries take otherwise.

A value that cannot be followed, as one from the command line, is not guessed: the library's own default
stands in for it and is told as assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doctor.memory.following import UNFOLLOWED, UNSAID, Absence, argument_of, entries
from doctor.memory.plan import Asked, Plan, patterned
from doctor.memory.roles import Roles, last_of
from doctor.memory.settling import fact
from doctor.memory.settling import said as told
from doctor.memory.validity import PlanInvalid, optimizer_named, spoken, validated
from doctor.script import Call, Script

# LoraConfig's own values, unchanged since PEFT 0.3.0, and those of FastLanguageModel.get_peft_model.
LORA: Mapping[str, Any] = {"rank": 8, "target_modules": (), "lora_dropout": 0.0}
UNSLOTH_LORA: Mapping[str, Any] = {
    "rank": 16,
    "target_modules": ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    "lora_dropout": 0.0,
}
BITSANDBYTES_OPTIMIZERS = {
    "Adam8bit": "adamw_8bit",
    "AdamW8bit": "adamw_8bit",
    "PagedAdam8bit": "paged_adamw_8bit",
    "PagedAdamW8bit": "paged_adamw_8bit",
    "PagedAdamW32bit": "paged_adamw_32bit",
    "PagedAdamW": "paged_adamw_32bit",
    "Lion8bit": "lion_8bit",
    "PagedLion8bit": "paged_lion_8bit",
}
DTYPES = {name: name for name in ("bfloat16", "float16", "float32")} | {"half": "float16", "float": "float32"}


def of_script(script: Script, versions: Mapping[str, str]) -> Asked:
    """The plan of a script under the target's versions ({}: the newest).

    Raises :class:`~doctor.memory.validity.PlanInvalid` where it trains nothing that can be estimated.
    """
    return Told(script, versions).asked()


class Told:
    """One script being turned into a plan: fields that are found, and sentences on those that are not."""

    def __init__(self, script: Script, versions: Mapping[str, str]) -> None:
        self.versions, self.roles = versions, Roles(script)
        self.said = self.roles.follow.said
        self.found: dict[str, Any] = {"loop": self.roles.loop}
        self.stated: dict[str, None] = {}  # fields whose value is read, in order
        self.assumed: list[str] = []
        self.pattern = ""  # of target modules, in place of their names

    def asked(self) -> Asked:
        """All of it, in the order in which later parts lean on earlier ones."""
        model = self._model()
        self._adapter()
        self._quantisation()
        self._dtype()
        self._arguments()
        self._checkpointing()
        self._attention()
        self._left_out()
        self._upcast()
        if left := self.roles.follow.options:
            listed = ", ".join(f"{name} {value}" for name, value in left.items())
            self.assumed.append(f"Options of the script are left at its own defaults: {listed}.")
        plan = validated(msgspec.structs.replace(Plan(), **self.found))
        plan = patterned(plan, self.pattern) if self.pattern else plan
        return Asked(
            model=model, plan=plan, stated=tuple(self.stated), assumed=tuple(dict.fromkeys(self.assumed))
        )

    def _model(self) -> str:
        """Its id or path; "" where the script does not say it plainly."""
        roles = self.roles
        if roles.loading is not None:
            word = self.said(roles.loading, "pretrained_model_name_or_path", "model_name", position=0)
        else:
            word = self.said(roles.trainer, "model", position=0)
        if not roles.trains:
            hint = "a script that calls Trainer or SFTTrainer, or has a loop of its own"
            raise PlanInvalid("no model is trained in this script", hint)
        return word if isinstance(word, str) else ""

    def _adapter(self) -> None:
        """Rank, targets and the rest of LoraConfig; a full fine-tune where there is none."""
        roles = self.roles
        self.found["method"] = "lora" if roles.has_adapter else "full"
        if not roles.has_adapter:
            return
        if (
            roles.adapting is not None
            and not roles.unsloth
            and last_of(roles.adapting.callable) != "LoraConfig"
        ):
            name = last_of(roles.adapting.callable)
            raise PlanInvalid(f"adapters of {name} are not estimated", "those of LoraConfig are")
        if roles.adapting is None:
            self.assumed.append("The adapter could not be followed: LoraConfig's own defaults are taken.")
        self.found |= UNSLOTH_LORA if roles.unsloth else LORA
        self._take("rank", roles.adapting, "r", kind=whole)
        self._take("lora_dropout", roles.adapting, "lora_dropout", kind=number)
        targets = self.said(roles.adapting, "target_modules")
        if isinstance(targets, str) and targets != "all-linear":
            self.pattern = targets
        else:
            self._take("target_modules", roles.adapting, "target_modules", kind=names)
        self._take("modules_to_save", roles.adapting, "modules_to_save", kind=names)
        self._take("dora", roles.adapting, "use_dora", kind=switch)

    def _quantisation(self) -> None:
        """Four bits or not. Raises PlanInvalid for eight."""
        loading, config = self.roles.loading, self._config()
        if True in (self.said(config, "load_in_8bit"), self.said(loading, "load_in_8bit")):
            raise PlanInvalid("weights in 8 bits are not estimated", "load_in_4bit is, and 16 bits")
        four = self.said(config or loading, "load_in_4bit")
        if four is True or (four is UNSAID and self.roles.unsloth):
            if self.found["method"] == "full":
                self.assumed.append(
                    "No adapter of the quantised model was found: LoraConfig's defaults are taken."
                )
                self.found |= LORA
            self.found |= {"method": "qlora", "double_quant": self.roles.unsloth}
            self._take("double_quant", config, "bnb_4bit_use_double_quant", kind=switch)
        elif four is UNFOLLOWED or (config is None and loading and loading.argument("quantization_config")):
            self.assumed.append(
                "Whether weights are quantised could not be followed: they are taken not to be."
            )

    def _config(self) -> Call | None:
        """The BitsAndBytesConfig of the model."""
        loading = self.roles.loading
        return self.roles.follow.maker(loading.argument("quantization_config")) if loading else None

    def _dtype(self) -> None:
        """Of the weights: as they are loaded, else as 4-bit products are computed, else by default."""
        loading, held = self.roles.loading, entries(self.roles.args, "model_init_kwargs")
        words = [
            self.said(loading, "dtype"),
            self.said(loading, "torch_dtype"),
            held.get("dtype"),
            held.get("torch_dtype"),
        ]
        compute = dtype_of(self.said(self._config(), "bnb_4bit_compute_dtype"))
        named = [name for word in words if (name := dtype_of(word))]
        if named or compute in ("bfloat16", "float16"):
            self.found["dtype"] = (named or [compute])[0]
        elif "auto" in words or self.roles.unsloth:
            self.assumed.append("The weights are as the checkpoint has them, taken for bfloat16.")
        elif loading is not None or not self._default("dtype_by_name", "dtype"):
            self._default("dtype", "dtype")

    def _arguments(self) -> None:
        """What TrainingArguments or SFTConfig are given, and what the trainer is given in their place."""
        args, trainer = self.roles.args, self.roles.trainer
        if args is None and trainer is not None:
            self.assumed.append("The training arguments could not be followed: defaults stand in for them.")
        self._take("batch_size", args, "per_device_train_batch_size", kind=whole)
        self._take("accumulation", args, "gradient_accumulation_steps", kind=whole)
        loading = self.roles.loading if self.roles.unsloth else None
        for call in (loading, args, trainer):
            self._take("sequence_length", call, "max_length", "max_seq_length", kind=whole)
        self._take("optimizer", args, "optim", kind=optimizer)
        if self.said(args, "use_liger_kernel", "use_liger") is True or self.roles.unsloth:
            self.found["fused_loss"] = True
        if self.roles.unsloth:
            self.assumed.append("Unsloth's own kernels are not modelled: it needs less than this.")

    def _checkpointing(self) -> None:
        """On by the arguments, by the model's method, or by prepare_model_for_kbit_training."""
        args, preparing, adapting = self.roles.args, self.roles.preparing, self.roles.adapting
        self._take(
            "gradient_checkpointing", args, "activation_checkpointing", "gradient_checkpointing", kind=switch
        )
        enabled = next(self.roles.follow.named("gradient_checkpointing_enable"), None)
        prepares = (
            preparing is not None
            and self.said(preparing, "use_gradient_checkpointing", position=1) is not False
        )
        if self.roles.unsloth:
            self.found["gradient_checkpointing"] = (
                self.said(adapting, "use_gradient_checkpointing") is not False
            )
        elif enabled or prepares:
            self.found["gradient_checkpointing"] = True
        given = (entries(args, f"{name}_checkpointing_kwargs") for name in ("activation", "gradient"))
        reentrant = next((one["use_reentrant"] for one in given if "use_reentrant" in one), None)
        if isinstance(reentrant, bool):
            self.found["reentrant"] = reentrant

    def _attention(self) -> None:
        loading = self.roles.loading
        word = entries(self.roles.args, "model_init_kwargs").get("attn_implementation") or self.said(
            loading, "attn_implementation"
        )
        if self.said(loading, "use_flash_attention_2") is True or str(word).startswith(("flash", "kernels-")):
            self.found["attention"] = "flash_attention_2"
        elif word in ("eager", "sdpa"):
            self.found["attention"] = word

    def _left_out(self) -> None:
        """The libraries' defaults for what the script does not say."""
        called = (last_of(call.callable) for call in self.roles.follow.script.calls)
        made = next((BITSANDBYTES_OPTIMIZERS[name] for name in called if name in BITSANDBYTES_OPTIMIZERS), "")
        if made and "optimizer" not in self.found:
            self.found["optimizer"] = made
        lengths = () if self.roles.loop == "sft" else self.roles.follow.script.truncations
        if lengths and "sequence_length" not in self.found:
            self.found["sequence_length"] = max(lengths)
            self.assumed.append(f"Sequences have {max(lengths)} tokens, to which the script cuts them.")
        for field in ("batch_size", "sequence_length", "gradient_checkpointing", "optimizer"):
            if field not in self.found and not self._default(field, field):
                self.assumed.append(f"The {spoken(field)} is not said: {getattr(Plan(), field)} is taken.")

    def _upcast(self) -> None:
        """Does the script cast to float32 what is not quantised, and does its trainer leave it so?"""
        if self.found["method"] != "qlora" or self.roles.unsloth:
            self.found["kbit_upcast"] = False
        elif self.roles.preparing is None:
            self.found |= {} if self.roles.loop == "sft" else {"kbit_upcast": False}
        elif not (self._row("kbit_upcast") or {}).get("casts_back"):
            self.found["kbit_upcast"] = True

    def _row(self, about: str) -> Mapping[str, Any] | None:
        return fact(about, msgspec.structs.replace(Plan(), **self.found), self.versions)

    def _default(self, about: str, field: str) -> bool:
        """Take a library's default for a field; False where no row of the table speaks of this loop."""
        row = self._row(about)
        if row is None:
            return False
        self.found[field] = row["value"]
        sentence = told(row, self.versions)
        self.assumed.append(f"{sentence[0].upper()}{sentence[1:]}.")
        return True

    def _take(self, field: str, call: Call | None, *words: str, kind: Callable[[Any], Any]) -> None:
        """Put an argument's value into a field; of one that cannot be followed, say so."""
        word = self.said(call, *words)
        if word is None or isinstance(word, Absence):
            if word is UNFOLLOWED and call is not None and argument_of(call, *words):
                where = self.roles.follow.where(call)
                self.assumed.append(f"The {spoken(field)} of the call in {where} could not be followed.")
            return
        value = kind(word)
        if value is UNFOLLOWED:
            self.assumed.append(f"The {spoken(field)} {word!r} is not understood.")
        else:
            self.found[field] = value
            self.stated[field] = None


def dtype_of(word: Any) -> str:
    """The dtype of "torch.bfloat16", "bfloat16" or "half"; "" of anything else."""
    return DTYPES.get(last_of(word), "") if isinstance(word, str) else ""


def whole(word: Any) -> Any:
    """A whole number, else UNFOLLOWED."""
    return word if type(word) is int else UNFOLLOWED


def number(word: Any) -> Any:
    """A number, else UNFOLLOWED."""
    return float(word) if type(word) in (int, float) else UNFOLLOWED


def switch(word: Any) -> Any:
    """True or False, else UNFOLLOWED."""
    return word if type(word) is bool else UNFOLLOWED


def names(word: Any) -> Any:
    """A list of module names, or "all-linear"; else UNFOLLOWED."""
    if word == "all-linear":
        return (word,)
    return tuple(map(str, word)) if isinstance(word, list) else UNFOLLOWED


def optimizer(word: Any) -> Any:
    """The optimizer by the name that is used here. Raises PlanInvalid for one that is not known."""
    return optimizer_named(last_of(str(word)).lower())
