"""What an engine is and can do: understand, decide, converse, answer suites, train variants.

A remote one is asked several things at once: as many as it can take, with the answers in the order of the questions.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar, cast

from msgspec import Struct, field

from turncheck.evaluations.kinds import KINDS
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.engines import conversation
    from turncheck.process.cache import Cache
    from turncheck.process.screen import Console
    from turncheck.project.batch.model import Suite
    from turncheck.project.model import Project
    from turncheck.report.batch import BatchResult, BatchSetting
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.measured import MeasuredTurn
    from turncheck.report.model import EngineInfo
    from turncheck.report.trust import ConfidenceMap, Trust

# What an engine can do with a project, and which parts of one it is trained on.

Part = Literal["nlu", "core"]
"""The two parts of an assistant: language understanding, and policies."""

NLU_PARTS: Final = frozenset({"nlu", "config", "pipeline"})
"""What language understanding is trained on; if stories are trained, too, their sentences are added."""
DIALOGUE_PARTS: Final = frozenset({"domain", "nlu", "responses", "stories", "config"})
"""What policies are trained on: NLU data and responses name intents and actions that stories use."""

NOTHING_TO_LEARN: Final = "the project has neither stories nor rules to learn from"
NO_POLICIES: Final = "the configuration lists no policies, so that Rasa trains no dialogue"


def why_no_dialogue(project: Project) -> str | None:
    """Return why no policy would be trained on this project; ``None``: some are.

    With ``policies: []`` Rasa 3 trains language understanding alone; older versions refuse to train.
    """
    if project.config.policies == () and project.domain.rasa == NEWEST:
        return NO_POLICIES
    return None if project.stories or project.rules else NOTHING_TO_LEARN


class Capabilities(Struct, frozen=True):
    """What an engine can do with a project: reasons are those why it cannot (``None``: it can).

    ``no_nlu``, ``no_dialogue`` and ``no_conversation`` are about sentences, test stories and end-to-end cases;
    ``no_training`` about training the engines of folds. ``slow_training``: training takes minutes, with one at a time.
    ``trained_by_config``: what it refuses to train without naming a place is a fault of ``config.yml``.
    ``no_channel``: why conversations only use the engine's own channel. ``accepts_parses``: it holds conversations
    whose messages are understood as specified. ``stands_in``: it is not the assistant's own, and does not reproduce
    how a platform ranks. ``answers_suites``: it answers :meth:`Engine.answer_suite`, with ``no_batch`` as the reason
    if it cannot; others are asked sentence by sentence. ``unknown_intents``, ``unknown_entities``: why these cannot be
    recognised here, by their names (intents folded for comparison): they are not evaluated, and never wrong;
    ``no_entities``: why none are found at all.
    ``knows_traits``: it recognises the traits of a sentence. ``uploads_suites``: the platform's limits on suites apply.
    ``bot``: the name of the one bot whose intents it matches; suites for a universal bot may expect another.
    ``varies``: its answer to the same message may differ, as a language model's does.
    """

    no_nlu: str | None = None
    no_dialogue: str | None = None
    no_conversation: str | None = None
    no_training: str | None = None
    no_channel: str | None = None
    slow_training: bool = False
    trained_by_config: bool = False
    accepts_parses: bool = False
    stands_in: bool = False
    answers_suites: bool = False
    no_batch: str | None = None
    unknown_intents: Mapping[str, str] = field(default_factory=dict)
    unknown_entities: Mapping[str, str] = field(default_factory=dict)
    no_entities: str | None = None
    knows_traits: bool = False
    uploads_suites: bool = False
    bot: str = ""
    varies: bool = False
    no_mutants: str | None = "mutants need an engine that trains the project here"
    """Why it cannot try the tests on mutants of the project."""

    def not_found(self, entities: Iterable[str]) -> Mapping[str, str]:
        """Return which of these entities cannot be found, each with the reason."""
        if self.no_entities is not None:
            return dict.fromkeys(entities, self.no_entities)
        return self.unknown_entities

    def why_not(self, evaluation: Evaluation) -> str | None:
        """Return why it does not support an evaluation at all."""
        capability = KINDS[evaluation].capability
        if capability == "no_batch" and not self.answers_suites:
            capability = "no_nlu"  # it is asked sentence by sentence
        return cast("str | None", getattr(self, capability)) if capability else None


class Models(Struct, frozen=True):
    """Where a command may take a trained model from: the one that is ``named``, else the newest of ``folder``.

    ``named``: a model file, or a folder of them. With ``storage`` it is the name of a model kept there; see
    :mod:`turncheck.engines.embedded.models`.
    """

    folder: Path
    named: Path | None = None
    storage: str | None = None


class Engine(ABC):
    """An engine for one project, in the parts that evaluations need.

    Its capabilities say what an engine lacks; that is never asked for, and need not be implemented.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What it can do here."""
        return Capabilities()

    @property
    def trust(self) -> Trust | None:
        """How it agrees with the assistant's own engine, if it stands in for that and the two were compared."""
        return None

    @property
    def team_confidences(self) -> ConfidenceMap | None:
        """How sure the assistant's own engine would be: a fallback's threshold applies to that. ``None``: unchanged."""
        return None

    @property
    def at_once(self) -> int:
        """How many stories and cases it is given at the same time."""
        return 1

    def least_seconds(self, messages: int) -> float:  # noqa: ARG002 - most have no such limits
        """Return how many seconds so many messages take at least, as far as limits of its platform say."""
        return 0.0

    @abstractmethod
    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:
        """Return name, version, and the substitutions in the parts that were used.

        Args:
            measured: that of the folds' engines, if language understanding was cross-validated.
            conversations: whether to include notes that only concern conversations.
        """

    def use_cache(self, cache: Cache) -> None:  # noqa: B027 - most train nothing
        """Cache trained models here, if everything that they depend on is known."""

    def key_of_folds(self, folds: int) -> str | None:  # noqa: ARG002
        """Return the digest of everything that the engines of folds depend on, ``None`` if that cannot be known."""
        return None

    def parts(self) -> Mapping[Part, EngineInfo]:
        """Return the substitutions in each part that was trained, if :meth:`info` is made of parts."""
        return {}

    def recall(self, parts: Mapping[Part, EngineInfo]) -> None:  # noqa: B027 - most have none
        """Accept what :meth:`parts` returned where these parts were trained, so that :meth:`info` includes it."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that stories are read with, known before anything is trained."""
        return self.ensemble.domain

    @property
    def understands(self) -> bool:
        """Whether there is an :attr:`nlu`, without preparing it."""
        return self.nlu is not None

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> AbstractSet[str]:  # noqa: ARG002
        """Return the parts of the project that must be complete for an evaluation, as in ``unreadable_parts.PARTS``.

        ``in_folds``: only folds of language understanding are trained, never the whole project.
        """
        return frozenset()

    def use_model(self, parts: Sequence[Part], screen: Console) -> bool:  # noqa: ARG002 - many have nothing to do
        """Load a trained model of these parts; a named one must have the first of them.

        Returns:
            Whether they are ready; else they have to be trained.
        """
        return True

    def train_parts(self, parts: Sequence[Part], screen: Console) -> None:  # noqa: B027 - as above
        """Train these parts now, before they are used."""

    def make_ready(self, parts: Sequence[Part], screen: Console) -> None:
        """Load or train these parts before they are used."""
        if not self.use_model(parts, screen):
            self.train_parts(parts, screen)

    def show_progress(self, screen: Console) -> None:  # noqa: B027 - most are quick
        """Show on this screen what takes long."""

    def before_folds(self, folds: int, *, whole: bool = False) -> str | None:  # noqa: ARG002
        """Return what the user should know before this many folds are trained, or ``None``.

        ``whole``: the model of the whole project will be needed, too.
        """
        return None

    def ensure_same_model(self, finished: object) -> None:  # noqa: B027 - as above
        """Make sure that everything so far was measured with the same model.

        Raises:
            IncompleteError: somebody else's server has changed its model; with what was ``finished``.
        """

    # --- language understanding ---------------------------------------------------------------------------------------

    @property
    def nlu_trainer(self) -> conversation.NluTrainer:
        """What trains the engines of folds."""
        raise NotImplementedError

    @property
    def nlu(self) -> conversation.NluEngine | None:
        """Language understanding, trained on the whole project; ``None`` if it has no sentences."""
        return None

    @property
    def trained_sentences(self) -> Collection[str] | None:
        """The sentences that :attr:`nlu` was trained on, if that may have been another state of the project."""
        return None

    def tokenizer(self) -> Callable[[Sequence[str]], Sequence[tuple[tuple[int, int], ...]]] | None:
        """Return what finds word boundaries without understanding anything, ``None`` if they are not known.

        Raises:
            UserError: the project has none that works here.
        """
        nlu = self.nlu
        return None if nlu is None else lambda texts: [parse.tokens or () for parse in nlu.parse(texts)]

    def answer_suite(self, suite: Suite, screen: Console) -> SuiteAnswers:
        """Answer a batch suite as a whole, if the engine supports such suites.

        For an utterance that cannot be answered, the answer has the reason.

        Raises:
            IncompleteError: the engine can no longer answer; ``finished`` holds the answers so far as ``SuiteAnswers``.
        """
        raise NotImplementedError

    def workshop(self, seed: int) -> VariantTrainer:
        """Return what trains the project and variants of it, if :attr:`Capabilities.no_mutants` is ``None``."""
        raise NotImplementedError

    def as_trained(self, seed: int, *, understands: bool, decides: bool = True) -> Trained:
        """Return the project with what it has trained on it, to train variants of it, where there is a workshop.

        ``understands``, ``decides``: whether language understanding and policies matter.
        """
        raise NotImplementedError

    # --- dialogue -----------------------------------------------------------------------------------------------------

    @property
    def ensemble(self) -> conversation.Policies:
        """What decides on the next action."""
        raise NotImplementedError

    def assistant(self, server: conversation.ActionServer) -> conversation.ConversationEngine:
        """Return the whole assistant, for conversations in several threads.

        An engine that runs custom actions itself has them run by ``server``.
        """
        raise NotImplementedError

    def with_preset_parses(self, server: conversation.ActionServer) -> conversation.PresetParseEngine:
        """Return the assistant as one that can be told how messages are understood."""
        raise NotImplementedError


