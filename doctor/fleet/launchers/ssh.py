"""OpenSSH: one client a host, all at the same time. Source: ssh(1), ssh_config(5)."""

from __future__ import annotations

from doctor.fleet.launchers import Launch, Order, OrderIncomplete, quoted

CONNECT_S = 10
OPTIONS = (
    "-T",
    # A host that asks for a password or an unknown key is an answer, not a prompt among hundreds.
    *("-o", "BatchMode=yes"),
    *("-o", f"ConnectTimeout={CONNECT_S}"),
    *("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"),  # a network that goes silent
)


def launch(order: Order) -> Launch:
    """One ``ssh`` a host, each with the host's name for its answer."""
    if not order.hosts:
        raise OrderIncomplete("ssh must be told which hosts to ask", "name them: --hosts a,b or --hosts FILE")
    if order.collective:
        raise OrderIncomplete(
            "a collective test over ssh runs under torchrun", "use: --launcher torchrun --hosts a,b"
        )
    return Launch(
        each=tuple((host, asking(host, order.part("--name", host), order.extra)) for host in order.hosts)
    )


def asking(host: str, words: tuple[str, ...], extra: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The words that run other words on a host, whose login shell takes them as one text."""
    if host.startswith("-") or not host.isprintable() or any(char.isspace() for char in host):
        raise OrderIncomplete(f"{host!r} is no name of a host", "leave it out of --hosts")
    return ("ssh", *OPTIONS, *extra, "--", host, quoted(words))
