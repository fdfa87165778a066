"""One assistant among several, measured as if it were alone: in this process, or in one of its own."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError, trouble_of_system
from turncheck.messages.location import shown_path
from turncheck.process.fault import fault_report
from turncheck.process.screen import Screen
from turncheck.run.find_baseline import SEARCHED
from turncheck.run.prepare import baseline_finder, prepare
from turncheck.run.run import run_and_conclude

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.ci.host import Host
    from turncheck.conclude import Outcome

_REPORT: Final = "report.json"


@dataclass(frozen=True, slots=True)
class OneOfSeveral:
    """What is needed to measure one of them; it is sent to other processes.

    ``folder`` is that of its results below ``out``; ``given`` are the settings from flags or inputs, for each of them.
    """

    path: Path
    folder: str
    out: str
    given: Mapping[str, Any]
    environment: Mapping[str, str]
    in_action: bool = False
    past: str | None = None
    """Where it is on the base, by its path in the repository, if that is known."""

    @property
    def shown(self) -> str:
        """Its name for people."""
        return shown_path(self.path)

    def measured(self, screen: Screen, host: Host | None = None) -> Outcome | UserError:
        """Return its result, or why it could not be measured, which does not affect the others.

        Raises:
            KeyboardInterrupt: somebody interrupted it before there was anything to report.
        """
        try:
            return self._outcome(screen, host)
        except UserError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the others are measured whatever happens to this one
            if (trouble := trouble_of_system(error)) is None:
                sys.stderr.write(fault_report(error))
                trouble = UserError(f"turncheck itself failed ({type(error).__name__})")
            return trouble

    def _outcome(self, screen: Screen, host: Host | None) -> Outcome:
        given = {**self.given, "project": str(self.path), "out": str(Path(self.out) / self.folder)}
        baseline = given.get("baseline")
        if baseline is not None and baseline not in {*SEARCHED, "none"}:
            given["baseline"] = _report_among(str(baseline), self.folder)
        prepared = prepare(given, self.environment, in_action=self.in_action, host=host, among=self.folder)
        screen = replace(screen, timings={})
        return run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared, self.past), screen)


@dataclass(frozen=True, slots=True)
class ItsOwnProcess:
    """One assistant to measure in a process of its own, and how much to show of it."""

    one: OneOfSeveral
    quiet: bool
    verbose: bool


def measured_beside_others(task: ItsOwnProcess) -> Outcome | UserError:
    """Measure one in a process of its own; each of its lines names the assistant."""
    return task.one.measured(Screen(quiet=task.quiet, verbose=task.verbose, about=task.one.shown))


def _report_among(baseline: str, folder: str) -> str:
    """The report of one assistant in the folder of results of several."""
    if not Path(baseline).is_dir():
        raise UserError(
            f"baseline: '{baseline}' is not a folder of results, and several assistants are compared",
            remedy="Name the folder that a run of the same assistants wrote, or omit it.",
        )
    return str(Path(baseline) / folder / _REPORT)
