"""The words of an installer that failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.installing.trouble import SHOWN, told_by

INDEX = "https://download.pytorch.org/whl/cpu"
PIP_OFFLINE = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None)) after connection \
broken by 'NameResolutionError("HTTPSConnection(host='pypi.org', port=443): Failed to \
resolve 'pypi.org' ([Errno -2] Name or service not known)")': /simple/peft/
ERROR: Could not find a version that satisfies the requirement peft==0.18.0 (from versions: none)
ERROR: No matching distribution found for peft==0.18.0
"""
UV_OFFLINE = """\
error: Request failed after 3 retries in 4.7s
  cause: Failed to fetch: https://download.pytorch.org/whl/cpu/torch/
  cause: dns error
"""
PIP_PROXY = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError('Cannot connect to proxy.', \
OSError('Tunnel connection failed: 407 Proxy Authentication Required'))': /simple/peft/
ERROR: No matching distribution found for peft==0.18.0
"""
PIP_ABSENT = """\
ERROR: Could not find a version that satisfies the requirement torch==9.9+cpu (from versions: 2.13.0+cpu)
ERROR: No matching distribution found for torch==9.9+cpu
"""
UV_ABSENT = """\
  × No solution found when resolving dependencies:
  ╰─▶ Because there is no version of torch==9.9+cpu and you require torch==9.9+cpu, we can conclude that your
      requirements are unsatisfiable.
"""


def why(words: str, index_url: str = "", **env: str) -> str:
    return told_by(words, env, "/env", index_url).why


@pytest.mark.parametrize(
    ("words", "index_url", "expected"),
    [
        (PIP_OFFLINE, "", "pypi.org cannot be reached"),
        (UV_OFFLINE, INDEX, f"{INDEX} cannot be reached"),
        (PIP_ABSENT, INDEX, f"{INDEX} has no torch==9.9+cpu for this Python and system"),
        (UV_ABSENT, "", "the package index has no torch==9.9+cpu for this Python and system"),
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "", "the disk ran full"),
        ("error: failed to hardlink: Disk quota exceeded (os error 122)", "", "the disk ran full"),
        ("ERROR: [Errno 30] Read-only file system: '/env/x'", "", "/env cannot be written"),
        ("SSLError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')", INDEX, "not trusted"),
        ("  cause: invalid peer certificate: UnknownIssuer", "", "certificate that is not trusted"),
        ("ERROR: Wheel 'peft' located at /tmp/x.whl is invalid.", "", "a wheel came damaged"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "", "a wheel came damaged"),
        ("The user requested a==1\n  The user requested (constraint) a<1\n", "", "a constraint"),
        ("Killed", "", "the installer failed"),
        ("", "", "the installer failed"),
    ],
)  # fmt: skip
def test_what_is_wrong(words: str, index_url: str, expected: str) -> None:
    assert expected in why(words, index_url)


def test_a_proxy_is_named_where_it_is_what_fails() -> None:
    assert (
        why(PIP_PROXY, HTTPS_PROXY="http://proxy:3128") == "the proxy refuses: HTTPS_PROXY=http://proxy:3128"
    )
    assert why(PIP_PROXY, https_proxy="http://me:secret@p:1") == "the proxy refuses: https_proxy=http://p:1"
    assert why(PIP_PROXY, HTTP_PROXY="me:secret@p:1") == "the proxy refuses: HTTP_PROXY=p:1"
    assert why(PIP_PROXY) == "a proxy refuses"
    assert "(through https_proxy=http://p:1)" in why(PIP_OFFLINE, https_proxy="http://p:1")


def test_the_last_cause_is_what_was_seen() -> None:
    assert told_by(UV_OFFLINE, {}, "/env", INDEX).seen == "cause: dns error"
    assert (
        told_by(PIP_ABSENT, {}, "/env", INDEX).seen
        == "ERROR: No matching distribution found for torch==9.9+cpu"
    )


@given(st.text(max_size=400), st.text(max_size=40))
def test_any_words_are_told(words: str, index_url: str) -> None:
    found = told_by(words, {}, "/env", index_url)
    assert found.why and len(found.seen) <= SHOWN and "\n" not in found.seen
