"""A Kore.ai assistant as the engine of a run: it understands; it is not trained here, nor run in conversations."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.engines.base import Capabilities, Engine, Models, Part, SuiteAnswers, UtteranceAnswer, ask_all
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.messages.errors import EngineError, IncompleteError, UserError
from turncheck.messages.phrasing import count, first_line
from turncheck.platforms.kore.engine.client import (
    Access,
    Clock,
    KoreCancelledError,
    KoreClient,
    KoreFaultError,
    KoreRefusedError,
    KoreRunError,
)
from turncheck.platforms.kore.engine.platform import Platform
from turncheck.process.regular_file import read_regular
from turncheck.process.screen import Console, duration
from turncheck.project.batch.known import known_names
from turncheck.project.batch.model import Suite, SuiteCase, comparable
from turncheck.project.batch.reader import decode
from turncheck.project.batch.run_report import ReportedCase, RunReport, RunReportError, read_run_report
from turncheck.project.batch.suite_file import DELIMITERS
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.report.batch import BatchSetting
from turncheck.report.model import EngineInfo
from turncheck.settings.secrets import secret_setting, variable_of
from turncheck.web.addresses import Network, is_safe, without_login

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.platforms.kore.engine.answers import Figures, Understood
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings


# Progress of many calls: how long they may take, then how many are done.

EVERY: Final = 15.0
"""Seconds between two progress messages."""


@dataclass(slots=True)
class Progress:
    """Reports before ``total`` calls how long they may take, and during them how many are done."""

    total: int
    client: KoreClient
    screen: Console
    _done: int = field(default=0, init=False)
    _shown_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Say how long it may take; a single one takes no time to speak of."""
        if self.total == 1:
            return
        seconds = duration(self.client.pace().seconds_for(self.total))
        self.screen.note(
            f"{count(self.total, 'utterance')} by Find Intent: up to about {seconds}"
            " (the platform takes 60 calls a minute, and 1,800 an hour)."
        )
        self._shown_at = self.client.clock.now()

    def step(self) -> None:
        """Count one more."""
        self._done += 1
        now = self.client.clock.now()
        if self._done < self.total and now - self._shown_at >= EVERY:
            self._shown_at = now
            left = duration(self.client.pace().seconds_for(self.total - self._done))
            self.screen.progress(f"{self._done:,} of {self.total:,} utterances, up to about {left} left")


# Language understanding by Find Intent, for sentences that are judged one by one.

_SURE: Final = 1.0
"""The confidence of a winning intent that the machine-learning engine did not find: the platform decided."""


class KoreNlu(Struct, frozen=True):
    """Sentences understood one after the other. ``known``: the project's intent names, folded for comparison.

    Find Intent returns the values of entities, but not their places in a sentence: batch suites judge entities.
    """

    platform: Platform
    info: EngineInfo
    known: Mapping[str, str]
    screen: Console
    extractors: tuple[str, ...] = ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text.

        Raises:
            IncompleteError: the platform failed, or somebody interrupted it; ``finished`` holds the answers so far.
        """
        progress = Progress(len(texts), self.platform.client, self.screen)

        def one(text: str) -> Parse:
            parse = self._parse_of(text, self.platform.find_intent(text))
            progress.step()
            return parse

        return ask_all(one, texts, 1)

    def _parse_of(self, text: str, found: Understood) -> Parse:
        """Several winning intents are an ambiguity: the platform asks back, so no intent is matched."""
        if len(found.intents) != 1:
            return Parse(text, PredictedIntent(None, 0.0))
        (name,) = found.intents
        intent = PredictedIntent(self.known.get(comparable(name), name), found.confidences.get(name, _SURE))
        return Parse(text, intent, (intent,))


# The CSV of a run on the platform → answers to a suite's cases, with the platform's own verdict on each.

NO_ROW: Final = "the platform's report has no row for it"


class ReportError(ValueError):
    """A file that is not the platform's report; the message says why."""


def read_report(content: bytes) -> RunReport:
    """Return what precedes the table, and the table's cases in its order.

    Raises:
        ReportError: there is no such table.
    """
    try:
        return read_run_report(content.decode("utf-8-sig", "replace"), raw=True)
    except RunReportError as error:
        raise ReportError(f"the platform's report {error}") from None


