"""What CUDA's kernels do that those of ``meta`` do not: no square matrix, fused casts, temporaries."""

import torch.nn.functional as F


def _bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def _dequantised_bytes(args):
    """bitsandbytes multiplies large inputs by the weight in 16 bits, which it makes for the moment."""
    size = args[0].element_size()
    for length in args[2]:
        size *= length
    return size


# Bytes that an operation takes beside its outputs and gives back, before it makes them or after: the sources
# stand in the table of kernels.
FIRST = {"bitsandbytes::gemm_4bit": _dequantised_bytes}
TEMPORARIES = {"aten::_softmax_backward_data": lambda args, outputs: _bytes_of(args[0])}


class FusedAttention(torch.autograd.Function):
    """Flash or memory-efficient attention: keeps inputs, output and one float a row, no square matrix."""

    @staticmethod
    def forward(ctx, query, key, value, bias):
        batch, heads, length, width = query.shape
        out = query.new_empty(batch, length, heads, value.shape[-1]).transpose(1, 2)
        sums = torch.empty(batch, heads, length, dtype=torch.float32, device=query.device)
        ctx.save_for_backward(query, key, value, out, sums, bias)
        return out

    @staticmethod
    def backward(ctx, gradient):
        query, key, value, out, sums, bias = ctx.saved_tensors
        batch, heads, length, width = query.shape
        delta = torch.empty_like(sums)
        if query.dtype != torch.float32:
            accumulator = torch.empty(query.shape, dtype=torch.float32, device=query.device)
        gradients = [_like_layout(query), _like_layout(key), _like_layout(value)]
        if key.shape[1] != heads:  # one gradient a query head, which are then added up
            of_keys = query.new_empty(batch, length, heads, width)
            of_values = query.new_empty(batch, length, heads, value.shape[-1])
        return (*gradients, None)


def _like_layout(tensor):
    batch, heads, length, width = tensor.shape
    return tensor.new_empty(batch, length, heads, width).transpose(1, 2)


def fused_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """In the place of ``F.scaled_dot_product_attention``."""
    low = AUTOCAST["dtype"] if AUTOCAST["on"] else CONFIG_PLAN.get("flash_dtype")
    if low is not None and query.dtype == torch.float32:
        query, key, value = (tensor.to(low) for tensor in (query, key, value))
    # The memory-efficient kernel of GPUs before sm_80 takes as many keys as queries.
    if KERNELS["expands_keys"] and key.shape[1] != query.shape[1]:
        groups = query.shape[1] // key.shape[1]
        key, value = (tensor.repeat_interleave(groups, dim=-3) for tensor in (key, value))
    bias = attn_mask
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        rows = attn_mask.shape[:-1] + ((attn_mask.shape[-1] + 15) // 16 * 16,)
        bias = query.new_empty(rows)  # a float for each, its rows aligned
    return FusedAttention.apply(query, key, value, bias)


class HalfToFloatSoftmax(torch.autograd.Function):
    """``softmax(half, dtype=float32)``: CUDA casts within the kernel, for float16 alone."""

    @staticmethod
    def forward(ctx, values, dim):
        out = torch.empty(values.shape, dtype=torch.float32, device=values.device)
        ctx.save_for_backward(out)
        ctx.low = values.dtype
        return out

    @staticmethod
    def backward(ctx, gradient):
        (out,) = ctx.saved_tensors
        product = torch.empty_like(out)
        return torch.empty(out.shape, dtype=ctx.low, device=out.device), None


def cuda_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """In the place of ``F.softmax``."""
    if dtype == torch.float32 and input.dtype == torch.float16:
        return HalfToFloatSoftmax.apply(input, dim)
    return META_SOFTMAX(input, dim=dim, dtype=dtype)


META_SOFTMAX = F.softmax


class FusedDropout(torch.autograd.Function):
    """CUDA's dropout keeps a byte for each value (``native_dropout``), that of ``meta`` another value."""

    @staticmethod
    def forward(ctx, values):
        ctx.save_for_backward(torch.empty(values.shape, dtype=torch.bool, device=values.device))
        return torch.empty_like(values)

    @staticmethod
    def backward(ctx, gradient):
        (mask,) = ctx.saved_tensors
        return torch.empty_like(gradient)


def cuda_dropout(input, p=0.5, training=True, inplace=False):
    """In the place of ``F.dropout``."""
    return FusedDropout.apply(input) if training and p > 0 else input


class GroupedProduct(torch.autograd.Function):
    """Rows times the matrix of their expert. ``meta`` takes bfloat16 alone, CUDA float16 and float32 too."""

    @staticmethod
    def forward(ctx, rows, matrices):
        ctx.save_for_backward(rows, matrices)
        return rows.new_empty(rows.shape[0], matrices.shape[-1])

    @staticmethod
    def backward(ctx, gradient):
        rows, matrices = ctx.saved_tensors
        of_matrices = torch.empty_like(matrices) if matrices.requires_grad else None
        return torch.empty_like(rows), of_matrices


def grouped_product(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """In the place of ``torch._grouped_mm``."""
    if AUTOCAST["on"]:
        mat_a, mat_b = mat_a.to(AUTOCAST["dtype"]), mat_b.to(AUTOCAST["dtype"])
    product = GroupedProduct.apply(mat_a, mat_b)
    return product if bias is None else product + bias


def causal_mask(*args, **kwargs):
    """In the place of transformers' masks, which read values: none, the bytes of one, or the whole matrix."""
    hidden = kwargs.get("inputs_embeds", kwargs.get("input_embeds"))
    if hidden is None:
        hidden = next(value for value in args if isinstance(value, torch.Tensor))
    shape = (hidden.shape[0], 1, hidden.shape[1], hidden.shape[1])
    if CONFIG_PLAN["attention"] == "eager":
        return torch.empty(shape, dtype=hidden.dtype, device=hidden.device)
    return torch.empty(shape, dtype=torch.bool, device=hidden.device) if CONFIG_PLAN["padded"] else None


MASKS = (
    "create_causal_mask",
    "create_sliding_window_causal_mask",
    "create_chunked_causal_mask",
)


@contextlib.contextmanager
def cuda_kernels():
    """Everything within computes as CUDA would."""
    import sys

    put = [(F, "softmax", cuda_softmax), (F, "dropout", cuda_dropout)]
    put += [(torch, "autocast", autocast_of_meta), (torch.amp, "autocast", autocast_of_meta)]
    put.append((torch, "is_autocast_enabled", lambda *device: AUTOCAST["on"]))
    if CONFIG_PLAN["attention"] != "eager":
        put.append((F, "scaled_dot_product_attention", fused_attention))
    for owner, name in ((torch, "_grouped_mm"), (F, "grouped_mm")):
        if hasattr(owner, name):
            put.append((owner, name, grouped_product))
    for name, module in list(sys.modules.items()):
        if name.startswith("transformers.models.") and module is not None:
            put += [(module, mask, causal_mask) for mask in MASKS if mask in vars(module)]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in put]
    for owner, name, value in put:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
