"""stand-in"""


def minimum_driver(cuda: str, system: str) -> str | None:
    return {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}.get(cuda.split(".")[0])


def newest_variant_for(driver: str, system: str) -> str | None:
    return "cu118"


def newest_torch_with(variant: str) -> str | None:
    return "2.7.1"
