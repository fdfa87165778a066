"""Judges test stories with an assistant's policies: the ``core`` evaluation."""

from __future__ import annotations

import time
from collections import Counter
from itertools import zip_longest
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turncheck.dialogue.events import UserUttered
from turncheck.dialogue.training import StoryTracker, trackers_of
from turncheck.engines.base import ask_all
from turncheck.engines.conversation import Decision, NluEngine, Parse, Policies, PredictedIntent, read_direct_message
from turncheck.evaluations.answers import (
    COMPUTE_LOCALLY,
    Answers,
    LazyNlu,
    LazyPolicies,
    answered,
    finished_part,
    units_of,
)
from turncheck.evaluations.core.annotated import AnnotatedText, Entity, annotation, score_policy_entities
from turncheck.evaluations.core.misunderstood import misunderstandings
from turncheck.evaluations.core.story_run import Shows, StoryRun, passes_as_written, run_story
from turncheck.evaluations.nlu.scores import score_pairs
from turncheck.evaluations.resolved import resolved_story
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.messages.phrasing import count
from turncheck.project.model import Story, UserStep
from turncheck.report.model import Core, Misunderstanding, StoriesAsWritten, StoryResult
from turncheck.work.workplace import INLINE, Executor, batches

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from turncheck.dialogue.tracker import Tracker
    from turncheck.project.nlu_data import Example
    from turncheck.report.entities import Tokens
    from turncheck.validation.learnable import Learnable

    Tokenize = Callable[[Sequence[str]], Sequence[Tokens]]
    """Texts → the borders of the words of each."""


# Judges test stories one by one, with the result of each and how long it took.


class StoryAnswer(Struct, frozen=True):
    """The result and the time of a story, and whether its dialogue passes with intents and entities as written.

    ``tokens``: the borders of the words in its annotated texts, if they are known. ``can_be_understood``: whether the
    training data have the intents and entities of all its misunderstood messages.
    """

    run: StoryRun
    as_written: bool
    seconds: float
    tokens: Mapping[str, Tokens]
    can_be_understood: bool = True


class StoryJudge(Struct, frozen=True):
    """Judges stories; the fields are the arguments of ``evaluate_stories``, with policies and engine trained."""

    policies: Policies
    nlu: NluEngine | None
    tokenize: Tokenize | None
    end_to_end: bool
    shows: Shows | None
    known: Learnable | None
    at_once: int = 1

    def answers(self, asked: Sequence[StoryTracker], judged: Callable[[], object] = lambda: None) -> list[StoryAnswer]:
        """Return the answer to each story; ``judged`` is called after each.

        Raises:
            IncompleteError: as ``evaluate_stories`` does; ``finished`` holds the answers so far, ``None`` for others.
        """
        try:
            understood = _understood(asked, self.policies, self.nlu) if self.end_to_end else None
            tokens = _tokens(asked, understood, self.tokenize)
        except IncompleteError as error:
            raise IncompleteError(error) from error  # some sentences were parsed, but no story was judged
        # Equal stories may be understood differently, and stories in parallel do not wait for each other.
        can_repeat = understood is None and self.at_once == 1
        times = Counter(tracker.fingerprint for tracker in asked) if can_repeat else Counter[tuple[str, ...]]()
        decided: dict[tuple[str, ...], list[Decision]] = {one: [] for one, number in times.items() if number > 1}
        judge = _Judge(self.policies, understood, tokens, decided, self.shows, self.known, self.nlu is not None)

        def judge_next(tracker: StoryTracker) -> StoryAnswer:
            answer = judge.answer(tracker)
            judged()
            return answer

        return ask_all(judge_next, asked, self.at_once)


