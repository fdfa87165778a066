"""Write the table of mutation operators into docs/strength.md, from the operators."""

from __future__ import annotations

import re
from pathlib import Path

from turncheck.evaluations.strength.mutant import OPERATORS

PAGE = Path(__file__).parents[1] / "docs" / "strength.md"


def with_table(text: str) -> str:
    """Return the page with its table regenerated."""
    rows = "\n".join(f"| `{one.name}` | {one.what} | {one.reason} |" for one in OPERATORS)
    head = "| operator | fault | how it happens |\n|---|---|---|\n"
    pattern = re.escape(head) + r"(?:<!-- operators -->\n<!-- /operators -->|(?:\|.*\|\n?)+)"
    return re.sub(pattern, lambda _: f"{head}{rows}\n", text, count=1).replace("|\n\n\n", "|\n\n")


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
