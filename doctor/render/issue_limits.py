"""What GitHub takes: names of repositories and templates, lengths of issues and addresses.

The constants alone, so that a command can refuse before anything heavy is imported.
"""

from __future__ import annotations

import re

BODY_LIMIT_BYTES = 60_000  # GitHub refuses an issue of more than 65,536 characters
SMALLEST_LIMIT = 8_000  # bytes, which hold the opening of a report whatever it names
URL_LIMIT_BYTES = 8_000  # its servers refuse an address of more than 8,191
TITLE_LIMIT = 120  # characters; it refuses more than 256

REPOSITORY = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
# A file of .github/ISSUE_TEMPLATE, and of a form the id of the field that the report goes into.
TEMPLATE = re.compile(
    r"(?P<file>[A-Za-z0-9][\w.-]{0,80}\.(?:ya?ml|md))(?::(?P<field>[A-Za-z0-9_-]{1,60}))?", re.ASCII
)
