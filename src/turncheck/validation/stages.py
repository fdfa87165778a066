"""The stages of checking a project, each with the checks that belong to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.location import Location
from turncheck.project.model import SessionConfig
from turncheck.validation import configuration, dialogues, examples, leakage, loading, references, similarity
from turncheck.validation.conflicts import (
    Dialogues,
    check_checkpoints,
    check_number_of_dialogues,
    check_rules,
    check_story_conflicts,
)
from turncheck.validation.findings import found
from turncheck.validation.incomplete import missing_parts, standing
from turncheck.validation.undefined import check_buttons, check_undefined
from turncheck.validation.unused import check_definitions, check_unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.finding import Finding
    from turncheck.validation.facts import Facts
    from turncheck.validation.project_tests import ProjectTests


def tell(facts: Facts) -> Dialogues | None:
    """Tell the stories and rules that could be read, if the domain could be read that they are told with."""
    if "domain" in missing_parts(facts.project) or not facts.blocks:
        return None
    return Dialogues.of(facts.project)


def rasa_checks(
    facts: Facts, told: Dialogues | None, *, max_history: int | None, stories_only: bool
) -> Iterator[Finding]:
    """Rasa's checks proper, but for what might be false because a part could not be read."""
    checks = _rasa_checks(facts, told, max_history=max_history, stories_only=stories_only)
    return standing(checks, missing_parts(facts.project))


def _rasa_checks(
    facts: Facts, told: Dialogues | None, *, max_history: int | None, stories_only: bool
) -> Iterator[Finding]:
    project = facts.project
    if not stories_only and _is_empty(facts):
        written = project.domain.location
        place = Location(written.path, written.line or 1, written.column or 1)
        yield found("domain-empty", "There is nothing in the domain.", place)
    if not stories_only and project.calm is None:
        yield from references.check_domain(facts)
        yield from references.check_intents(facts)
        yield from references.check_alternative_intents(facts)
        yield from references.check_responses(facts)
        yield from references.check_repeated_examples(facts)
    if max_history is not None and max_history < 1:
        yield found("max-history-invalid", f"--max-history is {max_history}, not a positive integer.", Location(""))
    elif told is not None and project.stories:
        yield from check_checkpoints(facts, told.trackers.unused)
        yield from check_story_conflicts(told, max_history)
    if "config" not in missing_parts(project):
        yield from configuration.check_mandatory_keys(project.config)


def _is_empty(facts: Facts) -> bool:
    """Rasa compares with a domain without anything: any other key with a value, even an unknown one, is something."""
    if facts.retrieval_intents or facts.bot_texts or not facts.domain.is_empty:
        return False
    default = SessionConfig()
    nothing = (
        ("version", "3.1"),
        ("session_config", {key: getattr(default, key) for key in default.__slots__}),
    )
    return not any(
        value not in ({}, [], None) and (key, value) not in nothing
        for file in facts.project.files
        if file.role == "domain" and file.mapping is not None and loading.is_domain_file(facts.project, file)
        for key, value in file.mapping.data.items()
    )


def own_checks(
    facts: Facts,
    told: Dialogues | None,
    tests: ProjectTests,
    *,
    stories_only: bool,
) -> Iterator[Finding]:
    """The checks that Rasa does not have, but for what might be false because a part could not be read."""
    checks = _own_checks(facts, told, tests, stories_only=stories_only)
    return standing(checks, missing_parts(facts.project))


def _own_checks(
    facts: Facts,
    told: Dialogues | None,
    tests: ProjectTests,
    *,
    stories_only: bool,
) -> Iterator[Finding]:
    project = facts.project
    nlu = project.nlu.examples
    calm = project.calm is not None
    if "config" not in missing_parts(project):
        yield from configuration.check_names(project.config, calm=calm)
        yield from configuration.check_order(project.config)
        yield from configuration.check_token_patterns(project)
    if told is not None:
        yield from check_number_of_dialogues(told)
        yield from dialogues.check_repeated_stories(facts.blocks)
        if told.refused is None:
            yield from dialogues.check_reachability(project.stories, told.trackers)
            if project.rules:
                yield from check_rules(project, told)
    if stories_only:
        return
    yield from configuration.check_selectors(project, facts.retrieval_intents)
    if project.nlu.regexes:
        from turncheck.validation.regexes import check_regexes  # noqa: PLC0415 - what reads patterns takes time to load

        yield from check_regexes(project)
    yield from similarity.check_similar_examples(nlu)
    yield from similarity.check_templates(nlu)
    yield from examples.check_repeated_in_intent(project.nlu)
    yield from examples.check_alignment(project)
    yield from examples.check_balance(nlu)
    yield from examples.check_values(project)
    yield from examples.check_synonyms(project)
    yield from examples.check_lookups(project)
    if not calm and not facts.domain.is_empty:
        yield from check_undefined(facts)
        yield from check_buttons(facts)
        yield from check_unused(facts)
    yield from check_definitions(facts)
    yield from leakage.check_test_stories(project, tests.stories)
    yield from leakage.check_test_sentences(project, tests)
    yield from leakage.check_test_entities(project, tests)
