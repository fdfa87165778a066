"""Test stories against an assistant's policies: the ``core`` evaluation."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from turncheck.dialogue.events import UserUttered
from turncheck.dialogue.training import trackers_of
from turncheck.engines.at_once import ask_all
from turncheck.engines.direct_message import read_direct_message
from turncheck.engines.errors import CutShortError
from turncheck.engines.parse import Parse, PredictedIntent
from turncheck.evaluation.annotated import annotation
from turncheck.evaluation.answers import ASKED_HERE, PoliciesToCome, answered, finished_part, units_of
from turncheck.evaluation.misunderstood import misunderstandings
from turncheck.evaluation.policy_entities import score_policy_entities
from turncheck.evaluation.scores import score_pairs
from turncheck.evaluation.story_run import StoryRun, passes_as_written, run_story
from turncheck.messages.plurals import count
from turncheck.project.model import UserStep
from turncheck.report.model import Core, StoriesAsWritten, StoryResult

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from turncheck.dialogue.tracker import Tracker
    from turncheck.dialogue.training import StoryTracker
    from turncheck.engines.base import NluEngine, Policies
    from turncheck.engines.decision import Decision
    from turncheck.evaluation.answers import Answers
    from turncheck.evaluation.policy_entities import AnnotatedText
    from turncheck.evaluation.story_run import Entity, Shows
    from turncheck.project.model import Story
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import Misunderstanding
    from turncheck.report.tags import Tokens
    from turncheck.validation.learnable import Learnable

    Tokenize = Callable[[Sequence[str]], Sequence[Tokens]]
    """Texts → the borders of the words of each."""

NOT_RUN = "Custom actions and forms were not run: their events are those of the stories, as in rasa test core."


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
    answers: Answers = ASKED_HERE,
) -> Core:
    """Judge the test stories.

    Args:
        ensemble: the trained policies.
        stories: the test stories as read; alternatives and checkpoints make several of one.
        nlu: reads the texts of messages, with ``end_to_end``; without one, only ``/intent`` messages are understood.
        tokenize: finds the words of annotated texts (see :func:`has_annotated_texts`) where they are not read.
        end_to_end: judge intents and entities, too. Where there is an ``nlu``, the dialogue of a story that fails with
            a misunderstood message is judged a second time, with the intents and entities as written. (One that passes
            would pass again: after each message the dialogue goes on as the story says in any case.)
        training: the sentences that ``nlu`` was trained on, to tell which of them drew a misunderstood one away.
        max_stories: judge only so many, the first ones.
        at_once: stories to judge at the same time, where the policies are those of a server. The result does not
            depend on it.
        shows: tells of which actions the user sees something; a story that comes to another one fails. ``None``:
            predictions alone are judged, as ``rasa test core`` does.
        known: what messages can be understood as; a story with one that never can is not noise, and fails. ``None``:
            anything.
        progress: called after each story with how many of how many are judged.
        timed: called at the end, for each story that was judged, with its index in the result and its seconds.
        answers: a story is a unit; only the sentences of those that are asked are read.

    Stories that are the same for every policy are judged once and counted once, as in Rasa; the others are listed,
    marked as duplicates.

    Raises:
        CutShortError: the engine failed in the middle, or somebody interrupted it; ``finished`` holds the stories that
            were judged.
        ElsewhereError: other stories are judged elsewhere.
    """
    trackers = trackers_of([story for story in stories if story.kind == "story"], ensemble.domain)
    everything = (*trackers.stories, *trackers.duplicates)[:max_stories]
    twice = set(map(id, trackers.duplicates))
    done = _Count(len(everything), progress)

    def ask(missing: Sequence[int]) -> list[StoryAnswer]:
        asked = [everything[index] for index in missing]
        try:
            understood = _understood(asked, ensemble, nlu) if end_to_end else None
            tokens = _tokens(asked, understood, tokenize)
        except CutShortError as error:
            raise CutShortError(error) from error  # some sentences were read, and no story was judged
        policies = ensemble.trained if isinstance(ensemble, PoliciesToCome) else ensemble
        # What was heard may differ where the stories do not, and several at a time do not wait for each other.
        repeated = [one for one in asked if id(one) in twice] if understood is None and at_once == 1 else []
        judge = _Judge(
            policies, understood, tokens, {one.fingerprint: [] for one in repeated}, shows, known, nlu is not None
        )

        def judge_next(tracker: StoryTracker) -> StoryAnswer:
            answer = judge.answer(tracker)
            done.one_more()
            return answer

        return ask_all(judge_next, asked, at_once)

    given: Sequence[StoryAnswer | None]
    given, stopped = finished_part(lambda: answered(answers, units_of("story", (one.name for one in everything)), ask))
    judged = [_Judged(tracker, one) for tracker, one in zip(everything, given, strict=True) if one is not None]
    if timed is not None:
        for index, one in enumerate(judged):
            timed(index, one.answer.seconds)
    # Where nothing understands, nothing is misunderstood: the stories fail.
    sentences = misunderstandings([one.run.misheard if nlu is not None else () for one in judged], training)
    if stopped is not None:
        raise CutShortError(stopped, _core(judged, sentences, twice, *_left(len(everything), len(judged))))
    total = len(trackers.stories) + len(trackers.duplicates)
    return _core(judged, sentences, twice, *_left(total, len(judged), f"--max-stories {max_stories}"))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges a story by what the policies decide and, end to end, by how its messages are ``understood``.

    ``decided``: what was decided in stories that are the same for every policy, by their fingerprints, as far as one
    of them was judged. ``tokens``: of annotated texts. ``shows``, ``known``: see :func:`evaluate_stories`.
    """

    policies: Policies
    understood: Mapping[str, Parse] | None
    tokens: Mapping[str, Tokens]
    decided: Mapping[tuple[str, ...], list[Decision]]
    shows: Shows | None
    known: Learnable | None
    has_nlu: bool

    def answer(self, tracker: StoryTracker) -> StoryAnswer:
        """Hold the story's dialogue; where it fails with a misunderstood message, once more as it is written."""
        begin = time.perf_counter()
        decisions = self.decided.get(tracker.fingerprint)
        policies = self.policies if decisions is None else _Remembering(self.policies, decisions)
        run = run_story(tracker, policies, self.understood, self.shows)
        as_written = run.passed or self._passes_as_written(tracker, run)
        seconds = time.perf_counter() - begin
        own = {text: self.tokens[text] for text in _annotated_texts([tracker]) if text in self.tokens}
        return StoryAnswer(run, as_written, seconds, own)

    def _passes_as_written(self, tracker: StoryTracker, run: StoryRun) -> bool:
        if not self.has_nlu or self.understood is None or not run.misheard:
            return False
        if self.known is not None and not all(_can_be(one.event, self.known) for one in run.misheard):
            return False
        return passes_as_written(tracker, self.policies, self.understood, self.shows)


