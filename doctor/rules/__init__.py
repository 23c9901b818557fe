"""Rules judge facts: one module a subject, one function a fault.

The decorator is a rule's identity, its docstring the page that ``explain`` prints (headings Why, Fix,
References), its body the decision. Rows of the compatibility matrix become rules of the same type.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import NamedTuple

import msgspec

from doctor.facts import Facts
from doctor.findings import Confidence, Evidence, Finding, Fix, Severity


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule's body yields: all of a finding but its identity."""

    title: str
    evidence: tuple[Evidence, ...]
    fixes: tuple[Fix, ...] = ()
    confidence: Confidence = "confirmed"
    severity: Severity | None = None  # where it is not the rule's own
    breaks: tuple[str, ...] | None = None  # where they are not the rule's own
    why: str = ""  # where it is not the page's own


class Rule(NamedTuple):
    """A fault that can be judged: code or a row of the matrix, the engine does not know which."""

    id: str
    severity: Severity
    needs: tuple[str, ...]  # fields of Facts without which it cannot be judged
    breaks: tuple[str, ...]  # stages of a fine-tune
    symptoms: tuple[str, ...]  # substrings of what people see, or patterns behind "re:"
    describe: Callable[[], str]  # its page, written only where somebody asks
    judge: Callable[[Facts], Iterable[Hit]]
    # What helps where only words tell of the fault, as in a paste: the facts may be few.
    cure: Callable[[Facts], tuple[Fix, ...]] | None = None
    question: str = ""  # whose answer decides whether it is this fault: "What does ... print?"

    @property
    def page(self) -> str:
        """What ``explain`` prints: the fault in one line, then headings Why, Fix, References."""
        return self.describe()

    def finding(self, hit: Hit) -> Finding:
        """The hit with the rule's identity stamped on it."""
        return Finding(
            id=self.id,
            severity=hit.severity or self.severity,
            confidence=hit.confidence,
            title=hit.title,
            why=hit.why or why_of(self.page),
            breaks=self.breaks if hit.breaks is None else hit.breaks,
            evidence=hit.evidence,
            fixes=hit.fixes,
        )


Judge = Callable[[Facts], Iterable[Hit]]
_rules: list[Rule] = []
# Where the decorator puts a rule: with the doctor's own, unless a plugin is being imported.
_registry: ContextVar[list[Rule]] = ContextVar("registry", default=_rules)


def rule(
    id: str,
    severity: Severity,
    *,
    needs: tuple[str, ...],
    breaks: tuple[str, ...] = (),
    symptoms: tuple[str, ...] = (),
    cure: Callable[[Facts], tuple[Fix, ...]] | None = None,
    question: str = "",
) -> Callable[[Judge], Judge]:
    """Register a function as the judge of one fault."""

    def register(judge: Judge) -> Judge:
        page = lambda: judge.__doc__ or ""  # noqa: E731
        _registry.get().append(Rule(id, severity, needs, breaks, symptoms, page, judge, cure, question))
        return judge

    return register


@cache
def code_rules(scripts: bool = True) -> tuple[Rule, ...]:
    """Every rule written as code: all modules of this folder; those of scripts only where they are wanted."""
    for module in pkgutil.iter_modules(__path__):
        if scripts or module.name != "script":
            import_module(f"{__name__}.{module.name}")
    return tuple(rule for rule in _rules if scripts or "script" not in rule.needs)


def registered_by(work: Callable[[], object]) -> list[Rule]:
    """The rules that are registered while something is done, and in no other place."""
    rules: list[Rule] = []
    token = _registry.set(rules)
    try:
        work()
    finally:
        _registry.reset(token)
    return rules


def why_of(page: str) -> str:
    """The paragraph of a page that begins with ``Why:``, on one line; "" where it has none."""
    parts = [part.strip() for part in page.split("\n\n")]
    found = next((part[4:] for part in parts if part.startswith("Why:")), "")
    return " ".join(found.split())