def answers_to(cases: Sequence[SuiteCase], reported: Iterable[ReportedCase]) -> tuple[UtteranceAnswer, ...]:
    """Return the answers to a suite's cases: by utterance and expectation, else only by utterance, in order."""
    by_text: dict[str, list[ReportedCase]] = {}
    for row in reported:
        by_text.setdefault(_text(row.text), []).append(row)
    chosen: dict[int, ReportedCase] = {}
    for is_exact in (True, False):
        for number, case in enumerate(cases):
            if number in chosen:
                continue
            left = by_text.get(_text(case.text), [])
            fitting = (row for row in left if not is_exact or _expects(case, row))
            if (taken := next(fitting, None)) is not None:
                chosen[number] = taken
                left[:] = [row for row in left if row is not taken]
    return tuple(_answer(case, chosen.get(number)) for number, case in enumerate(cases))


def _text(text: str) -> str:
    return " ".join(text.split())


def _expects(case: SuiteCase, row: ReportedCase) -> bool:
    expected = {comparable(name) for name in row.expected.names}
    return expected == {comparable(name) for name in case.intents}


def _answer(case: SuiteCase, row: ReportedCase | None) -> UtteranceAnswer:
    if row is None:
        return UtteranceAnswer(error=NO_ROW)
    if row.result is None or row.result == "not-evaluated":
        return UtteranceAnswer(error=row.remark or "the platform could not evaluate it")
    names, is_trait = row.matched.names, case.is_trait or row.matched.is_trait
    return UtteranceAnswer(
        matched=() if is_trait else names,
        traits=names if is_trait else (),
        entities={entity.name: entity.matched for entity in row.entities if entity.matched is not None},
        order=row.actual_order or None,
        scores=row.scores,
        result=row.result,
        state=row.state,
        fits={entity.name: entity.passed for entity in row.entities},
        remark=row.remark or None,
    )


NAME: Final = "kore"
_SECRET: Final = "kore-client-secret"  # noqa: S105 - the setting's name
_OR: Final = f"or the variable {variable_of(_SECRET)}"
MOST_FAULTS: Final = 10
"""After this many consecutive utterances without an answer no more are sent."""
_NO_DIALOGUE: Final = (
    "the engine 'kore' understands sentences: conversations are held through the bot's webhook, with --engine http"
)


_ASKED_ONCE: Final = (
    "the platform runs suites as a whole: no utterance is asked again, so that chance cannot be told from a loss"
)