@dataclass(frozen=True, slots=True)
class StoryAnswer:
    """What came of a story in how long, and whether its dialogue passes with intents and entities as written.

    ``tokens``: the borders of the words of its annotated texts, as far as anybody says them.
    """

    run: StoryRun
    as_written: bool
    seconds: float
    tokens: Mapping[str, Tokens]


@dataclass(frozen=True, slots=True)
class _Judged:
    """A story, and what came of it."""

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
    """Whether a message with a text has entities: those are held against the policies' own, token by token."""
    return any(isinstance(step, UserStep) and step.text and step.entities for story in stories for step in story.steps)


def _core(
    judged: Sequence[_Judged],
    misunderstood: Sequence[tuple[Misunderstanding, ...]],
    duplicates: Container[int],
    *remarks: str,
) -> Core:
    """Count what was judged, but for duplicates (by identity), and list all of it."""
    tally = _Tally({text: tokens for one in judged for text, tokens in one.answer.tokens.items()})
    results = []
    for one, sentences in zip(judged, misunderstood, strict=True):
        is_duplicate = id(one.tracker) in duplicates
        if not is_duplicate:
            tally.add(one.run)
        results.append(_result(one, sentences, is_duplicate=is_duplicate))
    return tally.core(results, *remarks)


class _Remembering:
    """Policies that are asked once about stories that are the same to them: ``decisions`` are those of such a story."""

    def __init__(self, policies: Policies, decisions: list[Decision]) -> None:
        self.domain = policies.domain
        self._policies = policies
        self._decisions = decisions
        self._asked = 0

    def next(self, tracker: Tracker) -> Decision:
        """Return what was decided at this point before, else ask."""
        self._asked += 1
        if self._asked > len(self._decisions):
            self._decisions.append(self._policies.next(tracker))
        return self._decisions[self._asked - 1]


