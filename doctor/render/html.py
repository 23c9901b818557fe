"""Markdown of ours as one HTML page that stands by itself: no script, nothing loaded from elsewhere.

The Markdown has escaped whatever is foreign (``markdown_text``), so what is HTML in it is our own.
"""

from __future__ import annotations

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>lora-doctor</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
pre, code {{ background: #f4f4f4; color: #222; }}
pre {{ padding: .7rem; overflow-x: auto; }}
table {{ border-collapse: collapse; }}
td, th {{ border: 1px solid #ccc; padding: .2rem .6rem; text-align: left; vertical-align: top; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def render(markdown: str, language: str = "en") -> str:
    """The page of a report in Markdown."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    return _PAGE.format(language=language, body=parser.render(markdown).strip())
