"""Probes of plugins: each in a child of the doctor's own interpreter, beside all other looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

import doctor
from doctor.child import Patience
from doctor.collectors import Collected, behind_gate, collect, joined
from doctor.facts import Facts, Gap
from doctor.plugins import PROBES, Plugin, plugins
from doctor.probes import Later, Looks

PATIENCE = Patience(limit_s=20.0)
PROGRAM = """
sys.path.append(CONFIG["doctor"])
from doctor.plugins.child import ask
emit(ask(CONFIG["value"], CONFIG["executable"], CONFIG["chosen_by"]))
"""


class Extras:
    """The answers of all plugins' probes; without plugins there is nothing to wait for."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._asked: dict[Plugin, Later[Collected] | None] = {
            plugin: None if looks.quick else Later(self._asking(plugin)) for plugin in plugins(PROBES)
        }

    def _asking(self, plugin: Plugin) -> Callable[[], Collected]:
        target = self._looks.target
        config = {
            "doctor": os.path.dirname(os.path.dirname(os.path.abspath(doctor.__file__))),
            "value": plugin.value,
            "executable": target.executable,
            "chosen_by": target.chosen_by,
        }
        text = behind_gate(joined(()) + PROGRAM)
        return lambda: collect(self._looks.host, sys.executable, text, config, patience=PATIENCE)

    def added_to(self, facts: Facts) -> Facts:
        """The facts with what the probes saw, and a gap for each that did not answer."""
        extra: dict[str, Any] = {}
        gaps: list[Gap] = []
        for plugin, asked in self._asked.items():
            found = self._answer(plugin, asked)
            if plugin.name in extra:
                reason = f"the probe {plugin.told} has the name of another plugin's"
                gaps.append(Gap(about=f"extra.{plugin.name}", kind="failed", reason=reason))
            elif isinstance(found, Gap):
                gaps.append(found)
            else:
                extra[plugin.name] = found
        if not self._asked:
            return facts
        told: Facts = msgspec.structs.replace(facts, extra=extra, gaps=(*facts.gaps, *gaps))
        return told

    def _answer(self, plugin: Plugin, asked: Later[Collected] | None) -> object:
        about = f"extra.{plugin.name}"
        if asked is None:
            reason = f"the probe {plugin.told} is left out by {self._looks.left_out_by}"
            return Gap(about=about, kind="not-asked", reason=reason)
        try:
            collected = asked.result()
            event = next(iter(collected.events), None)
            said = event.get("error", "") if event else collected.trouble
        except Exception as error:  # the child could not even be asked
            event, said = None, f"{type(error).__name__}: {error}"
        if event is None or said:
            return Gap(about=about, kind="failed", reason=f"the probe {plugin.told} failed: {said}"[:500])
        if event.get("absent"):
            return Gap(about=about, kind="not-applicable", reason=str(event["absent"])[:500])
        return event["fact"]
