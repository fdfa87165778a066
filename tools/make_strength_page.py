"""Write the table of mutation operators into docs/strength.md, from the operators."""

from __future__ import annotations

import re
from pathlib import Path

from turncheck.evaluations.strength.bench import OPERATORS

PAGE = Path(__file__).parents[1] / "docs" / "strength.md"
_BLOCK = re.compile(r"(?<=<!-- operators -->\n).*?(?=<!-- /operators -->)", re.DOTALL)


def with_table(text: str) -> str:
    """Return the page with its table regenerated."""
    rows = "".join(f"| `{one.name}` | {one.what} | {one.reason} |\n" for one in OPERATORS)
    table = f"| operator | fault | how it happens |\n|---|---|---|\n{rows}"
    made, blocks = _BLOCK.subn(lambda _: table, text)
    if blocks != 1:
        raise SystemExit(f"{PAGE} has no place for the table of operators")
    return made


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
