"""What all pages look like: the colours of both themes, and the style of what each of them has.

Every text stands out from its ground by 4.5 to 1 at least (WCAG 2.2, criterion 1.4.3).
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT = {
    "ground": "#f4f5f7", "surface": "#ffffff", "sunken": "#f1f3f5", "edge": "#d8dde3", "text": "#1a1f26",
    "dim": "#56606c", "link": "#0a58ad", "focus": "#0a58ad",
    "ok": "#12692f", "ok-ground": "#e2f4e7", "warn": "#7d4e00", "warn-ground": "#fdf0d3",
    "bad": "#a81e17", "bad-ground": "#fde7e5", "note": "#0b549f", "note-ground": "#e3effb",
    "unknown": "#4f5966", "unknown-ground": "#e8ebef",
    "used": "#3b6fb5", "free": "#dfe4ea",
}  # fmt: skip
DARK = {
    "ground": "#0e1116", "surface": "#171b22", "sunken": "#0f1319", "edge": "#2e3540", "text": "#e7eaef",
    "dim": "#a0aab6", "link": "#86bdff", "focus": "#86bdff",
    "ok": "#74d996", "ok-ground": "#14301f", "warn": "#f2bd62", "warn-ground": "#33270f",
    "bad": "#ff938a", "bad-ground": "#3a1a19", "note": "#8cc0ff", "note-ground": "#14283f",
    "unknown": "#b1bac5", "unknown-ground": "#252b34",
    "used": "#6ea3e8", "free": "#2a313b",
}  # fmt: skip


def colors() -> str:
    """Both themes: as the reader's system has it, unless the page itself was told otherwise."""
    dark = _declared(DARK, "dark")
    return (
        f":root {{ {_declared(LIGHT, 'light')} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}\n"
        f"@media screen {{ :root[data-theme=dark] {{ {dark} }} }}\n"
    )


def _declared(palette: Mapping[str, str], scheme: str) -> str:
    return f"color-scheme: {scheme}; " + " ".join(f"--{name}: {color};" for name, color in palette.items())


BASE = """
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); overflow-wrap: anywhere;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif; }
main, .top, .foot { max-width: 76rem; margin-inline: auto; padding-inline: clamp(1rem, 4vw, 2.5rem); }
h1, h2, h3, h4 { line-height: 1.25; margin: 0; text-wrap: balance; }
p { margin: 0; }
a { color: var(--link); }
code, pre { unicode-bidi: isolate;
  font: .875em/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { margin: 0; padding: .65rem .8rem; background: var(--sunken); border: 1px solid var(--edge);
  border-radius: 8px; white-space: pre-wrap; }
pre code { font-size: 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0;
  border-bottom: 1px solid var(--edge); unicode-bidi: isolate; }
thead th { color: var(--dim); font-weight: 600; font-size: .8125rem; }
summary { cursor: pointer; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 4px; }
button { font: 600 .8125rem/1 system-ui, sans-serif; color: var(--text); background: var(--surface);
  border: 1px solid var(--edge); border-radius: 7px; padding: .5rem .7rem; min-height: 2rem;
  cursor: pointer; }
button:hover { border-color: var(--dim); }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.skip { position: absolute; left: 1rem; top: -4rem; padding: .5rem .9rem; background: var(--surface);
  border-radius: 0 0 8px 8px; z-index: 1; }
.skip:focus { top: 0; }
.copyable { display: flex; align-items: flex-start; gap: .5rem; }
.copyable > pre { flex: 1; min-width: 0; }
.copyable > button { flex: none; min-width: 4.6rem; margin-top: .25rem; }
@media (max-width: 34rem) {
  .copyable { flex-direction: column; align-items: stretch; gap: .35rem; }
  .copyable > button { align-self: flex-end; margin-top: 0; }
}
@media print {
  body { background: none; font-size: 10pt; }
  button, .skip { display: none; }
}
"""
DOCUMENT = """
main { max-width: 64rem; padding-block: 1.5rem 4rem; }
main > * + *, details > * + * { margin-top: .9rem; }
main > h1, main > h2, main > h3 { margin-top: 1.8rem; }
main pre, main :not(pre) > code { background: var(--surface); }
main :not(pre) > code { border-radius: 4px; padding: .1em .3em; }
main table { width: auto; max-width: 100%; }
main :is(td, th) { min-width: 4rem; }
main svg { max-width: 100%; height: auto; }
"""