def judged_elsewhere(
    judge: StoryJudge, asked: Sequence[StoryTracker], work: Executor, done: Count
) -> list[StoryAnswer]:
    """Judge stories in batches on the workers.

    Raises:
        IncompleteError: as ``evaluate_stories`` does; ``finished`` holds the answers so far, ``None`` for others.
    """
    parts = batches(asked, work)
    found: dict[int, list[StoryAnswer]] = {}
    try:
        for number, answers in work.each(StoryJudge.answers, judge, parts, total=len(parts), kind="batch of stories"):
            found[number] = answers
            for _ in answers:
                done.one_more()
    except (EngineError, KeyboardInterrupt) as error:
        finished: list[StoryAnswer | None] = []
        for number, part in enumerate(parts):
            finished += found.get(number) or [None] * len(part)
        raise IncompleteError(error, finished if found else None) from error
    return [answer for number in range(len(parts)) for answer in found[number]]


class _Judge(Struct, frozen=True):
    """Judges a story by the decisions of the policies and, with ``end_to_end``, by how its messages are ``understood``.

    ``decided``: the decisions in stories that are the same for every policy, by fingerprint, if one of them was
    judged. ``tokens``: those of annotated texts. ``shows``, ``known``: see ``evaluate_stories``.
    """

    policies: Policies
    understood: Mapping[str, Parse] | None
    tokens: Mapping[str, Tokens]
    decided: Mapping[tuple[str, ...], list[Decision]]
    shows: Shows | None
    known: Learnable | None
    has_nlu: bool

    def answer(self, tracker: StoryTracker) -> StoryAnswer:
        """Run the story's dialogue; if it fails with a misunderstood message, run it again as written."""
        begin = time.perf_counter()
        decisions = self.decided.get(tracker.fingerprint)
        policies = self.policies if decisions is None else _Remembering(self.policies, decisions)
        run = run_story(tracker, policies, self.understood, self.shows)
        as_written = run.passed or self._passes_as_written(tracker, run)
        seconds = time.perf_counter() - begin
        own = {text: self.tokens[text] for text in _annotated_texts([tracker]) if text in self.tokens}
        known = self.known
        can_be = run.passed or known is None or all(_can_be(misparsed.event, known) for misparsed in run.misparsed)
        return StoryAnswer(run, as_written, seconds, own, can_be)

    def _passes_as_written(self, tracker: StoryTracker, run: StoryRun) -> bool:
        if not self.has_nlu or self.understood is None or not run.misparsed:
            return False
        return passes_as_written(tracker, self.policies, self.understood, self.shows)


class _Remembering:
    """Policies that are asked only once about stories that are the same to them, which share their ``decisions``."""

    def __init__(self, policies: Policies, decisions: list[Decision]) -> None:
        self.domain = policies.domain
        self._policies = policies
        self._decisions = decisions
        self._asked = 0

    def next(self, tracker: Tracker) -> Decision:
        """Return the earlier decision at this point, or else ask."""
        self._asked += 1
        if self._asked > len(self._decisions):
            self._decisions.append(self._policies.next(tracker))
        return self._decisions[self._asked - 1]