class _Count:
    """Tells how many stories are done, whichever of the threads did them."""

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
    """Read all texts in one go."""
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
    """Return the tokens of the annotated texts, as far as anybody says them."""
    texts = _annotated_texts(trackers)
    if understood is None:
        return {} if tokenize is None or not texts else dict(zip(texts, tokenize(texts), strict=True))
    return {text: understood[text].tokens or () for text in texts if text in understood}


def _annotated_texts(trackers: Sequence[StoryTracker]) -> list[str]:
    messages = (event for tracker in trackers for event in tracker.events if isinstance(event, UserUttered))
    return list(dict.fromkeys(message.text for message in messages if message.text and message.entities))


def _result(judged: _Judged, misunderstood: tuple[Misunderstanding, ...], *, is_duplicate: bool) -> StoryResult:
    tracker, run = judged.tracker, judged.run
    location = tracker.location
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
        misunderstood=misunderstood,
    )


class _Tally:
    """All expected and predicted labels: actions and, end to end, intents and entities."""

    def __init__(self, tokens: Mapping[str, Tokens]) -> None:
        self.tokens = tokens
        self.annotated: list[AnnotatedText] = []
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.expected_entities: dict[str | None, list[Entity]] = {}
        self.predicted_entities: dict[str | None, list[Entity]] = {}
        self.total = self.correct = self.warned = 0

    def add(self, run: StoryRun) -> None:
        self.pairs.update(run.actions)
        self.annotated.extend(run.before_actions)
        # No intent is a label without a name, as in Rasa's reports; an entity without a partner is called "None".
        self.pairs.update((expected or "", predicted or "") for expected, predicted in run.intents)
        for entity in run.expected_entities:
            self.expected_entities.setdefault(entity["text"], []).append(entity)
        for entity in run.predicted_entities:
            self.predicted_entities.setdefault(entity["text"], []).append(entity)
        self.total += 1
        self.correct += run.passed
        self.warned += run.passed and run.warned

    def core(self, results: Sequence[StoryResult], *remarks: str) -> Core:
        texts = [text for text in {**self.expected_entities, **self.predicted_entities} if text is not None]
        for text in texts:
            self.pairs.update(_aligned(self.expected_entities.get(text, []), self.predicted_entities.get(text, [])))
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
            in_training_data_fraction=0.0,
            as_written=StoriesAsWritten(
                passed=sum(bool(story.as_written) for story in results),
                failed=sum(not story.as_written for story in results),
            ),
            remarks=(NOT_RUN, *remarks),
            policy_entities=score_policy_entities(self.annotated, self.tokens) if self.annotated else None,
        )


def _aligned(expected: Sequence[Entity], predicted: Sequence[Entity]) -> list[tuple[str, str]]:
    """Pair the entities of one text by their borders, each written as an annotation; without a partner: ``None``."""
    wanted = sorted((e for e in expected if "start" in e), key=lambda entity: entity["start"])
    found = sorted((e for e in predicted if "start" in e), key=lambda entity: entity["start"])
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


def _label(entity: Entity | None) -> str:
    return "None" if entity is None else annotation(entity["text"], entity)


def _can_be(message: UserUttered, known: Learnable) -> bool:
    """Whether a message can be understood as the story gives it."""
    intent = message.intent_name and message.intent_name.partition("/")[0]
    return known.holds(intent or None, (entity["entity"] for entity in message.entities))
