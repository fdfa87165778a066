"""Any bot over HTTP as the engine of a run: it converses, and understands where its answers say so."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.base import Capabilities, Engine, Models, SuiteAnswers, UtteranceAnswer, ask_all
from turncheck.engines.conversation import ActionServer, Parse, PredictedEntity, PredictedIntent, Turn
from turncheck.engines.http.answers import Matched
from turncheck.engines.http.callback import Callbacks, listening
from turncheck.engines.http.client import Access, BotClient, TurnFailedError
from turncheck.engines.http.conversation import NAME, NO_ENTITIES, NO_INTENTS, BotConversations
from turncheck.engines.masking import ensure_hideable
from turncheck.messages.errors import IncompleteError, UnansweredError, UserError
from turncheck.messages.phrasing import count, first_line
from turncheck.project.batch.model import Suite, SuiteCase, comparable
from turncheck.report.model import EngineInfo
from turncheck.settings.file import read_settings_file
from turncheck.settings.secrets import secret_setting
from turncheck.web.addresses import Network, is_http, login_of, without_login

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.process.environment import FileVariables
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings

NO_SHAPE: Final = "the engine 'http' needs to know how the bot is asked"
NO_DIALOGUE: Final = "a bot over HTTP does not say what it would do next: its dialogues are tested by end-to-end cases"
NO_TRAINING: Final = "a bot over HTTP cannot be trained here: without test sentences there is nothing to measure it by"
NO_TRAITS: Final = "the bot's answers do not name traits"


class BotNlu(Struct, frozen=True):
    """Sentences understood by the bot, each as the first message of a conversation of its own."""

    conversations: BotConversations
    info: EngineInfo
    timeout: float

    @property
    def extractors(self) -> tuple[str, ...]:
        """The bot itself, if its answers have entities."""
        return (NAME,) if self.conversations.client.bot.entities is not None else ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; several at a time, with the answers in the texts' order.

        Raises:
            IncompleteError: the bot failed; ``finished`` holds the answers so far.
        """
        return ask_all(self._parse, texts, self.conversations.client.at_once)

    def _parse(self, text: str) -> Parse:
        try:
            return self.understood(text)
        except TurnFailedError as error:
            raise UnansweredError(error.message, hint=error.hint) from None

    def understood(self, text: str) -> Parse:
        """Understand a text.

        Raises:
            UserError: there is no usable answer.
        """
        try:
            turn = self._turn(text)
        except (TurnFailedError, UnansweredError):
            turn = self._turn(text)
        event = next((event for event in turn.events if event["event"] == "user"), None)
        if event is None:
            return Parse(text, PredictedIntent(None, 0.0), measured=turn.measured)
        found = event["parse_data"]["intent"]
        no_confidence = 0.0 if found["name"] is None else 1.0
        intent = PredictedIntent(found["name"], no_confidence if found["confidence"] is None else found["confidence"])
        entities = tuple(
            PredictedEntity(one["start"], one["end"], one["entity"], one["value"], NAME)
            for one in event["parse_data"]["entities"]
        )
        return Parse(text, intent, (intent,), entities, measured=turn.measured)

    def _turn(self, text: str) -> Turn:
        turn = self.conversations.conversation(turn_timeout=self.timeout).say(text)
        if turn.timed_out:
            raise TurnFailedError(turn.stopped or "the turn took too long")
        return turn


