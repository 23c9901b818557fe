"""The forms by which secrets, people and machines are known in any text, whoever wrote it.

Every pattern starts at a fixed mark or at the edge of a run and has bounded parts, and so takes linear time.
Sources: the documented prefixes of tokens (GitHub, GitLab, Hugging Face, OpenAI, AWS, Slack, Google, npm,
PyPI, Weights & Biases), RFC 7235 for headers, RFC 4291 for IPv6, systemd and rsyslog for the host's column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

SECRET = "<secret>"
Mask = Callable[[str, str], str]  # (kind, name) to what is written for it: "<host>"


def unnumbered(kind: str, name: str) -> str:
    """One mask for all names of a kind."""
    return f"<{kind}>"


class Form(NamedTuple):
    """One pattern, what is written in its place, and a text without which it cannot match."""

    pattern: re.Pattern[str]
    masked: str
    needs: str = ""


_ASSIGNED = r"""\\?["']?\s{0,3}[=:]\s{0,3}\\?["']?"""
_VALUE = r"""[^\s"'\\]"""
# What is set to one of these hides nothing.
_NOTHING = r"(?! (?i:true|false|none|null|[01])(?![\w-]) )"

# Each is known by its own form. An edge is no letter or digit, or the "n" of a line break in JSON.
_TOKEN = r"""
-----BEGIN\ [A-Z ]{0,20}PRIVATE\ KEY-----(?s:.*?)(?:-----END\ [A-Z ]{0,20}KEY-----|\Z)
| (?:hf|api_org)_[A-Za-z0-9]{16,} | hf_(?:jwt|oauth)_[\w.-]{16,}    # Hugging Face
| gh[pousr]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | gl(?:pat|dt|rt|ptt)-[\w-]{16,}
| (?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/[\w/-]{10,}
| ssh-(?:rsa|dss|ed25519)\ AAAA[\w+/=]{20,}(?:\ [\w.-]{1,64}@[\w.-]{1,64})?
| (?:(?<![\w-])|(?<=\\[nrt]))(?:
      sk-(?:(?=[\w-]{0,40}\d)[\w-]{16,}|[A-Za-z]{20,})  # OpenAI, Anthropic
    | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])          # AWS
    | (?:xox[a-z]|xapp)-[\w-]{10,}                      # Slack
    | AIza[\w-]{30,} | ya29\.[\w-]{20,}                 # Google
    | eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*                 # JSON Web Token
    | wandb_v\d_\w{16,} | npm_[A-Za-z0-9]{30,} | pypi-AgE[\w-]{16,} | dckr_pat_[\w-]{16,}
    | (?:r8|gsk|api)_[A-Za-z0-9]{30,} | nvapi-[\w-]{30,}
    | \d{8,10}:[\w-]{35}(?![\w-])                       # Telegram
  )"""

# Each is known by the word before it, which stays.
_NAMED = r"""
( (?i: (?<![\w-])(?:bearer|basic)\s{1,4}(?=[\w.~+/=-]{0,80}\d) )
  (?=[\w.~+/=-]{16}) ) [\w.~+/=-]+
"""
_HEADER = r"""
( (?i: (?<![\w])authorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?
  (?: (?:bearer|basic|token|digest|negotiate)\s{1,4} | (?=[^\s"'\\]{0,80}\d) ) ) )
[^\s"'\\]{8,}
"""
_COOKIE = (
    r"""((?i:(?<![\w])(?:set-)?cookie)\\?["']?\s{0,3}:\s{0,3}\\?["']?)[\w.!#$%&*+^`|~-]{1,64}=[^\n"'\\]+"""
)
# A parameter of a URL, whatever its length: its name says what it is.
_IN_QUERY = r"""([?&][\w-]{0,30}(?:token|key|sig|signature|secret|password|auth|credential)=)[^&#\s"'`<>]+"""
# The key of Weights & Biases looks like a commit.
_HEX_KEY = r"""
( (?i:(?<![\w-])(?:wandb|key|login|token|secret|password)(?![\w-])) [^\n]{0,120}? (?<![0-9a-f/]) )
[0-9a-f]{40}(?![0-9a-f])
"""
_HEX_LINE = r"^([ \t]{0,8})[0-9a-f]{40}(?=[ \t]{0,8}$)"
_VARIABLE = rf"""
( (?<!(?:PAD|EOS|BOS|UNK|SEP|CLS)_)
  (?:TOKEN|SECRET(?:_[A-Z]{{1,20}}){{0,3}}|PASSWORD|PASSWD|_PASS|_PWD|API_?KEY|ACCESS_KEY|_KEY|CREDENTIALS)
  {_ASSIGNED} )
{_NOTHING} {_VALUE}+
"""
_ARGUMENT = rf"""
( (?i:api[_-]?key|secret|password|passwd|access[_-]key|accountkey){_ASSIGNED}(?={_VALUE}{{6}})
| (?i:["'](?:auth|key|identitytoken)["']):\s{{0,3}}["'](?=[\w+/=-]{{16}})
| (?i:token){_ASSIGNED}(?=[\w-]{{20}})(?=[\w-]{{0,40}}[A-Za-z])(?=[\w-]{{0,40}}\d) ) {_VALUE}+
"""
_NETRC = r"""
( (?m:^)[ \t]{0,8}password[ \t]{1,4}(?=\S{6,200}$)
| (?<!\w)login[ \t]{1,4}\S{1,64}[ \t]{1,4}password[ \t]{1,4}
| (?<!\w)password[ \t]{1,4}(?=[\w.-]{8})(?=[\w.-]{0,40}\d)(?=[\w.-]{0,40}[A-Za-z]) ) \S+
"""
_EMAIL = r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,}(?!\.?[\w-])"

