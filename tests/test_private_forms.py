"""What is private by its own form: found in any text of anybody, and what only looks like it left alone."""

from __future__ import annotations

import pytest

from doctor.private_forms import hidden
from doctor.redact import GENERIC_NAMES, Identity, redact_text
from doctor.told_names import Names, masked_names, names_in

KEY = "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7"
HEX = "0123456789abcdef0123456789abcdef01234567"
SECRETS = {
    "gitlab": f"glpat-{KEY[:20]}",
    "hub, for a user": f"hf_oauth_{KEY}",
    "wandb, as it asks": f"wandb: Paste an API key from your profile and hit enter, or press ctrl+c: {HEX}",
    "wandb, on a line": f"key?\n{HEX}\n",
    "wandb, of today": f"wandb_v1_{KEY}",
    "netrc": f"machine api.wandb.ai\n  login user\n  password {HEX}",
    "netrc in a line": f"machine x login alice password {KEY}",
    "aws": f"aws_secret_access_key = {KEY}/{KEY}",
    "openai in letters": "sk-abcdefghijklmnopqrstuvwxyz",
    "slack": f"https://hooks.slack.com/services/T00000000/B00000000/{KEY}",
    "discord": f"https://discord.com/api/webhooks/123456789012345678/{KEY}",
    "telegram": f"1234567890:{KEY}{KEY[:8]}",
    "google": f"ya29.{KEY}",
    "npm": f"npm_{KEY}{KEY[:9]}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{KEY}",
    "replicate": f"r8_{KEY}{KEY[:10]}",
    "ssh": f"ssh-rsa AAAAB3NzaC1yc2E{KEY}{KEY} alice@laptop7",
    "header": "'Authorization': 'Bearer abcdefghijklmnopqrst'",
    "token in a header": f"authorization: token {KEY}",
    "cookie": f"Cookie: session={KEY}; csrftoken={KEY}",
    "set-cookie": f"Set-Cookie: sid={KEY}; Path=/",
    "azure": f"AccountKey={KEY}{KEY}==;EndpointSuffix=core",
    "docker": f'{{"auths": {{"x": {{"auth": "{KEY}=="}}}}}}',
    "kaggle": f'{{"username": "bob77", "key": "{KEY}"}}',
    "settings": f"MY_SECRET_THING={KEY} DB_PASS={KEY} COMPANY_KEY='{KEY}'",
    "a setting that nobody knows": f"export COMPANY_PROXY={KEY}",
}


@pytest.mark.parametrize("form", SECRETS)
def test_a_secret_is_masked(form: str) -> None:
    text = redact_text(f"RuntimeError: {SECRETS[form]} failed", Identity())
    text += redact_text(SECRETS[form], Identity())
    for left in (KEY, KEY[:20], HEX, "abcdefghijklmnopqrst", "bob77"):
        assert left not in text, text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("alice@gpu-7:~/x$ python t.py", "<user>@<host>:~/x$ python t.py"),
        ("(base) alice@gpu-7:/data/x# pip list", "(base) <user>@<host>:/data/x# pip list"),
        ("[alice@gpu-7 x]$ python", "[<user>@<host> x]$ python"),
        ("root@f3a1b2c4d5e6:/workspace# ", "root@<host>:/workspace# "),
        ("alice@MacBook-Pro ~ % ls", "<user>@<host> ~ % ls"),
        ("{21cs30alice@gpu-7:~/x$ ls", "{<user>@<host>:~/x$ ls"),
        ("20231234@gpu-7:~/x$ ls", "<user>@<host>:~/x$ ls"),
        ("USER=21cs30alice", "USER=<user>"),
        ("{'user': '2048'}", "{'user': '2048'}"),
        ("~7b/13b models, ~80GB/GPU, ~50it/s, ~1e-4/step", "~7b/13b models, ~80GB/GPU, ~50it/s, ~1e-4/step"),
        (r"PS C:\Users\alice> pip list", r"PS C:\Users\<user>> pip list"),
        ("ssh -p 22 alice@gpu-7", "ssh -p 22 <user>@<host>"),
        ("Aug 12 10:38:30 gpu-7 kernel: NVRM: Xid", "Aug 12 10:38:30 <host> kernel: NVRM: Xid"),
        ("2024-08-12T10:38:30.123+02:00 gpu-7 app[12]: x", "2024-08-12T10:38:30.123+02:00 <host> app[12]: x"),
        ("Linux gpu-7 5.15.0-91-generic #101-Ubuntu SMP", "Linux <host> 5.15.0-91-generic #101-Ubuntu SMP"),
        ("slurmstepd: error: gpu-7: Detected 1 oom-kill", "slurmstepd: error: <host>: Detected 1 oom-kill"),
        ("hostname: alpha", "hostname: <host>"),
        ("  host      : gpu-7.corp.example.com", "  host      : <host>"),
        ("SLURMD_NODENAME=gpu-7", "SLURMD_NODENAME=<host>"),
        ("gpu-7:4711:4711 [0] NCCL INFO Bootstrap", "<host>:4711:4711 [0] NCCL INFO Bootstrap"),
        ("failed to connect to [gpu-7]:29500", "failed to connect to [<host>]:29500"),
        ("on ip-10-0-3-4.ec2.internal", "on <host>"),
        ("Pod: train-job-7f9c6d5b8d-x2x4q", "Pod: <host>"),
        ("http://gpu-7:8888/lab", "http://<host>:8888/lab"),
        ("USER=alice", "USER=<user>"),
        ("~alice/x and /scratch/alice/y", "~<user>/x and /scratch/<user>/y"),
        ("/home1/alice/x C:/Users/Alice Smith/x", "/home1/<user>/x C:/Users/<user>/x"),
        ("bad 192.168.1.17 here", "bad <address> here"),
        ("bad 10.42.17.203 here", "bad <address> here"),
        ("connect to 8.8.8.8 and 1.2.3.4:29500", "connect to <address> and <address>:29500"),
        ("at 2001:db8:85a3::8a2e:370:7334, fe80::1ff:fe23:4567:890a", "at <address>, <address>"),
        ("ether 00:1a:2b:3c:4d:5e", "ether <address>"),
        ("Serial Number               : 1324921012345", "Serial Number               : <serial>"),
    ],
)  # fmt: skip
def test_a_name_is_masked_where_its_form_tells(text: str, masked: str) -> None:
    assert redact_text(text, Identity()) == masked


