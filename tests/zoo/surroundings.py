"""Environments whose packages are sound, and which are started badly, in a bad place, or hold little."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from sandboxes import ENVIRONMENT, install, run, uv

from .environment import (
    HEALTHY,
    QUICK,
    QUICK_HEALTHY,
    Expected,
    Target,
    broken,
    environment,
)
from .lab import Lab, UserSite

BANNER = "*** WELCOME TO CLUSTER 7 ***"
PRINT_BANNER = f"import sys\nprint({BANNER!r})\nprint({BANNER!r}, file=sys.stderr)\n"
NO_FOLDER = "/nonexistent"
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
# Nobody trains with an interpreter that does not start; of its environment nothing is known.
NOT_EXAMINED = Expected("python/interpreter-does-not-start", "broken", 3)
SHADOWED, POLLUTED = "python/module-shadowed", "python/path-pollution"


@environment(HEALTHY)
def healthy(lab: Lab) -> Target:
    """Nothing is at fault; there is no pip, as in any environment of uv"""
    return Target(lab.base().python)


# --- an interpreter that greets, or does not start


@environment(QUICK_HEALTHY)
def sitecustomize_prints(lab: Lab) -> Target:
    """A sitecustomize prints a banner"""
    venv = lab.copy()
    venv.write("sitecustomize.py", PRINT_BANNER)
    return Target(venv.python)


@environment(NOT_EXAMINED)
def sitecustomize_exits(lab: Lab) -> Target:
    """A sitecustomize ends every Python before it runs a line"""
    venv = lab.copy()
    venv.write("sitecustomize.py", "raise SystemExit(7)\n")
    return Target(venv.python)


@environment(QUICK_HEALTHY)
def pth_imports_missing_module(lab: Lab) -> Target:
    """A .pth file imports a module that is gone: Python complains at each start, and goes on"""
    venv = lab.copy()
    venv.write("old-debugger.pth", "import old_debugger_of_last_year\n")
    return Target(venv.python)


@environment(NOT_EXAMINED)
def interpreter_gone(lab: Lab) -> Target:
    """The Python below the environment was upgraded away"""
    venv = lab.empty()
    venv.python.unlink()
    venv.python.symlink_to("/nonexistent/bin/python3.11")
    return Target(venv.python)


# --- variables


def among_variables(lab: Lab, **variables: str | None) -> Target:
    """The healthy base, started with these variables; None unsets one."""
    return Target(lab.base().python, variables=variables)


@environment(QUICK_HEALTHY)
def home_unset(lab: Lab) -> Target:
    """HOME is not set"""
    return among_variables(lab, HOME=None)


@environment(QUICK_HEALTHY)
def caches_unwritable(lab: Lab) -> Target:
    """Nobody may write to the home folder, nor to the caches"""
    return among_variables(lab, HOME="/proc", HF_HOME="/proc/hf", TRITON_CACHE_DIR="/proc/triton")


@environment(HEALTHY)
def ascii_only(lab: Lab) -> Target:
    """The locale is C, and standard streams take nothing but ASCII"""
    return among_variables(lab, **ASCII)


@environment(QUICK_HEALTHY)
def temporary_folder_missing(lab: Lab) -> Target:
    """TMPDIR names a folder that is not there"""
    return among_variables(lab, TMPDIR=NO_FOLDER)


@environment(QUICK_HEALTHY)
def site_folder_locked(lab: Lab) -> Target:
    """Nobody may write to the folder of packages"""
    venv = lab.copy()
    lab.lock(venv.site)
    return Target(venv.python)


@environment(broken("python/docstrings-stripped"))
def docstrings_stripped(lab: Lab) -> Target:
    """PYTHONOPTIMIZE=2 strips the docstrings that transformers reads"""
    return among_variables(lab, PYTHONOPTIMIZE="2")


# --- the working folder


def started_among(lab: Lab, files: Mapping[str, str]) -> Target:
    """The healthy base, started in a folder that holds these files."""
    folder = lab.folder()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return Target(lab.base().python, folder)


@environment(broken(SHADOWED))
def torch_py_here(lab: Lab) -> Target:
    """A torch.py lies where Python is started"""
    return started_among(lab, {"torch.py": "print('my notes on torch')\n"})


@environment(broken(SHADOWED, options=QUICK))
def peft_py_here(lab: Lab) -> Target:
    """A peft.py lies where Python is started"""
    return started_among(lab, {"peft.py": "from peft import LoraConfig\n"})


@environment(QUICK_HEALTHY)
def datasets_folder_here(lab: Lab) -> Target:
    """A folder datasets lies here; it is data, and without an __init__.py the installed package wins"""
    return started_among(lab, {"datasets/train.jsonl": "{}\n"})


@environment(broken(SHADOWED))
def bitsandbytes_checkout_here(lab: Lab) -> Target:
    """Python is started in a checkout of bitsandbytes, whose folder has no native library"""
    target = started_among(lab, {"setup.py": ""})
    assert target.working_folder
    (package,) = lab.base().find("bitsandbytes")
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(package, target.working_folder / "bitsandbytes", ignore=ignored)
    return target


@environment(broken(SHADOWED))
def standard_library_names_here(lab: Lab) -> Target:
    """json.py, random.py, inspect.py and tempfile.py lie where Python is started"""
    names = ("json.py", "random.py", "inspect.py", "tempfile.py")
    return started_among(lab, dict.fromkeys(names, "raise RuntimeError('not the standard library')\n"))


# --- folders that stand before the packages


@environment(broken(POLLUTED))
def pythonpath_holds_accelerate(lab: Lab) -> Target:
    """PYTHONPATH names a folder with an accelerate.py that fails"""
    folder = lab.folder()
    (folder / "accelerate.py").write_text("Accelerator = undefined_name\n")
    return among_variables(lab, PYTHONPATH=str(folder))


@environment(broken(POLLUTED))
def pythonpath_of_another_python(lab: Lab) -> Target:
    """PYTHONPATH names the packages of Python 3.13, whose numpy has no native core for this one"""
    folder = lab.folder()
    run(
        uv(),
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--python-version",
        "3.13",
        "--target",
        folder,
        "numpy==2.4.6",
    )
    return among_variables(lab, PYTHONPATH=str(folder))


@environment(broken(POLLUTED))
def user_site_holds_broken_wandb(lab: Lab) -> Target:
    """A venv that admits the user's own packages, of which wandb fails when it is imported"""
    venv, home = lab.copy(), lab.folder()
    settings = venv.folder / "pyvenv.cfg"
    text = settings.read_text().replace("system-site-packages = false", "system-site-packages = true")
    settings.unlink()
    settings.write_text(text)
    variables = {"PYTHONUSERBASE": str(home)}
    asked = "import site; print(site.getusersitepackages())"
    user = UserSite(Path(run(venv.python, "-c", asked, env={**ENVIRONMENT, **variables}).strip()))
    user.register("wandb", "0.15.0")
    user.release("wandb", "wandb/__init__.py", "raise TypeError('Descriptors cannot be created directly.')\n")
    return Target(venv.python, variables=variables)


# --- little or nothing installed


@environment(broken("python/stack-missing"))
def empty(lab: Lab) -> Target:
    """pip and nothing else is installed"""
    return Target(lab.empty(seed=True).python)


@environment(broken("python/stack-missing"))
def empty_without_pip(lab: Lab) -> Target:
    """Nothing at all is installed"""
    return Target(lab.empty().python)


@environment(broken("python/stack-missing"))
def python38_empty(lab: Lab) -> Target:
    """Python 3.8 with nothing installed"""
    return Target(lab.empty("3.8").python)


@environment(broken("python/stack-missing"))
def python38_with_old_peft(lab: Lab) -> Target:
    """The newest peft and transformers that Python 3.8 ever got, and nothing that they need"""
    venv = lab.empty("3.8")
    install(venv, "peft==0.13.2", "transformers==4.46.3")
    return Target(venv.python)
