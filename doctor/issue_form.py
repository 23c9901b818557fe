"""The issue form that asks for a report: for .github/ISSUE_TEMPLATE/bug_report.yml of any repository.

Syntax: https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema
"""

from __future__ import annotations

import json

_FORM = """\
name: Bug report
description: Something in a LoRA or QLoRA fine-tune does not work
labels: [bug]
body:
  - type: markdown
    attributes:
      value: |
        The report below names versions, driver and GPU, and often the cause. Names of people and machines and
        all tokens are masked in it; folders outside your home are not. Read it before you send it.
  - type: textarea
    id: report
    attributes:
      label: Report
      description: {description}
      placeholder: {placeholder}
    validations:
      required: true
  - type: textarea
    id: tried
    attributes:
      label: What did you run?
      description: The command, and the smallest script that shows the fault.
    validations:
      required: true
  - type: textarea
    id: expected
    attributes:
      label: What did you expect, and what happened instead?
    validations:
      required: true
  - type: textarea
    id: traceback
    attributes:
      label: Traceback
      description: All of it, from the first line on. It becomes a code block by itself.
      render: shell
"""


def issue_form(command: str = "lora-doctor report") -> str:
    """The form as YAML. ``command`` is what prints the report on the user's machine."""
    description = f"Run `{command}` in the environment that trains, and paste all of what it prints."
    # A JSON string is a double-quoted scalar of YAML, whatever the command holds.
    return _FORM.format(
        description=json.dumps(description), placeholder=json.dumps(f"The output of: {command}")
    )
