"""A site folder with plugins of one module each, made while a test runs."""

from __future__ import annotations

from pathlib import Path

RULE = """
from doctor.rules import Hit, rule

@rule("{id}", "error", needs={needs!r}, breaks={breaks!r})
def fault(facts):
    '''A fault of this place

    Why: it is so.
    '''
    {body}
"""
FOUND = "yield Hit(title='it is so', evidence=())"


def rule_text(
    id: str = "acme/fault", needs: tuple[str, ...] = (), breaks: tuple[str, ...] = (), body: str = FOUND
) -> str:
    return RULE.format(id=id, needs=needs, breaks=breaks, body=body)


class SiteFolder:
    """Where plugins are installed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "site-packages"
        self.path.mkdir()

    def add(self, module: str, text: str, group: str = "rules", name: str = "") -> None:
        """Install one plugin."""
        (self.path / f"{module}.py").write_text(text, encoding="utf-8")
        info = self.path / f"{module}-1.0.dist-info"
        info.mkdir()
        value = f"{module}:{name}" if name else module
        (info / "entry_points.txt").write_text(
            f"[console_scripts]\nx = {module}:main\n\n[lora_doctor.{group}]\n{name or module} = {value}\n",
            encoding="utf-8",
        )