class Count:
    """Reports how many stories are done in all threads together."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._total = total
        self._progress = progress
        self._done = 0
        self._lock = Lock()

    def one_more(self) -> None:
        if self._progress is not None:
            with self._lock:
                self._done += 1
                self._progress(self._done, self._total)


def _understood(trackers: Sequence[StoryTracker], ensemble: Policies, nlu: NluEngine | None) -> dict[str, Parse]:
    """Parse all texts at once."""
    texts = dict.fromkeys(e.text for t in trackers for e in t.events if isinstance(e, UserUttered) and e.text)
    if nlu is not None:
        return dict(zip(texts, nlu.parse(list(texts)), strict=True))
    nothing = PredictedIntent(None, 0.0)
    domain = ensemble.domain.domain
    return {
        text: (read_direct_message(text, domain) if text.startswith("/") else None) or Parse(text, nothing)
        for text in texts
    }


def _tokens(
    trackers: Sequence[StoryTracker], understood: Mapping[str, Parse] | None, tokenize: Tokenize | None
) -> dict[str, Tokens]:
    """Return the tokens of the annotated texts, if they are known."""
    texts = _annotated_texts(trackers)
    if understood is None:
        return {} if tokenize is None or not texts else dict(zip(texts, tokenize(texts), strict=True))
    return {text: understood[text].tokens or () for text in texts if text in understood}


def _annotated_texts(trackers: Sequence[StoryTracker]) -> list[str]:
    messages = (event for tracker in trackers for event in tracker.events if isinstance(event, UserUttered))
    return list(dict.fromkeys(message.text for message in messages if message.text and message.entities))


def _can_be(message: UserUttered, known: Learnable) -> bool:
    """Whether a message can be understood as the story says."""
    intent = message.intent_name and message.intent_name.partition("/")[0]
    return known.holds(intent or None, (entity["entity"] for entity in message.entities))


NOT_RUN = "Custom actions and forms were not run: their events are those of the stories, as in rasa test core."
MEMORIZING = {
    1: ("MemoizationPolicy", "AugmentedMemoizationPolicy"),
    2: ("RulePolicy", "MemoizationPolicy", "AugmentedMemoizationPolicy"),
}
"""The policies whose predictions count as contained in the training data, by Rasa's major version. Rasa 3 looks for a
suffix that its policies' names no longer have, so its figure is always 0."""
ALIGNS_ENTITIES = 2
"""The first major version of Rasa whose ``--e2e`` report compares the entities of one message with each other."""


def evaluate_stories(
    ensemble: Policies,
    stories: Sequence[Story],
    *,
    nlu: NluEngine | None = None,
    tokenize: Tokenize | None = None,
    end_to_end: bool = False,
    training: Sequence[Example] = (),
    max_stories: int | None = None,
    at_once: int = 1,
    shows: Shows | None = None,
    known: Learnable | None = None,
    progress: Callable[[int, int], None] | None = None,
    timed: Callable[[int, float], None] | None = None,
    work: Executor = INLINE,
    answers: Answers = COMPUTE_LOCALLY,
) -> Core:
    """Judge the test stories.

    Args:
        ensemble: the trained policies.
        stories: the test stories as read; alternatives and checkpoints expand one into several.
        nlu: parses the texts of messages, with ``end_to_end``; without it, only ``/intent`` messages are understood.
        tokenize: finds the words of annotated texts (see :func:`has_annotated_texts`) if they are not parsed.
        end_to_end: judge intents and entities, too. With an ``nlu``, the dialogue of a story that fails and has a
            misunderstood message is judged a second time, with the intents and entities as written. (One that passes
            would pass again: after each message the dialogue continues as the story says in any case.)
        training: the sentences that ``nlu`` was trained on, to find which of them attracted a misunderstood one.
        max_stories: judge only this many stories, the first ones.
        at_once: the number of stories to judge in parallel, if the policies run on a server. The result does not
            depend on it.
        shows: whether the user sees anything of an action; a story that reaches an action without effect fails.
            ``None``: only predictions are judged, as in ``rasa test core``.
        known: what messages can be understood as; a story with a message that can never be understood as written is
            not noise, and fails. ``None``: anything.
        progress: called after each story with how many of how many are judged.
        timed: called at the end, for each judged story, with its index in the result and its seconds.
        work: where the stories are judged, unless the policies run on a server.
        answers: a story is a unit; only the sentences of stories that are asked here are parsed.

    Stories that are the same for every policy are judged and counted once, as in Rasa; the others are listed and marked
    as duplicates.

    Raises:
        IncompleteError: the engine failed during the run, or the run was interrupted; ``finished`` holds the stories
            that were judged.
        DelegatedError: other stories are judged elsewhere.
    """
    trackers = trackers_of([story for story in stories if story.kind == "story"], ensemble.domain)
    everything = (*trackers.stories, *trackers.duplicates)[:max_stories]
    twice = set(map(id, trackers.duplicates))
    rasa = ensemble.domain.domain.rasa
    done = Count(len(everything), progress)

    def ask(missing: Sequence[int]) -> list[StoryAnswer]:
        asked = [everything[index] for index in missing]
        policies = ensemble.trained if isinstance(ensemble, LazyPolicies) else ensemble
        if not work.size:
            judge = StoryJudge(policies, nlu, tokenize, end_to_end, shows, known, at_once)
            return judge.answers(asked, done.one_more)
        trained = nlu.trained if isinstance(nlu, LazyNlu) else nlu
        judge = StoryJudge(policies, trained, tokenize, end_to_end, shows, known)
        return judged_elsewhere(judge, asked, work, done)

    story_answers: Sequence[StoryAnswer | None]
    story_answers, stopped = finished_part(
        lambda: answered(answers, units_of("story", (tracker.name for tracker in everything)), ask)
    )
    judged = [
        _Judged(tracker, story_answer)
        for tracker, story_answer in zip(everything, story_answers, strict=True)
        if story_answer is not None
    ]
    if timed is not None:
        for index, one in enumerate(judged):
            timed(index, one.answer.seconds)
    # Without NLU, no message is misunderstood: the stories fail.
    sentences = misunderstandings([one.run.misparsed if nlu is not None else () for one in judged], training)
    if stopped is not None:
        finished = _core(judged, sentences, twice, rasa, *_left(len(everything), len(judged)))
        raise IncompleteError(stopped, finished)
    total = len(trackers.stories) + len(trackers.duplicates)
    return _core(judged, sentences, twice, rasa, *_left(total, len(judged), f"--max-stories {max_stories}"))


