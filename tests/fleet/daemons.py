"""Real daemons as processes of a test, on this machine: a Slurm of several nodes, an sshd with many faces."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

NODES = ("n1", "n2", "n3", "n4")
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
START_S = 30.0

SLURM = """\
ClusterName=doctor
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ReturnToService=2
KillWait=1
UnkillableStepTimeout=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

SSHD = """\
{ports}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
{faces}
"""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def program(name: str) -> str:
    """Where a program stands, daemons included."""
    found = shutil.which(name, path=PATH)
    assert found, name
    return found


@contextmanager
def running(*argv: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon in the foreground, ended afterwards with all that it started."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            argv, stdout=file, stderr=file, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def until(holds: Callable[[], bool], what: str, log: Path | None = None) -> None:
    """Wait for a daemon to serve."""
    deadline = time.monotonic() + START_S
    while not holds():
        said = log.read_text(errors="replace")[-2000:] if log and log.exists() else ""
        assert time.monotonic() < deadline, f"{what}: {said}"
        time.sleep(0.1)


@contextmanager
def folder_of_ours(prefix: str) -> Iterator[Path]:
    """A folder whose path is short enough for a socket, and which daemons of any user may pass through."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def slurm() -> Iterator[Mapping[str, str]]:
    """A controller and a slurmd for each of :data:`NODES`; the environment in which srun finds them."""
    with folder_of_ours("doctor-slurm-") as folder, ExitStack() as stack:
        (folder / "munge").mkdir(mode=0o711)
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir()
        stack.enter_context(munge(folder))
        configuration = folder / "slurm.conf"
        configuration.write_text(slurm_configuration(folder))
        start = ("-D", "-f", str(configuration))
        stack.enter_context(running(program("slurmctld"), *start, log=folder / "controller"))
        for node in NODES:
            stack.enter_context(running(program("slurmd"), *start, "-N", node, log=folder / node))
        env = {**os.environ, "SLURM_CONF": str(configuration)}
        until(lambda: idle_nodes(env) == set(NODES), "slurmctld", folder / "controller")
        yield env


def slurm_configuration(folder: Path) -> str:
    """A slurm.conf in which every node is this machine."""
    host = socket.gethostname().partition(".")[0]
    controller, *ports = free_ports(1 + len(NODES))
    cpus = os.cpu_count() or 1
    nodes = [
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} State=UNKNOWN"
        for node, port in zip(NODES, ports, strict=True)
    ]
    return SLURM.format(
        host=host, port=controller, user=getpass.getuser(), folder=folder, nodes="\n".join(nodes)
    )


@contextmanager
def munge(folder: Path) -> Iterator[None]:
    """The daemon by which Slurm's programs trust each other, with a key of its own."""
    own = folder / "munge"
    key = own / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={own / name}" for option, name in names.items()]
    with running(program("munged"), "--foreground", "--force", *options, log=folder / "munged"):
        until((own / "socket").exists, "munged", folder / "munged")
        yield


def idle_nodes(env: Mapping[str, str]) -> set[str]:
    """The nodes that wait for work."""
    argv = [program("sinfo"), "-h", "-N", "-t", "idle", "-o", "%N"]
    done = subprocess.run(argv, env=dict(env), capture_output=True, text=True, timeout=30, check=False)
    return set(done.stdout.split())


@contextmanager
def sshd(faces: Mapping[str, str]) -> Iterator[list[str]]:
    """An sshd that runs another command for each name; options of ssh that know the names.

    A command of "" runs what is asked for. Besides, "refuses" has no listener, and "silent" says nothing.
    """
    with folder_of_ours("doctor-sshd-") as folder, ExitStack() as stack:
        for name in ("host_key", "user_key"):
            argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(argv, check=True, timeout=30)
        ports = dict(zip((*faces, "refuses"), free_ports(len(faces) + 1), strict=True))
        (folder / "sshd_config").write_text(sshd_configuration(folder, faces, ports))
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # what the package's own start makes
        server = (program("sshd"), "-D", "-e", "-f", str(folder / "sshd_config"))
        stack.enter_context(running(*server, log=folder / "log"))
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ports["silent"] = int(silent.getsockname()[1])
        until(lambda: listens(next(iter(ports.values()))), "sshd", folder / "log")
        (folder / "config").write_text(client_configuration(folder, ports))
        yield ["-F", str(folder / "config")]


def sshd_configuration(folder: Path, faces: Mapping[str, str], ports: Mapping[str, int]) -> str:
    """One port a face, each with its own command."""
    matches = [
        f"Match LocalPort {ports[name]}\n  ForceCommand {command}"
        for name, command in faces.items()
        if command
    ]
    listening = [f"Port {ports[name]}" for name in faces]
    return SSHD.format(folder=folder, ports="\n".join(listening), faces="\n".join(matches))


def client_configuration(folder: Path, ports: Mapping[str, int]) -> str:
    """Each name leads to its port, with the key that opens it."""
    common = f"  HostName 127.0.0.1\n  User {getpass.getuser()}\n  IdentityFile {folder}/user_key\n"
    trust = f"  StrictHostKeyChecking accept-new\n  UserKnownHostsFile {folder}/known\n  LogLevel ERROR\n"
    return "".join(f"Host {name}\n  Port {port}\n{common}{trust}" for name, port in ports.items())


def listens(port: int) -> bool:
    """Does somebody listen at a port of this machine?"""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def fleet(
    *words: str, env: Mapping[str, str] | None = None, timeout_s: float = 100.0
) -> subprocess.CompletedProcess[str]:
    """``lora-doctor fleet`` as people run it."""
    return subprocess.run(
        [sys.executable, "-m", "doctor", "fleet", *words],
        env=dict(env or os.environ),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def stub(path: Path, text: str) -> str:
    """A program of a few lines of shell."""
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def doctor_words() -> Sequence[str]:
    """How this checkout's doctor is called."""
    return (sys.executable, "-m", "doctor")
