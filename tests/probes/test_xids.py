"""Xids out of the kernel's log, as distributions write it and as nobody would."""

from __future__ import annotations

import pytest
from fakes import FakeHost, ended
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts import Xid
from doctor.probes.signs.xids import KEPT, TAIL_BYTES, counted, xids

SYSLOG = "Nov 29 12:00:01 trainbox kernel: [ 1234.5678] "
BUS_LOST = "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python, GPU has fallen off the bus."
OLD = "NVRM: Xid (0000:3b:00): 31, Ch 00000010, engmask 00000101"
OF_MIG = "NVRM: Xid (PCI:0000:c1:00 GPU-I:05): 94, pid='<unknown>', Contained: SM (0x1)."
SHORT = "NVRM: Xid (PCI:0000:01:00): 62"


def host(**files: str) -> FakeHost:
    """A machine with logs of these names."""
    return FakeHost(files={f"/var/log/{name.replace('_', '.')}": text for name, text in files.items()})


@pytest.mark.parametrize(
    ("line", "xid"),
    [
        (
            SYSLOG + BUS_LOST,
            Xid(address="0000:01:00", code=79, text="pid=1234, name=python, GPU has fallen off the bus."),
        ),
        (OLD, Xid(address="0000:3b:00", code=31, text="Ch 00000010, engmask 00000101")),
        (OF_MIG, Xid(address="0000:c1:00", code=94, text="pid='<unknown>', Contained: SM (0x1).")),
        (SHORT, Xid(address="0000:01:00", code=62, text="")),
    ],
)
def test_a_line_of_the_log(line: str, xid: Xid) -> None:
    assert xids(host(kern_log=f"before\n{line}\nafter\n"), False) == (xid,)


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05",
        "NVRM: Xid (PCI:0000:01:00)",
        "NVRM: Xid (PCI:zzzz): 79, no address",
        "NVRM: Xid (PCI:0000:01:00): 123456789, no such number",
        "nouveau 0000:01:00.0: fifo: fault",
    ],
)
def test_other_lines_are_no_xid(line: str) -> None:
    assert xids(host(kern_log=line), False) == ()


def test_repeated_ones_are_counted_in_their_last_words() -> None:
    log = "\n".join(f"NVRM: Xid (PCI:0000:01:00): 13, error number {number}" for number in range(5))
    assert xids(host(messages=f"{log}\n{OLD}\n"), False) == (
        Xid(address="0000:01:00", code=13, text="error number 4", count=5),
        Xid(address="0000:3b:00", code=31, text="Ch 00000010, engmask 00000101"),
    )


def test_what_was_before_the_last_start_is_over() -> None:
    started = "kernel: [    0.000000] Linux version 6.1.0-28-amd64 (gcc-12)"
    log = "\n".join((BUS_LOST, started, BUS_LOST, started, OLD))
    assert [xid.code for xid in xids(host(kern_log=log), False)] == [31]


def test_logs_that_repeat_each_other_are_not_added_up() -> None:
    machine = host(kern_log=f"{OLD}\n" * 3, messages=f"{OLD}\n" * 2)
    machine.programs["dmesg"] = "/bin/dmesg"
    machine.on("/bin/dmesg", replies=ended(f"{OLD}\n" * 4 + BUS_LOST))
    assert [(xid.code, xid.count) for xid in xids(machine, True)] == [(79, 1), (31, 4)]


def test_a_dmesg_that_is_forbidden_says_nothing() -> None:
    machine = host()
    machine.programs["dmesg"] = "/bin/dmesg"
    refused = ended(stderr="dmesg: read kernel buffer failed: Operation not permitted\n", code=1)
    assert xids(machine.on("/bin/dmesg", replies=refused), True) == ()


def test_of_a_long_log_the_end_is_read() -> None:
    assert [xid.code for xid in xids(host(kern_log=OLD + "\nx" * TAIL_BYTES + "\n" + SHORT), False)] == [62]


def test_a_log_that_floods_is_cut() -> None:
    flood = "\n".join(f"NVRM: Xid (PCI:0000:01:00): {number}, x" for number in range(500))
    found = xids(host(kern_log=flood), False)
    assert len(found) == KEPT
    long = xids(host(kern_log="NVRM: Xid (PCI:0000:01:00): 13, " + "y" * 5000), False)
    assert len(long[0].text) == 200


@given(
    st.lists(st.sampled_from([BUS_LOST, OLD, OF_MIG, SHORT, "Linux version ", "\x00", "NVRM: Xid (", "): 9"]))
)
def test_any_mixture_of_lines_is_read_as_its_lines_since_the_last_start(lines: list[str]) -> None:
    recent = "\n".join(lines).rpartition("Linux version ")[2].split("\n")
    whole = sum(line in (BUS_LOST, OLD, OF_MIG, SHORT) for line in recent)
    assert sum(xid.count for xid in counted("\n".join(lines)).values()) == whole


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    for xid in counted(f"NVRM: Xid (PCI:{text}").values():
        assert xid.count == 1 and len(xid.address) <= 16
