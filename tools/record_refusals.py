"""Records in ``tests/oracle/refusals/recorded.json`` what a real Rasa 3.6.21 does with each project of the table.

``RASA_PYTHON=… python tools/record_refusals.py [NAME…]``: without names all of them, about ten seconds each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "contract"))

import os  # noqa: E402

from rasa_verdicts import RECORDED, ask  # noqa: E402
from refused_projects import ROWS  # noqa: E402


def main(names: list[str]) -> None:
    """Ask Rasa about the rows of these names, and keep what is recorded of the others."""
    rows = [row for row in ROWS if not names or row.name in names]
    kept = json.loads(RECORDED.read_text()) if names and RECORDED.exists() else {}
    recorded = kept | ask(os.environ["RASA_PYTHON"], rows)
    ordered = {row.name: recorded[row.name] for row in ROWS if row.name in recorded}
    RECORDED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
