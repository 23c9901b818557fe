"""Reports as they lie about: in files, folders and streams."""

from __future__ import annotations

import gzip
import io
import sys
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace

import pytest
from fleet_reports import alike, enveloped, report

from doctor import fleet_files
from doctor.fleet.frames import cut
from doctor.fleet.judging import compare
from doctor.fleet.roll import Roll
from doctor.fleet_files import call_up, enter, named, node_names
from doctor.host import LocalHost
from doctor.render.json_report import encode, render

REPORT = encode(report())


def roll_of(*paths: str | Path) -> Roll:
    roll = Roll()
    call_up(roll, LocalHost(), [str(path) for path in paths])
    return roll


def rows(roll: Roll) -> list[tuple[str, str]]:
    return [(one.node, one.reason) for one in roll.troubles]


def test_a_folder_is_looked_through(tmp_path: Path) -> None:
    for name in ("a.json", "deep/b.jsonl", "notes.txt", ".hidden.json", "c.json.gz", "d.ndjson"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(REPORT) if name.endswith("gz") else REPORT)
    roll = roll_of(tmp_path)
    assert sorted(roll.members) == ["a", "b", "c", "d"] and rows(roll) == []


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["x/a.json", "x/b.json.gz"], ["a", "b"]),
        (["n1/report.json", "n2/report.json", "other.json"], ["n1/report", "n2/report", "other"]),
        (["a.json", "a.json"], ["a"]),
        (["r1/n1/x.json", "r2/n1/x.json", "r2/n2/x.json"], ["r1/n1/x", "r2/n1/x", "n2/x"]),
        (["node.local"], ["node.local"]),
    ],
)
def test_files_name_their_nodes(paths: list[str], names: list[str]) -> None:
    assert list(named(paths).values()) == names


def test_reports_in_one_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(render(report()) + "Welcome\n" + render(report()))
    assert sorted(roll_of(tmp_path / "all.json").members) == ["all", "all#2"]


def test_reports_on_one_line_are_told_apart() -> None:
    roll = Roll()
    enter(roll, [REPORT + b" " + REPORT + REPORT], "a stream", "a")
    assert sorted(roll.members) == ["a", "a#2", "a#3"] and rows(roll) == []


def test_envelopes_say_who_they_are(tmp_path: Path) -> None:
    lines = [enveloped(name, told) for name, told in alike(3).items()]
    (tmp_path / "all.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    assert sorted(roll_of(tmp_path / "all.jsonl").members) == ["node001", "node002", "node003"]


def test_what_powershell_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(render(report()), encoding="utf-16")
    (tmp_path / "b.json").write_text(render(report()), encoding="utf-8-sig")
    assert sorted(roll_of(tmp_path).members) == ["a", "b"]


def test_each_file_that_cannot_be_read_is_a_row_and_holds_up_no_other(tmp_path: Path) -> None:
    files = {
        "cut": REPORT[:5000],
        "empty": b"",
        "garbage": b"\x00\xff" * 5000,
        "list": b"[1, 2]",
        "nan": REPORT.replace(b'"cpu_count":', b'"cpu_count":NaN,"x":'),
        "nested": b'{"a":' * 200_000,
        "other": b'{"some": "thing"}',
        "schema": REPORT.replace(b'"schema":1', b'"schema":7'),
        "broken.gz": gzip.compress(REPORT)[:200],
    }
    for name, data in files.items():
        (tmp_path / (name if name.endswith("gz") else f"{name}.json")).write_bytes(data)
    (tmp_path / "broken.gz").rename(tmp_path / "broken.json.gz")
    (tmp_path / "good.json").write_bytes(REPORT)
    (tmp_path / "nothing").mkdir()
    roll = roll_of(tmp_path, tmp_path / "absent.json", tmp_path / "nothing")
    assert sorted(roll.members) == ["good"]
    expected = [*(name.split(".")[0] for name in files), "absent", ""]
    assert sorted(node for node, _ in rows(roll)) == sorted(expected)
    said = dict(rows(roll))
    assert "cut off" in said["cut"] and "schema 7" in said["schema"] and "nested" in said["nested"]
    assert "No such file" in said["absent"] and "no report" in said["empty"]


def test_rubbish_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    roll = Roll()
    enter(roll, (b"{\n" * 1000 for _ in range(1_000_000_000)), "a stream", "a")
    assert len(roll.troubles) == fleet_files.MOST_RUBBISH + 1
    assert "the rest of it is not read" in roll.troubles[-1].reason


def test_of_many_troubles_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.fleet.roll.MOST_TROUBLES", 3)
    roll = Roll()
    enter(roll, [b"{broken}\n" * 5, REPORT], "a stream", "a")
    told = compare(roll)
    assert (len(told.troubles), told.untold_troubles, told.compared) == (3, 2, 1)


def test_a_report_of_any_size_takes_no_more_memory_than_the_limit() -> None:
    roll = Roll()
    enter(roll, iter([b'{"a":"', *[b"x" * (1 << 20)] * 20, b'"}\n', REPORT]), "a stream", "a")
    assert list(roll.members) == ["a"] and "16 MiB" in roll.troubles[0].reason


def test_lines_that_launchers_cut_are_joined() -> None:
    parts = [cut(enveloped(name, report()).decode(), name) for name in ("n1", "n2", "n3")]
    mixed = [line for turn in zip_longest(parts[0], parts[1], parts[2][1:]) for line in turn if line]
    roll = Roll()
    enter(roll, [f"{rank}: {line}".encode() for rank, line in enumerate(mixed)], "srun", "")
    assert sorted(roll.members) == ["n1", "n2"]
    [(node, reason)] = rows(roll)
    assert node == "n3" and "parts of its answer" in reason


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(render(report()).encode() * 3)))
    roll = roll_of("-")
    assert sorted(roll.members) == ["#1", "#2", "#3"]
    monkeypatch.setattr(sys, "stdin", None)
    assert rows(roll_of("-")) == [("", "it is closed")]


def test_names_of_nodes_stand_in_a_file_or_an_expression(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# all\nnode[1-2] slots=8\n\nlogin  # the head\n")
    assert node_names(LocalHost(), str(hosts)) == ("node1", "node2", "login")
    assert node_names(LocalHost(), "n[1-2]") == ("n1", "n2")
