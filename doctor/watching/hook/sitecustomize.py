"""Reaches a watched Python process by PYTHONPATH and waits until that asks for torch.

Nothing of the program is replaced or called differently: there is one finder that finds nothing, and only
where torch is asked for is ``watcher`` beside this file run. Then the sitecustomize is run that this one
stands in front of. Python 3.8 grammar, standard library only.
"""

import os
import sys

FOLDER = os.environ.get("LORA_DOCTOR_WATCH", "")
OURS = os.path.dirname(os.path.abspath(__file__))


class Finder:
    """Finds no module, but hears that torch is asked for."""

    def __init__(self):
        self.heard = False

    def find_spec(self, name, path=None, target=None):
        """None, always."""
        if name == "torch" and self.heard is False:
            self.heard = True
            try:
                begin()
            except Exception:  # whatever it is, the program does not hear of it
                self.heard = None


def begin():
    """Run the watcher, in a namespace of its own."""
    space = {"__name__": "lora_doctor_watcher"}
    for part in ("state.py", "watcher.py"):
        with open(os.path.join(OURS, part), "rb") as file:
            exec(compile(file.read(), "<lora-doctor watch>", "exec"), space)
    space["install"](FOLDER, float(os.environ.get("LORA_DOCTOR_WATCH_INTERVAL", "1")))


def install():
    """Begin to listen, and leave a sign that the hook could be set."""
    sys.meta_path.insert(0, Finder())
    sign = os.path.join(FOLDER, "python")
    if not os.path.exists(sign):
        os.close(os.open(sign, os.O_WRONLY | os.O_CREAT, 0o600))


def chain():
    """Take our folder off sys.path and run the sitecustomize that we stand in front of, if there is one.

    What that one raises goes on to ``site``, which deals with it as it would have done without us.
    """
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != OURS]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


try:
    if os.path.isdir(FOLDER):
        install()
except Exception:
    FOLDER = ""
chain()
