"""The text of a JUnit case, line by line, and as XML 1.0 may contain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UnsetType
from msgspec.structs import replace

from turncheck.comparison.cases import judged_again, misparsed_messages
from turncheck.comparison.misunderstood import confidence_of, expected_and_predicted, understanding_in_words
from turncheck.messages.plain_text import ELLIPSIS, one_line, without_controls
from turncheck.render import phrases
from turncheck.render.spans import PlaceSpan, line, plain
from turncheck.render.wording.repeats import runs_in_words
from turncheck.report.model import BatchCase, CaseResult, Misunderstanding, NluPrediction, StoryResult, StoryStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.render.links import PathResolver

_MOST_LISTED: Final = 200
LONGEST_LINE: Final = 2_000
_DEEPEST: Final = 4


def misclassified(rooted: PathResolver, example: NluPrediction) -> str:
    """A sentence whose intent is wrong, at its place."""
    expected, got = example.expected.intent or "", example.predicted.intent or ""
    words = plain(phrases.expected_intent(example.text, expected, got, example.predicted.confidence))
    return f"{rooted.location(example.location)}: {words}"


def varying(rooted: PathResolver, example: NluPrediction) -> str:
    """A sentence that does not pass each time, at its place, with its runs; empty for any other."""
    if isinstance(repeats := example.repeats, UnsetType) or repeats.outcome == "passed":
        return ""
    outcome = "not answered" if repeats.is_unanswered else repeats.outcome
    return f"{rooted.location(example.location)}: '{example.text}' {outcome}: {runs_in_words(repeats)}"


def heard(rooted: PathResolver, result: CaseResult) -> Iterator[str]:
    """What the user said before the failure and what it was understood as; what else is understood differently."""
    message = result.failing_message
    if message is not None and message.understood is not None:
        now, before = (
            understanding_in_words(message.text, story_parse) for story_parse in (message.understood, message.before)
        )
        yield plain(phrases.parse_and_base_parse(message.text, now, before))
    for sentence in misparsed_lines(rooted, misparsed_messages(result), case=True):
        yield f"also misunderstood: {sentence}"
    if again := judged_again(result):
        yield again


def misparsed_lines_of(rooted: PathResolver, test: StoryResult | CaseResult) -> list[str]:
    """A line for each sentence that is the only cause of a failed story or case."""
    return misparsed_lines(rooted, test.misunderstood, case=isinstance(test, CaseResult))


def misparsed_lines(rooted: PathResolver, sentences: Iterable[Misunderstanding], *, case: bool) -> list[str]:
    """A line for each sentence that was understood differently than expected, with what drew it away."""
    lines = []
    for sentence in sentences:
        near = [phrases.nearest(near.text, near.intent, near.location) for near in sentence.neighbours[:1]]
        wrong = phrases.understood_as(sentence.text, *expected_and_predicted(sentence), case=case)
        spans = line(PlaceSpan(sentence.location), ": ", wrong, phrases.confidence_text(confidence_of(sentence)), *near)
        lines.append(plain(spans, rooted.location))
    return lines


def step_lines(rooted: PathResolver, step: StoryStep) -> Iterator[str]:
    """A step of a failed story: what it was, or, if it is wrong, what was expected and what came instead."""
    if step.passed:
        yield f"  {step.expected}"
        return
    policy = f" by {step.policy}" if step.policy else ""
    yield f"! {plain(phrases.expected_got(step.wanted, step.got))}{policy}{phrases.confidence_text(step.confidence)}"
    placed = replace(step, location=rooted.location(step.location)) if step.location else step
    yield from (f"    {line}" for line in phrases.circumstances(placed, attribute))


def content(case: StoryResult | CaseResult) -> str:
    """What distinguishes cases with one name at one place, such as those that an ``or`` makes of a story."""
    return "\n".join([*(f"{step.kind} {step.expected}" for step in case.steps), str(case.passed)])


def batch_lines(case: BatchCase) -> Iterator[str]:
    """What a failed batch case expected and what it got, field by field."""
    yield f"class: {case.result.upper()}{f' ({case.reason})' if case.reason else ''}"
    if case.parent:
        yield f"parent: {' >> '.join(case.parent)}"
    if case.bots:
        got = ", ".join(case.matched_bots) or "not known"
        yield f"bot: {plain(phrases.expected_got(' or '.join(dict.fromkeys(case.bots)), got))}"
    for entity in case.entities:
        sign = " " if entity.passed else "!"
        words = plain(phrases.expected_got(" or ".join(entity.expected), entity.matched or "nothing"))
        yield f"{sign} {entity.name}: {words}"
    if case.scores:
        yield f"scores: {', '.join(f'{name} {score:.2f}' for name, score in case.scores.items())}"


def listed(lines: Iterable[str]) -> str:
    """Lines as the text of an element, indented ones as they are."""
    shown = list(lines)
    kept = [
        f"{line[: len(line) - len(line.lstrip(' '))][:_DEEPEST]}{attribute(line, LONGEST_LINE)}"
        for line in shown[:_MOST_LISTED]
    ]
    if len(shown) > _MOST_LISTED:
        kept.append(f"… and {len(shown) - _MOST_LISTED:,} more in report.html")
    return element("\n".join(kept))


# XML 1.0 text. The writer escapes markup; what is dropped here includes all characters that no XML document may
# contain, those that it discourages, and those that would show a text in another order than it is in.


def attribute(text: str, limit: int = 400) -> str:
    """Return ``text`` on one line, since readers show attributes as titles."""
    return one_line(text, limit)


def newly_right(why: Sequence[str]) -> str:
    """Say what repaired a test that the base fails."""
    return element(f"newly right {why[0]}")


def element(text: str, limit: int = 20_000) -> str:
    """Return ``text`` with its line breaks, at most ``limit`` characters of it."""
    return without_controls(text[:limit]) + (ELLIPSIS if len(text) > limit else "")
