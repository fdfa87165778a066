"""One shard: its part of the answers, measured and stored. Nothing is scored or judged here."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from turncheck import __version__
from turncheck.comparison.model import Present
from turncheck.engines.base import Capabilities, Engine
from turncheck.evaluations.written_answers import write_answer
from turncheck.messages.errors import EXIT_INTERRUPTED, EXIT_NOT_DONE, EXIT_OK, INTERRUPTED, BeyondLimitError, UserError
from turncheck.messages.phrasing import count
from turncheck.process.cache import software
from turncheck.report.evaluations import EVALUATIONS
from turncheck.report.model import Report, Tool
from turncheck.run.bot_of_base import bot_of_base
from turncheck.run.evaluated_project import engine_of_run, read_all, report_without_results
from turncheck.run.inputs import Inputs, PrecomputedAnswers
from turncheck.run.repeats import ensure_repeats_are_possible
from turncheck.run.shards.document import EngineHead, PackedAnswers, Refusal, ShardHead, project_digest, shared_settings
from turncheck.run.under_way import RunInProgress
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.process.screen import Console
    from turncheck.run.run import FindBaseline
    from turncheck.settings.parsers import Shard


_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "fold": ("fold",),
    "sentence": ("test sentence",),
    "story": ("story", "stories"),
    "case": ("end-to-end case",),
    "suite": ("batch suite",),
    "section": ("other evaluation",),
}


class ShardAnswers:
    """The answers to the units of one shard; they are stored as they come."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.packed = PackedAnswers()

    def known(self, unit: str) -> None:
        """No answer is known in advance."""

    def is_asked(self, unit: str) -> bool:
        """Whether the unit is this shard's."""
        return self.shard.holds(unit)

    def keep(self, unit: str, answer: Any) -> None:
        """Store an answer."""
        self.packed.add(unit, write_answer(answer))


def measure_shard(
    shard: Shard, inputs: Inputs, overrides: Mapping[str, Any], find_baseline: FindBaseline, screen: Console
) -> tuple[ShardHead, PackedAnswers]:
    """Measure one shard of a run.

    Args:
        shard: which one.
        inputs: what the whole run measures.
        overrides: the settings from flags or inputs.
        find_baseline: called if cases are repeated, which takes as many runs as judging them against the base does.
        screen: where progress is shown.

    Returns:
        Its head, and its answers. ``stopped`` in the head says why some are missing.

    Raises:
        UserError: nothing could be measured at all, or cases cannot be repeated as often as the settings demand.
    """
    inputs, project, tests = read_all(inputs, screen)

    @cache
    def base_report() -> Report | None:
        with screen.step("baseline", "Looking for the baseline"):
            found = find_baseline(report_without_results(inputs, project))
        return found.report if isinstance(found, Present) else None

    answers = ShardAnswers(shard)
    with (
        engine_of_run(inputs, project, PrecomputedAnswers(answers), screen) as engines,
        workplace_of(inputs.settings, screen) as work,
        ExitStack() as until_its_end,
    ):
        known = PrecomputedAnswers(answers)
        run = RunInProgress(
            inputs,
            project,
            tests,
            engines,
            screen,
            work=work,
            precomputed=known,
            base_report=base_report,
            base_bot=partial(bot_of_base, inputs.settings_file),
            until_its_end=until_its_end,
        )
        ensure_repeats_are_possible(run)
        try:
            run.evaluate(needs_engine=True)
        except KeyboardInterrupt:
            run.stopped = INTERRUPTED
        head = ShardHead(
            tool=Tool(name="turncheck", version=__version__),
            number=shard.number,
            count=shard.count,
            project=project_digest(inputs, project, tests, run.cases),
            source=inputs.source,
            settings=shared_settings(overrides),
            versions=dict(software()),
            engine=_engine_head(engines, run),
            custom_code=inputs.settings.allow_custom_code,
            refused={name: _refusal(error) for name, error in run.refused.items()},
            units=dict(answers.packed.units),
            too_many=run.repeats.too_many,
            answers="",
            stopped=run.stopped,
            timings=dict(screen.timings),
        )
    return head, answers.packed


def shard_line(head: ShardHead) -> str:
    """Say on one line what a shard measured, and that it does not judge anything."""
    kinds = [count(head.units[kind], *words) for kind, words in _KINDS.items() if head.units.get(kind)]
    nothing = "this part contains nothing of this run" if head.stopped is None else "nothing was answered"
    what = ", ".join(kinds) or nothing
    refused = "".join(
        f" {name} could not be trained: {refusal.what.rstrip('.')}." for name, refusal in head.refused.items()
    )
    ended = "measured" if head.stopped is None else "not measured completely"
    return (
        f"Shard {head.number}/{head.count} {ended}: {what}.{refused} Nothing is judged here: "
        f"`turncheck report merge` does that with all {head.count}."
    )


def exit_code_of_shard(stopped: str | None) -> int:
    """Return 0 if everything was measured, however good the answers are; else 2, or 130 if it was interrupted."""
    if stopped is None:
        return EXIT_OK
    return EXIT_INTERRUPTED if stopped == INTERRUPTED else EXIT_NOT_DONE


def _engine_head(engines: Engine, run: RunInProgress) -> EngineHead:
    default, own = Capabilities(), engines.capabilities
    return EngineHead(
        info=engines.info(measured=run.measured_engine),
        capabilities={
            name: getattr(own, name) for name in own.__struct_fields__ if getattr(own, name) != getattr(default, name)
        },
        understands=engines.understands,
        needs={name: tuple(sorted(engines.needs(name))) for name in EVALUATIONS},
        parts={part: info for part, info in engines.parts().items()},  # noqa: C416 - of plain names for JSON
    )


def _refusal(error: UserError) -> Refusal:
    location = error.location
    return Refusal(
        what=error.message,
        path=location.path if location else None,
        line=location.line if location else None,
        column=location.column if location else None,
        hint=error.hint,
        limit=isinstance(error, BeyondLimitError),
    )
