"""Fills templates with Rasa's own interpolator: `python record.py input.json cases.json`, with Rasa 3.6.21.

Each case is `[content, filled]`; `filled` is null where Rasa raises, that is, where the action that would say it fails.
"""

import copy
import json
import random
import sys
from pathlib import Path
from typing import Any

from rasa.core.nlg.interpolator import interpolate  # of Rasa's own environment

PIECES = [
    *("{", "}", "{{", "}}", "[", "]", "0", "0[", ".", "!r", ":", "\n", " ", ">", "5", "é"),
    *("name", "x", "a.b", "unknown", "{name}", "{x}", "{unknown}", "{tags", "]["),
]


def main() -> None:
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    draw = random.Random(given["random"]["seed"])
    contents = list(given["written"])
    contents += [
        "".join(draw.choice(PIECES) for _ in range(draw.randint(2, 8))) for _ in range(given["random"]["count"])
    ]
    cases = [json.dumps([content, filled(content, given["values"])], ensure_ascii=False) for content in contents]
    Path(sys.argv[2]).write_text("[\n" + ",\n".join(cases) + "\n]\n", encoding="utf-8")


def filled(content: Any, values: Any) -> Any:
    try:
        return interpolate(copy.deepcopy(content), values)
    except Exception:  # noqa: BLE001 - whatever it is, the action fails
        return None


if __name__ == "__main__":
    main()