# Training a project and variants of it, for engines that can: to run tests on mutants.

Trains = Literal["nlu", "policies", "nothing"]
"""The parts of an assistant that must be trained again for a variant."""


class Trained(Protocol):
    """A project with what was trained on it."""

    @property
    def project(self) -> Project:
        """What it was trained on."""

    @property
    def nlu(self) -> conversation.NluEngine | None:
        """Language understanding; ``None`` if the project has no sentences."""

    @property
    def ensemble(self) -> conversation.Policies | None:
        """What decides; ``None`` if the project has neither stories nor rules."""

    @property
    def size(self) -> int:
        """How much work it is to train the policies: the steps and situations that they learn from."""

    def engine(self, server: conversation.ActionServer) -> conversation.ConversationEngine | None:
        """Return the assistant to talk to, if there are policies."""

    def variant(self, project: Project, trains: Trains, steps: Collection[str] | None = None) -> Trained:
        """Train a variant of the project; everything else is the original's.

        Args:
            project: the variant.
            trains: the parts to train again.
            steps: the kinds of pipeline steps that learn from what differs; ``None``: all of them.

        Raises:
            UserError: it cannot be trained.
        """

    def conversation(
        self, understood: conversation.NluEngine, history: Sequence[Event]
    ) -> conversation.Conversation | None:
        """Return a conversation that continues after ``history``, with messages understood by ``understood``.

        Custom actions are not run; ``None`` if there are no policies.
        """


