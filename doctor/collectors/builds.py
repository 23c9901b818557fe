"""Part of the survey: torch and bitsandbytes as their files describe them, nothing imported."""

VERSION_LINE = re.compile(
    r"^(__version__|cuda|hip|xpu)\b[^=\n]{0,60}=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|None)", re.M
)


def torch_build(folder):
    """The assignments of torch/version.py: {"__version__": "2.13.0+cpu", "cuda": None, "hip": None}."""
    with open(os.path.join(folder, "torch", "version.py"), encoding="utf-8", errors="replace") as file:
        text = file.read(1 << 16)
    return {match.group(1): match.group(2) or match.group(3) for match in VERSION_LINE.finditer(text)}


def native_libraries(folder):
    """Names of the libraries that bitsandbytes ships, smallest name first."""
    names = os.listdir(os.path.join(folder, "bitsandbytes"))
    return sorted(name for name in names if name.startswith("libbitsandbytes"))


def read_build(package, read):
    """What ``read`` says of the folder that holds a package; None where it is absent."""
    versions = [one["version"] for one in FOUND if one["name"] == package]
    folder = IMPORTABLE.get(package) or next(
        (one["location"] for one in FOUND if one["name"] == package), None
    )
    if folder is None:
        return None
    try:
        return {"version": "".join(versions[:1]), "build": read(folder), "fault": ""}
    except OSError as error:
        return {"version": "".join(versions[:1]), "build": None, "fault": str(error)}


emit(
    {
        "section": "builds",
        "torch": read_build("torch", torch_build),
        "bitsandbytes": read_build("bitsandbytes", native_libraries),
    }
)
