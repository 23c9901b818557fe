"""The GPU stage of the trial's child: what torch sees, and one real kernel on each device."""

import inspect

KERNEL_TOLERANCE = 1e-2  # relative; the product may run in TF32, whose 10 bits of mantissa give about 1e-3


def see_gpu(record):
    """Ask torch for its devices; a kernel that cannot run fails the stage in its own words."""
    import torch

    record.details.update(cuda_available=torch.cuda.is_available(), device_count=torch.cuda.device_count())
    record.details.update(cuda_error=init_error(torch), devices=[], capabilities=[], bf16=None)
    if not record.details["cuda_available"] or record.details["cuda_error"]:
        return
    indices = range(record.details["device_count"])
    record.details["devices"] = [torch.cuda.get_device_name(index) for index in indices]
    record.details["capabilities"] = ["%d.%d" % torch.cuda.get_device_capability(index) for index in indices]
    record.details["bf16"] = has_bf16(torch)
    prove_kernels(record, torch)


def init_error(torch):
    """What ``torch.cuda.init`` complains of; "" where it is content, or torch is no CUDA build."""
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return ""
    try:
        torch.cuda.init()
    except Exception as error:
        return message_of(error)
    return ""


def has_bf16(torch):
    """True where cuda:0 computes in bfloat16 itself; torch also says yes to devices that emulate it."""
    if not torch.cuda.is_available():
        return False
    if "including_emulation" in inspect.signature(torch.cuda.is_bf16_supported).parameters:
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return bool(getattr(torch.version, "hip", None)) or torch.cuda.get_device_capability(0) >= (8, 0)


def prove_kernels(record, torch):
    """A sum and a product on each device against the CPU; raises the first error after all were tried."""
    seen, errors, true_to_cpu = [], [], True
    for index in range(record.details["device_count"]):
        try:
            difference = kernel_difference(torch, "cuda:%d" % index)
        except Exception as error:
            errors.append(error)
            seen.append("cuda:%d %s" % (index, message_of(error).split("\n")[0]))
        else:
            true_to_cpu = true_to_cpu and difference <= KERNEL_TOLERANCE
            seen.append("cuda:%d differs by %.3g" % (index, difference))
    wanted = "at most %.3g from the CPU's result" % KERNEL_TOLERANCE
    record.prove("cuda-kernel", true_to_cpu and not errors, "; ".join(seen), wanted)
    if errors:
        raise errors[0]


def kernel_difference(torch, device):
    """The relative difference of one small sum and product between a device and the CPU."""
    left, right = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(0))
    wanted = (left + right) @ right
    found = ((left.to(device) + right.to(device)) @ right.to(device)).cpu()
    return relative_difference(found, wanted)
