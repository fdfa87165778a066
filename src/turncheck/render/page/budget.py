"""A page that is too large gives up details, those of passed cases first, and says what it gave up."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from turncheck.render.page.model import Assistant, Conversation, CoverageItem, Listed, Sentences, changed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


LIMIT: Final = 5 * 1024 * 1024
"""The largest page, in bytes."""
_SEVERITIES: Final = ("error", "warning", "info")
_PASSED: Final = frozenset({"passed", "skipped"})
_MANY: Final = 20_000
_FEW: Final = 2_000
_FEWEST: Final = 100
_LONGEST: Final = 1_000

_Value = TypeVar("_Value")
_Step = tuple[str, "Callable[[Assistant], Assistant]"]


def fitted(
    assistants: Sequence[Assistant], size_of: Callable[[Sequence[Assistant]], int], limit: int = LIMIT
) -> list[Assistant]:
    """Return the assistants with as many details as fit.

    Args:
        assistants: the assistants with all details.
        size_of: returns the size of a page with these; for one beyond the limit, any number beyond it.
        limit: the largest size; what remains after the last step is shown even if it is larger.
    """
    shown = list(assistants)
    size = size_of(shown)
    for words, smaller in _STEPS:
        if size <= limit:
            break
        less = [_less(assistant, words, smaller) for assistant in shown]
        if any(new is not old for new, old in zip(less, shown, strict=True)):
            shown, size = less, size_of(less)
    return shown


def _less(assistant: Assistant, text: str, smaller: Callable[[Assistant], Assistant]) -> Assistant:
    less = smaller(assistant)
    return assistant if less == assistant else replace(_without_unused(less), left_out=[*assistant.left_out, text])


def _without_unused(assistant: Assistant) -> Assistant:
    """Empty the names and training sentences that are no longer referred to; the others keep their numbers."""
    columns, training = assistant.sentences, assistant.training
    near = {number for listed in columns.neighbours.values() for number, _ in listed}
    labels = {row.name for row in assistant.intents}.union(
        columns.expected,
        columns.predicted,
        columns.base.values(),
        (number for listed in columns.ranking.values() for number, _ in listed),
        (
            number
            for confused in (assistant.confusions, assistant.base_confusions)
            for pair in confused
            for number in pair[:2]
        ),
        (training.intent[number] for number in near),
    )
    texts = [text if number in near else "" for number, text in enumerate(training.text)]
    return replace(
        assistant,
        training=replace(training, text=texts),
        labels=[name if number in labels else "" for number, name in enumerate(assistant.labels)],
    )


def _without_rankings_of_right(assistant: Assistant) -> Assistant:
    columns = assistant.sentences
    return replace(assistant, sentences=replace(columns, ranking=_only(columns.ranking, _wrong(columns))))


def _without_details_of_passed(assistant: Assistant) -> Assistant:
    def short(case: Conversation) -> Conversation:
        return replace(case, turns=[replace(turn, details=[]) for turn in case.turns], events=[])

    return replace(assistant, conversations=changed(assistant.conversations, short, _is_calm))


def _without_transcripts_of_passed(assistant: Assistant) -> Assistant:
    return replace(assistant, conversations=changed(assistant.conversations, _without_transcript, _is_calm))


def _is_calm(listed: Listed) -> bool:
    """Whether a conversation passed, and did not change."""
    return listed.outcome in _PASSED and not listed.side


def _without_transcript(case: Conversation) -> Conversation:
    return replace(case, turns=[], events=[])


def _without_entities_of_right(assistant: Assistant) -> Assistant:
    kept = {
        number: entities
        for number, entities in assistant.sentences.entities.items()
        if not entities.right or entities.side
    }
    return replace(assistant, sentences=replace(assistant.sentences, entities=kept))


def _without_right_sentences(assistant: Assistant) -> Assistant:
    return replace(assistant, sentences=_kept(assistant.sentences, sorted(_wrong(assistant.sentences))))


def _with_few_wrong_sentences(assistant: Assistant, most: int) -> Assistant:
    changed_first = sorted(
        range(len(assistant.sentences.text)), key=lambda number: number not in assistant.sentences.side
    )
    return replace(assistant, sentences=_kept(assistant.sentences, sorted(changed_first[:most])))


def _without_transcripts_of_base(assistant: Assistant) -> Assistant:
    def short(case: Conversation) -> Conversation:
        return replace(case, base=replace(case.base, turns=[])) if case.base else case

    return replace(assistant, conversations=changed(assistant.conversations, short, _any))


def _without_transcripts(assistant: Assistant) -> Assistant:
    return replace(assistant, conversations=changed(assistant.conversations, _without_transcript, _any))


def _any(_: Listed) -> bool:
    return True


def _with_few_of_all(assistant: Assistant, most: int) -> Assistant:
    return replace(
        _with_few_wrong_sentences(assistant, most),
        intents=assistant.intents[:most],
        confusions=_most_frequent(assistant.confusions, most),
        base_confusions=_most_frequent(assistant.base_confusions, most),
        conversations=assistant.conversations[:most],
        findings=sorted(assistant.findings, key=lambda finding: (not finding.new, _SEVERITIES.index(finding.severity)))[
            :most
        ],
        coverage=[replace(kind, items=_missed_first(kind.items)[:most]) for kind in assistant.coverage],
    )


def _missed_first(items: list[CoverageItem]) -> list[CoverageItem]:
    return sorted(items, key=lambda item: (item.covered, not item.change))


def _most_frequent(confusions: list[tuple[int, int, int]], most: int) -> list[tuple[int, int, int]]:
    return confusions if len(confusions) <= most else sorted(confusions, key=lambda pair: -pair[2])[:most]


def _with_short_texts(assistant: Assistant) -> Assistant:
    whole = replace(assistant, conversations=list(assistant.conversations))
    short: Assistant = msgspec.convert(_cut(msgspec.to_builtins(whole)), type(assistant), strict=False)
    return replace(short, files=assistant.files)  # a cut address would lead elsewhere


def _cut(value: Any) -> Any:
    """Cut every string in plain data."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if isinstance(value, dict):
        return {key: _cut(one) for key, one in value.items()}
    return [_cut(one) for one in value] if isinstance(value, list | tuple) else value


