"""What a run must know of its target, told by the target itself. Runs inside it, behind ``frame.py``."""

import os
import re
import site
import sys
import sysconfig
from importlib import metadata


def described(distribution):
    """One distribution as ``pip freeze`` has it: name==version, or name @ where it came from."""
    name, version = distribution.metadata["Name"], distribution.version
    if not name:
        return None
    name = re.sub(r"[-_.]+", "-", name).lower()
    origin = ""
    try:
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
        origin = direct.get("url", "")
        vcs = direct.get("vcs_info") or {}
        if vcs:
            origin = vcs.get("vcs", "") + "+" + origin + "@" + vcs.get("commit_id", "")
    except (OSError, ValueError, AttributeError):
        pass
    return name + " @ " + origin + " (" + version + ")" if origin else name + "==" + version


def frozen(folders):
    """Every distribution in these folders, sorted; one whose metadata cannot be read by its folder's name."""
    told = []
    for distribution in metadata.distributions(path=folders):
        try:
            told.append(described(distribution))
        except Exception:
            told.append(folder_name(distribution).partition("-")[0] + "==unreadable")
    return sorted(filter(None, told))


def folder_name(distribution):
    """ "peft-0.21.2.dist-info", the folder of the metadata."""
    return os.path.basename(str(getattr(distribution, "_path", "")))


def sizes(folders, names):
    """{name: bytes} of installed distributions, by the sizes of their files on the disk."""
    found = {}
    for distribution in metadata.distributions(path=folders) if names else ():
        try:
            name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
            if name in names:
                files = [str(file.locate()) for file in distribution.files or ()]
                found[name] = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
        except Exception:
            continue
    return found


def kind():
    """ "conda", "venv" or "system", by the marks that each leaves in its prefix."""
    if os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        return "conda"
    return "venv" if os.path.isfile(os.path.join(sys.prefix, "pyvenv.cfg")) else "system"


def real(paths):
    """Each folder once, whatever its names."""
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if path))


def is_own(entry):
    """Is it a folder of packages within the prefix? Debian's Python has one besides what it installs into."""
    named = os.path.basename(entry) in ("site-packages", "dist-packages") and os.path.isdir(entry)
    return named and os.path.realpath(entry).startswith(os.path.join(os.path.realpath(sys.prefix), ""))


PATHS = sysconfig.get_paths()
PACKAGES = [PATHS["purelib"], PATHS["platlib"]] + list(filter(is_own, sys.path))
USER = site.getusersitepackages() if site.ENABLE_USER_SITE else None
MARKER = os.path.join(PATHS["stdlib"], "EXTERNALLY-MANAGED")
FOLDERS = real(PACKAGES + ([USER] if USER and os.path.isdir(USER) else []))
emit(
    {
        "section": "environment",
        "kind": kind(),
        "prefix": sys.prefix,
        "packages": real(PACKAGES),
        "scripts": PATHS["scripts"],
        "data": PATHS["data"],
        "user": USER if USER and os.path.isdir(USER) else "",
        "externally_managed": sys.prefix == sys.base_prefix and os.path.exists(MARKER),
        "writable": os.access(PATHS["purelib"], os.W_OK) and os.access(PATHS["platlib"], os.W_OK),
        "frozen": frozen(FOLDERS),
        "sizes": sizes(FOLDERS, set(CONFIG["names"])),
    }
)
