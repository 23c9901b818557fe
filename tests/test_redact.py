from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doctor.facts import Facts
from doctor.findings import Evidence, Finding, Fix, Report, Subject
from doctor.redact import GENERIC_NAMES, Identity, redact, redact_numbered, redact_text
from doctor.render.json_report import read, render
from doctor.render.shell import command_line

ANN = Identity(home="/home/ann", user="ann", host="trainbox.corp.example.com")
WINDOWS = Identity(home="C:\\Users\\Ann Lee", user="Ann Lee", host="ANN-PC")
HEX = "0123456789abcdef0123456789abcdef01234567"
UUID = "8932f937-d72c-4106-c12f-20bd9faed9f6"
KEY = "a1B2c3D4" * 5


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        # the home folder
        ("/home/ann", "~"),
        ("/home/ann/train/.venv/bin/python", "~/train/.venv/bin/python"),
        ("PATH=/home/ann/bin:/usr/bin:/home/ann/x", "PATH=~/bin:/usr/bin:~/x"),
        ('"/home/ann/x", (/home/ann).', '"~/x", (~).'),
        ("file:///home/ann/x", "file://~/x"),
        (r"{\"path\": \"\/home\/ann\/x\"}", r"{\"path\": \"~\/x\"}"),
        ("/home/annabel/x", "/home/<user>/x"),
        ("/data/home/ann/x", "/data/home/<user>/x"),
        # others' homes
        ("/home/bob/x and /Users/Carol/y", "/home/<user>/x and /Users/<user>/y"),
        (r"C:\Users\Bob Ross\x", r"C:\Users\<user>\x"),
        (r"C:\\Users\\bob\\x", r"C:\\Users\\<user>\\x"),
        ("/home/runner/work and /home/ubuntu", "/home/runner/work and /home/ubuntu"),
        # the user
        ("/scratch/ann/runs", "/scratch/<user>/runs"),
        ("/tmp/ann", "/tmp/<user>"),
        ("ann@trainbox:~$ python", "<user>@<host>:~$ python"),
        ("ann@other", "<user>@other"),
        ("USER=ann", "USER=<user>"),
        ("cannot plan an annotation, ann", "cannot plan an annotation, ann"),
        # the host
        ("on trainbox, TRAINBOX", "on <host>, <host>"),
        ("trainbox.corp.example.com and trainbox.local", "<host> and <host>"),
        ("trainbox.py and mytrainbox and trainbox-2", "trainbox.py and mytrainbox and trainbox-2"),
        # tokens
        (f"hf_{KEY}", "<secret>"),
        (f"token: hf_{KEY},", "token: <secret>,"),
        (f"hf\x00_{KEY} h\x1b[0mf_{KEY}", "<secret> <secret>"),
        (f"line\\nhf_{KEY}\\n", "line\\n<secret>\\n"),
        *(
            (f"{prefix}_{KEY} x", "<secret> x")
            for prefix in ("ghp", "gho", "ghu", "ghs", "ghr", "github_pat")
        ),
        (f"sk-{KEY}", "<secret>"),
        (f"sk-ant-api03-{KEY}", "<secret>"),
        ("AKIAIOSFODNN7EXAMPLE ASIAIOSFODNN7EXAMPLE", "<secret> <secret>"),
        ("xoxb-123456789012-abcdef", "<secret>"),
        (f"AIza{KEY[:35]}", "<secret>"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abc_DEF", "<secret>"),
        (f"Authorization: Bearer {KEY}", "Authorization: Bearer <secret>"),
        (f"wandb login --relogin {HEX}", "wandb login --relogin <secret>"),
        (f"wandb: Paste an API key: {HEX}", "wandb: Paste an API key: <secret>"),
        ("HF_TOKEN=abc WANDB_API_KEY='x y'", "HF_TOKEN=<secret> WANDB_API_KEY='<secret> y'"),
        ('{"OPENAI_API_KEY": "abc"}', '{"OPENAI_API_KEY": "<secret>"}'),
        ("password=hunter, api_key='abc1234'", "password=<secret> api_key='<secret>'"),
        # passwords in URLs
        ("http://ann:pw@proxy:8080/x", "http://<redacted>@proxy:8080/x"),
        ("https://oauth2:p@ss@git.org/a", "https://<redacted>@git.org/a"),
        (f"git+https://{KEY}@github.com/a/b", "git+https://<redacted>@github.com/a/b"),
        # keys, addresses, GPUs
        ("a -----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY----- z", "a <secret> z"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE (cut)", "<secret>"),
        ("mail ann.lee+x@example.org.", "mail <e-mail>."),
        (f"GPU-{UUID}", "GPU-<1>"),
        (f"GPU-{UUID},GPU-{UUID[:8]},GPU-ffff0000", "GPU-<1>,GPU-<1>,GPU-<2>"),
        (f"MIG-{UUID}, MIG-GPU-{UUID}/1/0", "MIG-<1>, MIG-GPU-<1>/1/0"),
        # terminal escapes and bidi marks
        ("\x1b[31mred\x1b[0m\x07 \u202etxt\u2066\tx\ny", "red txt\tx\ny"),
    ],
)
def test_masked(text: str, masked: str) -> None:
    assert redact_text(text, ANN) == masked


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-cublas-cu12 12.8.4.1",
        "driver 535.104.05, NVIDIA-SMI 535.104.05",
        "torch 2.6.0a0+ecf3bae40a.nv25.01",
        f"commit {HEX}",
        f"KeyError: '~/.cache/huggingface/hub/models--a/snapshots/{HEX}/config.json'",
        "pad_token=tokenizer.eos_token, max_new_tokens=128, use_auth_token=True, token=True",
        "DEFAULT_PAD_TOKEN = '[PAD]'",
        "token_id: 128001, bos_token_id=1",
        "TOKENIZERS_PARALLELISM=false",
        "HF_TOKEN=None",
        "git+ssh://git@github.com/huggingface/peft.git@main",
        "git@github.com:huggingface/peft.git",
        "pip install 'peft @ git+https://github.com/huggingface/peft@v0.18.0'",
        "symbol __nvJitLinkAddData_12_1@libnvJitLink.so.12",
        "disk-usage-of-the-temporary-folder-1, task-number-1234567890abcdef",
        "GPU-accelerated, GPU 0: NVIDIA H100",
        "hf_hub_download_something_long, hf_transfer",
        "/usr/local/lib/python3.11/dist-packages/torch/lib/libtorch_cuda.so",
        "/workspace/models/llama: No such file",
        "basic understanding, bearer of news",
        "ImportError: cannot import name 'HybridCache' from 'transformers'",
        "~/train and /root is not my home",
    ],
)
def test_innocent(text: str) -> None:
    assert redact_text(text, ANN) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (r"C:\Users\Ann Lee\train", r"~\train"),
        (r"c:\users\ann lee\train", r"~\train"),
        ("C:/Users/Ann Lee/train", "~/train"),
        (r'{"path": "C:\\Users\\Ann Lee\\train"}', r'{"path": "~\\train"}'),
        (r"D:\work\Ann Lee\x", r"D:\work\<user>\x"),
        ("ann-pc", "<host>"),
    ],
)
def test_windows(text: str, masked: str) -> None:
    assert redact_text(text, WINDOWS) == masked


