"""Part of the survey: torch and bitsandbytes as their files describe them, nothing imported."""

VERSION_LINE = re.compile(
    r"^(__version__|cuda|hip)\b[^=\n]{0,60}=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|None)", re.M
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


def read_build(found, package, read):
    """What ``read`` says of the folder that holds a package; None where it is absent or unreadable."""
    for one in found:
        if one["name"] == package:
            try:
                return {"version": one["version"], "build": read(one["location"]), "fault": ""}
            except OSError as error:
                return {"version": one["version"], "build": None, "fault": str(error)}
    return None


emit(
    {
        "section": "builds",
        "torch": read_build(FOUND, "torch", torch_build),
        "bitsandbytes": read_build(FOUND, "bitsandbytes", native_libraries),
    }
)
