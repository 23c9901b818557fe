"""Forward, backward, optimizer step, as a bare loop, transformers' Trainer or TRL's SFTTrainer run them."""

STEPS = 2  # the first makes gradients and states, the second finds them there


def run_steps(life, model, plan, mode):
    """Two optimizer steps, each of one micro-batch, or of two where gradients are accumulated."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    embeddings = [module.weight for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    state = {}
    for life.step in range(STEPS):
        for _ in range(2 if plan["accumulation"] > 1 else 1):
            kept = None
            kept = micro_batch(life, model, plan, mode)
            life.mark([parameter.grad for parameter in parameters if parameter.grad is not None], "gradients")
        with life.during("optimizer", part="optimizer"):
            optimizer_step(plan, state, parameters, embeddings)
            for parameter in parameters:
                parameter.grad = None
        del kept


def micro_batch(life, model, plan, mode):
    """Forward and backward of one batch of full length; what the loop still holds behind them."""
    with life.during("forward"):
        shape = (plan["batch_size"], plan["sequence_length"])
        inputs = {
            name: torch.zeros(shape, dtype=torch.long, device="meta") for name in ("input_ids", "labels")
        }
        if plan["padded"]:
            inputs["attention_mask"] = torch.ones(shape, dtype=torch.long, device="meta")
        loss, outputs = forward(model, inputs, plan, mode)
    with life.during("backward"):
        loss.backward()
    return outputs


def forward(model, inputs, plan, mode):
    """The loss, and the outputs where the loop keeps them through backward."""
    with autocast(mode):
        if plan["fused_loss"]:
            return fused_loss(model, inputs, plan), None
        outputs = model(**inputs)
    if plan["loop"] == "bare":
        return outputs.loss, outputs
    # accelerate hands the outputs on in float32, and Trainer drops them.
    copies = [
        value.float() for value in outputs.values() if isinstance(value, torch.Tensor) and value.dim() > 1
    ]
    return outputs.loss, None


class TiledLoss(torch.autograd.Function):
    """Head and loss in one, tile by tile, as TRL's ``ChunkedLogProbFunction`` (``trl/kernels``).

    A tile has the compute type; the gradient of the hidden states gathers in float32.
    """

    @staticmethod
    def forward(ctx, hidden, weight):
        rows = hidden.new_empty(hidden.shape)  # those that have a label, taken out
        sums = [torch.empty(rows.shape[:-1], dtype=torch.float32, device=rows.device) for _ in range(7)]
        tile = rows.new_empty(*tile_shape(rows, weight), dtype=compute_type(rows))
        ctx.save_for_backward(rows, weight, sums[0])
        return torch.empty((), dtype=torch.float32, device=hidden.device)

    @staticmethod
    def backward(ctx, gradient):
        rows, weight, sums = ctx.saved_tensors
        gathered = torch.empty(rows.shape, dtype=torch.float32, device=rows.device)
        tile = rows.new_empty(*tile_shape(rows, weight), dtype=compute_type(rows))
        of_rows = gathered.to(rows.dtype)
        del tile, gathered
        of_hidden = torch.empty_like(of_rows)  # put back where they were taken from
        return of_hidden, torch.empty_like(weight) if weight.requires_grad else None


class CheckpointedLoss(torch.autograd.Function):
    """The same before TRL 1.15: 256 tokens at once, for which the whole head is cast to float32."""

    @staticmethod
    def forward(ctx, hidden, weight):
        rows = hidden.new_empty(hidden.shape)
        ctx.save_for_backward(rows, weight)
        head = weight.float()
        tiles = [torch.empty(256, weight.shape[0], dtype=torch.float32, device=rows.device) for _ in range(3)]
        return torch.empty((), dtype=torch.float32, device=hidden.device)

    @staticmethod
    def backward(ctx, gradient):
        rows, weight = ctx.saved_tensors
        head = weight.float()
        tiles = [torch.empty(256, weight.shape[0], dtype=torch.float32, device=rows.device) for _ in range(3)]
        return torch.empty_like(rows), torch.empty_like(weight) if weight.requires_grad else None


def tile_shape(rows, weight):
    """Tokens and columns worked on at once: ``TOKEN_CHUNK_SIZE``, ``_CHUNKED_LOGPROB_CHUNK_SIZE``."""
    return min(rows.numel() // rows.shape[-1], 4096), min(weight.shape[0], 32768)


def compute_type(rows):
    return AUTOCAST["dtype"] if AUTOCAST["on"] else rows.dtype


def fused_loss(model, inputs, plan):
    """The loss without logits; the head is asked for, not run."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    inputs = {name: value for name, value in inputs.items() if name != "labels"}
    hidden = base.base_model(**inputs).last_hidden_state
    loss = CheckpointedLoss if plan["loop"] == "sft" and release_of("trl") < (1, 15) else TiledLoss
    return loss.apply(hidden, base.get_output_embeddings().weight)


def release_of(package):
    """Major and minor number of an installed package, the newest where it is not there."""
    from importlib import metadata

    try:
        return tuple(int(part) for part in metadata.version(package).split(".")[:2])
    except (metadata.PackageNotFoundError, ValueError):
        return (1 << 30, 0)


def checkpointing_of(plan, mode):
    """The keyword arguments of checkpointing: recomputation runs under autocast again where forward did."""
    if mode is None or plan["reentrant"]:
        return {"use_reentrant": plan["reentrant"]}
    return {"use_reentrant": False, "context_fn": lambda: (contextlib.nullcontext(), autocast(mode))}
