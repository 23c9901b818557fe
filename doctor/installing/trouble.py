"""The words of an installer that failed -> what is wrong, what was seen, what to do. Pure.

The words are those of pip 21 to 26, uv 0.5 to 0.11 and CPython's venv.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.installing.outcome import NotMade
from doctor.plain import one_line

PROXIES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
ADDRESS = re.compile(r"https?://[^\s'\"`)>,]+")
PIPS_HOST = re.compile(r"host='([^']+)'")
CREDENTIALS = re.compile(r"[^/@]*(?::[^/@]*)?@")
SHOWN = 240  # characters of the installer's own words

# The first that is found says what is wrong: an installer without network also finds no version.
FULL = r"No space left on device|Disk quota exceeded|disk quota|os error 28|Errno 28"
READ_ONLY = r"Read-only file system|Permission denied|os error 13|os error 30|Errno 13|Errno 30"
PROXY = (
    r"ProxyError|Cannot connect to proxy|Tunnel connection failed|407 Proxy|tunnel error|unsuccessful tunnel"
)
CERTIFICATE = (
    r"CERTIFICATE_VERIFY_FAILED|invalid peer certificate|certificate verify failed|SSLCertVerification"
)
UNREACHABLE = (
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|name resolution|dns error"
    r"|Name or service not known|Network is unreachable|Connection refused|Connection reset|No route to host"
    r"|error sending request|Failed to fetch|Could not fetch URL|timed out|Connection aborted|IncompleteRead"
)
OFFLINE = r"network was disabled|--no-index|No network"
ABSENT = r"No matching distribution found for ([^\s,;]+)|no version of ([^\s,;]+)|(\S+) was not found in the"
CONSTRAINT = r"The user requested \(constraint\)[^\n]*"
DAMAGED = (
    r"BadZipFile|is invalid|bad RECORD|hashes? (?:mismatch|did not match)|Hash mismatch|DO NOT MATCH|unzip"
)


def told_by(words: str, env: Mapping[str, str], folder: str, index_url: str) -> NotMade:
    """What an installer's output says. ``index_url`` is the one that the command named, "" without one."""
    seen = last_error(words)
    if re.search(FULL, words):
        return NotMade(why=f"the disk ran full while {folder} was filled", seen=seen, advice="make room")
    if re.search(PROXY, words):
        proxy = proxy_in(env)
        why = f"the proxy refuses: {proxy}" if proxy else "a proxy refuses"
        return NotMade(why=why, seen=seen, advice="set HTTPS_PROXY to one that lets you through")
    if re.search(CERTIFICATE, words):
        advice = "name your company's certificates: set PIP_CERT (pip) or SSL_CERT_FILE (uv) to their file"
        return NotMade(
            why=f"{where(words, index_url)} shows a certificate that is not trusted", seen=seen, advice=advice
        )
    if re.search(UNREACHABLE, words):
        return unreachable(words, env, index_url, seen)
    if re.search(READ_ONLY, words):
        advice = "name a folder of your own, on a file system that is mounted neither ro nor noexec"
        return NotMade(why=f"{folder} cannot be written, or nothing may run there", seen=seen, advice=advice)
    if re.search(DAMAGED, words):
        return NotMade(why="a wheel came damaged", seen=seen, advice="fetch it again, past the cache")
    constraint = re.search(CONSTRAINT, words)
    if constraint:
        return NotMade(
            why="a constraint of your own stands against the set",
            seen=one_line(constraint.group(0)),
            advice="see PIP_CONSTRAINT, UV_CONSTRAINT, and what pip config list says of constraints",
        )
    absent = re.search(ABSENT, words)
    if absent:
        return without_release(next(filter(None, absent.groups())), index_url, seen)
    return NotMade(why="the installer failed", seen=seen)


def unreachable(words: str, env: Mapping[str, str], index_url: str, seen: str) -> NotMade:
    """No network, or none as far as one index."""
    proxy = proxy_in(env)
    through = f" (through {proxy})" if proxy else ""
    advice = (
        "where a proxy leads out set HTTPS_PROXY; for a mirror of torch's index give --torch-index URL,"
        " for one of PyPI set PIP_INDEX_URL (pip) or UV_DEFAULT_INDEX (uv)"
    )
    return NotMade(why=f"{where(words, index_url)} cannot be reached{through}", seen=seen, advice=advice)


def without_release(requirement: str, index_url: str, seen: str) -> NotMade:
    """The index answers, and lacks what is asked for."""
    place = index_url or "the package index"
    advice = "name an index that has it with --torch-index URL, or pin another release"
    return NotMade(why=f"{place} has no {requirement} for this Python and system", seen=seen, advice=advice)


def where(words: str, index_url: str) -> str:
    """The address that did not answer."""
    named = ADDRESS.search(words)
    host = PIPS_HOST.search(words)
    known = index_url or (named.group(0).rstrip("/.:") if named else "")
    return host.group(1) if host and host.group(1) not in known else known or "the package index"


def proxy_in(env: Mapping[str, str]) -> str:
    """The proxy that the variables name, without its password; "" without one."""
    found = next((name for name in PROXIES if env.get(name)), "")
    return f"{found}={CREDENTIALS.sub('', env[found])}" if found else ""


def last_error(words: str) -> str:
    """The line of an installer that says most: its last error or cause, else its last line."""
    lines = [one_line(line) for line in words.splitlines() if line.strip()]
    errors = [
        line
        for line in lines
        if re.match(r"(?:ERROR|error|×|cause|Caused by|.*Error)\b", line.lstrip("╰─▶ "))
    ]
    return ([*lines[-1:], *errors][-1] if lines else "")[:SHOWN]
