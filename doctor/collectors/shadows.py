"""Part of the survey: files that are imported in place of an installed package."""


def provider(folder, module):
    """The path under one folder that ``import module`` would take, None where it has none.

    A folder without ``__init__.py`` provides nothing as long as a regular package follows.
    """
    for path in (os.path.join(module, "__init__.py"), module + ".py"):
        if os.path.isfile(os.path.join(folder, path)):
            return os.path.join(folder, path)
    return None


def suspects():
    """Folders that stand before the site folders on ``sys.path``, each with its name in a report."""
    entries = [(os.getcwd(), "working folder")] if LOCAL_ENTRIES else []
    stated = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    entries += [(os.path.abspath(entry), "PYTHONPATH") for entry in stated]
    if site.ENABLE_USER_SITE:
        entries.append((os.path.abspath(site.getusersitepackages()), "user site"))
    return entries


def is_own_checkout(folder, found):
    """Is this folder itself one of the sources that are installed editable?"""
    origins = [one["origin"][len("file://") :] for one in found if one["editable"]]
    return any(folder == origin or folder.startswith(origin + os.sep) for origin in origins if origin)


def hidden_by(folder, entry, modules):
    """The modules that one folder takes from the package that holds them."""
    for module in sorted(modules):
        path = provider(folder, module)
        if path:
            yield {"module": module, "path": path, "entry": entry}


def shadows(found, names):
    """Every module of the stack, or of the standard library, that another file hides."""
    homes, foreign = {}, {folder for folder, _ in suspects()}
    for one in found:
        if one["name"] in names and not one["editable"] and one["location"] not in foreign:
            for module in MODULES[one["name"]]:
                homes.setdefault(module, []).append(one["location"])
    standard = set(getattr(sys, "stdlib_module_names", ())) - {"__main__"}
    rows = []
    for folder, entry in suspects():
        if not is_own_checkout(folder, found):
            watched = set(homes) if entry == "user site" else set(homes) | standard
            rows += hidden_by(folder, entry, watched)
    return rows


def importable(names):
    """The folder that each module would be imported from, where there is one."""
    folders = [os.getcwd() for _ in LOCAL_ENTRIES] + search_folders()
    places = {name: next((folder for folder in folders if provider(folder, name)), None) for name in names}
    return {name: folder for name, folder in places.items() if folder}


def recorded_size(one, path):
    """The size of one file by the RECORD of a distribution, "" where that does not hold it."""
    return next((row[2] for row in recorded_code(one["dist_info"]) or () if row[0] == path), "")


def overlaps(found, names):
    """Libraries whose files another distribution holds too, as a fork under another name does."""
    rows = []
    for name in names:
        path = name + "/__init__.py"
        # Only a name that tells of it: to read every RECORD takes too long.
        candidates = [one for one in found if name in one["name"].split("-")]
        if len(candidates) < 2:
            continue
        sizes = {one["name"]: size for one in candidates for size in [recorded_size(one, path)] if size}
        if len(sizes) > 1 and name in sizes:
            taken = provider(IMPORTABLE[name], name) if name in IMPORTABLE else None
            there = str(os.path.getsize(taken)) if taken else ""
            rows += [
                {"package": name, "rival": rival, "rival_is_there": there == size != sizes[name]}
                for rival, size in sizes.items()
                if rival != name
            ]
    return rows


IMPORTABLE = importable(CONFIG["stack"])
emit(
    {
        "section": "shadows",
        "shadows": shadows(FOUND, STACK_CLOSURE),
        "overlaps": overlaps(FOUND, CONFIG["stack"]),
        "unregistered": sorted(set(IMPORTABLE) - {one["name"] for one in FOUND}),
    }
)
