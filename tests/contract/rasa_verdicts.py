"""What a real Rasa does with the projects of :mod:`refused_projects`, asked in one process."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from refused_projects import Row, write

HERE = Path(__file__).parent
RECORDED = HERE.parent / "oracle" / "refusals" / "recorded.json"


def ask(python: str, rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Return by name the exit codes of ``data validate`` and ``train``, and with what Rasa refused.

    Args:
        python: the Python of an environment with Rasa 3.6.21.
        rows: the projects.
    """
    asked = list(rows)
    with tempfile.TemporaryDirectory() as folder:
        for number, row in enumerate(asked):
            write(row, Path(folder, str(number)))
        request = {str(number): row.arguments for number, row in enumerate(asked)}
        done = subprocess.run(
            [python, str(HERE / "rasa_refuses.py"), folder],
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {asked[int(answer.pop("name"))].name: answer for answer in answers}