@dataclass(eq=False)
class BotEngine(Engine):
    """A bot over HTTP as the engine of one project."""

    project: Project
    client: BotClient
    callbacks: Callbacks | None = None

    @property
    def capabilities(self) -> Capabilities:
        """It converses; it understands if its answers say so. What it answers may differ from time to time."""
        bot = self.client.bot
        no_nlu = NO_INTENTS if bot.intent is None else None
        return Capabilities(
            no_nlu=no_nlu,
            no_dialogue=NO_DIALOGUE,
            no_training=NO_TRAINING,
            no_channel="--channel is for the embedded engine: a bot over HTTP has the one that `bot:` describes",
            answers_suites=True,
            no_batch=no_nlu,
            no_entities=NO_ENTITIES if bot.entities is None else None,
            varies=True,
        )

    @property
    def at_once(self) -> int:
        """How many conversations are held at the same time."""
        return self.client.at_once

    @cached_property
    def domain(self) -> DialogueDomain:
        """The project's own."""
        return DialogueDomain.of(self.project)

    @property
    def understands(self) -> bool:
        """A bot always understands, whether or not it says what."""
        return True

    @cached_property
    def _conversations(self) -> BotConversations:
        return BotConversations(self.client, self.info(), matched=self._matched, callbacks=self.callbacks)

    @cached_property
    def _matched(self) -> Matched:
        return Matched(self.client.bot)

    @property
    def nlu(self) -> BotNlu:
        """Language understanding, from the bot's answers."""
        return BotNlu(self._conversations, self.info(), self.client.timeout)

    def assistant(self, server: ActionServer) -> BotConversations:  # noqa: ARG002 - the bot runs its actions itself
        """Return the bot."""
        return self._conversations

    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:  # noqa: ARG002
        """Return the kind of bot, and what went wrong in asking it; its address is nobody else's business."""
        notes = self._matched.nothing_at()
        if times := self.client.unusable:
            had = f"The bot gave no usable answer {count(times, 'time')}"
            notes = (f"{had}: these conversations were held again, or ended in an error.", *notes)
        return EngineInfo(name=NAME, version=self.client.bot.kind, notes=notes)

    def answer_suite(self, suite: Suite, screen: Console) -> SuiteAnswers:  # noqa: ARG002 - it takes seconds
        """Answer a suite, an utterance at a time; one that the bot cannot answer has the reason.

        Raises:
            IncompleteError: the bot can no longer answer.
        """
        nlu, can = self.nlu, self.capabilities

        def answer(case: SuiteCase) -> UtteranceAnswer:
            if case.is_trait:
                return UtteranceAnswer(error=NO_TRAITS)
            try:
                parse = nlu.understood(case.text)
            except (TurnFailedError, UnansweredError) as error:
                return UtteranceAnswer(error=error.message)
            values: dict[str, list[Any]] = {}
            for entity in parse.entities:
                values.setdefault(entity.entity, []).append(entity.value)
            return UtteranceAnswer(
                matched=(parse.intent.name,) if parse.intent.name else (),
                entities={name: found[0] if len(found) == 1 else found for name, found in values.items()},
                scores={intent.name: intent.confidence for intent in parse.ranking if intent.name},
                unknown_entities=can.not_found(comparable(entity.name) for entity in case.entities),
                measured=parse.measured,
            )

        try:
            return SuiteAnswers(tuple(ask_all(answer, suite.cases, self.at_once)))
        except IncompleteError as error:
            not_asked = UtteranceAnswer(error=f"not run: {first_line(error.message)}")
            so_far = error.finished or [None] * len(suite.cases)
            answers = tuple(not_asked if given is None else given for given in so_far)
            raise IncompleteError(error, SuiteAnswers(answers)) from error


@contextmanager
def opened(  # noqa: PLR0917 - as of all engines
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None,  # noqa: ARG001 - the host is given by flag or input, never by the project
    models: Models | None = None,  # noqa: ARG001 - it is trained elsewhere
    variables: FileVariables | None = None,  # noqa: ARG001 - of the project's files none is asked for
) -> Iterator[BotEngine]:
    """Yield the engine that the settings describe; see :func:`turncheck.engines.choice.chosen_engines`.

    Raises:
        UserError: the bot's address or its shape is missing, or the address is none.
    """
    url, token = settings.bot_url, secret_setting(settings, "bot-token", environment)
    # A run has read the project's own file; other commands have only their flags.
    bot = settings.bot or read_settings_file(project.root).values.get("bot")
    if bot is None:
        raise UserError(
            NO_SHAPE, hint="Describe it as `bot:` in turncheck.yml (docs/http.md); `bot: {kind: rest, …}` begins it."
        )
    if url is None:
        raise UserError("the engine 'http' needs the address of the bot", hint="Give --bot-url URL.")
    for name, address in (("--bot-url", url), ("--bot-url-base", settings.bot_url_base)):
        if address is None:
            continue
        if not is_http(address):
            what = f"'{without_login(address)}' of {name} is not an address"
            raise UserError(what, hint="Write it as https://bot.example.")
        if "?" in address or "#" in address:
            raise UserError(
                f"the address of {name} ({without_login(address)}) has a query or a fragment",
                hint="Omit what begins with ? or #; paths and queries are in `bot:`.",
            )
        ensure_hideable(token, "--bot-token", address, name)
        if token and login_of(address) and bot.sends_token_like_a_login:
            raise UserError(
                f"the login in the address of {name} and --bot-token would be the same header, Authorization",
                hint="Omit one of them; or name the header of the token under `bot:`: `token: {header: X-Api-Key}`.",
            )
    access = Access(url, token.reveal() if token else None, network=Network.of(environment))
    client = BotClient(access, bot, at_once=settings.bot_parallel)
    if bot.callback is None:
        if settings.bot_callback is not None:
            what = "--bot-callback is for a bot that posts its messages, and `bot:` does not say so"
            raise UserError(what, location=bot.location, hint="Write `callback` there, or omit the flag.")
        yield BotEngine(project, client)
        return
    if settings.bot_callback is not None and settings.bot_url_base is not None:
        raise UserError(
            "--bot-callback is one address, and the bot of --bot-url-base would post to it as well",
            hint="Omit --bot-callback and write {callback} where the bot takes an address: then each has its own.",
        )
    with listening(settings.bot_callback, bot.callback.session, client.masks.body) as callbacks:
        yield BotEngine(project, client, callbacks)
