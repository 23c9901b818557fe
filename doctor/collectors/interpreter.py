"""Part of the survey: the interpreter itself. Runs inside the target, behind ``frame.py``."""

import platform
import site
import sysconfig


def kind_of_environment():
    """ "conda", "venv" or "system", by the marks that each leaves in its prefix."""
    if os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        return "conda"
    return "venv" if sys.prefix != sys.base_prefix else "system"


def site_folders():
    """Folders that installers write to, in the order of ``sys.path``, each once."""
    wanted = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    named = [entry for entry in sys.path if os.path.basename(entry) in ("site-packages", "dist-packages")]
    return list(dict.fromkeys(os.path.abspath(entry) for entry in named + wanted if entry))


def is_externally_managed():
    """PEP 668: the distribution forbids installing here; it never binds a virtual environment."""
    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(marker)


def describe_interpreter():
    """The fields of ``doctor.facts.Interpreter`` that the interpreter knows of itself."""
    folders = site_folders()
    return {
        "executable": sys.executable,
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "implementation": platform.python_implementation(),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "kind": kind_of_environment(),
        "site_folders": folders,
        "user_site": site.getusersitepackages() if site.ENABLE_USER_SITE else None,
        "externally_managed": is_externally_managed(),
        "has_pip": any(os.path.isdir(os.path.join(folder, "pip")) for folder in folders),
        "writable": os.access(sysconfig.get_path("purelib"), os.W_OK),
    }


def include_folder():
    """Where a C compiler is sent for Python.h: Debian's own scheme for local installs has none of its own."""
    scheme = getattr(sysconfig, "get_default_scheme", None) or sysconfig._get_default_scheme  # since 3.10
    name = scheme()
    return sysconfig.get_path("include", "posix_prefix" if name == "posix_local" else name)


emit({"section": "interpreter", **describe_interpreter()})
emit({"section": "headers", "include_folder": include_folder()})