class _Judged(Struct, frozen=True):
    """A story and its result."""

    tracker: StoryTracker
    answer: StoryAnswer

    @property
    def run(self) -> StoryRun:
        """Its steps."""
        return self.answer.run


def _left(total: int, judged: int, reason: str = "") -> list[str]:
    because = f" ({reason})" if reason else ""
    return [f"Not run: {total - judged} of {count(total, 'story', 'stories')}{because}."] if total > judged else []


def has_annotated_texts(stories: Sequence[Story]) -> bool:
    """Whether a message with a text has entities, which are compared with those of the policies, token by token."""
    return any(isinstance(step, UserStep) and step.text and step.entities for story in stories for step in story.steps)


def _core(
    judged: Sequence[_Judged],
    misunderstood: Sequence[tuple[Misunderstanding, ...]],
    duplicates: Container[int],
    rasa: int,
    *remarks: str,
) -> Core:
    """Count the judged stories except duplicates (by identity), and list all of them, as that version of Rasa does."""
    tally = _Tally({text: tokens for one in judged for text, tokens in one.answer.tokens.items()}, rasa)
    memorizing = MEMORIZING.get(rasa, ())
    results = []
    for one, sentences in zip(judged, misunderstood, strict=True):
        is_duplicate = id(one.tracker) in duplicates
        if not is_duplicate:
            tally.add(one.run)
        results.append(_result(one, sentences, is_duplicate=is_duplicate))
    policies = [
        step.policy for result in results if not result.duplicate for step in result.steps if step.kind == "action"
    ]
    memorized = sum(policy in memorizing for policy in policies if policy)
    return tally.core(results, memorized / len(policies) if policies else 0.0, *remarks)


def _result(judged: _Judged, misunderstood: tuple[Misunderstanding, ...], *, is_duplicate: bool) -> StoryResult:
    tracker, run = judged.tracker, judged.run
    location, resolved = tracker.location, resolved_story(tracker)
    if location is None:
        raise ValueError("a story's dialogue has at least one step")
    return StoryResult(
        name=tracker.name,
        location=location,
        passed=run.passed,
        warned=run.warned and run.passed,
        severity=run.severity if run.warned else None,
        steps=tuple(run.steps),
        written=tuple(run.written),
        duplicate=is_duplicate,
        as_written=judged.answer.as_written,
        can_be_understood=judged.answer.can_be_understood,
        misunderstood=misunderstood,
        resolved=resolved.digest,
        own=resolved.own,
        shared=resolved.shared,
    )


