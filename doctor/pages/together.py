"""Pages of what ranks find out together: no rule of one machine's facts judges it, see ``doctor.fleet``."""

from __future__ import annotations

AGAIN = "Verify: lora-doctor fleet run --launcher torchrun --go says that the ranks talk with each other."

TOGETHER = {
    "fleet/rendezvous-failed": f"""The ranks do not find each other

Why: ranks meet at one address and port, which every node must resolve and reach; as many nodes must come as
were asked for. Where the name means the node itself (127.0.1.1 in /etc/hosts), a firewall is between, or
another program has the port, nobody starts.

See: torchrun ends with RendezvousConnectionError or RendezvousTimeoutError.

Fix: give with --endpoint an address of the first node that every node reaches, and a port that is free and
open.

{AGAIN}""",
    "fleet/rank-missing": f"""A rank never came to the rendezvous

Why: its node or process is gone or cannot import torch, and all others wait for it.

See: the finding names the rank and its node, as far as the launcher told of it.

Fix: run lora-doctor check on that node; take it out of the job until it is well.

{AGAIN}""",
    "fleet/rank-died": f"""A rank died while ranks were talking

Why: every all-reduce waits for all ranks, so the others end with a reset connection that names the wrong
one.

See: the finding has the signal and the step. SIGKILL is mostly the kernel's, for want of memory; SIGBUS a
full /dev/shm; SIGSEGV a library that does not fit.

Fix: look into that node's kernel log (dmesg) and run lora-doctor check there.

{AGAIN}""",
    "fleet/rank-hung": f"""A rank hangs while the others wait for it

Why: a driver call that never returns, a GPU that has fallen off the bus, or a stopped process: it is alive,
and says nothing.

See: the step in which it stands still; on that node, nvidia-smi hangs as well where it is the driver.

Fix: run lora-doctor check on that node; where the driver hangs, the node must be restarted.

{AGAIN}""",
    "fleet/rank-silent": f"""A rank stopped giving any sign of life

Why: it showed signs of life at first, then neither it nor the doctor on its node answered: the node or its
network went away.

See: ping the node, look into its console.

Fix: take the node out of the job until it is well.

{AGAIN}""",
    "fleet/wrong-sum": f"""Ranks add up to a wrong sum

Why: known numbers were added, and the result is not their sum: memory, a GPU or a link corrupts data. A
training on it raises no error, its loss only goes astray.

See: the rank that all wrong pairs have in common.

Fix: take its node out and test the GPU (dcgmi diag -r 3). If the sums are right with NCCL_P2P_DISABLE=1,
direct transfer between GPUs is at fault, as with an IOMMU that redirects it.

{AGAIN}""",
    "fleet/pair-fails": f"""Two ranks that live do not get through to each other

Why: both reach the rendezvous, but data goes over another address and other ports: an interface that joins
nothing (docker0, a VPN), a firewall between two nodes, a name in NCCL_SOCKET_IFNAME that the node does not
have.

See: the pair, what each side said, and the interfaces there are.

Fix: name the interface that joins the nodes in NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME, and open all
ports between them.

{AGAIN}""",
    "fleet/all-reduce-fails": f"""All ranks together fail where each pair gets through

Why: what only many ranks need gives out: open files, memory of the library, a topology that NCCL takes
wrongly.

See: what the first failing rank said; NCCL_DEBUG=INFO tells more.

Fix: raise the limit of open files, then try NCCL_ALGO=Ring and NCCL_IB_DISABLE=1 one by one to see which
way fails.

{AGAIN}""",
}
