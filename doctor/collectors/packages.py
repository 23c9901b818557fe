"""Part of the survey: what is installed, read from metadata alone. Runs inside the target."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FIELDS = ("name", "version", "requires-dist", "requires-python")
WITH_EXTRAS = re.compile(r"([\w.-]+)\s*\[([^\]]+)\][^;]*;?\s*(.*)")  # name, extras, marker
OF_EXTRA = re.compile(r"\s*(?:;|\band)\s*extra\s*==\s*['\"]([\w.-]+)['\"]\s*$")  # at the end of a marker
SYSTEM = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}.get(sys.platform, "")


def normalise(name):
    """The one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_head(path):
    """The header block of a METADATA file as {field: [values]}; raises OSError or UnicodeDecodeError."""
    with open(path, "rb") as file:
        head = file.read(1 << 20).replace(b"\r\n", b"\n").split(b"\n\n", 1)[0]
    fields = {}
    for line in head.decode("utf-8").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.lower() in FIELDS:
            fields.setdefault(key.lower(), []).append(value.strip())
    return fields


def read_line(folder, name):
    """The first line of a small file beside the metadata, "" where there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


def origin_of(folder):
    """(URL or VCS origin, editable) from direct_url.json, PEP 610."""
    try:
        with open(os.path.join(folder, "direct_url.json"), encoding="utf-8") as file:
            direct = json.load(file)
        vcs = direct.get("vcs_info") or {}
        prefix = vcs["vcs"] + "+" if vcs.get("vcs") else ""
        suffix = "@" + vcs["commit_id"] if vcs.get("commit_id") else ""
        editable = bool((direct.get("dir_info") or {}).get("editable"))
        return prefix + str(direct.get("url", "")) + suffix, editable
    except (OSError, ValueError, AttributeError, TypeError):
        return "", False


def is_gone(origin, editable):
    """Was the package installed from a folder of this machine that is no longer there?"""
    if not (editable and origin.startswith("file://")):
        return False
    path = origin[len("file://") :]
    if "%" in path:
        from urllib.parse import unquote  # 8 ms, and nearly never needed

        path = unquote(path)
    return not os.path.isdir(path.lstrip("/") if os.name == "nt" else path)


def metadata_file(folder):
    """Where an installed distribution keeps its metadata: dist-info, egg-info, or one bare file."""
    if not os.path.isdir(folder):
        return folder
    wheel_style = folder.endswith(".dist-info")
    return os.path.join(folder, "METADATA" if wheel_style else "PKG-INFO")


def read_distribution(site_folder, entry):
    """One distribution as the fields of ``doctor.facts.Package``, its fault named where it is ill."""
    folder = os.path.join(site_folder, entry)
    stem = entry.rsplit(".", 1)[0]
    name, _, version = stem.partition("-")
    fields, fault = {}, ""
    try:
        fields = read_head(metadata_file(folder))
        if not fields.get("version") or not fields.get("name"):
            fault = "its METADATA names no " + ("version" if fields.get("name") else "name")
    except OSError as error:
        fault = "its METADATA cannot be read: " + (error.strerror or type(error).__name__)
    except UnicodeDecodeError:
        fault = "its METADATA is not text"
    origin, editable = origin_of(folder)
    return {
        "name": normalise((fields.get("name") or [name])[0]),
        "version": (fields.get("version") or [version.split("-")[0]])[0],
        "location": site_folder,
        "dist_info": folder,
        "installer": read_line(folder, "INSTALLER").lower(),
        "requires": [need for need in fields.get("requires-dist", []) if "extra ==" not in need],
        "of_extras": [need for need in fields.get("requires-dist", []) if "extra ==" in need],
        "requires_python": (fields.get("requires-python") or [""])[0],
        "editable": editable,
        "origin": origin,
        "source_gone": is_gone(origin, editable),
        "fault": fault,
    }


def distributions(folders):
    """Every distribution of every folder, in the order in which an import would meet them."""
    found, leftovers = [], []
    for folder in folders:
        try:
            entries = sorted(os.listdir(folder))
        except OSError:
            continue
        leftovers += [entry for entry in entries if entry.startswith("~")]
        endings = (".dist-info", ".egg-info")
        found += [
            read_distribution(folder, entry)
            for entry in entries
            if entry.endswith(endings) and not entry.startswith("~")
        ]
    return found, leftovers


def search_folders():
    """Every folder of ``sys.path`` that can hold distributions, each once."""
    wanted = list(sys.path) + site_folders()
    # Two names of one folder, as lib64 often is of lib, hold its packages once.
    real = {}
    for entry in filter(None, wanted):
        real.setdefault(os.path.realpath(entry), os.path.abspath(entry))
    return [entry for entry in real.values() if os.path.isdir(entry)]


def closure(found, roots):
    """Names of the roots and of all that they require, directly or not, among what is installed."""
    needs = {}
    for one in found:
        names = [NAME.match(need) for need in one["requires"]]
        needs.setdefault(one["name"], []).extend(normalise(name.group()) for name in names if name)
    reached, queue = set(), [root for root in roots if root in needs]
    while queue:
        name = queue.pop()
        if name not in reached:
            reached.add(name)
            queue += [need for need in needs[name] if need in needs]
    return reached


def extras_asked(found, reached):
    """{package: extras} that what is reached asks for on this system, as torch for cuda-toolkit[cublas].

    A marker that says more than the system is not judged here, and nothing is then asked.
    """
    asked = {}
    for one in found:
        for need in one["requires"] if one["name"] in reached else ():
            match = WITH_EXTRAS.match(need) if "[" in need else None
            if match and (
                not match[3] or re.fullmatch("platform_system == ['\"]" + SYSTEM + "['\"]", match[3])
            ):
                names = (normalise(extra.strip()) for extra in match[2].split(","))
                asked.setdefault(normalise(match[1]), set()).update(names)
    return asked


def add_extras(found, reached):
    """Move to what a package requires what those of its extras do that are asked for. Was there any?"""
    asked, is_more = extras_asked(found, reached), False
    for one in found:
        extras = asked.get(one["name"], ())
        for need in list(one["of_extras"]) if extras else ():
            match = OF_EXTRA.search(need)
            if match and normalise(match[1]) in extras:
                one["of_extras"].remove(need)
                plain, is_more = need[: match.start()], True
                if plain not in one["requires"]:
                    one["requires"].append(plain)
    return is_more


def stack_closure(found, roots):
    """The closure, with what the extras require that it asks for; what else extras require is forgotten."""
    reached = closure(found, roots)
    while add_extras(found, reached):
        reached = closure(found, roots)
    for one in found:
        del one["of_extras"]
    return reached


FOLDERS = search_folders()
FOUND, LEFTOVERS = distributions(FOLDERS)
STACK_CLOSURE = stack_closure(FOUND, CONFIG["stack"])
emit(
    {
        "section": "packages",
        "folders": FOLDERS,
        "found": FOUND,
        "leftovers": LEFTOVERS,
        "closure": sorted(STACK_CLOSURE),
    }
)
