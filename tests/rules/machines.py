"""Machines whose driver or CUDA does not serve, out of the healthy one."""

from __future__ import annotations

from typing import Any

import healthy
from healthy import DRIVER, LIBRARY_FOLDER, but

from doctor.facts import Accelerator, CudaDriver, DriverSigns, Facts, Gpu
from doctor.hardware import DeviceNode, PciDevice

from .judging import facts

SIGNS, SYSTEM, RUNTIME = healthy.FACTS.driver_signs, healthy.FACTS.system, healthy.FACTS.torch_runtime
[GPU] = healthy.FACTS.gpus or ()
UNUSABLE = but(RUNTIME, cuda_available=False, device_count=0, devices=(), capabilities=(), bf16=None)
NO_DRIVER = "no driver answers"
LIBCUDA = f"{LIBRARY_FOLDER}/libcuda.so.{DRIVER}"
COMPAT = "/usr/local/cuda-12.8/compat/libcuda.so.570.86.15"
NAMES = {
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    100: "CUDA_ERROR_NO_DEVICE",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    999: "CUDA_ERROR_UNKNOWN",
}


def device(kernel_driver: str = "nvidia", id: str = "0x2684", **fields: Any) -> PciDevice:
    """An RTX 4090 on the bus, unless another id is given."""
    known = {"address": "0000:01:00.0", "vendor": "nvidia", "kind": "display", **fields}
    return PciDevice(device=id, kernel_driver=kernel_driver, **known)


def signs(**fields: Any) -> DriverSigns:
    """Only what is given was seen, and one GPU on the bus."""
    return DriverSigns(**{"bus_gpus": 1, **fields})


def system(**fields: Any) -> Any:
    return but(SYSTEM, **fields)


def silent(**changes: Any) -> Facts:
    """A machine whose driver does not answer; ``signs`` is what was seen of it."""
    seen = signs(**changes.pop("signs", {}))
    nothing = dict.fromkeys(("driver", "gpus", "cuda_driver"), NO_DRIVER)
    return facts(**{**nothing, "driver_signs": seen, "torch_runtime": UNUSABLE, **changes})


def failing(code: int, said: str = "", **changes: Any) -> Facts:
    """A machine whose NVML shows the GPU, and whose cuInit gives a number."""
    seen = but(SIGNS, **changes.pop("signs", {}))
    library = changes.pop("library", LIBCUDA)
    driver = CudaDriver(library=library, init_code=code, init_error=NAMES.get(code, ""), version="13.0")
    runtime = but(UNUSABLE, cuda_error=said or f"Unexpected error. Error {code}: of CUDA")
    return facts(**{"driver_signs": seen, "cuda_driver": driver, "torch_runtime": runtime, **changes})


def in_words(said: str, **changes: Any) -> Facts:
    """A machine of which torch's words are all that is known of CUDA."""
    seen = {"driver_signs": changes.pop("signs", SIGNS), "cuda_driver": "not asked"}
    return facts(**{**seen, "torch_runtime": but(UNUSABLE, cuda_error=said), **changes})


def gpus(*fields: dict[str, Any]) -> tuple[Gpu, ...]:
    """The healthy machine's GPU once for each set of changes."""
    return tuple(
        but(GPU, **{"index": index, "pci_address": f"0000:0{index + 1}:00.0", **one})
        for index, one in enumerate(fields)
    )


def nodes(usable: bool, *names: str) -> tuple[DeviceNode, ...]:
    return tuple(DeviceNode(path=f"/dev/{name}", usable=usable) for name in names)


def amd(**fields: Any) -> Accelerator:
    """An AMD card."""
    known = {"name": "Radeon RX 6700 XT", "architecture": "gfx1031", "integrated": False, "usable": True}
    return Accelerator(vendor="amd", kernel_driver="amdgpu", **{**known, **fields})


def without_nvidia(**changes: Any) -> Facts:
    """A machine that has no NVIDIA GPU."""
    nothing = dict.fromkeys(("driver", "gpus", "cuda_driver"), "none is here")
    return facts(
        **{**nothing, "driver_signs": DriverSigns(nvml_code=12), "torch_runtime": UNUSABLE, **changes}
    )