class VariantTrainer(Protocol):
    """Trains projects and variants of them."""

    def trained(self, project: Project) -> Trained:
        """Train a whole project.

        Raises:
            UserError: it cannot be trained.
        """


# An engine's answers to a batch suite.


class UtteranceAnswer(Struct, frozen=True):
    """How one utterance of a batch suite was understood.

    ``matched``: the winning intents, several if the engine found them ambiguous; ``traits``: those found besides
    them. ``entities``: values by name, as the engine returns them (several with one name: a list). ``order``: in which
    the entities were extracted, ``None`` if the engine does not say. ``scores``: of intents, by their names. ``tags``:
    what the platform calls a failure. ``error``: why there is no answer. ``unknown_entities``: why these cannot be
    found here, by name: they are not evaluated. ``bots``: the bot of each matched intent, "" if unknown. ``state``: the
    platform's state of the matched task (``Configured``, ``Published``), "" if the engine says nothing. ``result`` and
    ``fits``: if the engine has judged the case itself, its class, and of each expected entity whether its value is as
    expected; ``remark``: what it says about it. ``measured``: what it took, if it was
    a turn of a conversation.
    """

    matched: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    entities: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    bots: tuple[str, ...] = ()
    state: str = ""
    tags: tuple[str, ...] = ()
    error: str | None = None
    unknown_entities: Mapping[str, str] = field(default_factory=dict)
    result: BatchResult | None = None
    fits: Mapping[str, bool] = field(default_factory=dict)
    remark: str | None = None
    measured: MeasuredTurn | None = None