SECRETS: tuple[Form, ...] = (
    Form(re.compile(_TOKEN, re.X | re.A), SECRET),
    Form(re.compile(r"://(?!git@)[^\s/\"'`]*@"), "://<redacted>@", "://"),
    *(
        Form(re.compile(form, re.X | re.A), rf"\1{SECRET}")
        for form in (_NAMED, _HEX_KEY, _VARIABLE, _ARGUMENT)
    ),
    *(
        Form(re.compile(form, re.X | re.A), rf"\1{SECRET}", needs)
        for form, needs in ((_HEADER, "uthorization"), (_COOKIE, "ookie"), (_NETRC, "password"))
    ),
    Form(re.compile(_HEX_LINE, re.M), rf"\1{SECRET}"),
    Form(re.compile(_IN_QUERY, re.I), rf"\1{SECRET}", "="),
    Form(re.compile(_EMAIL), "<e-mail>", "@"),
)

_LABEL = r"[ \t]{0,12}[:=][ \t]{0,4}[\"']?"
# A name of a machine that is told by its place alone; a version or a loopback address is none.
_HOST = (
    r"(?!localhost\b|v?\d[\d.]{0,20}(?![\w.-])|127\.)[A-Za-z0-9][\w-]{1,63}(?:\.[\w-]{1,63}){0,8}(?![\w.-])"
)
# It has what words lack: a digit, a hyphen or a dot.
_ODD_HOST = rf"(?=[A-Za-z]{{0,40}}[\d.-]){_HOST}"
_USER = r"[A-Za-z_][\w.-]{0,31}"
_LOGIN = r"\w[\w.-]{0,31}"  # where nothing but a user can stand: the number of a student is a name too
_STAMP = (
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"
)
HOSTS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(form)
    for form in (
        rf"(?<!\w){_STAMP} (?P<host>{_HOST})(?= [\w@./-]{{1,80}}(?:\[\d{{1,9}}\])?:)",
        rf"\b(?:Linux|Darwin) (?P<host>{_HOST})(?= \d{{1,2}}(?:\.\d{{1,4}}){{2}}[\w.+-]{{0,60}} [#D])",
        rf"\b(?:srun|slurmstepd|salloc|sbatch|prterun|mpirun): (?:error: )?(?P<host>{_ODD_HOST})(?=: )",
        rf"(?i:\b(?:host ?name|(?:slurm|pbs)_?\w{{0,20}}node\w{{0,8}}|computername|master_addr)){_LABEL}"
        rf"(?P<host>{_HOST})",
        r"(?i:(?<![\w.-])(?:hosts?|node ?name|nodes?|pods?|pod_name|nodelist|machine))"
        rf"{_LABEL}(?P<host>{_ODD_HOST})",
        rf"(?<![\w.:/-])(?P<host>{_ODD_HOST})(?=:\d{{1,9}}:\d{{1,9}} \[\d)",  # NCCL
        rf"\[(?P<host>{_ODD_HOST})\](?=:\d{{2,5}}\b)",
        rf"\[(?P<host>{_ODD_HOST}):\d{{2,9}}\]",  # Open MPI
        r"\b(?P<host>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]{1,63}){0,4})",  # of AWS
        # A pod of Kubernetes: name, hash of the set, hash of the pod, in an alphabet without vowels
        r"(?<![\w.-])(?P<host>[a-z][a-z0-9-]{1,50}-[b-df-hj-np-tv-xz24-9]{8,10}-[b-df-hj-np-tv-xz24-9]{5})(?![\w-])",
        r"://(?P<host>(?!localhost\b)[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.(?:local|lan|internal|intranet|corp|home))(?=[:/\s\"']|$)",
        r"://(?P<host>(?!localhost\b)[A-Za-z][\w-]{1,63})(?=:\d{2,5}\b)",
    )
)
# alice@gpu-7:~/x$, (base) [alice@gpu-7 x]$, ssh alice@gpu-7
PROMPT = re.compile(
    rf"(?<![\w.+@/-])(?P<user>{_LOGIN})@(?P<host>[A-Za-z][\w-]{{0,62}}(?:\.[\w-]{{1,63}}){{0,6}})"
    r"(?=:[~/]|[: ][^\s@]{0,200}[\])]?[ ]?[$%#](?:\s|$)|\][$%#]|[ ]?[~][ ]?[%$#])"
)
SSH = re.compile(rf"\bssh (?:-[\w]{{1,3}} (?:\S{{1,100}} )?)?(?P<user>{_LOGIN})@(?P<host>{_HOST})")
USERS: tuple[re.Pattern[str], ...] = (
    re.compile(rf"\b(?:USER|USERNAME|LOGNAME|SUDO_USER)=[\"']?(?P<user>{_LOGIN})(?![\w-])"),
    re.compile(rf"[\"'](?i:user_?name|user|login)[\"']: {{0,2}}[\"'](?P<user>{_USER})(?=[\"'])"),
    re.compile(rf"(?<![\w/.~])~(?P<user>{_USER})(?=/)"),
    re.compile(rf"/(?:g?scratch\d?|homes|home\d|lustre/home)/(?P<user>{_USER})"),
)


