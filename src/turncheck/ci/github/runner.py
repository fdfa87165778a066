"""The runner of a job on GitHub: its log, the run's page and the outputs, none of which needs a token."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.github.file_commands import SUMMARY_LIMIT, write_outputs, write_summary
from turncheck.ci.host import Host
from turncheck.render.annotations import within_limit, workflow_commands
from turncheck.render.sinks.markdown import ticked
from turncheck.render.sinks.workflow_command import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.process.secret import Secret
    from turncheck.render.annotations import Annotation, Level
    from turncheck.render.rendered import Rendered

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
