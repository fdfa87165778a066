"""Several assistants that one run measured: the documents of each, and those that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.messages.phrasing import count
from turncheck.render.links import Links, PathResolver, base_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.model import Comparison
    from turncheck.render.spans import Sign
    from turncheck.render.wording.verdict import GateResult, Verdict
    from turncheck.report.model import Report


class Run(Struct, frozen=True):
    """The three documents of one assistant, and how to link to its files."""

    report: Report
    comparison: Comparison
    verdict: Verdict
    links: Links

    @property
    def name(self) -> str:
        """What it is called among others: its path in the repository, else its name."""
        return comment_key(self.report)

    def summary(self, root: str | None = None) -> str:
        """Its verdict in a line, with paths from the repository's top, or from where the project's path is ``root``."""
        return self._paths(root).text(self.verdict.summary)

    def failing(self, gate: GateResult) -> str:
        """A gate and why it fails, with paths from the repository's top."""
        return self._paths().text(f"{gate.name}: {gate.in_words}")

    def _paths(self, root: str | None = None) -> PathResolver:
        if root is None:
            return PathResolver.of(self.report, self.comparison)
        return PathResolver(self.report, root, base_places(self.comparison))

    @property
    def could_not_end(self) -> bool:
        """Whether it was not measured completely."""
        return self.report.stopped is not None

    @property
    def sign(self) -> Sign:
        """Its verdict as a sign."""
        calm = self.verdict.reservation in {"", "old failures only"}
        return "failed" if not self.verdict.passed or self.could_not_end else "passed" if calm else "caution"


class FailedAssistant(Struct, frozen=True):
    """An assistant that could not be measured: its path in the repository, and the reason."""

    name: str
    why: str


class Assistants(Struct, frozen=True):
    """All assistants of a run."""

    key: str
    """What distinguishes them from other runs of the repository."""
    runs: tuple[Run, ...]
    """Those that were measured."""
    broken: tuple[FailedAssistant, ...] = ()
    """Those that could not be."""
    links: Links = Links()
    """How to link to the files of all."""
    only: Run | None = None
    """The assistant of a run of a single one."""

    @classmethod
    def of_one(cls, run: Run) -> Assistants:
        """Return the assistant of a run of a single one."""
        return cls(comment_key(run.report), (run,), links=run.links, only=run)

    @property
    def passed(self) -> bool:
        """Whether each was measured and passed."""
        return not self.broken and all(run.verdict.passed and not run.could_not_end for run in self.runs)

    @property
    def sign(self) -> Sign:
        """The outcome of all as a sign."""
        if not self.passed:
            return "failed"
        return "caution" if any(run.sign == "caution" for run in self.runs) else "passed"

    @property
    def worst_first(self) -> tuple[Run, ...]:
        """Those that were measured, the worst first."""
        return tuple(sorted(self.runs, key=worst_first))

    @property
    def in_words(self) -> str:
        """The outcome in a line: the verdict of a single assistant, or how many failed.

        ``1 of 3 assistants failed, 1 could not be measured``. If all passed, it says which passed with a reservation:
        ``3 assistants passed, 1 with a reservation: tests are gone``.
        """
        if self.only is not None:
            return self.only.verdict.summary
        ended = [run for run in self.runs if not run.could_not_end]
        failed = sum(not run.verdict.passed for run in ended)
        unmeasured = len(self.broken) + len(self.runs) - len(ended)
        everything = len(self.broken) + len(self.runs)
        of = f" of {count(everything, 'assistant')}"
        if not (failed or unmeasured):
            return f"{count(everything, 'assistant')} passed{self._reservations}"
        parts = [f"{failed}{of} failed"] if failed else []
        parts += [f"{unmeasured}{'' if failed else of} could not be measured"] if unmeasured else []
        return ", ".join(parts)

    @property
    def _reservations(self) -> str:
        found = [run.verdict.reservation for run in self.worst_first if run.sign == "caution"]
        if not found:
            return ""
        why = f": {found[0]}" if len(set(found)) == 1 else ""
        return f", {len(found):,} with {'a reservation' if len(found) == 1 else 'reservations'}{why}"


def comment_key(report: Report) -> str:
    """What distinguishes one assistant's comment from another's: its path in the repository, else its name."""
    return report.project.root or report.project.name


def worst_first(run: Run) -> tuple[bool, bool, bool, int, str, str]:
    """Key that sorts the worst assistants first."""
    kinds = (run.comparison.stories, run.comparison.e2e, run.comparison.batch, run.comparison.examples)
    newly = sum(len(kind.newly_failing) for kind in kinds)
    calm = run.verdict.reservation in {"", "old failures only"}
    name = run.report.project.name or run.report.project.root or "assistant"
    return not run.could_not_end, run.verdict.passed, calm, -newly, name, run.report.project.root


def key_of(folders: Iterable[str]) -> str:
    """What distinguishes a run of these folders from others: the folder they are in, whatever is added to it later.

    >>> key_of(["bots/pizza", "bots/clinic"]), key_of(["pizza", "clinic"])
    ('bots/*', '*')
    """
    above = [folder.split("/")[:-1] for folder in folders]
    shared: list[str] = []
    for parts in zip(*above, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join([*shared, "*"])