@pytest.mark.parametrize("name", ["root", "ubuntu", "User", "runner", "localhost", "gpu", "torch", "al", ""])
def test_a_name_that_is_shared_or_short_is_no_name(name: str) -> None:
    text = f"/srv/{name}/x {name}@{name} {name}"
    assert redact_text(text, Identity(user=name, host=name)) == text


@pytest.mark.parametrize("home", ["", "/", "//", "C:\\", "relative/home", "~"])
def test_a_home_that_is_none_masks_nothing(home: str) -> None:
    text = r"/usr/bin/python C:\x relative/home ~/x"
    assert redact_text(text, Identity(home=home)) == text


def report(*texts: str, **facts: object) -> Report:
    """A report that holds each text in each place that takes one from outside."""
    findings = tuple(
        Finding(
            id="peft/too-old",
            severity="error",
            confidence="confirmed",
            title=text,
            why=text,
            evidence=(Evidence(text, text, text),),
            fixes=(Fix(text, ((text, "-m", text),)),),
        )
        for text in texts
    )
    return Report(
        tool_version="0.1.0",
        matrix_reviewed="2026-11-29",
        subject=Subject("live", texts[0] if texts else ""),
        verdict="broken",
        primary="peft/too-old",
        findings=findings,
        facts=msgspec.convert({"environment": {text: text for text in texts}} | facts, Facts),
    )


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in strings(part))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in strings(item))


