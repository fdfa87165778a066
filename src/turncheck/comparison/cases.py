"""The judged cases of a report, whatever their kind, as one type: what identifies a case, and its result."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from turncheck.comparison.misunderstood import expected_and_predicted, understanding_in_words
from turncheck.messages.finding import SEVERITIES, Finding, Location
from turncheck.report import model

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterable, Mapping


# The names of the project that a step of a test rests on: if one is renamed or removed, the step cannot be met.

_IN_QUOTES: Final = re.compile(r'"([^"]+)"')
_ANNOTATED: Final = re.compile(r'(?<=\]\()[^)\s]+(?=\))|(?<="entity": ")[^"]+(?=")')
"""The type of an entity that is annotated in a sentence, in either notation."""
_BY_NAME: Final = ("utter", "bot")
_SLOTS: Final = ("slot_was_set", "slot_was_not_set")
_ASSERTED: Final = (
    "bot_uttered",
    "bot_did_not_utter",
    "action_executed",
    "flow_started",
    "flow_completed",
    "flow_cancelled",
)


def step_key(kind: str, expected: str) -> Hashable:
    """The key that identifies a step on both sides."""
    return kind, expected


def names_by_step(test: model.StoryResult | model.CaseResult) -> Mapping[Hashable, tuple[str, ...]]:
    """Return the names of the project that each step of a story or an end-to-end case rests on."""
    return names_by_story_step(test) if isinstance(test, model.StoryResult) else names_by_case_step(test)


def names_by_story_step(story: model.StoryResult) -> Mapping[Hashable, tuple[str, ...]]:
    """Return the action, intent or entities of each step; for an action, also the intent that is written before it."""
    found: dict[Hashable, list[str]] = defaultdict(list)
    intent: tuple[str, ...] = ()
    for step in story.steps:
        key = step_key(step.kind, step.expected)
        if step.kind == "entities":
            found[key] += _ANNOTATED.findall(step.expected)
        elif step.kind == "intent":
            intent = (step.expected,)
            found[key] += intent
        else:
            found[key] += (step.expected, *intent)
    return _distinct(found)


def names_by_case_step(case: model.CaseResult) -> Mapping[Hashable, tuple[str, ...]]:
    """Return what each step names; for one that was met, also the response and what the message was understood as."""
    found: dict[Hashable, list[str]] = defaultdict(list)
    for step in case.steps:
        key = step_key(step.kind, step.expected)
        found[key] += _named(step)
        if step.outcome == "passed" and step.message is not None and 0 <= step.message < len(case.messages):
            found[key] += _understood(case.messages[step.message])
    return _distinct(found)


def _named(step: model.CaseStep) -> Iterable[str]:
    if step.response is not None:
        yield step.response
    if step.kind in _BY_NAME:
        yield step.expected
    elif step.kind in _SLOTS:
        yield step.expected.partition(":")[0]
    else:  # an assertion, as JSON
        yield from _IN_QUOTES.findall(step.expected)


def _understood(message: model.CaseMessage) -> tuple[str, ...]:
    parse = message.understood
    if parse is None:
        return ()
    intents = (parse.intent,) if parse.intent and not parse.fallback else ()
    return (*intents, *(entity.entity for entity in parse.entities))


def _distinct(found: Mapping[Hashable, list[str]]) -> dict[Hashable, tuple[str, ...]]:
    return {step: tuple(dict.fromkeys(name for name in names if name)) for step, names in found.items()}


_REMEMBERED: Final = 10_000
"""This many different steps are kept in memory only once, however many stories have them."""


class Case(Struct, frozen=True):
    """A judged case, whatever its kind. ``name`` and ``expectation`` together identify it."""

    name: str
    expectation: Hashable
    location: Location
    passed: bool
    suite: str = ""
    """The name of its batch suite, which may be renamed: equal cases of the same suite belong together."""
    expected: str = ""
    actual: str = ""
    confidence: float | None = None
    remark: str = ""
    """How the engine arrived at it: the policy that was wrong, the reason that a server gave."""
    scores: str = ""
    """How sure it was, and its other candidates."""
    copies: int = 0
    """How many more cases have exactly the same steps and the same result."""
    copy_of: str = ""
    """The name of the story that it is a copy of, if it is listed separately from that story."""
    judged: bool = True
    """Whether it was run; of a case that was not run, only its existence is known."""

    @property
    def number(self) -> int:
        """How many cases this one represents."""
        return 1 + self.copies

    @property
    def trace_id(self) -> str:
        """The trace of the message at which a run of an end-to-end case failed; "" if none was sent with it, or did."""
        result = self.result
        if not isinstance(result, model.CaseResult) or (self.passed and isinstance(result.failed_run, UnsetType)):
            return ""
        return result.trace_id

    misunderstood: bool = False
    """Whether it did not pass only because of how its sentences were understood."""
    unclear: bool = False
    """Whether its runs do not say how it fares."""
    erred: bool = False
    """Whether the assistant could not be judged, since it did not answer as it must."""
    sentences: tuple[model.Misunderstanding, ...] = ()
    """Sentences of a story that were understood differently than written, or of an end-to-end case, than before."""
    again: str = ""
    """What became of an end-to-end case that was judged a second time with its messages understood as before."""
    said: str = ""
    """What the user said last before an end-to-end case failed."""
    result: model.StoryResult | model.CaseResult | None = None
    """The story or end-to-end case itself, for details that only few cases are asked for."""
    repeats: model.Repeats | UnsetType = UNSET
    """Its runs, if it was run several times."""
    resolved: str = ""
    """A digest of all that the test says, sets and expects; empty for a sentence, and if its report does not say it."""
    own: str = ""
    """A digest of what its own file adds to that."""
    shared: Mapping[str, str] = {}
    """What other files add to that, a digest each, by their paths."""

    def tests_the_same_as(self, other: Case) -> bool:
        """Whether both say, set and expect the same, as far as their reports say."""
        both_known = self.resolved and other.resolved
        return self.expectation == other.expectation and (not both_known or self.resolved == other.resolved)

    @property
    def rests_on(self) -> Mapping[Hashable, tuple[str, ...]]:
        """The names of the project that each step rests on, the nearest first: action, response, slot, intent …"""
        if self.result is None:
            return {}
        return names_by_step(self.result)

    @property
    def skeleton(self) -> Hashable:
        """The steps of a story or an end-to-end case without its texts; ``None`` if it has no steps."""
        steps = self.result.steps if self.result is not None else ()
        return tuple((step.kind, step.expected) for step in steps if step.kind != "entities") or None

    @property
    def texts(self) -> tuple[str, ...]:
        """What the user says in a story or an end-to-end case."""
        if isinstance(self.result, model.CaseResult):
            return tuple(message.as_written for message in self.result.messages)
        steps = self.result.steps if isinstance(self.result, model.StoryResult) else ()
        return tuple(step.text for step in steps if step.text and step.kind == "intent")

    @property
    def wrong_steps(self) -> tuple[Hashable, ...]:
        """The wrong steps, as keys of ``rests_on``; the most informative one first."""
        match self.result:
            case model.StoryResult() as story:
                wrong = decisive_step(story)
                steps = (*([wrong] if wrong else []), *(step for step in story.steps if not step.passed))
                return tuple(step_key(step.kind, step.expected) for step in steps)
            case model.CaseResult() as case:
                first = first_wrong(case)
                return (step_key(first.kind, first.expected),) if first else ()
            case _:
                return ()

    def heard(self, text: str) -> str:
        """Return what a message of an end-to-end case was understood as; empty for any other kind of case."""
        messages = self.result.messages if isinstance(self.result, model.CaseResult) else ()
        case_messages = [message for message in messages if message.text == text]
        return understanding_in_words(text, case_messages[-1].understood) if case_messages else ""

    @property
    def failed(self) -> bool:
        """Whether it failed by itself: not passed, and neither only misunderstood nor unclear."""
        return not self.passed and not self.misunderstood and not self.unclear

    @property
    def has_regressed(self) -> bool:
        """Whether its runs fail more often than those of the base, and that counts."""
        if isinstance(self.repeats, UnsetType) or self.passed:
            return False
        return self.repeats.outcome in {"regressed", "worse"}

    @property
    def is_known(self) -> bool:
        """Whether it was run, and is not unclear."""
        return self.judged and not self.unclear


def intent_cases(report: model.Report) -> list[Case]:
    """Test sentences, judged by their intent."""
    return [
        Case(
            name=example.text,
            expectation=(example.expected.intent, example.expected.response),
            location=example.location,
            passed=example.correct,
            expected=example.expected.intent or "",
            actual=example.predicted.intent or "",
            confidence=example.predicted.confidence,
            unclear=example.unclear,
            repeats=example.repeats,
        )
        for example in _predictions(report)
        if example.expected.intent
    ]


def response_cases(report: model.Report) -> list[Case]:
    """Test sentences of retrieval intents, judged by the response that was selected."""
    return [
        Case(
            name=example.text,
            expectation=example.expected.response,
            location=example.location,
            passed=example.expected.response == example.predicted.response,
            expected=example.expected.response,
            actual=example.predicted.response or "",
            confidence=example.predicted.response_confidence,
        )
        for example in _predictions(report)
        if example.expected.response and "/" in example.expected.response
    ]


def entity_cases(report: model.Report, other: model.Report) -> list[Case]:
    """Test sentences, judged by their entities: the same spans with the same types, whichever extractor found them.

    A sentence that has none, and in which none was found, is judged only if the other side has some for it.
    """
    of_other = {
        example.text for example in _predictions(other) if example.expected.entities or example.predicted.entities
    }
    cases = []
    for example in _predictions(report):
        expected, found = entity_spans(example, expected=True), entity_spans(example, expected=False)
        if expected or found or example.text in of_other:
            cases.append(
                Case(
                    name=example.text,
                    expectation=expected,
                    location=example.location,
                    passed=expected == found,
                    expected=_spell(example.text, expected),
                    actual=_spell(example.text, found),
                )
            )
    return cases


EntityPlace = tuple[int, int, str, str, str]


def entity_spans(example: model.NluPrediction, *, expected: bool) -> tuple[EntityPlace, ...]:
    """The spans of one side. If two extractors found the same span, the one that knows its role or group counts."""
    spans = example.expected.entities if expected else example.predicted.entities
    found = {(span.start, span.end, span.entity, span.role or "", span.group or "") for span in spans}
    detailed = {span[:3] for span in found if span[3] or span[4]}
    return tuple(sorted(span for span in found if span[3] or span[4] or span[:3] not in detailed))


def _spell(text: str, spans: tuple[EntityPlace, ...]) -> str:
    shown = []
    for start, end, entity, role, group in spans:
        kind = ", ".join([entity, *([f"role {role}"] if role else []), *([f"group {group}"] if group else [])])
        shown.append(f"{text[max(start, 0) : max(end, 0)]} ({kind})")
    return "; ".join(shown) or "no entity"


def _predictions(report: model.Report) -> tuple[model.NluPrediction, ...]:
    return report.nlu.predictions if report.nlu else ()


def story_cases(
    report: model.Report, *, unnamed: bool = True, apart: Container[tuple[str, Location]] = ()
) -> list[Case]:
    """Test stories; exact copies of a story are one case that counts them. Of ``unnamed`` ones only those that failed.

    Copies in ``apart``, given by name and place, are separate cases that say what they are copies of.
    """
    stories = report.core.stories if report.core else ()
    listed = [story for story in stories if story.named or (unnamed and not story.passed)]
    first: dict[bytes, int] = {}
    copies: Counter[int] = Counter()
    if not any(story.duplicate for story in listed):  # as nearly always
        return [_story_case(story) for story in listed]
    of_others: dict[int, str] = {}
    for place, story in enumerate(listed):
        of = first.setdefault(_content(story), place)
        if story.duplicate and of != place and _story_key(story) in apart:
            copies[place], of_others[place] = 0, listed[of].name
        elif story.duplicate and of != place:
            copies[of] += 1
        else:
            copies[place] = 0
    return [
        _story_case(listed[place], number, copy_of=of_others.get(place, "")) for place, number in sorted(copies.items())
    ]


def _story_key(story: model.StoryResult) -> tuple[str, Location]:
    return story.name, _place_of_story(story)


def copied_stories(report: model.Report) -> list[Case]:
    """Test stories that are copies of others, each under its own name."""
    stories = report.core.stories if report.core else ()
    return [_story_case(story) for story in stories if story.duplicate and story.named]


def named_stories(report: model.Report) -> list[Case]:
    """Test stories, copies of others as well, each under its own name."""
    return [_story_case(story) for story in (report.core.stories if report.core else ()) if story.named]


def _content(story: model.StoryResult) -> bytes:
    """A digest of what a story says and of its result.

    Stories that differ only in their words are the same to every policy, but not to the NLU.
    """
    written = [json.dumps(step.step, sort_keys=True) for step in story.written]
    return hashlib.sha256(repr((story.passed, _expectation(story), written)).encode("utf-8", "surrogatepass")).digest()


def _expectation(story: model.StoryResult) -> Hashable:
    """What a story expects. An entity that is found but not written is a step, not a different expectation."""
    return tuple(
        _expected_step(step.kind, step.expected, step.text)
        for step in story.steps
        if step.kind != "entities" or step.expected
    )


@lru_cache(maxsize=_REMEMBERED)
def _expected_step(kind: str, expected: str, text: str | None) -> Hashable:
    """A step as it is expected. Thousands of stories share the same step, which is kept in memory once."""
    return kind, expected, text


def _place_of_story(story: model.StoryResult) -> Location:
    wrong = decisive_step(story)
    return wrong.location if wrong and wrong.location else story.location


def _story_case(story: model.StoryResult, copies: int = 0, *, copy_of: str = "") -> Case:
    wrong = decisive_step(story)
    return Case(
        name=story.name,
        expectation=_expectation(story),
        location=_place_of_story(story),
        passed=story.passed,
        expected=wrong.wanted if wrong else "",
        actual=wrong.got if wrong else "",
        confidence=wrong.confidence if wrong else None,
        remark=_decided_by(wrong) if wrong else "",
        scores=_scores(wrong) if wrong else "",
        copies=copies,
        copy_of=copy_of,
        misunderstood=story.outcome == "misunderstood",
        sentences=story.misunderstood,
        result=story,
        resolved=story.resolved or "",
        own=story.own or "",
        shared=story.shared or {},
    )


def newly_wrong_first(case: Case, base: Case) -> Case:
    """Return the case, named by what is wrong only here: what was wrong on the base too did not make it fail now."""
    if not isinstance(case.result, model.StoryResult) or not isinstance(base.result, model.StoryResult) or case.passed:
        return case
    known = {_wrong(step) for step in base.result.steps if not step.passed}
    meant = {(sentence.text, *expected_and_predicted(sentence)) for sentence in base.sentences}
    sentences = sorted(case.sentences, key=lambda sentence: (sentence.text, *expected_and_predicted(sentence)) in meant)
    wrong = decisive_step(case.result, known)
    case = replace(case, sentences=tuple(sentences))
    if wrong is None or not known:
        return case
    return replace(
        case,
        location=wrong.location or case.location,
        expected=wrong.wanted,
        actual=wrong.got,
        confidence=wrong.confidence,
        remark=_decided_by(wrong),
        scores=_scores(wrong),
    )


def _wrong(step: model.StoryStep) -> Hashable:
    return step.kind, step.expected, step.predicted, step.text


def decisive_step(story: model.StoryResult, known: Container[Hashable] = ()) -> model.StoryStep | None:
    """Return the first wrong step; if the dialogue of the story fails, the first wrong action.

    ``known``: steps that are wrong on the base too, which are left out.
    """
    wrong = [step for step in story.steps if not step.passed and _wrong(step) not in known]
    actions = [step for step in wrong if step.kind == "action"]
    return next(iter(actions if actions and story.outcome == "failed" else wrong), None)


def _decided_by(step: model.StoryStep) -> str:
    """The policy, and the active form: a phrase after the actual result."""
    return _decided_in_words(step.policy, step.active_loop)


@lru_cache(maxsize=_REMEMBERED)
def _decided_in_words(policy: str | None, active_loop: str | None) -> str:
    return "; ".join(filter(None, (policy, active_loop and f"while {active_loop} is active")))


def _scores(step: model.StoryStep) -> str:
    """How sure the policy was, and what it would have done next."""
    others = tuple(other for other in step.alternatives[:2] if other.action != step.predicted)
    return _scores_in_words(step.confidence, others)


@lru_cache(maxsize=_REMEMBERED)
def _scores_in_words(confidence: float | None, others: tuple[model.Alternative, ...]) -> str:
    sure = f"{confidence:.2f}" if confidence is not None else ""
    next_best = ", ".join(f"{other.action} {other.confidence:.2f}" for other in others)
    return "; ".join(filter(None, (sure, next_best and f"next best: {next_best}")))


def end_to_end_cases(report: model.Report, *, all_there: bool = False) -> list[Case]:
    """End-to-end cases that were run; with ``all_there`` also those that were skipped."""
    cases = []
    for case in report.e2e.cases if report.e2e else ():
        if all_there or case.outcome != "skipped":
            wrong = first_wrong(case)
            message = case.failing_message
            cases.append(
                Case(
                    name=case.name,
                    expectation=_content_of_case(case),
                    location=(wrong.location if wrong and wrong.location else case.location),
                    passed=case.passed,
                    expected=_as_written(wrong) if wrong else "",
                    actual=(wrong.actual or ("" if wrong.reason else "nothing")) if wrong else case.reason or "",
                    remark=(wrong.reason or "") if wrong and not wrong.actual else "",
                    judged=case.outcome != "skipped",
                    misunderstood=case.outcome == "misunderstood",
                    unclear=case.outcome == "unclear",
                    erred=case.outcome == "error",
                    sentences=case.misunderstood if case.outcome == "misunderstood" else misparsed_messages(case),
                    again=judged_again(case),
                    said=message.text if message else "",
                    result=case,
                    repeats=case.repeats,
                    resolved=case.resolved or "",
                    own=case.own or "",
                    shared=case.shared or {},
                )
            )
    return cases


def _content_of_case(case: model.CaseResult) -> Hashable:
    """What a case says and expects, and what it sets; ``()`` if that is not known."""
    steps = tuple((step.kind, step.expected) for step in case.steps)
    said = tuple(message.as_written for message in case.messages)
    if not (steps or said):
        return ()
    return (steps if isinstance(case.expects, UnsetType) else case.expects), said, case.given


def _as_written(step: model.CaseStep) -> str:
    """Return what a step expects; of an assertion with its type, as what was found instead has it, too."""
    is_assertion = step.kind in _ASSERTED or (step.kind in _SLOTS and step.expected.startswith("[{"))
    return f"{step.kind}: {step.expected}" if is_assertion else step.expected


def first_wrong(case: model.CaseResult) -> model.CaseStep | None:
    """Return the first wrong step of an end-to-end case."""
    return next((step for step in case.steps if step.outcome in {"failed", "error"}), None)


def misparsed_messages(case: model.CaseResult) -> tuple[model.Misunderstanding, ...]:
    """Return the messages that are understood differently than before, except the one right before the failure."""
    last = case.failing_message
    of_failure = last.misunderstanding if last is not None else None
    return tuple(misunderstanding for misunderstanding in case.misunderstood if misunderstanding != of_failure)


def judged_again(case: model.CaseResult) -> str:
    """Say what is known about a case whose messages are understood differently than when it passed; else nothing."""
    if not case.misunderstood:
        return ""
    if case.as_before is None:
        return "whether it passes with its messages understood as on the base was not judged"
    return f"with its messages understood as on the base it {'passes' if case.as_before else 'fails too'}"


def batch_cases(report: model.Report) -> list[Case]:
    """Utterances of batch suites."""
    return [
        Case(
            name=case.text,
            expectation=batch_expectation(case),
            suite=suite.name,
            location=case.location,
            passed=case.passed,
            expected=batch_expected(case),
            actual=batch_actual(case),
            remark=case.reason if case.reason and case.result != "not-evaluated" else "",
            unclear=case.unclear,
            erred=case.result == "not-evaluated",
            repeats=case.repeats,
            resolved=case.resolved or "",
            own=case.own or "",
            shared=case.shared or {},
        )
        for suite in (report.batch.suites if report.batch else ())
        for case in suite.cases
    ]


def batch_expectation(case: model.BatchCase) -> Hashable:
    """Return what distinguishes a batch case from others with the same words: its context, intents and entities."""
    entities = tuple((entity.name, entity.expected) for entity in case.entities)
    return case.parent, case.kind == "trait", case.expected, entities


def batch_expected(case: model.BatchCase) -> str:
    """``Order Tea or Buy``, ``trait Urgent and Angry``, ``no intent``; if the intent is right, the entities."""
    if wrong := _wrong_entities(case):
        return ", ".join(f"{entity.name}: {' or '.join(entity.expected)}" for entity in wrong)
    if case.kind == "trait":
        return f"trait {' and '.join(case.expected)}" if case.expected else "no trait"
    return " or ".join(case.expected) or "no intent"


def batch_actual(case: model.BatchCase) -> str:
    """What was matched instead, or why that is not known."""
    if case.result == "not-evaluated":
        return f"not evaluated: {case.reason or 'no answer'}"
    if wrong := _wrong_entities(case):
        return ", ".join(f"{entity.name}: {entity.matched or 'not found'}" for entity in wrong)
    if case.kind == "trait":
        return f"trait {' and '.join(case.matched)}" if case.matched else "no trait"
    return " and ".join(case.matched) or "no intent"


def _wrong_entities(case: model.BatchCase) -> list[model.BatchEntity]:
    """The entities that keep a case from passing although its intent is right."""
    return [entity for entity in case.entities if not entity.passed] if case.result in {"tp", "tn"} else []


_HIDING: Final = frozenset(
    {"domain-file-unread", "domain-not-found", "config-not-found", "data-key-unseen", "file-too-large"}
)
"""Codes other than errors of ``yaml-…`` and ``file-…`` that mean: something is not read, and not checked."""


def findings_worst_first(report: model.Report) -> list[Finding]:
    """Validation findings by severity; what could not be read comes first, since others may only follow from it."""
    findings = report.validation.findings if report.validation else ()
    return sorted(findings, key=lambda finding: (SEVERITIES.index(finding.severity), not _is_unreadable(finding)))


def _is_unreadable(finding: Finding) -> bool:
    return finding.code.startswith(("yaml-", "file-"))


def is_read_in_part(report: model.Report) -> bool:
    """Whether a file of the project could not be read: findings that it had before are then not known to be gone."""
    findings = report.validation.findings if report.validation else ()
    return any(
        finding.code in _HIDING or (finding.severity == "error" and _is_unreadable(finding)) for finding in findings
    )
