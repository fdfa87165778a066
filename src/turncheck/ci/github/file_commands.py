"""Outputs and the job summary: the files through which a step talks to GitHub's runner.

Format: the runner's ``FileCommandManager`` and the toolkit's ``file-command.ts``: ``name<<DELIMITER``, the lines of the
value, the delimiter alone on a line. It is random: a line equal to it in the value would let the value define
outputs of its own.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SUMMARY_LIMIT: Final = 1024 * 1024
"""Bytes. Above it the runner drops the whole summary."""


def format_output(name: str, value: str, delimiter: str) -> str:
    """Return one entry of the output file.

    Raises:
        ValueError: the delimiter occurs in name or value.
    """
    if delimiter in name or delimiter in value:
        raise ValueError("the delimiter occurs in the output")
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def write_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Append outputs to the file that ``GITHUB_OUTPUT`` names.

    Raises:
        OSError: the file cannot be written.
    """
    entries = [format_output(name, value, f"turncheck_{secrets.token_hex(16)}") for name, value in outputs.items()]
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write("".join(entries))


def write_summary(path: Path, content: bytes) -> None:
    """Append to the file that ``GITHUB_STEP_SUMMARY`` names.

    Raises:
        OSError: the file cannot be written.
        ValueError: the content is larger than :data:`SUMMARY_LIMIT`; the runner would show nothing.
    """
    if len(content) > SUMMARY_LIMIT:
        raise ValueError(f"the summary is larger than {SUMMARY_LIMIT} bytes")
    with path.open("ab") as file:
        file.write(content)
