"""torch's CUDA build as the loader sees it, made of torch's CPU build; nothing in it computes.

The CUDA runtime is NVIDIA's own wheel. The other libraries, some gigabytes in truth, are compiled here from
nothing: names, versions of symbols and RPATH as the real ones have them, and the symbols that the CUDA
libraries of bitsandbytes ask for. libtorch_cuda.so is such a one too, and the CPU build is made to load it.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sandboxes import ENVIRONMENT, install

from .lab import Lab, Venv, rename_torch

RUNTIME = ("nvidia-cuda-runtime", "13.0.96")
CUDA = "nvidia/cu13/lib"
# The other wheels: their libraries, by the folder that they lie in.
WHEELS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("nvidia-cublas", "13.1.1.3"): (f"{CUDA}/libcublasLt.so.13", f"{CUDA}/libcublas.so.13"),
    ("nvidia-nvjitlink", "13.0.88"): (f"{CUDA}/libnvJitLink.so.13",),
    ("nvidia-cusparse", "12.6.3.3"): (f"{CUDA}/libcusparse.so.12",),
    ("nvidia-cudnn-cu13", "9.20.0.48"): ("nvidia/cudnn/lib/libcudnn.so.9",),
    ("nvidia-nccl-cu13", "2.29.7"): ("nvidia/nccl/lib/libnccl.so.2",),
}
JIT_CALL = "__nvJitLinkComplete_13_0"  # what cuSPARSE asks of nvJitLink
OWN_NEEDS = {"libcublas.so.13": ("libcublasLt.so.13",), "libcusparse.so.12": ("libnvJitLink.so.13",)}
FOLDERS = ("nvidia/cudnn/lib", "nvidia/nccl/lib", CUDA)
RPATH = ":".join((*(f"$ORIGIN/../../{folder}" for folder in FOLDERS), "$ORIGIN"))
TORCH_NEEDS = (
    *("libc10_cuda.so", "libcudart.so.13", "libcusparse.so.12", "libnccl.so.2", "libcublas.so.13"),
    *("libcublasLt.so.13", "libcudnn.so.9", "libc10.so", "libtorch_cpu.so"),
)
# Of torch itself, in the order in which one needs the other; libgomp comes with the CPU build.
TORCH: Mapping[str, tuple[str, ...]] = {
    "libc10_cuda.so": ("libc10.so", "libcudart.so.13"),
    "libtorch_cuda.so": TORCH_NEEDS,
    "libtorch.so": ("libtorch_cpu.so", "libtorch_cuda.so"),
    "libtorch_global_deps.so": ("libcudart.so.13", "libgomp.so.1"),
}
WANTED = re.compile(r" U (\w+)@(lib\w+\.so\.\d+)")


def compiled(
    name: str,
    needs: Iterable[Path] = (),
    symbols: Sequence[str] = (),
    path: str = "",
    *,
    version: str = "",
    runpath: bool = False,
    calls: str = "",
) -> bytes:
    """A library with this soname: what it needs, the symbols that it has, RPATH or RUNPATH."""
    with tempfile.TemporaryDirectory() as folder:
        source, script, made = (Path(folder, part) for part in ("a.c", "versions", name))
        call = f"extern void {calls}(void);\nvoid calling(void) {{ {calls}(); }}\n" if calls else ""
        source.write_text(call + "".join(f"void {symbol}(void) {{}}\n" for symbol in (*symbols, "stands_in")))
        script.write_text(f"{version} {{ global: {'; '.join((*symbols, 'stands_in'))}; local: *; }};\n")
        tags = "--enable-new-dtags" if runpath else "--disable-new-dtags"
        command = [
            *("cc", "-shared", "-fPIC", "-w", "-o", str(made), str(source), f"-Wl,-soname,{name}"),
            *("-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", f"-Wl,{tags}"),
            *((f"-Wl,--version-script={script}",) if version else ()),
            *((f"-Wl,-rpath,{path}",) if path else ()),
            *map(str, needs),
        ]
        subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
        return made.read_bytes()


def asked_of_cuda(venv: Venv) -> dict[str, tuple[str, ...]]:
    """By library, the symbols that the libraries of bitsandbytes for CUDA 13 ask for."""
    found: dict[str, set[str]] = {}
    for library in venv.find("bitsandbytes/libbitsandbytes_cuda13*.so"):
        told = subprocess.run(
            ["nm", "-D", "--undefined-only", str(library)],
            check=True,
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        )
        for symbol, name in WANTED.findall(told.stdout):
            found.setdefault(name, set()).add(symbol)
    return {name: tuple(sorted(symbols)) for name, symbols in found.items()}


def lay_wheels(venv: Venv) -> None:
    """Install NVIDIA's runtime and the stand-ins for the other wheels, each with metadata and RECORD."""
    install(venv, "==".join(RUNTIME))
    asked = asked_of_cuda(venv)
    for (package, release), names in WHEELS.items():
        venv.register(package.replace("-", "_"), release)
        for name in names:
            own = Path(name).name
            needs = [venv.site / CUDA / other for other in OWN_NEEDS.get(own, ())]
            symbols = (JIT_CALL,) if own.startswith("libnvJitLink") else asked.get(own, ())
            calls = JIT_CALL if own.startswith("libcusparse") else ""
            content = compiled(own, needs, symbols, "$ORIGIN", version=own, runpath=True, calls=calls)
            venv.release(package.replace("-", "_"), name, content)


def link_torch(venv: Venv) -> None:
    """Make torch's CPU build load what its CUDA build would, and say that it is one."""
    rename_torch(venv, "cu130", "13.0")
    metadata = f"{venv.dist_info('torch').name}/METADATA"
    packages = (RUNTIME, *WHEELS)
    needs = "".join(f"Requires-Dist: {package}=={release}\n" for package, release in packages)
    text = (venv.site / metadata).read_text(encoding="utf-8")
    venv.release("torch", metadata, text.replace("Requires-Dist:", f"{needs}Requires-Dist:", 1))
    places = [venv.site / folder for folder in ("torch/lib", *FOLDERS)]
    for name, names in TORCH.items():
        needs_of_it = [next(place / one for place in places if (place / one).exists()) for one in names]
        venv.release("torch", f"torch/lib/{name}", compiled(name, needs_of_it, (), RPATH))


def cuda_environment(lab: Lab) -> Venv:
    """A copy of the newest stack as it is on a machine with CUDA."""
    venv = lab.copy()
    lay_wheels(venv)
    link_torch(venv)
    return venv