@dataclass(eq=False)
class KoreEngines(Engine):
    """A Kore.ai assistant as the engine of one project. ``way``: how suites are run, ``find-intent`` or ``batch``.

    ``notes``: on runs that it starts on the platform.
    """

    project: Project
    platform: Platform
    way: str = "find-intent"
    notes: str = ""
    screen: Console = field(default_factory=Console)

    @property
    def capabilities(self) -> Capabilities:
        """It understands sentences and suites, and cannot be trained here."""
        return Capabilities(
            no_dialogue=_NO_DIALOGUE,
            no_conversation=_NO_DIALOGUE,
            no_training="a Kore.ai assistant is trained on its platform: without test sentences there is nothing to"
            " measure it by",
            no_channel="--channel is for the embedded engine",
            answers_suites=True,
            uploads_suites=self.way == "batch",
            varies=True,
        )

    def least_seconds(self, messages: int) -> float:
        """As the platform's limits on calls allow."""
        return self.platform.client.pace().seconds_for(messages)

    def use_model(self, parts: Sequence[Part], screen: Console) -> bool:  # noqa: ARG002
        """There is nothing to prepare: it is already running."""
        self.show_progress(screen)
        return True

    def show_progress(self, screen: Console) -> None:
        """Show slow steps on this screen."""
        self.screen = screen
        self.platform.client.say = screen.progress

    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:  # noqa: ARG002
        """Return the assistant and the version that answers."""
        notes = (_ASKED_ONCE,) if self.way == "batch" else ()
        return EngineInfo(name=NAME, version=self.platform.version, model=self.platform.bot_name or None, notes=notes)

    @cached_property
    def nlu(self) -> KoreNlu:
        """Language understanding by Find Intent."""
        ensure_named(self.platform.bot_name)
        known = {key: intent.name for key, intent in known_names(self.project).intents.items()}
        return KoreNlu(self.platform, self.info(), known, self.screen)

    def answer_suite(self, suite: Suite, screen: Console) -> SuiteAnswers:
        """Answer a suite, utterance by utterance or as a whole on the platform.

        Raises:
            IncompleteError: the platform can no longer answer, or somebody interrupted it.
        """
        self.show_progress(screen)
        return self._on_platform(suite) if self.way == "batch" else self._by_find_intent(suite)

    # --- an utterance at a time ---------------------------------------------------------------------------------------

    def _by_find_intent(self, suite: Suite) -> SuiteAnswers:
        progress = Progress(len(suite.cases), self.platform.client, self.screen)
        answers: list[UtteranceAnswer] = []
        try:
            for case in suite.cases:
                answers.append(self._answer(case))
                _ensure_still_there(answers)
                progress.step()
        except (EngineError, KeyboardInterrupt) as error:
            stopped = IncompleteError(error)
            not_asked = UtteranceAnswer(error=f"not run: {first_line(stopped.message)}")
            rest = [not_asked] * (len(suite.cases) - len(answers))
            there = SuiteAnswers((*answers, *rest), self.platform.version, setting=self._setting())
            raise IncompleteError(error, there) from error
        return SuiteAnswers(tuple(answers), self.platform.version, setting=self._setting())

    def _answer(self, case: SuiteCase) -> UtteranceAnswer:
        try:
            found = self.platform.find_intent(case.text, case.parent)
        except (KoreRefusedError, KoreFaultError) as error:
            return UtteranceAnswer(error=error.message)
        return UtteranceAnswer(
            found.intents,
            found.traits,
            found.entities,
            order=tuple(found.entities) or None,
            scores={**found.scores, **found.by_engine},
            bots=found.bots,
            state=found.state,
        )

    # --- as a whole, on the platform ----------------------------------------------------------------------------------

    def _on_platform(self, suite: Suite) -> SuiteAnswers:
        """Have the platform run the suite. A failure of this one suite leaves its cases without an answer."""
        try:
            return self._run_there(suite)
        except (KoreRunError, KoreRefusedError, KoreFaultError) as error:
            self.screen.alarm(f"'{suite.name}': {error}")
            answers = (UtteranceAnswer(error=error.message),) * len(suite.cases)
            return SuiteAnswers(answers, self.platform.version, cancelled=isinstance(error, KoreCancelledError))
        except (EngineError, KeyboardInterrupt) as error:
            raise IncompleteError(error) from error

    def _run_there(self, suite: Suite) -> SuiteAnswers:
        platform, file = self.platform, suite.file or self.project.root / suite.path
        try:
            content = read_regular(file, most=MAX_FILE_BYTES)
        except OSError as error:
            raise UserError(f"'{suite.path}' cannot be read: {error.strerror or error}") from None
        if platform.store(suite.name, suite.description, file.name, *as_uploaded(file.name, content)):
            both = f"turncheck kore run '{suite.name}' --both-versions"
            self.screen.note(f"The suite '{suite.name}' is new there. On both versions, side by side: {both}")
        run = platform.run(suite.name, self.notes)
        self.screen.note(f"The platform runs the suite as '{run}'.")
        try:
            done = platform.completed(suite.name, run, self.screen.progress)
        except KeyboardInterrupt:
            self.screen.note(f"The run goes on there. To cancel it: turncheck kore cancel '{suite.name}' {run}")
            raise
        try:
            report = read_report(platform.report_of(done))
        except ReportError as error:
            raise KoreRunError(str(error)) from None
        answers = answers_to(suite.cases, report.cases)
        self._compare(done.figures, answers)
        setting = self._setting(report, done.started)
        return SuiteAnswers(answers, platform.version, setting=setting, notes=report.about("notes") or done.notes)

    def _setting(self, report: RunReport | None = None, started: str = "") -> BatchSetting:
        """What is known about the assistant that answers: from the report of the platform's run, else from settings."""
        said = BatchSetting() if report is None else report.setting
        access = self.platform.client.access
        return BatchSetting(
            bot=said.bot or self.platform.bot_name,
            language=said.language or access.language or "",
            thresholds=said.thresholds,
            tested=said.tested or started,
        )

    def _compare(self, figures: Figures, answers: tuple[UtteranceAnswer, ...]) -> None:
        """Add a remark if the platform's counts differ from its own CSV."""
        counted = {name: sum(answer.result == name for answer in answers) for name in ("tp", "tn", "fp", "fn")}
        given = {"tp": figures.tp, "tn": figures.tn, "fp": figures.fp, "fn": figures.fn}
        if counted != given:
            parts = [", ".join(f"{name.upper()} {number}" for name, number in of.items()) for of in (given, counted)]
            self.screen.note(
                f"Warning: the platform counts {parts[0]}, its CSV has {parts[1]} for this suite. The CSV is reported."
            )