_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
# Four numbers with dots are an address or a version: what stands before, or a port behind, tells which.
IPV4 = re.compile(
    rf"(?:(?<![\w.=-])|(?<=ADDR=)|(?<=HOST=)|(?<=_IP=)|(?<=addr=)|(?<=host=))(?P<first>{_OCTET})\.(?P<second>{_OCTET})\.{_OCTET}\.{_OCTET}(?![\w-]|\.\d)(?P<port>:\d{{2,5}}\b)?"
)
BEFORE_VERSION = re.compile(
    r"(?:[=<>!~^]=?|version|release|driver|toolkit|runtime|\bv|\bcu\w{2,20}|nvidia[\w-]{0,40}|nccl|tensorrt|trt|found"
    r"|installed|requires?|needs?|have|than|with|cuda)[\s:(\"'`]{0,8}$",
    re.I,
)
BEFORE_ADDRESS = re.compile(
    r"(?://|@|\b(?:ip|ipv4|inet|hosts?|addr(?:ess)?(?:es)?|servers?|master|nodes?|workers?"
    r"|connect(?:ing|ed|ion)?(?: to)?|ping|ssh|bind|listening on|client|peer"
    r"|endpoint|master_addr|rank \d{1,4}|gateway|dns|proxy)[\s:=(\[\"'`]{0,6})$",
    re.I,
)
ADDRESS_SETTINGS = ("ADDR=", "HOST=", "_IP=", "addr=", "host=")  # MASTER_ADDR=, NODE_IP=
_HEX = "[0-9A-Fa-f]"
ADDRESSES: tuple[Form, ...] = (
    Form(
        re.compile(
            rf"(?<![\w:.])(?:[23]{_HEX}{{3}}|[Ff][Ee][89ABab]{_HEX}|[Ff][CDcd]{_HEX}{{2}})"
            rf"(?:(?::{_HEX}{{1,4}}){{7}}|(?={_HEX}{{0,4}}[0-9A-Fa-f:]{{0,34}}::)(?::{_HEX}{{0,4}}){{2,7}})"
            r"(?:%\w{1,16})?(?![\w:])"
        ),
        "<address>",
        ":",
    ),
    Form(
        re.compile(
            rf"(?<![\w:-])(?:{_HEX}{{2}}:{_HEX}{{2}}(?::{_HEX}{{2}}){{4}}|{_HEX}{{2}}(?:-{_HEX}{{2}}){{5}})"
            r"(?![\w:-])"
        ),
        "<address>",
    ),
    Form(
        re.compile(r"(?i)(\b(?:serial(?: number)?|gpu pdi)[ \t]{0,60}:[ \t]{0,4})(?:0x)?[\w-]{6,40}"),
        r"\1<serial>",
        ":",
    ),
)
# What is set in a shell or a Dockerfile.
SETTING = re.compile(
    r"(?:(?m:^)[ \t]{0,8}(?:[$#>] )?|(?<![\w-])(?:export|setx?|ENV|ARG|env|-e|--env|declare -x)[ \t]{1,4})"
    r"(?P<name>[A-Z][A-Z0-9_]{2,60})=(?P<value>\"[^\"\n]{1,2000}\"|'[^'\n]{1,2000}'|[^\s\"';&|]{1,2000})"
)
HARMLESS_VALUE = re.compile(r"[\"']?(?:[\d.,:]{1,20}|\w{1,3}|true|false|none|<[\w-]{1,20}>)[\"']?", re.I)
# Settings of programs that a fine-tune runs on: their values are what a diagnosis stands on.
KNOWN_SETTING = re.compile(
    r"(?:CUDA|CUDNN|CUBLAS|NCCL|GLOO|NVIDIA|NV|HF|HUGGINGFACE|TRANSFORMERS|DATASETS|TORCH|PYTORCH|TORCHINDUCTOR|TORCHDYNAMO"
    r"|BNB|BITSANDBYTES|TRITON|ROCM|ROCR|HIP|HSA|AMD|OMP|MKL|OPENBLAS|KMP|TOKENIZERS|ACCELERATE|DEEPSPEED|DS|FSDP|UNSLOTH"
    r"|XFORMERS|FLASH|FLASH_ATTENTION|PYTHON|PIP|UV|CONDA|MAMBA|SLURM|LD|LIBRARY|XDG|VLLM|WANDB|TF|JAX|XLA|CC|CXX|CFLAGS"
    r"|LDFLAGS|MAX|CMAKE|NINJA|PATH|TMP|TMPDIR|TEMP|LANG|LC|RANK|LOCAL|WORLD|MASTER|GPU|MASTER_PORT|VIRTUAL|ASCEND|NPU|USE"
    r"|DISABLE|FORCE|ONEAPI|SYCL|ZE|MPS|GRPC|PROTOCOL|SETUPTOOLS|BUILD|ARCH|SAFETENSORS|PEFT|TRL|LLAMAFACTORY|MODELSCOPE)"
    r"(?:_[A-Z0-9_]{0,60})?(?![A-Z])"
)


