"""Hosts that answer, refuse, hang, print rubbish, die half-way and lie, behind a real sshd."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from doctor.fleet.envelope import Envelope, line
from doctor.fleet.frames import cut
from fleet.daemons import doctor_words, fleet, free_ports, sshd

pytestmark = [pytest.mark.environments, pytest.mark.program("sshd", "ssh", "ssh-keygen")]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Options of ssh for hosts that are ill in all ways."""
    folder = tmp_path_factory.mktemp("faces")
    report = {"schema": 1, "findings": [], "facts": {}}
    whole = cut(line(Envelope(node="half", report={**report, "noise": list(range(500))})), "half")
    (folder / "half").write_text("".join(whole[:2]))
    (folder / "lie").write_text("".join(cut(line(Envelope(node="well", report=report)), "well")))
    (folder / "hanging").touch()
    rubbish = folder / "rubbish.py"
    rubbish.write_text(
        "import sys\nfor _ in range(3000): sys.stdout.write('\\x1b[31mrubbish' * 400 + '\\n')\n"
    )
    faces = {
        "well": "",
        "chatty": 'echo "Welcome! $(printf \'\\033[31m\')"; eval "$SSH_ORIGINAL_COMMAND"',
        "rubbish": f"{shlex.quote(sys.executable)} {rubbish}",
        "hangs": f"echo $$ >> {folder}/hanging; exec sleep 1000",
        "half": f"cat {folder}/half; kill -9 $$",
        "liar": f"cat {folder}/lie",
        "bare": "exec lora-doctor fleet node",
    }
    with sshd(faces) as found:
        yield found
    for pid in (folder / "hanging").read_text().split():  # sshd leaves a command to itself
        os.kill(int(pid), signal.SIGKILL)


HOSTS = ("well", "chatty", "rubbish", "hangs", "half", "liar", "bare", "refuses", "silent")


def asked(options: list[str], hosts: str, *words: str) -> tuple[str, ...]:
    extra = [f"--option={word}" for word in options]
    doctor = shlex.join(doctor_words())
    return ("run", "--launcher", "ssh", "--hosts", hosts, "--doctor", doctor, *extra, *words)


def test_every_host_gives_one_answer_and_none_holds_up_the_rest(options: list[str]) -> None:
    words = ("--go", "--format", "jsonl", "--timeout", "3", "--", "--quick", "--python", sys.executable)
    extra = ("--option=-o", "--option=ConnectTimeout=4")
    done = fleet(*asked([*options], ",".join(HOSTS), *extra, *words))
    first, *rest = done.stdout.splitlines()
    assert json.loads(first) == {"schema": 1, "expected": list(HOSTS)}
    found = {one.node: one for one in map(envelope, rest)}
    assert set(found) == set(HOSTS) and len(rest) == len(HOSTS)
    assert found["well"].report and found["chatty"].report
    why = {name: one.failure for name, one in found.items() if not one.report}
    assert "no answer within 18 s" in why["hangs"]
    assert re.fullmatch(r"it stopped in the middle .*: 2 of \d parts of its answer came", why["half"])
    assert why["liar"] == "it answered under another name: well"
    assert "Connection refused" in why["refuses"]
    assert "timed out" in why["silent"].lower()
    assert why["rubbish"].startswith("exit code 0 and no answer") and "\x1b" not in why["rubbish"]
    assert "--doctor PATH" in why["bare"]


def test_the_printed_lines_do_the_same_in_a_shell(options: list[str], tmp_path: Path) -> None:
    printed = fleet(*asked(options, "well,refuses", "--", "--quick", "--python", sys.executable)).stdout
    assert printed.count("ssh -T") == 2 and printed.rstrip().endswith("--nodes refuses,well")
    script = printed.replace(
        "lora-doctor fleet compare", f"{shlex.join(doctor_words())} fleet compare --format json"
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    told = json.loads(done.stdout)
    assert "refuses" in done.stdout and told["schema"] == 1
    assert done.returncode == 1


@pytest.mark.environments
@pytest.mark.parametrize(("hosts", "is_well"), [("well,chatty", True), ("well,refuses", False)])
def test_torchrun_on_hosts(options: list[str], base_python: str, hosts: str, is_well: bool) -> None:
    endpoint = f"localhost:{free_ports(1)[0]}"
    words = (
        "--launcher",
        "torchrun",
        "--python",
        base_python,
        "--endpoint",
        endpoint,
        "--nproc-per-node",
        "1",
    )
    asked_for = asked(options, hosts, *words, "--wait", "8", "--go", "--format", "jsonl", "--", "--quick")
    done = fleet(*asked_for, env={**os.environ, "OMP_NUM_THREADS": "1"})
    found = {one.node: one for one in map(envelope, done.stdout.splitlines()[1:])}
    assert set(found) == set(hosts.split(",")), done
    if is_well:
        assert [one.collective.outcome for one in found.values() if one.collective] == ["ok", "ok"]
        assert all(one.report for one in found.values())
        return
    assert "Connection refused" in found["refuses"].failure
    assert found["well"].collective and "not all of the others did in time" in found["well"].collective.reason


def envelope(text: str) -> Envelope:
    return msgspec.json.decode(text, type=Envelope)
