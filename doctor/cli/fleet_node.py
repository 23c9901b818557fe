"""``lora-doctor fleet node``: what a launcher starts on each node. People start it by ``fleet run``."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from doctor.cli import options
from doctor.cli.early import leave, this_machine
from doctor.cli.examination import chosen_target
from doctor.cli.output import EXIT_NOT_EXAMINED, refuse

if TYPE_CHECKING:
    from doctor.fleet.envelope import Envelope
    from doctor.fleet.place import Place
    from doctor.host import LocalHost

Name = Annotated[
    str,
    typer.Option(
        "--name", metavar="NAME", help="What this node is called; by default as its launcher calls it."
    ),
]
Collective = Annotated[
    bool, typer.Option("--collective", help="Test how this rank talks with the others as well.")
]
Backend = Annotated[
    Literal["auto", "nccl", "gloo"],
    typer.Option("--backend", help="What ranks talk with; auto: NCCL on GPUs."),
]
Endpoint = Annotated[
    str,
    typer.Option(
        "--endpoint", metavar="HOST:PORT", help="Where ranks meet, if the launcher does not say it."
    ),
]
NodeTimeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Longest time for the check of this node.")
]
Wait = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", help="Longest time that ranks wait for one another.")
]
OutputFolder = Annotated[
    str | None,
    typer.Option("--output-folder", metavar="FOLDER", help="Write NAME.json there, not to standard output."),
]
CheckOptions = Annotated[
    list[str] | None, typer.Argument(metavar="[-- CHECK OPTION...]", help="Options of check for this node.")
]
NODE_LIMIT_S, WAIT_S = 300.0, 60.0
PAUSE_S = 0.003


def node(
    name: Name = "",
    collective: Collective = False,
    backend: Backend = "auto",
    endpoint: Endpoint = "",
    wait: Wait = WAIT_S,
    python: options.Python = None,
    timeout: NodeTimeout = NODE_LIMIT_S,
    output_folder: OutputFolder = None,
    check_options: CheckOptions = None,
) -> None:
    """A node's part of a fleet: check it and print one answer, in short lines that no launcher mixes up."""
    from doctor.fleet.node import examined, with_collective
    from doctor.fleet.place import place_in

    host = this_machine()
    place = at_endpoint(place_in(host.env, machine_name(host), name), endpoint)
    found = None
    if collective:
        from doctor.fleet.rank import limits_within, run_rank

        refuse_unplaced(place)
        if place.agent_store:
            end_with_agent()
        asked = "" if backend == "auto" else backend
        found = run_rank(host, chosen_target(host, python), place, limits_within(wait), asked)
    envelope = None
    if found is None or not place.local_rank:
        words = [*(["--python", python] if python else []), *(check_options or [])]
        envelope = examined(host, place, words, timeout)
    answer(with_collective(place, found, envelope) if found else envelope, output_folder)


def end_with_agent() -> None:
    """End, with all children, once torchrun has gone: it is not always left the time to end its ranks."""
    agent = os.getppid()

    def watch() -> None:
        while os.getppid() == agent:
            time.sleep(1.0)
        leave()
        os._exit(EXIT_NOT_EXAMINED)

    threading.Thread(target=watch, daemon=True).start()


def machine_name(host: LocalHost) -> str:
    """What this machine calls itself."""
    return os.uname().nodename if hasattr(os, "uname") else host.env.get("COMPUTERNAME", "")


def at_endpoint(place: Place, endpoint: str) -> Place:
    """The place with the stated meeting point, unless the launcher has said where it is."""
    if not endpoint or place.agent_store:
        return place
    address, _, port = endpoint.rpartition(":")
    if not address or not port.isdigit():
        refuse(f"--endpoint {endpoint} is no HOST:PORT", "write it as in: --endpoint gpu-01:29500")
    return place._replace(master=address.strip("[]"), port=int(port))


def refuse_unplaced(place: Place) -> None:
    """Leave where no launcher has said which rank this is, or where the ranks meet."""
    if place.rank is None or place.world_size is None:
        refuse("no launcher has given this process a rank", "see: lora-doctor fleet run --launcher torchrun")
    if not place.master:
        refuse(
            "nobody says where the ranks meet", "name it: --endpoint HOST:PORT, a host that all of them reach"
        )


def answer(envelope: Envelope | None, folder: str | None) -> None:
    """Print a node's answer in frames, each written at once; or put it whole into a shared folder."""
    from doctor.fleet.envelope import line
    from doctor.fleet.frames import cut

    if envelope is None:
        return
    text = line(envelope)
    if folder is None:
        write_frames(cut(text, envelope.node))
        return
    suffix = f".{envelope.rank}" if envelope.collective else ""
    path = os.path.join(os.path.expanduser(folder), file_name(envelope.node) + suffix + ".json")
    beside = f"{path}.{os.getpid()}"
    try:
        write_whole(text, beside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        refuse(
            f"{path} cannot be written: {error.strerror}", "name a folder that all nodes share and may write"
        )


def write_frames(frames: Sequence[str]) -> None:
    """Print frames at a pace at which a launcher reads them whole.

    Twice to a terminal: Open MPI gives its processes one, and cuts what comes faster than it reads.
    """
    from doctor.fleet.frames import AT_ONCE

    for _ in range(2 if sys.stdout.isatty() else 1):
        for index, frame in enumerate(frames, 1):
            sys.stdout.write(frame)
            sys.stdout.flush()
            if index % AT_ONCE == 0:
                time.sleep(PAUSE_S)


def write_whole(text: str, beside: str, path: str) -> None:
    """Write a file that is there as a whole or not at all. Raises OSError."""
    with open(beside, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    os.replace(beside, path)


def file_name(node: str) -> str:
    """A node's name as a name of a file."""
    return (
        "".join(letter if letter.isalnum() or letter in "-._" else "_" for letter in node).lstrip(".")
        or "node"
    )