def hidden(text: str, generic: frozenset[str], mask: Mask = unnumbered) -> str:
    """A text without all that is private by its own form. ``generic`` are names that say nothing."""
    for form in SECRETS:
        if form.needs in text:
            text = form.pattern.sub(form.masked, text)

    def named(found: re.Match[str]) -> str:
        return _without(found, generic, mask)

    if "@" in text:
        text = SSH.sub(named, PROMPT.sub(named, text))
    for pattern in (*HOSTS, *USERS):
        text = pattern.sub(named, text)
    text = IPV4.sub(lambda found: _address(found, mask), SETTING.sub(_setting, text))
    for form in ADDRESSES:
        text = form.pattern.sub(_of_form(form, mask), text) if form.needs in text else text
    return text


def _of_form(form: Form, mask: Mask) -> Callable[[re.Match[str]], str]:
    """What is written for a match of a form that ends in the mask of its kind."""
    kind = form.masked.rpartition("<")[2].rstrip(">")

    def masked(found: re.Match[str]) -> str:
        kept = found[1] if form.pattern.groups else ""
        return kept + mask(kind, found[0][len(kept) :])

    return masked


def _without(found: re.Match[str], generic: frozenset[str], mask: Mask) -> str:
    """A match without its user and host."""
    whole = found[0]
    for group in ("host", "user"):  # the later first, so that places stay
        name = found.groupdict().get(group)
        if name and name.lower() not in generic:
            start, end = (place - found.start() for place in found.span(group))
            whole = f"{whole[:start]}{mask(group, name)}{whole[end:]}"
    return whole


def _setting(found: re.Match[str]) -> str:
    if KNOWN_SETTING.match(found["name"]) or HARMLESS_VALUE.fullmatch(found["value"]):
        return found[0]
    return found[0][: found.start("value") - found.start()] + "<redacted>"


def _address(found: re.Match[str], mask: Mask) -> str:
    before = found.string[max(0, found.start() - 50) : found.start()]
    first = int(found["first"])
    if first in (0, 127) or first == 255 or not before and found.end() == len(found.string):
        return found[0]
    if BEFORE_ADDRESS.search(before) or before.endswith(ADDRESS_SETTINGS) or found["port"]:
        is_address = True
    elif BEFORE_VERSION.search(before):
        is_address = False
    else:  # no library counts up to these
        is_address = first > 13 or first == 10
    port = found["port"] or ""
    return mask("address", found[0].removesuffix(port)) + port if is_address else found[0]