def test_of_the_driver_its_paths_and_commands_are_masked_and_its_names_are_not() -> None:
    signs = {
        "kernel_flavor": "open",
        "bus": [{"address": "0000:01:00.0", "vendor": "nvidia", "device": "0x2684", "kind": "display"}],
        "modules": {"nouveau": "", "nvidia": "580.95.05"},
        "nodes": [{"path": "/dev/nvidia0", "usable": True}],
        "libraries": {"libcuda.so.1": "/home/ann/drivers/libcuda.so.580.95.05"},
        "off_path": ["/scratch/ann/libcuda.so.1"],
        "xids": [{"address": "0000:01:00", "code": 13, "text": "pid=7, name=/home/ann/train, on trainbox"}],
    }
    cuda = {"library": "/home/ann/libcuda.so.1", "refused": {"/dev/nvidiactl": "Operation not permitted"}}
    toolkits = [{"path": "/home/ann/cuda", "version": "12.4", "found_by": "PATH", "has_compiler": True}]
    facts = redact(report(driver_signs=signs, cuda_driver=cuda, toolkits=toolkits), ANN).facts
    assert facts.driver_signs is not None and facts.cuda_driver is not None and facts.toolkits is not None
    assert facts.driver_signs.libraries == {"libcuda.so.1": "~/drivers/libcuda.so.580.95.05"}
    assert facts.driver_signs.off_path == ("/scratch/<user>/libcuda.so.1",)
    assert facts.driver_signs.xids[0].text == "pid=7, name=~/train, on <host>"
    assert (facts.driver_signs.modules, facts.driver_signs.bus[0].vendor) == (signs["modules"], "nvidia")
    assert facts.cuda_driver.library == "~/libcuda.so.1"
    assert facts.cuda_driver.refused == cuda["refused"]
    assert facts.toolkits[0].path == "~/cuda"


@pytest.mark.parametrize("host", ["jetson", "nouveau", "dgx", "amdgpu", "slurm"])
def test_a_host_that_is_called_as_a_driver_is_hides_no_driver(host: str) -> None:
    signs = {"modules": {"nouveau": ""}, "smi_error": f"{host} says no", "jetson": "36.4.3"}
    masked = redact(report(driver_signs=signs), Identity(host=host)).facts.driver_signs
    assert masked is not None
    assert (masked.modules, masked.smi_error) == ({"nouveau": ""}, f"{host} says no")


def test_every_place_of_a_report_is_masked_keys_too() -> None:
    told = redact(report("/home/ann/x", f"hf_{KEY}", "trainbox"), ANN)
    for text in strings(msgspec.to_builtins(told)):
        assert not any(name in text for name in ("ann/", "hf_", "trainbox")), text
    assert told.facts.environment == {"~/x": "~/x", "<secret>": "<secret>", "<host>": "<host>"}


def test_the_value_of_a_secret_variable_is_masked_whatever_it_is() -> None:
    told = redact(report(environment={"HF_TOKEN": "abc", "WANDB_API_KEY": "", "HF_HOME": "x"}), ANN)
    assert told.facts.environment == {"HF_TOKEN": "<secret>", "WANDB_API_KEY": "", "HF_HOME": "x"}


def test_an_escape_sequence_does_not_hide_the_name_of_a_secret() -> None:
    told = redact(report(environment={"HF_TOKEN\x1b[0m": "abc"}), ANN)
    assert told.facts.environment == {"HF_TOKEN": "<secret>"}


@pytest.mark.parametrize("name", ["doctor", "error", "peft", "too-old", "broken", "live", "numpy"])
def test_a_host_or_user_of_the_schemas_own_name_breaks_nothing(name: str) -> None:
    package = {"name": "numpy", "version": "2.4.1", "location": "/x", "installer": "pip"}
    told = redact(report("text", packages={"installed": {"numpy": package}}), Identity(user=name, host=name))
    assert read(render(told)) == told
    assert (told.primary, told.findings[0].id, told.verdict) == ("peft/too-old", "peft/too-old", "broken")
    assert told.facts.version_of("numpy") == "2.4.1"


