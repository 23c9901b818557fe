"""Telling the doctor where the test stands, and what this rank sees of its machine."""

import socket
import time

RANK, WORLD = CONFIG["rank"], CONFIG["world_size"]
# What decides over which interface and with which library ranks talk. Values of other variables stay unsaid.
TELLING_PREFIXES = (
    "NCCL_",
    "GLOO_",
    "TORCH_NCCL_",
    "UCX_",
    "FI_",
    "CUDA_VISIBLE_DEVICES",
    "TP_SOCKET_IFNAME",
)


def end_with_the_doctor():
    """Have the kernel end this process with the one that started it: a stopped rank would stay for ever.

    PR_SET_PDEATHSIG of Linux, see prctl(2); elsewhere nothing.
    """
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)
    except (ImportError, AttributeError, OSError, TypeError):
        pass


def step(name):
    """Name what is done from now on: where this process dies or hangs, that was it."""
    emit({"event": "step", "step": name})


def tell(name, **values):
    """One thing that was seen."""
    emit(dict(values, event=name))


def in_words(error):
    """An exception as one short line."""
    text = " ".join(str(error).split())
    return (type(error).__name__ + (": " + text if text else ""))[:400]


def interfaces():
    """Names of this machine's network interfaces that may carry ranks, with the address of each."""
    try:
        names = [name for _, name in socket.if_nameindex()]
    except OSError:
        return []
    return [name + (" " + address if address else "") for name in names for address in [address_of(name)]]


def address_of(interface):
    """The IPv4 address of an interface, "" where it has none. SIOCGIFADDR of Linux, see netdevice(7)."""
    try:
        import fcntl
        import struct

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            answer = fcntl.ioctl(asked.fileno(), 0x8915, struct.pack("256s", interface[:15].encode()))
        return socket.inet_ntoa(answer[20:24])
    except (ImportError, OSError):
        return ""


def environment():
    """The variables that decide how ranks talk."""
    return {
        name: value[:200] for name, value in sorted(os.environ.items()) if name.startswith(TELLING_PREFIXES)
    }
