"""What the loader was told to take, in short: for rules on linking."""

from __future__ import annotations

from typing import Any

from healthy import FACTS, SITE, but

from doctor.native import Dependency, LibraryChoice, Linkage, NativeLibrary

BNB = f"{SITE}/bitsandbytes/libbitsandbytes_cuda130.so"
NVIDIA = f"{SITE}/nvidia/cu13/lib"
OWN = {
    "libcudart.so.13": f"{NVIDIA}/libcudart.so.13",
    "libcublas.so.13": f"{NVIDIA}/libcublas.so.13",
    "libcudnn.so.9": f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9",
    "libnccl.so.2": f"{SITE}/nvidia/nccl/lib/libnccl.so.2",
    "libnvJitLink.so.13": f"{NVIDIA}/libnvJitLink.so.13",
    "libstdc++.so.6": "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
}


def needed(name: str, path: str | None = None, **fields: Any) -> Dependency:
    """A dependency, of torch's own unless said otherwise; found nowhere for the path ""."""
    place = OWN.get(name, "") if path is None else path
    by = "rpath" if place else "not found"
    return Dependency(**{"name": name, "path": place, "by": by, "asked_by": "libtorch_cuda.so", **fields})


def torch_library(*others: Dependency, **fields: Any) -> NativeLibrary:
    """torch with its own CUDA libraries, some of them replaced by name."""
    replaced = {one.name: one for one in others}
    own = tuple(replaced.pop(name, needed(name)) for name in OWN)
    return NativeLibrary(
        package="torch",
        path=f"{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so",
        dependencies=(*own, *replaced.values()),
        **fields,
    )


def bnb_library(*dependencies: Dependency, **fields: Any) -> NativeLibrary:
    """The library of bitsandbytes, which finds what torch has mapped."""
    mapped = (needed("libcudart.so.13", by="already loaded", asked_by=BNB.rpartition("/")[2]),)
    return NativeLibrary(
        **{"package": "bitsandbytes", "path": BNB, "dependencies": dependencies or mapped, **fields}
    )


CHOICE = LibraryChoice(
    library="libbitsandbytes_cuda130.so",
    because="torch is built for CUDA 13.0 and a GPU is seen",
    is_there=True,
)


def linkage(*libraries: NativeLibrary, choice: LibraryChoice | None = CHOICE) -> Linkage:
    """Some libraries in place of the healthy ones of the same package."""
    given = {library.package for library in libraries}
    healthy = [one for one in (torch_library(), bnb_library()) if one.package not in given]
    return Linkage(libraries=(*healthy, *libraries), choice=choice)


# The system does not tell what is mapped.
UNSEEN = {
    "torch_runtime": but(FACTS.torch_runtime, objects=()),
    "bitsandbytes_runtime": but(FACTS.bitsandbytes_runtime, objects=()),
}