def test_a_gpu_keeps_its_number_through_the_report() -> None:
    told = redact(report("GPU-ffff0000", f"GPU-{UUID}", f"x GPU-{UUID}"), ANN)
    other, first, second = (finding.title.split("-", 1)[1] for finding in told.findings)
    assert first == second != other


def test_a_masked_command_still_runs_in_a_shell() -> None:
    told = redact(report("/home/ann/my models/python"), ANN)
    line = command_line(told.findings[0].fixes[0].commands[0])
    assert line == "~/'my models/python' -m ~/'my models/python'"


def test_an_innocent_report_is_left_as_it_is() -> None:
    innocent = report("peft 0.17.0", "/usr/lib/python3.11", "nvidia-cublas-cu12==12.8.4.1")
    assert redact(innocent, ANN) == innocent


PIECES = st.sampled_from(
    [
        "/home/ann", "/home/bob", "C:\\Users\\Ann Lee", "C:\\\\Users\\\\bob", "ann", "trainbox",
        ".corp.example.com", "@", "/", "\\", ":", "=", " ", "\n", "'", '"', "~", "<user>", "<secret>",
        "<host>", "<redacted>@", "://", f"hf_{KEY}", f"ghp_{KEY}", f"sk-{KEY}", "token", "HF_TOKEN",
        "password", "Bearer ", "wandb ", HEX, "eyJ", ".", f"GPU-{UUID}", "GPU-8932f937", "x@y.org",
        "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\x1b[0m", "\u202e", "\ud800",
        "a1B2c3D4e5", "home", "Users", "12.8.4.1", "secret", "user", "True",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=60)
RANDOM = st.builds(Identity, TEXTS, TEXTS, TEXTS)
IDENTITIES = st.sampled_from([ANN, WINDOWS, Identity(), Identity("/root", "root", "f3a1b2c4d5e6")]) | RANDOM


@settings(max_examples=400, deadline=None)
@given(TEXTS, IDENTITIES)
def test_twice_is_once(text: str, identity: Identity) -> None:
    once = redact_text(text, identity)
    assert redact_text(once, identity) == once


@settings(deadline=None)
@example(["token\x1b[0m"], ANN)
@given(st.lists(TEXTS, max_size=3), IDENTITIES)
def test_a_report_stays_a_report(texts: list[str], identity: Identity) -> None:
    told = redact(report(*texts), identity)
    assert read(render(told)) == told
    assert redact(told, identity) == told


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_no_token_survives_between_words(before: str, after: str) -> None:
    told = redact_text(f"{before} hf_{KEY} /home/ann/x ann@trainbox {after}", ANN)
    assert f"f_{KEY}" not in told
    assert "/home/ann/x" not in told
    assert "ann@trainbox " not in told


ADVERSARIES = [
    "a", "a.", "a@", "a@b.", "://", "://a", "/home/", "C:\\Users\\a ", "token=", "TOKEN='", "password:",
    "sk-", "eyJ", "eyJaaaaaaaaaa.", "hf_", "AKIA", "xoxb-", "bearer ", "basic a", "key ", "wandb a",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "GPU-", "GPU-aaaaaa-", "\x1b]", "\x9d", "\x1b[0",
    "\x1bP\x9d", "/", "\\", " ", "ann", "ann@", "trainbox.", "/home/ann", "\\n", "0123456789abcdef",
    "TOKEN=\\\"", "=", "github_pat_",
]  # fmt: skip


def seconds(text: str) -> float:
    """The processor time of one masking, the best of three."""

    def once() -> float:
        start = time.process_time()
        redact_text(text, ANN)
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.parametrize("piece", ADVERSARIES)
def test_time_grows_as_the_text_does(piece: str) -> None:
    """Eight times the text takes some eight times as long; a pattern that backtracks takes 64 times."""
    small, large = (piece * (length // len(piece)) for length in (8_000, 64_000))
    assert seconds(large) < 24 * seconds(small) + 0.02


@pytest.mark.parametrize("piece", ["a", "a@b.", "TOKEN='", "eyJaaaaaaaaaa.", "C:\\Users\\a "])
def test_a_megabyte_ends(piece: str) -> None:
    assert redact_text(piece * (1_000_000 // len(piece)), ANN)


def test_the_words_of_the_domain_are_shared_names() -> None:
    assert {"torch", "peft", "gpu", "packages", "driver", "host", "secret", "user"} <= GENERIC_NAMES


@pytest.mark.parametrize(
    "parameter", ["private_token=glabc12345", "sig=Zm9v", "X-Amz-Signature=ab%2Fc", "access_token=a", "KEY=b"]
)
def test_a_secret_in_the_query_of_a_url_is_masked_whatever_its_length(parameter: str) -> None:
    told = redact_text(f"from https://git.example/peft.whl?v=1&{parameter}#egg", Identity())
    assert told == f"from https://git.example/peft.whl?v=1&{parameter.split('=')[0]}=<secret>#egg"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run by alice on a node", "run by <user> on a node"),
        ("user=alice", "user=<user>"),
        ("malice, alice_2 and alice.py", "malice, alice_2 and alice.py"),
    ],
)
def test_the_user_is_masked_as_a_word_of_its_own(text: str, told: str) -> None:
    assert redact_text(text, Identity(user="alice")) == told


# -- numbered, for a report that is published


def numbered(*texts: str, identity: Identity = ANN, **facts: object) -> list[str]:
    """The texts as a published report has them."""
    told = redact_numbered(report(*texts, **facts), identity)
    return [finding.title for finding in told.findings[: len(texts)]]


def test_each_name_has_a_number_of_its_own_through_the_whole_report() -> None:
    told = numbered(
        "/home/robert/x, /home/carol/y and ann@trainbox:~$",
        "/Users/carol/z on trainbox.corp.example.com",
        "host: trn-17, hostname=trn-18",
        "robert says that trn-18 is not trn-17",
    )
    assert sorted(told) == sorted(
        [
            "/home/<user-2>/x, /home/<user-3>/y and <user-1>@<host-1>:~$",
            "/Users/<user-3>/z on <host-1>",
            "host: <host-3>, hostname=<host-2>",
            "<user-2> says that <host-2> is not <host-3>",
        ]
    )


def test_addresses_serials_and_gpus_are_told_apart() -> None:
    [told] = numbered(
        f"serial: 1650323001234 GPU-{UUID} ssh 10.1.2.3 ping 10.1.2.4 ssh 10.1.2.3 serial: 1650323001299"
    )
    assert told == (
        "serial: <serial-1> GPU-<1> ssh <address-1> ping <address-2> ssh <address-1> serial: <serial-2>"
    )


def test_environments_of_conda_are_masked_where_they_are_published() -> None:
    path = "/opt/conda/envs/acme-merger/bin/python and /opt/conda/envs/other/bin"
    variables = {"CONDA_DEFAULT_ENV": "acme-merger"}
    told = redact_numbered(report(path, "in acme-merger", environment=variables), ANN)
    titles = {finding.title for finding in told.findings}
    assert "in <env-1>" in titles or "in <env-2>" in titles
    assert not any("acme" in text or "/other/" in text for text in strings(msgspec.to_builtins(told)))
    assert redact(report(path), ANN).findings[-1].title == path  # where commands must run, it stays


@pytest.mark.parametrize("name", ["base", "peft", "pytorch", "llm", "py310"])
def test_an_environment_of_a_common_name_keeps_the_words_of_the_report(name: str) -> None:
    [told] = numbered(f"{name} is old", environment={"CONDA_DEFAULT_ENV": name}, packages=None)
    assert told == f"{name} is old"


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=3), IDENTITIES)
def test_numbers_hide_what_masks_without_them_hide(texts: list[str], identity: Identity) -> None:
    told = redact_numbered(report(*texts), identity)
    assert read(render(told)) == told
    assert redact_numbered(told, identity) == told


@settings(deadline=None)
@given(st.lists(st.sampled_from(["ada", "grace", "linus", "guido"]), min_size=2, max_size=6))
def test_one_name_has_one_mask_and_another_has_another(names: list[str]) -> None:
    [told] = numbered(" ".join(f"/home/{name}/x" for name in names), identity=Identity())
    masks = [path.split("/")[2] for path in told.split()]
    assert len(set(zip(names, masks, strict=True))) == len(set(names)) == len(set(masks))
    assert all(mask.startswith("<user-") for mask in masks)