class SuiteAnswers(Struct, frozen=True):
    """The answers to a suite, one per case in its order. ``cancelled``: the engine's run was cancelled from outside.

    ``version``: the version of the assistant that answered: ``in-development`` or ``published``. ``setting``: what the
    engine says about that assistant. ``notes``: those that the platform has of the run, maybe changed after its start.
    """

    answers: tuple[UtteranceAnswer, ...]
    version: str | None = None
    cancelled: bool = False
    setting: BatchSetting | None = None
    notes: str = ""


Question = TypeVar("Question")
Answer = TypeVar("Answer")


_SIGNAL_SECONDS: Final = 0.2


class Workers:
    """Threads that run tasks in their order. After an interrupt, running tasks are not waited for."""

    def __init__(self, number: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        for _ in range(max(1, number)):
            thread = Thread(target=self._work, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more; the existing ones do the work
                if not self._threads:
                    raise
                break
            self._threads.append(thread)

    def submit(self, task: Callable[[], Answer]) -> Future[Answer]:
        """Run the task when a thread is free."""
        future: Future[Answer] = Future()
        self._tasks.put((future, task))
        return future

    @staticmethod
    def result(future: Future[Answer]) -> Answer:
        """Wait for a task's result. An endless wait would not notice a signal that another thread received."""
        while True:
            with suppress(TimeoutError):
                return future.result(_SIGNAL_SECONDS)
            if future.done():  # the time-out was the task's own
                return future.result()

    def close(self) -> None:
        """Accept no more tasks; the threads end when the existing ones are done."""
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (taken := self._tasks.get()) is not None:
            future, task = taken
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(task())
            except BaseException as error:  # noqa: BLE001 - raised where the result is requested
                future.set_exception(error)


def ask_all(ask: Callable[[Question], Answer], questions: Sequence[Question], at_once: int) -> list[Answer]:
    """Ask every question, ``at_once`` of them at a time; without a thread if that is one.

    Raises:
        IncompleteError: the engine can no longer answer: the first question without an answer says why. Or it was
            interrupted. ``finished`` holds the answers so far, ``None`` for the others.
    """
    stopped = threading.Event()
    errors: dict[int, EngineError] = {}
    answers: list[Answer | None] = [None] * len(questions)
    interrupt: KeyboardInterrupt | None = None

    def one(number: int, question: Question) -> None:
        # Earlier questions are finished first, so that the reported error does not depend on timing.
        if stopped.is_set() or any(earlier < number for earlier in list(errors)):
            return
        try:
            answers[number] = ask(question)
        except EngineError as error:
            errors[number] = error

    tasks = [partial(one, number, question) for number, question in enumerate(questions)]
    try:
        _do_all(tasks, at_once)
    except KeyboardInterrupt as error:
        interrupt = error
    finally:
        stopped.set()  # waiting questions are not asked any more
    kept = list(answers)  # calls in progress are not waited for, and their answers are ignored
    if interrupt is not None or errors:
        cause = interrupt or errors[min(errors)]
        raise IncompleteError(cause, kept if any(answer is not None for answer in kept) else None)
    return [answer for answer in kept if answer is not None]


def _do_all(tasks: Sequence[Callable[[], None]], at_once: int) -> None:
    if at_once <= 1 or len(tasks) == 1:
        for task in tasks:
            task()
        return
    workers = Workers(at_once)
    try:
        for future in [workers.submit(task) for task in tasks]:
            workers.result(future)
    finally:
        workers.close()
