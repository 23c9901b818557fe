"""Environments whose registrations are at fault: dist-info folders, and what they say."""

from __future__ import annotations

from sandboxes import install

from .environment import QUICK, QUICK_HEALTHY, Target, broken, environment
from .lab import Lab, Venv

UNREADABLE, TWICE = "python/metadata-unreadable", "python/duplicate-metadata"


def register_twice(venv: Venv, package: str, version: str) -> Target:
    """Put a second dist-info of an older release beside the true one."""
    (current,) = venv.find(f"{package}-*.dist-info")
    text = (current / "METADATA").read_text(encoding="utf-8")
    true = current.name.removesuffix(".dist-info").partition("-")[2]
    older = f"{package}-{version}.dist-info"
    venv.write(f"{older}/METADATA", text.replace(f"Version: {true}", f"Version: {version}"))
    venv.write(f"{older}/RECORD", f"{older}/METADATA,,\n{older}/RECORD,,\n")
    return Target(venv.python)


@environment(broken(TWICE, options=QUICK))
def transformers_registered_twice(lab: Lab) -> Target:
    """transformers has a second, older dist-info"""
    return register_twice(lab.copy(), "transformers", "4.57.1")


@environment(broken(TWICE, options=QUICK))
def peft_registered_twice(lab: Lab) -> Target:
    """peft has a second, far older dist-info"""
    return register_twice(lab.copy(), "peft", "0.10.0")


@environment(QUICK_HEALTHY)
def peft_leftover(lab: Lab) -> Target:
    """What pip leaves of an interrupted uninstall: the first letter gives way to a tilde"""
    venv = lab.copy()
    venv.write("~eft-0.14.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: peft\nVersion: 0.14.0\n")
    venv.write("~eft/__init__.py", "")
    return Target(venv.python)


@environment(broken(UNREADABLE, options=QUICK))
def peft_metadata_missing(lab: Lab) -> Target:
    """The METADATA of peft is missing"""
    venv = lab.copy()
    venv.remove("peft-*.dist-info/METADATA")
    return Target(venv.python)


@environment(broken(UNREADABLE))
def accelerate_metadata_missing(lab: Lab) -> Target:
    """The METADATA of accelerate is missing, and its version is None to whoever asks"""
    venv = lab.copy()
    venv.remove("accelerate-*.dist-info/METADATA")
    return Target(venv.python)


@environment(broken(UNREADABLE, options=QUICK))
def peft_metadata_random(lab: Lab) -> Target:
    """The METADATA of peft is random bytes"""
    venv = lab.copy()
    venv.write(f"{venv.dist_info('peft').name}/METADATA", bytes(range(255, 0, -1)) * 20)
    return Target(venv.python)


@environment(QUICK_HEALTHY)
def peft_record_missing(lab: Lab) -> Target:
    """The RECORD of peft is missing"""
    venv = lab.copy()
    venv.remove("peft-*.dist-info/RECORD")
    return Target(venv.python)


@environment(broken("python/editable-source-gone", options=QUICK))
def peft_source_gone(lab: Lab) -> Target:
    """peft was installed editable, and the checkout was moved since"""
    venv = lab.copy()
    venv.remove("peft")
    folder, hook, gone = venv.dist_info("peft").name, "__editable__.peft-0.21.2.pth", "/nonexistent/peft"
    venv.write(hook, f"{gone}/src\n")
    venv.write(f"{folder}/direct_url.json", f'{{"dir_info": {{"editable": true}}, "url": "file://{gone}"}}')
    held = (hook, *(f"{folder}/{name}" for name in ("METADATA", "direct_url.json", "RECORD")))
    venv.write(f"{folder}/RECORD", "".join(f"{name},,\n" for name in held))
    return Target(venv.python)


@environment(QUICK_HEALTHY)
def conda_look_alike(lab: Lab) -> Target:
    """A venv that holds a folder conda-meta"""
    venv = lab.copy()
    (venv.folder / "conda-meta").mkdir()
    (venv.folder / "conda-meta" / "history").write_text("")
    return Target(venv.python)


@environment(broken("python/packages-overlap", options=QUICK))
def bitsandbytes_windows_beside(lab: Lab) -> Target:
    """bitsandbytes-windows, a fork of 2023, is installed over bitsandbytes"""
    venv = lab.copy()
    install(venv, "bitsandbytes-windows==0.37.5")
    return Target(venv.python)
