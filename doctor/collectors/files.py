"""Part of the survey: installed files held against RECORD, and local files that hide packages."""

import csv
import functools
import hashlib
from base64 import urlsafe_b64encode

NAMED = 5  # files listed by name; the rest is counted
# conda and the distributions rewrite prefixes and scripts after the record was made.
REWRITERS = ("conda", "debian", "rpm")
NATIVE_NAME = re.compile(r"\.(?:so(?:\.\d+)*|pyd|dll|dylib)$")
NATIVE_ELSEWHERE = (".pyd", ".dll", ".dylib")
SHALLOW = 2  # folders that a quick look goes down for Python files


@functools.lru_cache(maxsize=None)
def recorded_code(dist_info):
    """Rows [path, hash, size] of a RECORD that are code below the site folder; None without a record."""
    try:
        with open(os.path.join(dist_info, "RECORD"), encoding="utf-8", newline="") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    if not any(lines):
        return None  # a full disk leaves it empty
    # Ten thousands of lines: only what is code is taken apart, and only a quoted line goes to a real reader.
    rows = [line.rsplit(",", 2) for line in lines if is_code(line[: line.find(",")])]
    rows += [cells_of(line) for line in lines if line[:1] == '"']
    return [row for row in rows if len(row) == 3 and row[0] and is_code(row[0])]


def cells_of(line):
    """The cells of a line that is quoted, none where no reader makes sense of it."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def is_code(path):
    """Native code anywhere, Python code as far down as the look goes; nothing above the site folder."""
    if path.endswith(".py"):
        return path[0] not in "./" and (CONFIG["hash"] or path.count("/") <= SHALLOW)
    native = (".so" in path or path.endswith(NATIVE_ELSEWHERE)) and NATIVE_NAME.search(path)
    return bool(native) and path[0] not in "./"


def hash_of(path):
    """SHA-256 of a file in RECORD's own spelling."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return "sha256=" + urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


@functools.lru_cache(maxsize=None)
def names_in(folder):
    """What lies in a folder; one look for all the files that should be there."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def size_is_wrong(path, recorded):
    """ "truncated", "altered", or "" where the size is as recorded."""
    size = os.stat(path).st_size
    if not recorded.isdigit() or size == int(recorded):
        return ""
    return "truncated" if size < int(recorded) and NATIVE_NAME.search(path) else "altered"


def state_of(location, row, trusted):
    """ "missing", "truncated" or "altered", "" for a file that is whole; and whether it was hashed.

    A quick look takes the sizes of native files alone: a Python file that was cut says so itself.
    """
    path, recorded_hash, recorded_size = row
    folder, _, name = path.rpartition("/")
    folder = location + os.sep + folder if folder else location
    if name not in names_in(folder):
        return "missing", False
    native = NATIVE_NAME.search(name)
    if not (trusted and (native or CONFIG["hash"])):
        return "", False
    path = folder + os.sep + name
    try:
        wrong = size_is_wrong(path, recorded_size)
        if wrong or not (native and CONFIG["hash"] and recorded_hash.startswith("sha256=")):
            return wrong, False
        return ("" if hash_of(path) == recorded_hash else "altered"), True
    except OSError:
        return "missing", False


def check_distribution(one, totals):
    """The faults of one distribution's files, None where all are whole or nothing is recorded."""
    rows = recorded_code(one["dist_info"])
    if rows is None:
        totals["without_record"].append(one["name"])
        return None
    states = {"missing": [], "altered": [], "truncated": []}
    trusted = one["installer"] not in REWRITERS
    for row in rows:
        state, hashed = state_of(one["location"], row, trusted)
        totals["hashed"] += hashed
        if state:
            states[state].append(row[0])
    totals["checked"] += len(rows)
    return fault_of(one, states)


def fault_of(one, states):
    """The fields of ``doctor.facts.FileFault``, None where no file is ill."""
    if not any(states.values()):
        return None
    altered = states["truncated"] + states["altered"]
    # Native files first: they are what a person must hear of.
    order = sorted(states["missing"], key=lambda path: (not NATIVE_NAME.search(path), path))
    return {
        "package": one["name"],
        "version": one["version"],
        "missing": order[:NAMED],
        "altered": sorted(altered, key=lambda path: (not NATIVE_NAME.search(path), path))[:NAMED],
        "missing_count": len(states["missing"]),
        "altered_count": len(altered),
        "truncated": states["truncated"][:NAMED],
    }


def check_files(found, names):
    """RECORD against the disk, for the packages a fine-tune stands on."""
    totals = {"checked": 0, "hashed": 0, "without_record": []}
    once = {one["name"]: one for one in reversed(found) if one["name"] in names and not one["editable"]}
    # Of two registrations in one folder one is stale: its RECORD proves nothing.
    places = [(one["name"], one["location"]) for one in found]
    twice = {name for name, location in places if places.count((name, location)) > 1}
    faults = [check_distribution(one, totals) for name, one in sorted(once.items()) if name not in twice]
    return {**totals, "faults": [fault for fault in faults if fault]}


def modules_of(one):
    """Top-level import names of one distribution, from its RECORD, else from its own name."""
    tops = {row[0].split("/", 1)[0] for row in recorded_code(one["dist_info"]) or ()}
    names = {top.split(".", 1)[0] for top in tops}
    return sorted(filter(str.isidentifier, names)) or [one["name"].replace("-", "_")]


MODULES = {one["name"]: modules_of(one) for one in FOUND if one["name"] in STACK_CLOSURE}
emit(
    {
        "section": "files",
        "modules": MODULES,
        **check_files(FOUND, STACK_CLOSURE),
    }
)