def _ensure_still_there(answers: Sequence[UtteranceAnswer]) -> None:
    """Stop asking a platform that does not answer.

    Raises:
        EngineError: it has not answered for some time.
    """
    last = [answer.error for answer in answers[-MOST_FAULTS:]]
    if len(last) == MOST_FAULTS and all(last):
        raise EngineError(f"the platform answered none of {MOST_FAULTS} utterances in a row: {last[-1]}")


def as_uploaded(name: str, content: bytes) -> tuple[bytes, str]:
    """Return a suite's file as the platform requires it, and its delimiter; the platform's default if it is not CSV.

    It is UTF-8 without a byte order mark, and without the line by which spreadsheets name the delimiter.
    """
    source, _ = decode(name, content)
    text = "" if source is None else source.file_text
    if name.lower().endswith((".csv", ".tsv", ".txt")):
        first, _, rest = text.partition("\n")
        named = first.strip().lower().removeprefix("sep=")
        if first.strip().lower().startswith("sep=") and len(named) == 1:
            return rest.encode(), named
        return text.encode(), max(DELIMITERS, key=first.count)
    return text.encode(), ","


@contextmanager
def opened(  # noqa: PLR0917 - as of all engines
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None,  # noqa: ARG001 - the host is given by flag or input, never by the project
    models: Models | None = None,  # noqa: ARG001 - it is trained elsewhere
    variables: FileVariables | None = None,  # noqa: ARG001 - of the project's files none is asked for
) -> Iterator[KoreEngines]:
    """Yield the engine that the settings describe; see :func:`turncheck.engines.choice.chosen_engines`.

    Raises:
        UserError: the credentials are missing or invalid.
    """
    name = settings.kore_bot_name or (project.native.name if project.native is not None else "")
    platform = platform_of(settings, environment, name)
    if settings.kore_way == "find-intent":
        ensure_named(name)
    yield KoreEngines(project, platform, settings.kore_way, settings.notes)


def ensure_named(bot_name: str) -> None:
    """Refuse to ask for single utterances if the assistant's name is not known.

    Raises:
        UserError: says what to specify.
    """
    if not bot_name:
        raise UserError(
            "Find Intent needs the name of the assistant",
            hint="Give it with --kore-bot-name, or name the assistant's export as the project.",
        )


def platform_of(settings: Settings, environment: Mapping[str, str], bot_name: str = "") -> Platform:
    """Return the platform that the settings describe.

    Raises:
        UserError: the credentials are missing or invalid.
    """
    secret = secret_setting(settings, _SECRET, environment)
    bot, client_id = settings.kore_bot_id, settings.kore_client_id
    if not bot or not client_id or secret is None:
        given = {"--kore-bot-id": bot, "--kore-client-id": client_id, f"--kore-client-secret ({_OR})": secret}
        raise UserError(
            f"the engine 'kore' needs {', '.join(flag for flag, value in given.items() if not value)}",
            hint="Create an app for the bot on the platform (API extensions): it has a client id and a secret.",
        )
    host = settings.kore_host
    if not is_safe(host) or "?" in host or "#" in host or "@" in host:
        raise UserError(
            f"'{without_login(host)}' is not an address of Kore.ai's platform",
            hint="Write it as https://platform.kore.ai.",
        )
    access = Access(host, bot, client_id, secret, settings.language, Network.of(environment))
    client = KoreClient(access, clock=Clock(), share=settings.shard.count if settings.shard else 1)
    return Platform(client, settings.kore_version, bot_name or settings.kore_bot_name or "", settings.kore_timeout)
