"""The runner of a job on GitHub: its log, the run's page and the outputs, none of which needs a token."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.host import Host
from turncheck.render.annotations import within_limit, workflow_commands
from turncheck.render.sinks.commands import command
from turncheck.render.sinks.markdown import ticked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.process.environment import Secret
    from turncheck.render.annotations import Annotation, Level
    from turncheck.render.rendered import Rendered


# Outputs and the job summary: the files through which a step talks to GitHub's runner.
#
# Format: the runner's ``FileCommandManager`` and the toolkit's ``file-command.ts``: ``name<<DELIMITER``, the lines of
# the value, the delimiter alone on a line. It is random: a line equal to it in the value would let the value define
# outputs of its own.

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


_OF_THE_RUNNER: Final = ("GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")


@dataclass(eq=False, kw_only=True)
class Runner(Host):
    """GitHub's runner, which needs to know nothing of the repository.

    Args:
        variables: the job's; empty if nothing is to be sent to its runner.
    """

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def detect(cls, environment: Mapping[str, str], token: Secret | None) -> Runner | None:  # noqa: ARG003
        """Return the runner if this is a job of one about which nothing more is known."""
        return cls(variables=environment) if any(environment.get(name) for name in _OF_THE_RUNNER) else None

    def log_line(self, level: Level, text: str) -> str:
        return command(level, text, title="turncheck")

    def annotations(self, found: Sequence[Annotation], said: Mapping[Level, int]) -> Iterable[str]:
        """Return workflow commands, at most as many of a level as GitHub shows."""
        return workflow_commands(within_limit(found, said)[0])

    def summarize(self, summary: Rendered, notes: Sequence[str]) -> Iterable[str]:
        path = self.variables.get("GITHUB_STEP_SUMMARY")
        if not path:
            return ()
        content = summary.encoded
        for note in notes:
            line = f"\n- {ticked(note)}\n".encode()
            if len(content) + len(line) <= SUMMARY_LIMIT:
                content += line
        write_summary(Path(path), content)
        return ()

    def set_outputs(self, outputs: Mapping[str, str]) -> Iterable[str]:
        if path := self.variables.get("GITHUB_OUTPUT"):
            write_outputs(Path(path), outputs)
        return ()
