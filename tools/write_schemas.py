"""Write the JSON Schemas under docs/: those of our own documents from their types, of test cases from their shapes.

Run after changing these.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from turncheck.project.e2e.shapes import schema as schema_of_cases
from turncheck.project.quarantine import schema as schema_of_quarantine
from turncheck.render.wording.verdict import json_schemas
from turncheck.report.codec import document_schema, json_schema
from turncheck.report.engines import EnginesCompared
from turncheck.report.trust import Calibration
from turncheck.settings.schema import settings_schema

DOCS = Path(__file__).parents[1] / "docs"


def documents() -> dict[str, str]:
    """Return the schemas as they are committed, by file name."""
    schemas: dict[str, dict[str, Any]] = {
        "report": json_schema(),
        **json_schemas(),
        "calibration": document_schema(Calibration, name="calibration", title="turncheck calibration"),
        "engines": document_schema(EnginesCompared, name="engines", title="turncheck calibrate --engines"),
        "e2e_test_cases": schema_of_cases(),
        "turncheck": settings_schema(),
        "turncheck.quarantine": schema_of_quarantine(),
    }
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


if __name__ == "__main__":
    DOCS.mkdir(exist_ok=True)
    for name, text in documents().items():
        (DOCS / name).write_text(text, "utf-8")
        print(DOCS / name)
