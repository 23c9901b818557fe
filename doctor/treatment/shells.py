"""The line that sets or unsets an environment variable, in each language that a place is written in. Pure."""

from __future__ import annotations

import json
import shlex

ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def posix(variable: str, value: str | None) -> str:
    """For sh, bash and zsh."""
    return f"unset {variable}" if value is None else f"export {variable}={posix_word(value)}"


def posix_word(text: str) -> str:
    """A word in one line; a line break within it needs the quotes that bash and zsh have for that."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(ESCAPES.get(letter, letter) for letter in text) + "'"


def fish(variable: str, value: str | None) -> str:
    """For fish: https://fishshell.com/docs/current/language.html#quotes"""
    if value is None:
        return f"set -e {variable}"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {variable} '{escaped}'"


def batch(variable: str, value: str | None) -> str:
    """For a batch file of cmd, where a percent sign stands twice."""
    escaped = (value or "").replace("%", "%%")
    return f'set "{variable}={escaped}"'


def powershell(variable: str, value: str | None) -> str:
    """For PowerShell, where a quote within quotes stands twice."""
    if value is None:
        return f"Remove-Item Env:{variable} -ErrorAction SilentlyContinue"
    escaped = value.replace("'", "''")
    return f"$Env:{variable} = '{escaped}'"


def unit(variable: str, value: str | None) -> str:
    """For a unit of systemd: systemd.exec(5), and systemd.syntax(7) for the quotes."""
    if value is None:
        return f"UnsetEnvironment={variable}"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'Environment="{variable}={escaped}"'


def pod(variable: str, value: str | None) -> tuple[str, ...]:
    """For a container of a pod, where "$(" would name another variable."""
    if value is None:
        return (f"# delete {variable} from env",)
    escaped = json.dumps(value.replace("$(", "$$("), ensure_ascii=False)
    return ("env:", f"  - name: {variable}", f"    value: {escaped}")
