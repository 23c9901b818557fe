"""Changes of imports: a name that stands elsewhere now, or is called otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.facts import Facts
from doctor.matrix.api import exports, replacement, where_now
from doctor.matrix.api_table import package_of
from doctor.patch.text import Change, Edit, Text
from doctor.rules.script.subject import is_patched, versions_of
from doctor.rules.script.symbols import missing_names
from doctor.script import Script


def import_changes(facts: Facts, text: Text) -> Iterator[Change]:
    """Every certain change of an import."""
    script, versions = facts.script, versions_of(facts)
    assert script
    for one in missing_names(script, versions):
        module, name = new_home(one.module, one.name, versions[package_of(one.module)])
        if not name or is_patched(script, one.module):
            continue
        for asked in one.asked:
            if asked.form == "import":
                yield from moved(text, asked.module, one.name, module, name)


def new_home(module: str, name: str, version: str) -> tuple[str, str]:
    """Module and name that take the place of an import, for certain in this version; two "" otherwise."""
    found = replacement(module, name) if name else None
    elsewhere = where_now(name, package_of(module), version) if name else ()
    if found and found.new:
        home, _, new = found.new.rpartition(".")
        if new != name and "renamed" not in found.sentence:
            return "", ""  # another thing that serves the same end
        same_package = package_of(home) == package_of(module)
        return (home, new) if same_package and exports(home, new, version) else ("", "")
    return (elsewhere[0], name) if elsewhere and found is None else ("", "")


def moved(text: Text, module: str, old: str, home: str, new: str) -> Iterator[Change]:
    """One import statement in which a name gives way; the script goes on calling it as it did."""
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.ImportFrom) or node.module != module:
            continue
        for alias in node.names:
            if alias.name == old:
                called = alias.asname or old
                name = new if called == new else f"{new} as {called}"
                yield replaced(text, node, alias, home, name)


def replaced(text: Text, node: ast.ImportFrom, alias: ast.alias, home: str, name: str) -> Change:
    """The edits of one statement."""
    if node.module == home:
        return (Edit(*text.span(alias), name.encode()),)
    line = f"from {home} import {name}"
    if len(node.names) == 1:
        return (Edit(*text.span(node), line.encode()),)
    start = text.starts[node.lineno - 1]
    indent = b" " * node.col_offset
    return (Edit(start, start, indent + line.encode() + b"\n"), text.without(alias))


def with_import(callable_name: str, script: Script, text: Text) -> Change:
    """The import of a class beside the first import of its package, where the script lacks it."""
    module, _, name = callable_name.rpartition(".")
    if any(one.name == name and not one.alias for one in script.imports):
        return ()
    for node in text.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            start = text.starts[node.lineno - 1]
            return (Edit(start, start, f"from {module} import {name}\n".encode()),)
    return ()
