"""Rules of plugins: imported, looked over, and judged at arm's length.

A plugin that cannot be taken becomes a finding in place of its rules. Two rules of one id are one too many,
and the doctor's own stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from importlib import import_module
from typing import NamedTuple, get_args

import msgspec

from doctor.facts import Facts, Stage
from doctor.findings import SEVERITIES, Evidence
from doctor.plugins import RULES, Plugin, plugins
from doctor.plugins.within import Failed, within
from doctor.rules import Hit, Rule, code_rules, registered_by

IMPORT_LIMIT_S, JUDGE_LIMIT_S = 10.0, 5.0
ID = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")
FAILED = "doctor/plugin-failed"
FAILED_PAGE = """A plugin of the doctor cannot be used

Why: a package that is installed beside the doctor adds rules to it, and cannot be imported, does not end, or
takes an id that another rule has. What it would have judged was not judged; all else was.

See: the finding names the plugin and what it raised. lora-doctor check --format json has it in full.

Fix: upgrade that package, or uninstall it from the environment of the doctor.

Verify: the check no longer names it."""


def plugin_rules(ours: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules of all plugins, beside those of the doctor itself."""
    found = plugins(RULES)
    if not found:
        return ()
    # Loaded first, so that a plugin that imports one of our modules does not seem to bring its rules.
    taken = {rule.id for rule in (*code_rules(), *ours)}
    rules: list[Rule] = []
    for plugin in found:
        brought = brought_by(plugin)
        wrong = next(filter(None, (objection(rule, taken) for rule in brought.rules)), brought.failure)
        taken.update(rule.id for rule in brought.rules)
        rules += [failure(plugin, wrong)] if wrong else brought.rules
    return tuple(rules)


class Brought(NamedTuple):
    """What the import of a plugin came to."""

    rules: tuple[Rule, ...] = ()
    failure: str = ""


@cache
def brought_by(plugin: Plugin) -> Brought:
    """The rules that importing the plugin registers; a module is imported once."""
    module = plugin.value.partition(":")[0]
    try:
        rules = within(IMPORT_LIMIT_S, lambda: registered_by(lambda: import_module(module)))
    except Failed as failed:
        return Brought(failure=str(failed))
    return Brought(tuple(map(at_arms_length, rules)), "" if rules else "its module registers no rule")


def objection(rule: Rule, taken: Collection[str]) -> str:
    """Why the doctor cannot ask this rule, "" where it can."""
    unknown = [need for need in rule.needs if not need.startswith("extra.") and need not in FIELDS]
    stages = [stage for stage in rule.breaks if stage not in get_args(Stage)]
    if not ID.fullmatch(rule.id):
        return f"{rule.id!r} is no id: it must be subject/fault"
    if rule.id in taken:
        return f"the id {rule.id} is taken"
    if rule.severity not in SEVERITIES:
        return f"{rule.id}: {rule.severity!r} is no severity"
    kind = "fact" if unknown else "stage"
    return f"{rule.id}: unknown {kind} {(unknown or stages)[0]!r}" if unknown or stages else ""


FIELDS = frozenset(Facts.__struct_fields__)


def at_arms_length(rule: Rule) -> Rule:
    """The same rule, whose body may neither hang nor yield what is no hit; what failed is not asked again."""
    failed: list[Failed] = []

    def judge(facts: Facts) -> tuple[Hit, ...]:
        if failed:
            raise failed[0]
        try:
            hits = within(JUDGE_LIMIT_S, lambda: tuple(rule.judge(facts)))
        except Failed as error:
            failed.append(error)
            raise
        return tuple(msgspec.convert(msgspec.to_builtins(hit), Hit) for hit in hits)

    return rule._replace(judge=judge)


def failure(plugin: Plugin, said: str) -> Rule:
    """A rule that always finds that a plugin cannot be used."""
    hit = Hit(
        title=f"The plugin {plugin.told} cannot be used, so its rules were not asked",
        evidence=(Evidence(plugin.origin, said),),
    )
    return Rule(FAILED, "warning", (), (), (), lambda: FAILED_PAGE, lambda facts: (hit,))
