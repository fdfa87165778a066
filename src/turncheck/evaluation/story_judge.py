"""Judges test stories one by one, with the result of each and how long it took."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from turncheck.dialogue.events import UserUttered
from turncheck.engines.at_once import ask_all
from turncheck.engines.direct_message import read_direct_message
from turncheck.engines.parse import Parse, PredictedIntent
from turncheck.evaluation.story_run import StoryRun, passes_as_written, run_story
from turncheck.messages.engine_errors import CutShortError, EngineError
from turncheck.work.workplace import batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.dialogue.tracker import Tracker
    from turncheck.dialogue.training import StoryTracker
    from turncheck.engines.decision import Decision, Policies
    from turncheck.engines.parse import NluEngine
    from turncheck.evaluation.story_run import Shows
    from turncheck.report.tags import Tokens
    from turncheck.validation.learnable import Learnable
    from turncheck.work.workplace import Workplace

    Tokenize = Callable[[Sequence[str]], Sequence[Tokens]]
    """Texts → the borders of the words of each."""


@dataclass(frozen=True, slots=True)
class StoryAnswer:
    """The result and the time of a story, and whether its dialogue passes with intents and entities as written.

    ``tokens``: the borders of the words in its annotated texts, if they are known. ``can_be_understood``: whether the
    training data have the intents and entities of all its misunderstood messages.
    """

    run: StoryRun
    as_written: bool
    seconds: float
    tokens: Mapping[str, Tokens]
    can_be_understood: bool = True


@dataclass(frozen=True, slots=True)
class StoryJudge:
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
            CutShortError: as ``evaluate_stories`` does; ``finished`` holds the answers so far, ``None`` for the others.
        """
        try:
            understood = _understood(asked, self.policies, self.nlu) if self.end_to_end else None
            tokens = _tokens(asked, understood, self.tokenize)
        except CutShortError as error:
            raise CutShortError(error) from error  # some sentences were parsed, but no story was judged
        # Equal stories may be understood differently, and stories in parallel do not wait for each other.
        can_repeat = understood is None and self.at_once == 1
        times = Counter(one.fingerprint for one in asked) if can_repeat else Counter[tuple[str, ...]]()
        decided: dict[tuple[str, ...], list[Decision]] = {one: [] for one, number in times.items() if number > 1}
        judge = _Judge(self.policies, understood, tokens, decided, self.shows, self.known, self.nlu is not None)

        def judge_next(tracker: StoryTracker) -> StoryAnswer:
            answer = judge.answer(tracker)
            judged()
            return answer

        return ask_all(judge_next, asked, self.at_once)


def judged_elsewhere(
    judge: StoryJudge, asked: Sequence[StoryTracker], work: Workplace, done: Count
) -> list[StoryAnswer]:
    """Judge stories in batches on the workers.

    Raises:
        CutShortError: as ``evaluate_stories`` does; ``finished`` holds the answers so far, ``None`` for the others.
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
        raise CutShortError(error, finished if found else None) from error
    return [answer for number in range(len(parts)) for answer in found[number]]


@dataclass(frozen=True, slots=True)
class _Judge:
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
        can_be = run.passed or known is None or all(_can_be(one.event, known) for one in run.misheard)
        return StoryAnswer(run, as_written, seconds, own, can_be)

    def _passes_as_written(self, tracker: StoryTracker, run: StoryRun) -> bool:
        if not self.has_nlu or self.understood is None or not run.misheard:
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
