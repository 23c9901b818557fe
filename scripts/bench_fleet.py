"""Time and peak memory of ``fleet compare`` on many reports that are made of a real one.

    python scripts/bench_fleet.py REPORT [--nodes 10000] [--different]

REPORT is what ``lora-doctor check --format json`` wrote. Every node gets its own name, times, free memory and
serial numbers; one in a hundred another driver, one in fifty another patch release of a package, one in ten
another kernel. With ``--different`` no two nodes have the same packages: the worst that a digest can meet.
The real command is run on a folder of files, on one file with a report a line, and on a stream of indented
reports. Nothing is left on the disk.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "doctor", "fleet", "compare", "--format", "json", "--output", os.devnull)


def main() -> None:
    """Make the reports, run the command on each form of them, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--different", action="store_true")
    asked = parser.parse_args()
    real = json.loads(asked.report.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for form in (folder_of_files, file_of_lines, stream):
            measured(form.__name__, form(Path(folder), varied(real, asked.nodes, asked.different)))


def varied(real: dict[str, Any], nodes: int, different: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The report of each node."""
    chance = random.Random(1)
    for number in range(nodes):
        yield f"node{number:05}", of_node(real, chance, number if different else None)


def of_node(real: dict[str, Any], chance: random.Random, number: int | None) -> dict[str, Any]:
    """One report: what always differs, and now and then what matters."""
    report = copy.copy(real)
    facts = report["facts"] = copy.copy(real["facts"])
    facts["system"] = {**facts["system"], "ram_available_bytes": chance.randrange(1 << 40)}
    facts["environment"] = {**facts["environment"], "SLURM_JOB_ID": str(chance.randrange(1 << 30))}
    for gpu in facts["gpus"] or ():
        gpu["uuid_hash"] = f"{chance.randrange(1 << 48):012x}"
    if facts["driver"] and chance.random() < 0.01:
        facts["driver"] = {**facts["driver"], "version": "535.104.05"}
    if chance.random() < 0.1:
        facts["system"]["kernel"] = f"Linux 5.{chance.randrange(9)}"
    installed = facts["packages"]["installed"]
    for name in installed if number is not None else chance.sample(sorted(installed), chance.random() < 0.02):
        release = f"9.{number or chance.randrange(20)}"
        installed = {**installed, name: {**installed[name], "version": release}}
    facts["packages"] = {**facts["packages"], "installed": installed}
    return report


def folder_of_files(folder: Path, reports: Iterator[tuple[str, dict[str, Any]]]) -> list[str]:
    """One indented file a node."""
    for name, report in reports:
        (folder / f"{name}.json").write_text(json.dumps(report, indent=2), encoding="utf-8")
    return [str(folder)]


def file_of_lines(folder: Path, reports: Iterator[tuple[str, dict[str, Any]]]) -> list[str]:
    """One line a node, as launchers write it."""
    for file in folder.glob("*.json"):
        file.unlink()
    with (folder / "nodes.jsonl").open("w", encoding="utf-8") as lines:
        for name, report in reports:
            lines.write(json.dumps({"schema": 1, "node": name, "report": report}) + "\n")
    return [str(folder / "nodes.jsonl")]


def stream(folder: Path, reports: Iterator[tuple[str, dict[str, Any]]]) -> list[str]:
    """Indented reports one behind the other, on standard input."""
    with (folder / "stream").open("w", encoding="utf-8") as lines:
        for name, report in reports:
            lines.write(json.dumps({"schema": 1, "node": name, "report": report}, indent=2) + "\n")
    return ["-", str(folder / "stream")]


def measured(name: str, paths: list[str]) -> None:
    """Run the command and print what it took."""
    with open(paths.pop() if paths[0] == "-" else os.devnull, "rb") as given:
        began = time.perf_counter()
        process = subprocess.Popen([*COMMAND, *paths], stdin=given)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    cpu_s, peak_mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    code = os.waitstatus_to_exitcode(status)
    print(
        f"{name:16} {seconds:5.1f} s  CPU {cpu_s:5.1f} s  {peak_mib:5.0f} MiB  exit code {code}", flush=True
    )


if __name__ == "__main__":
    main()