@pytest.mark.parametrize(
    "text",
    [
        "driver 535.104.05, 2.1.0.1, nvidia-cublas-cu12 12.8.4.1, cudnn 8.9.2.26",
        "nvidia-curand-cu12==10.3.2.106",
        "nvidia-curand-cu12        10.3.2.106",
        "10.3.2.106",
        "TensorRT 10.0.1.6, version 14.0.0.1",
        "127.0.0.1:8888, 0.0.0.0, http://localhost:8888/",
        "0000:01:00.0 at 10:38:30, std::bad_alloc, at::cuda::blas",
        "Linux-5.15.0-91-generic-x86_64-with-glibc2.35",
        "OS: Linux Mint 21.2 (x86_64)",
        "CUDA_VISIBLE_DEVICES=0,1 NCCL_DEBUG=INFO python t.py",
        "export LD_LIBRARY_PATH=/usr/local/cuda/lib64",
        "ENV PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "MAX_STEPS=100 and NUM_GPUS=4",
        "Node: v18.2.0, node: cannot connect",
        "https://github.com/huggingface/peft, https://download.pytorch.org/whl/cu121",
        "authorization is required, basic authorization: none",
        "a password is required, password authentication failed",
        "symbol foo@GLIBC_2.34, peft@v0.18.0",
        "pypi-attestation-models-of-some-length, npm_config_something",
    ],
)
def test_what_only_looks_private_stays(text: str) -> None:
    assert redact_text(text, Identity()) == text


def test_a_name_that_a_paste_shows_once_is_masked_wherever_it_stands() -> None:
    names = names_in(
        "alicesmith@gpu-node-17:~$ srun x\nhf_login\n-----BEGIN RSA PRIVATE KEY-----\n" + KEY + "\n"
    )
    assert (set(names.users), set(names.hosts)) == ({"alicesmith"}, {"gpu-node-17"})
    told = masked_names(f"gpu-node-17.corp is down, says alicesmith of gpu-node-177: {KEY}", names)
    assert told == "<host> is down, says <user> of gpu-node-177: <secret>"


def test_a_number_is_a_name_in_its_place_and_not_wherever_it_stands() -> None:
    names = names_in(
        "2080@lab-3:~$ ls\n/scratch/8bit/x /scratch/1234567/y\n/home/40GB/z\n21cs30bob@lab-3:~$ ls\n"
    )
    assert names.users == {"21cs30bob"}
    assert redact_text("2080@lab-3:~$ ls", Identity()) == "<user>@<host>:~$ ls"


def test_a_name_that_is_a_word_of_the_subject_stays() -> None:
    names = names_in("root@a100:~# ls\nubuntu@torch:~$ ls\n/home/peft/x\n").without(GENERIC_NAMES)
    assert names is None or not names.hosts
    assert masked_names("A100, a100 and torch", names or Names()) == "A100, a100 and torch"


@pytest.mark.parametrize("name", ["MASTER_ADDR", "NCCL_HOST", "NODE_IP", "--master_addr", "--host"])
def test_an_address_that_a_setting_is_set_to(name: str) -> None:
    told = hidden(f"ImportError: no\n{name}=203.0.113.77\ntorch==2.1.0.1\n", frozenset())
    assert "203.0.113.77" not in told and "torch==2.1.0.1" in told