_STEPS: Final[tuple[_Step, ...]] = (
    ("the other intents considered for sentences that are right", _without_rankings_of_right),
    ("policies, slots and events of conversations that passed", _without_details_of_passed),
    ("transcripts of conversations that passed", _without_transcripts_of_passed),
    ("entities of sentences that are right", _without_entities_of_right),
    ("sentences that are right", _without_right_sentences),
    (f"all but {_MANY:,} sentences", partial(_with_few_wrong_sentences, most=_MANY)),
    ("transcripts of the base", _without_transcripts_of_base),
    ("transcripts of conversations", _without_transcripts),
    (f"all but {_FEW:,} of each list", partial(_with_few_of_all, most=_FEW)),
    (f"what exceeds {_LONGEST:,} characters of one text", _with_short_texts),
    (f"all but {_FEWEST:,} of each list", partial(_with_few_of_all, most=_FEWEST)),
)
"""What is given up, in this order, and how the page calls it."""


def _wrong(columns: Sentences) -> set[int]:
    """The sentences with anything wrong, or that changed."""
    wrong = {number for number, intent in enumerate(columns.expected) if intent != columns.predicted[number]}
    wrong |= {number for number, entities in columns.entities.items() if not entities.right or entities.side}
    wrong |= {
        number
        for number, selection in columns.responses.items()
        if selection.expected != selection.selected or selection.side
    }
    return wrong | set(columns.side)


def _only(values: dict[int, _Value], numbers: set[int]) -> dict[int, _Value]:
    return {number: value for number, value in values.items() if number in numbers}


def _kept(columns: Sentences, numbers: Sequence[int]) -> Sentences:
    """The columns with only these rows."""
    place = {number: new for new, number in enumerate(numbers)}

    def moved(values: dict[int, _Value]) -> dict[int, _Value]:
        return {place[number]: value for number, value in values.items() if number in place}

    def rows(values: list[_Value]) -> list[_Value]:
        return [values[number] for number in numbers]

    return Sentences(
        total=columns.total,
        key=rows(columns.key),
        text=rows(columns.text),
        expected=rows(columns.expected),
        predicted=rows(columns.predicted),
        confidence=rows(columns.confidence),
        margin=rows(columns.margin),
        fallback=rows(columns.fallback),
        file=rows(columns.file),
        line=rows(columns.line),
        side=moved(columns.side),
        base=moved(columns.base),
        entities=moved(columns.entities),
        responses=moved(columns.responses),
        neighbours=moved(columns.neighbours),
        ranking=moved(columns.ranking),
        runs=moved(columns.runs),
        repeated=moved(columns.repeated),
    )
