"""The three loops: a script's own, transformers' Trainer, trl's SFTTrainer. Two steps, every token real."""

import inspect

STEPS = 2  # the states of the optimizer are made at the end of the first


def accepted(function, wanted):
    """Those of the wanted arguments that this release knows by that name."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in wanted.items() if name in known}


def vocabulary(model):
    """How many tokens the embedding knows."""
    return model.get_input_embeddings().weight.shape[0]


def token_rows(model):
    """A full sequence for each place in the batches of all steps; lists, since data is not counted."""
    import torch

    count = PLAN["batch_size"] * PLAN["accumulation"] * STEPS
    source = torch.Generator().manual_seed(1)
    rows = torch.randint(0, vocabulary(model), (count, PLAN["sequence_length"]), generator=source).tolist()
    mask = [1] * PLAN["sequence_length"]
    if PLAN["padded"]:
        mask[0] = 0  # one token of each, so that the mask cannot be left out
    return [{"input_ids": row, "attention_mask": mask, "labels": row} for row in rows]


def batch_of(rows):
    """Rows as one batch on the device."""
    import torch

    return {name: torch.tensor([row[name] for row in rows], device=training_device()) for name in rows[0]}


def run_bare(model, phases):
    """The loop of a script: what the model gives is held until the next step, no autocast, no clipping."""
    model = adapted(prepare(model))
    model.train()
    optimizer = optimizer_of(model)
    rows, size = token_rows(model), PLAN["batch_size"]
    for index in range(STEPS * PLAN["accumulation"]):
        step = 1 + index // PLAN["accumulation"]
        phases.begin("forward", step)
        batch = batch_of(rows[index * size : (index + 1) * size])
        with phases.saving(model):
            outputs = model(**batch)
        phases.begin("backward", step)
        (outputs.loss / PLAN["accumulation"]).backward()
        if (index + 1) % PLAN["accumulation"] == 0:
            phases.begin("optimizer", step)
            optimizer.step()
            optimizer.zero_grad()
    return model, optimizer


def run_trainer(model, phases):
    """transformers' Trainer."""
    from transformers import Trainer, TrainingArguments

    model = adapted(prepare(model))
    rows = token_rows(model)
    trainer = Trainer(model=model, args=arguments_of(TrainingArguments), train_dataset=rows)
    return trained(trainer, phases)


def run_sft(model, phases):
    """trl's SFTTrainer, which puts the adapter on itself."""
    import trl
    from datasets import Dataset
    from transformers import TrainingArguments

    kind = getattr(trl, "SFTConfig", TrainingArguments)  # since 0.9
    texts = {
        "max_length": PLAN["sequence_length"],
        "max_seq_length": PLAN["sequence_length"],
        "packing": False,
        "dataset_text_field": "text",
        "dataset_kwargs": {"skip_prepare_dataset": True},
    }
    arguments = arguments_of(kind, **texts)
    rows = token_rows(model)
    options = {name: value for name, value in texts.items() if not hasattr(arguments, name)}
    tokenizer = word_tokenizer()
    options.update(processing_class=tokenizer, tokenizer=tokenizer)
    trainer = trl.SFTTrainer(
        model=prepare(model),
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        peft_config=adapter_config() if has_adapter() else None,
        **accepted(trl.SFTTrainer, options),
    )
    return trained(trainer, phases)


def trained(trainer, phases):
    """Train, with the phases told apart by what the trainer calls."""
    watch_trainer(trainer, phases)
    trainer.train()
    return trainer.model, trainer.optimizer


def watch_trainer(trainer, phases):
    """Let each phase begin where the trainer calls what it consists of."""
    loss_of, backward = trainer.compute_loss, trainer.accelerator.backward
    clip = trainer.accelerator.clip_grad_norm_
    passes = [0]

    def compute_loss(model, *arguments, **options):
        phases.begin("forward", 1 + passes[0] // PLAN["accumulation"])
        passes[0] += 1
        with phases.saving(model):
            return loss_of(model, *arguments, **options)

    def begin_backward(*arguments, **options):
        phases.begin("backward")
        return backward(*arguments, **options)

    def begin_optimizer(*arguments, **options):
        phases.begin("optimizer")
        return clip(*arguments, **options)

    trainer.compute_loss = compute_loss
    trainer.accelerator.backward = begin_backward
    trainer.accelerator.clip_grad_norm_ = begin_optimizer


def word_tokenizer():
    """A tokenizer made in memory: the trainer wants one, and the rows are tokens already."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.WordLevel({"<pad>": 0, "<unk>": 1, "<eos>": 2}, unk_token="<unk>"))
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>"
    )


LOOPS = {"bare": run_bare, "trainer": run_trainer, "sft": run_sft}
