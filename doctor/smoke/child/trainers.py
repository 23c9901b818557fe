"""The trainer stages of the trial: one step of transformers' Trainer, two of trl's SFTTrainer."""

import inspect
import math
import os

SENTENCE = "the doctor trains a small adapter on a small model "


def accepted(function, wanted):
    """Those of the wanted arguments that this release knows by that name."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in wanted.items() if name in known}


def training_arguments(kind, folder, **wanted):
    """Arguments of a short run on the training device that writes nowhere else and reports to nobody."""
    import torch

    on_cpu = training_device() == "cpu"
    arguments = kind(
        **accepted(
            kind,
            dict(
                output_dir=os.path.join(CONFIG["folder"], folder),
                per_device_train_batch_size=2,
                logging_steps=1,
                logging_nan_inf_filter=False,  # or a loss that is no number is written down as 0
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                dataloader_pin_memory=not on_cpu,
                use_cpu=on_cpu,
                bf16=has_bf16(torch),
                fp16=False,
                **wanted,
            ),
        )
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # a second GPU would bring DataParallel, which is not what is tried here
    return arguments


def trainer_step(record):
    """One step of plain LoRA in transformers' Trainer."""
    from transformers import Trainer, TrainingArguments

    record.details.update(device=training_device())
    model = adapted_model(tiny_model())
    arguments = training_arguments(TrainingArguments, "trainer", max_steps=1, learning_rate=LEARNING_RATE)
    trainer = Trainer(model=model, args=arguments, train_dataset=token_rows())
    prove_training(record, "trainer", trainer)


def token_rows():
    """Rows of tokens as a data set gives them."""
    batch = {name: values.cpu() for name, values in fixed_batch().items()}
    return [{name: values[row] for name, values in batch.items()} for row in range(len(batch["input_ids"]))]


def prove_training(record, name, trainer):
    """Train; the loss is a number, and the adapter is no longer as it began."""
    loss = trainer.train().training_loss
    record.prove(name + "-loss-finite", math.isfinite(loss), "%.4f" % loss, "a finite loss")
    prove_adapter_moved(record, trainer.model)


def sft_step(record):
    """Two steps in trl's SFTTrainer, on the 4-bit model where there is one."""
    from trl import SFTTrainer

    model = sft_model(record)
    record.details.update(device=training_device())
    wanted = dict(text_options(), max_steps=2, learning_rate=LEARNING_RATE)
    arguments = training_arguments(sft_arguments_type(), "sft", **wanted)
    trainer = SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=text_rows(),
        peft_config=adapter_config(),
        **trainer_options(SFTTrainer, arguments),
    )
    prove_training(record, "sft", trainer)


def sft_model(record):
    """A fresh 4-bit model; the plain one where that stage failed or was ruled out."""
    quantised = "load-4bit" not in FAILED and CONFIG.get("quantised", True)
    record.details.update(quantised=quantised)
    return quantised_model() if quantised else tiny_model()


def sft_arguments_type():
    """SFTConfig; releases before 0.9 take TrainingArguments."""
    import trl
    from transformers import TrainingArguments

    return getattr(trl, "SFTConfig", TrainingArguments)


def text_options():
    """What trl wants to know of the text, under the names of all releases."""
    return {"dataset_text_field": "text", "max_seq_length": 32, "max_length": 32, "packing": False}


def trainer_options(kind, arguments):
    """The tokenizer under this release's name for it, and of the text what the arguments did not take."""
    known = accepted(kind, text_options())
    options = {name: value for name, value in known.items() if not hasattr(arguments, name)}
    names = accepted(kind, {"processing_class": None, "tokenizer": None})
    options[next(iter(names))] = word_tokenizer()
    return options


def text_rows():
    """A data set of text made in memory."""
    from datasets import Dataset

    return Dataset.from_dict({"text": [SENTENCE * 3] * 4})


def word_tokenizer():
    """A tokenizer of the words of the one sentence, made in memory."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", "<eos>", *sorted(set(SENTENCE.split()))]
    plain = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>"
    )
