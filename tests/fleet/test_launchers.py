"""Launch lines, word by word."""

from __future__ import annotations

import ast
import json
import shlex
import shutil
import subprocess

import pytest

from doctor.fleet.launchers import LAUNCHERS, Launch, Order, OrderIncomplete, launch

QUICK = Order(check_options=("--quick",))


def text(name: str, order: Order) -> str:
    return shlex.join(launch(name, order).argv)


def test_slurm() -> None:
    assert text("slurm", QUICK._replace(nodes=4, extra=("--partition=gpu", "--gpus-per-node=8"))) == (
        "srun --nodes=4 --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=315 --time=11 --partition=gpu"
        " --gpus-per-node=8 lora-doctor fleet node --timeout 300 -- --quick"
    )
    order = Order(hosts=("n1", "n2"), ranks=8, collective=True, endpoint="n1:29500")
    assert "--nodelist=n1,n2 --ntasks-per-node=8" in text("slurm", order)
    assert text("slurm", order).endswith("--collective --wait 60 --endpoint n1:29500")


def test_slurm_says_that_gpus_may_be_hidden() -> None:
    assert "--gpus-per-node" in launch("slurm", QUICK).notes[0]
    assert launch("slurm", QUICK._replace(extra=("--gres=gpu:8",))).notes == ()


def test_open_mpi() -> None:
    assert text("mpi", QUICK._replace(hosts=("a", "b"))) == (
        "mpirun -n 2 --map-by ppr:1:node --host a:1,b:1 --enable-recovery --timeout 345"
        " lora-doctor fleet node --timeout 300 -- --quick"
    )
    assert "--hostfile hosts" in text("mpi", QUICK._replace(hosts_file="hosts"))


def test_mpich() -> None:
    order = QUICK._replace(mpi="mpich", hosts=("a", "b"))
    assert text("mpi", order).startswith("mpiexec -n 2 -ppn 1 -hosts a,b -disable-auto-cleanup lora-doctor")
    with pytest.raises(OrderIncomplete, match="how many nodes"):
        launch("mpi", QUICK._replace(mpi="mpich"))


def test_ssh_gives_the_remote_shell_one_text() -> None:
    order = Order(hosts=("me@a", "b"), doctor=("/opt/my doctor",), check_options=("--plan", "it's; rm -rf x"))
    (first, argv), (second, _) = launch("ssh", order).each
    assert (first, second) == ("me@a", "b")
    assert argv[-2] == "me@a" and argv[-3] == "--"
    words = [
        "/opt/my doctor",
        "fleet",
        "node",
        "--timeout",
        "300",
        "--name",
        "me@a",
        "--",
        "--plan",
        "it's; rm -rf x",
    ]
    assert shlex.split(argv[-1]) == words


@pytest.mark.parametrize("host", ["-oProxyCommand=x", "a b", "a\nb"])
def test_ssh_takes_no_option_for_a_host(host: str) -> None:
    with pytest.raises(OrderIncomplete, match="no name of a host"):
        launch("ssh", Order(hosts=(host,)))


def test_torchrun() -> None:
    one = text("torchrun", QUICK._replace(ranks=8, python="/env/bin/python", collective=True))
    assert one == (
        "/env/bin/python -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --standalone"
        " --rdzv-conf=join_timeout=60,read_timeout=60 --max-restarts=0 --no-python"
        " lora-doctor fleet node --timeout 300 --collective --wait 60 -- --quick"
    )
    several = launch("torchrun", QUICK._replace(nodes=2, endpoint="n1:4000"))
    assert "--rdzv-endpoint=n1:4000" in several.argv and "--nproc-per-node=gpu" in several.argv
    assert several.notes == ("run it on each of the 2 nodes at the same time",)


def test_torchrun_by_ssh_meets_at_the_first_host() -> None:
    each = launch("torchrun", QUICK._replace(hosts=("me@a", "b"))).each
    assert [host for host, _ in each] == ["me@a", "b"]
    assert all("--nnodes=2" in argv[-1] and "--rdzv-endpoint=a:29400" in argv[-1] for _, argv in each)


@pytest.mark.parametrize(
    ("name", "order", "lack"),
    [
        ("ssh", Order(), "which hosts"),
        ("ssh", Order(hosts=("a",), collective=True), "under torchrun"),
        ("torchrun", Order(nodes=2), "place to meet"),
        ("slurm", Order(nodes=2, ranks=8, collective=True), "place to meet"),
        ("k8s", Order(image="x"), "how many nodes"),
        ("k8s", Order(nodes=2), "needs the image"),
    ],
)
def test_what_an_order_lacks_is_said(name: str, order: Order, lack: str) -> None:
    with pytest.raises(OrderIncomplete, match=lack) as error:
        launch(name, order)
    assert error.value.hint


def job(order: Order) -> Launch:
    return launch("k8s", order._replace(nodes=3, image='registry/it"s:1'))


def test_kubernetes_manifest_is_one_pod_a_node() -> None:
    made = job(QUICK)
    lines = {line.strip() for line in made.text.splitlines()}
    assert {"completions: 3", "parallelism: 3", "nvidia.com/gpu: 1", "fieldPath: spec.nodeName"} <= lines
    command = next(line for line in lines if line.startswith("command:"))
    assert json.loads(command.partition(": ")[2])[:3] == ["lora-doctor", "fleet", "node"]
    assert made.commands[0] == f"kubectl apply -f {made.file_name}" and "--expect 3" in made.commands[2]


@pytest.mark.program("kubectl")
def test_kubernetes_own_client_reads_the_manifest() -> None:
    assert shutil.which("kubectl")
    argv = ["kubectl", "annotate", "--local", "-f", "-", "read=yes", "-o", "json"]
    done = subprocess.run(argv, input=job(QUICK).text, capture_output=True, text=True, timeout=60, check=True)
    spec = json.loads(done.stdout)["spec"]  # fields that it does not know are dropped
    assert spec["completionMode"] == "Indexed" and spec["backoffLimit"] == 3
    pod = spec["template"]["spec"]
    assert pod["affinity"]["podAntiAffinity"] and pod["containers"][0]["image"] == 'registry/it"s:1'
    assert pod["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory"}}]


def test_ray_script_is_python_and_holds_the_words_as_they_are() -> None:
    made = launch("ray", QUICK._replace(ranks=2, doctor=("it's",)))
    tree = ast.parse(made.text, feature_version=(3, 8))
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id.isupper()
    }
    assert values == {
        "COMMAND": ["it's", "fleet", "node", "--timeout", "300", "--", "--quick"],
        "TIMEOUT_S": 315,
        "GPUS": 2,
    }


def test_every_launcher_that_is_offered_is_there() -> None:
    order = Order(hosts=("a",), nodes=1, image="x")
    assert all(launch(name, order) for name in LAUNCHERS)
