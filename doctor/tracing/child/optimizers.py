"""Optimizers as they fill the device: torch's own AdamW, else states of the sizes that their code gives."""


def optimizer_step(plan, state, parameters, embeddings):
    """One step: states where there are none yet, then what the step itself takes. ``state`` lives on.

    Trainer keeps the states of ``embeddings`` in 32 bits (``Trainer.create_optimizer``).
    """
    name = plan["optimizer"]
    if name in ("adamw_torch", "adamw"):
        return torch_adamw(state, parameters)
    if not state:
        wide = name.replace("8bit", "32bit")
        spared = {id(weight) for weight in embeddings} if plan["loop"] != "bare" else ()
        state["tensors"] = [make(wide if id(one) in spared else name, one) for one in parameters]
    if name == "adafactor":
        for parameter in parameters:
            update = parameter.grad.float() ** 2
            update = update * update
    return None


def torch_adamw(state, parameters):
    """The multi-tensor AdamW, which torch takes for CUDA: one temporary of the size of each parameter."""
    if "optimizer" not in state:
        state["optimizer"] = torch.optim.AdamW(parameters, foreach=True)
    state["optimizer"].step()


def make(name, parameter):
    """The states of one parameter."""
    if "paged" in name:
        return []  # in memory that the driver moves between host and device as it needs
    if name.startswith("adamw"):
        if "8bit" in name:
            return states_of_bitsandbytes(parameter, 2)
        dtype = torch.float32 if "32bit" in name else parameter.dtype
        return [torch.zeros_like(parameter, dtype=dtype), torch.zeros_like(parameter, dtype=dtype)]
    if name.startswith("lion"):
        if "8bit" in name:
            return states_of_bitsandbytes(parameter, 1)
        return [torch.zeros_like(parameter, dtype=torch.float32)]
    if name == "adafactor":
        return states_of_adafactor(parameter)
    return []


def states_of_bitsandbytes(parameter, count):
    """Bytes, a scale for 256 of them; small tensors stay in float32 (``Optimizer2State.init_state``)."""
    if parameter.numel() < 4096:
        return [torch.zeros_like(parameter, dtype=torch.float32) for _ in range(count)]
    blocks = (parameter.numel() + 255) // 256
    bytes_each = [torch.zeros_like(parameter, dtype=torch.uint8) for _ in range(count)]
    return bytes_each + [parameter.new_zeros(blocks, dtype=torch.float32) for _ in range(count)]


def states_of_adafactor(parameter):
    """Rows and columns of matrices, and all of a vector (``Adafactor.step`` of transformers)."""
    if parameter.dim() < 2:
        return [torch.zeros_like(parameter, dtype=torch.float32)]
    rows, columns = parameter.shape[:-1], parameter.shape[:-2] + parameter.shape[-1:]
    return [parameter.new_zeros(rows, dtype=torch.float32), parameter.new_zeros(columns, dtype=torch.float32)]