class _Tally:
    """Collects all expected and predicted labels: actions and, with ``end_to_end``, intents and entities."""

    def __init__(self, tokens: Mapping[str, Tokens], rasa: int) -> None:
        self.tokens = tokens
        self.rasa = rasa
        self.annotated: list[AnnotatedText] = []
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.expected_entities: list[Entity] = []
        self.predicted_entities: list[Entity] = []
        self.total = self.correct = self.warned = 0

    def add(self, run: StoryRun) -> None:
        self.pairs.update(run.actions)
        self.annotated.extend(run.before_actions)
        # As in Rasa's reports, no intent is a label with an empty name, and an entity without a counterpart is "None".
        self.pairs.update((expected or "", predicted or "") for expected, predicted in run.intents)
        self.expected_entities += run.expected_entities
        self.predicted_entities += run.predicted_entities
        self.total += 1
        self.correct += run.passed
        self.warned += run.passed and run.warned

    def _pairs_of_entities(self) -> list[tuple[str, str]]:
        """Pair entities: text by text, or by position in two lists as in Rasa 1 (a missed one shifts the rest)."""
        if self.rasa < ALIGNS_ENTITIES:
            both = zip_longest(_with_place(self.expected_entities), _with_place(self.predicted_entities))
            return [(_label(one), _label(other)) for one, other in both]
        expected, predicted = _by_text(self.expected_entities), _by_text(self.predicted_entities)
        texts = {**expected, **predicted}
        return [pair for text in texts for pair in _aligned(expected.get(text, []), predicted.get(text, []))]

    def core(self, results: Sequence[StoryResult], in_training_data: float, *remarks: str) -> Core:
        self.pairs.update(self._pairs_of_entities())
        scores = score_pairs(self.pairs)
        report: dict[str, Any] = {
            label: {key: figure for key, figure in row.items() if key != "confused_with"}
            if isinstance(row, dict)
            else row
            for label, row in scores.report.items()
        }
        accuracy = self.correct / self.total if self.total else 0.0
        if self.total:
            report["conversation_accuracy"] = {
                "accuracy": accuracy,
                "correct": self.correct,
                "with_warnings": self.warned,
                "total": self.total,
            }
        return Core(
            stories=tuple(results),
            report=report,
            accuracy=scores.accuracy,
            conversation_accuracy=accuracy,
            precision=scores.precision,
            recall=scores.recall,
            f1=scores.f1,
            in_training_data_fraction=in_training_data,
            as_written=StoriesAsWritten(
                passed=sum(bool(story.as_written) for story in results),
                failed=sum(not story.as_written for story in results),
            ),
            remarks=(NOT_RUN, *remarks),
            policy_entities=score_policy_entities(self.annotated, self.tokens) if self.annotated else None,
        )


def _by_text(entities: Iterable[Entity]) -> dict[str, list[Entity]]:
    found: dict[str, list[Entity]] = {}
    for entity in entities:
        if entity["text"] is not None:
            found.setdefault(entity["text"], []).append(entity)
    return found


def _aligned(expected: Sequence[Entity], predicted: Sequence[Entity]) -> list[tuple[str, str]]:
    """Pair the entities of one text by their borders, each as an annotation; without a counterpart: ``None``."""
    wanted = sorted(_with_place(expected), key=lambda entity: entity["start"])
    found = sorted(_with_place(predicted), key=lambda entity: entity["start"])
    pairs: list[tuple[str, str]] = []
    left = right = 0
    while left < len(wanted) or right < len(found):
        one = wanted[left] if left < len(wanted) else None
        other = found[right] if right < len(found) else None
        if one is not None and other is not None:
            borders, others = (one["start"], one["end"]), (other["start"], other["end"])
            one, other = (one if borders <= others else None), (other if others <= borders else None)
        pairs.append((_label(one), _label(other)))
        left += one is not None
        right += other is not None
    return pairs


def _with_place(entities: Iterable[Entity]) -> list[Entity]:
    """The entities in a message's text: a story may name others with an intent, which have no position in a text."""
    return [entity for entity in entities if "start" in entity]


def _label(entity: Entity | None) -> str:
    return "None" if entity is None else annotation(entity["text"], entity)
