"""Write docs/report.schema.json from the types. Run after changing ``turncheck.report.model``."""

from __future__ import annotations

import json
from pathlib import Path

from turncheck.report.codec import json_schema

TARGET = Path(__file__).parents[1] / "docs" / "report.schema.json"


def document() -> str:
    """Return the schema as it is committed."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(document(), "utf-8")
    print(TARGET)
