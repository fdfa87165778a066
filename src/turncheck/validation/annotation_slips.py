"""Misspelt annotations: Rasa reads them as plain text, and the entity is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.project.model import Domain, Story, UserStep
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found
from turncheck.validation.places import Places
from turncheck.validation.similarity import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.nlu_data import EntityAnnotation, Example
    from turncheck.validation.facts import Facts


CHECKS: Final = (
    own_check(
        "annotation-broken",
        "warning",
        "Something that looks like an annotation is not one",
        "A bracket is missing, superfluous, swapped or separated by a space: Rasa silently reads all of it as plain"
        " text, including the brackets, and the entity is lost."
        ' Write `[text](entity)` or `[text]{"entity": "name"}` without a space between'
        " the two. End-to-end test cases have no annotations: their text is sent as it is. Brackets in plain text are"
        " not reported, unless they look like an annotation.",
        "- I want a [big](size pizza\n- I want a [big] (size) pizza",
        "- I want a [big](size) pizza",
        matters_always=True,
        about=("place",),
    ),
)


# Brackets are ordinary characters, too ("[sic]", "call me (maybe)"). So only what nobody writes on purpose is a slip:
# a bracket that runs into the next one (``](``, ``]{``), or a bracket beside the name of an entity that the project
# knows.

_RUN_INTO_EACH_OTHER: Final = re.compile(r"\]\(|\]\{|\]\[\{|\{\s*[\"']?entity[\"']?\s*:")
"""``[x](a``, ``x](a)``, ``[](a)``, ``[x]()``, ``[x]{"entity": "a"``, ``[x] {"entity": "a"}``."""
_CLOSED_ONLY: Final = re.compile(r"\](?P<name>[\w-]+(?::[^()\[\]]*)?)\)")
"""``[x]a)``, if no parenthesis is open."""
_BESIDE_A_NAME: Final = r"""
        [\]\)\}] [^\w()\[\]{}]{0,3} [(（{\[] \s* (?P<behind> [^()（）\[\]{}:：]+?) \s* (?: [:：] | [)）\]}] | $ )
      | [\]]     \s*                             (?P<closed> [^()\[\]{}:\s]+)     \s* \)
      | \[       [^\[\](){}]* [^\s\[\](){}] [({] \s* (?P<inside> [^()\[\]{}:]+?) \s* [:)}]
    """
"""``[x] (a)``, ``[x] [a]``, ``(x)[a]``, ``(x)(a)``, ``[x] (a``, ``[x] a)``, ``[x(a)``: with the name of an entity.
Not compiled here: most projects have no such sentence."""
_SWAPPED: Final = r"\((?P<before>[^()\[\]{}:]+)\) ?\[[^\[\](){}]+\]"
"""``(a)[x]``."""
_BRACKETS: Final = frozenset("[](){}")


def check_annotation_slips(facts: Facts) -> Iterator[Finding]:
    """Slips in the training sentences and in those of the tests."""
    project, tests = facts.project, facts.tests
    names = known_entities(project.domain, (*project.nlu.examples, *tests.examples))
    places = Places(project)
    plain = {file.path for file in project.files if not file.has_annotations}  # entities are annotated by their borders
    for example in (*project.nlu.examples, *tests.examples):
        if _BRACKETS.isdisjoint(example.text) and not example.entities:
            continue
        if example.location.path in plain:
            continue
        for offset, slip in slips_in(example.text, names):
            yield _slip(slip, example.text, places.in_example(example, offset))
        for entity in example.entities:
            if swallows(example.text, entity):
                yield _swallowed(entity, example.text, places.in_example(example, entity.start))
    for step in _user_steps((*project.stories, *project.rules, *tests.stories)):
        for _, slip in slips_in(step.text or "", names):
            yield _slip(slip, step.text or "", step.location)
    for case in tests.cases:
        for turn in case.turns:
            for _, slip in slips_in(turn.user or "", names):
                yield _slip(slip, turn.user or "", turn.location)


def known_entities(domain: Domain, examples: Iterable[Example]) -> frozenset[str]:
    """Return the names of entities that the domain lists or an example annotates, for comparing regardless of case."""
    annotated = (entity.entity for example in examples for entity in example.entities)
    return frozenset(name.casefold() for name in (*domain.entities, *annotated) if not _BRACKETS.intersection(name))


def slips_in(text: str, names: AbstractSet[str]) -> Iterator[tuple[int, str]]:
    """Yield where a text, without its valid annotations, has a misspelt one, and how it is written.

    Only the first one is reported. A message such as ``/inform{"city": "Rome"}`` has no annotations.
    """
    if _BRACKETS.isdisjoint(text) or text.startswith("/"):
        return
    mark = _RUN_INTO_EACH_OTHER.search(text) or _closed_only(text) or _beside_a_name(text, names)
    if mark is not None:
        opening = text.rfind("[", 0, mark.start() + 1)
        begin = mark.start() if opening < 0 else opening
        yield begin, text[begin : mark.end()]


def _closed_only(text: str) -> re.Match[str] | None:
    return next(_with_nothing_open(text, _CLOSED_ONLY.finditer(text)), None)


def _with_nothing_open(text: str, marks: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Keep those before which every parenthesis is closed, so that theirs does not close one."""
    depth = counted = 0
    for mark in marks:
        depth += text.count("(", counted, mark.start()) - text.count(")", counted, mark.start())
        counted = mark.start()
        if depth <= 0:
            yield mark


def _beside_a_name(text: str, names: AbstractSet[str]) -> re.Match[str] | None:
    marks = list(re.finditer(_BESIDE_A_NAME, text, re.VERBOSE))
    closing = set(_with_nothing_open(text, (mark for mark in marks if mark["closed"])))
    for mark in marks:
        name = mark["behind"] or mark["closed"] or mark["inside"]
        if name.strip().casefold() in names and (not mark["closed"] or mark in closing):
            return mark
    swapped = re.finditer(_SWAPPED, text)
    return next((mark for mark in swapped if mark["before"].strip().casefold() in names), None)


def swallows(text: str, entity: EntityAnnotation) -> bool:
    """Whether an annotation spans brackets that were meant as its own, or as another's."""
    value = entity.value if isinstance(entity.value, str) else ""
    return bool(_BRACKETS.intersection(entity.entity)) or "[" in text[entity.start : entity.end] or "](" in value


def _user_steps(blocks: Sequence[Story]) -> Iterator[UserStep]:
    return (step for block in blocks for step in block.steps if isinstance(step, UserStep) and step.text)


def _slip(slip: str, text: str, location: Location) -> Finding:
    return found(
        "annotation-broken", f"'{shown(slip)}' in '{shown(text)}' looks like an annotation but is not one.", location
    )


def _swallowed(entity: EntityAnnotation, text: str, location: Location) -> Finding:
    value = shown(text[entity.start : entity.end])
    message = f"The annotation of '{value}' as '{shown(entity.entity)}' in '{shown(text)}' holds another bracket."
    return found("annotation-broken", message, location)
