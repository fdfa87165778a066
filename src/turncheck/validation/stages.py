"""The stages of checking a project, each a table of check functions, in Rasa's order if Rasa has them.

Each function takes the facts and yields findings; it skips what it cannot judge (a missing part, no dialogues).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.location import Location
from turncheck.project.model import SessionConfig
from turncheck.registry import blamed_on_plugin
from turncheck.validation import configuration as config
from turncheck.validation import conflicts, dialogues, examples, loading, references, similarity
from turncheck.validation import dialogues as leakage
from turncheck.validation.checks import Fault
from turncheck.validation.configuration import check_generation
from turncheck.validation.examples import check_annotation_slips
from turncheck.validation.findings import found, found_by, standing
from turncheck.validation.names_in_tests import check_test_names
from turncheck.validation.registry import CHECKS
from turncheck.validation.undefined import check_buttons, check_undefined
from turncheck.validation.unused import check_definitions, check_unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.validation.facts import Facts

Find = Callable[["Facts"], Iterable["Finding"]]


class Stage(NamedTuple):
    """Check functions, and whether they apply to a project."""

    applies: Callable[[Facts], bool]
    functions: tuple[Find, ...]


def _always(facts: Facts) -> bool:  # noqa: ARG001 - one of several
    return True


def _with_data(facts: Facts) -> bool:
    """``data validate stories`` only checks story structure and configuration."""
    return not facts.stories_only


def _with_intents(facts: Facts) -> bool:
    """An assistant with flows may use names that Rasa Pro defines."""
    return not facts.stories_only and facts.project.calm is None


def _with_domain(facts: Facts) -> bool:
    return _with_intents(facts) and not facts.domain.is_empty


def check_emptiness(facts: Facts) -> Iterator[Finding]:
    """A domain with nothing in it."""
    if _is_empty(facts):
        written = facts.domain.location
        place = Location(written.path, written.line or 1, written.column or 1)
        yield found("domain-empty", "There is nothing in the domain.", place)


def _is_empty(facts: Facts) -> bool:
    """Rasa compares it with an empty domain: any other key with a value, even an unknown one, makes a difference."""
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


def _check_regexes(facts: Facts) -> Iterable[Finding]:
    if not facts.project.nlu.regexes:
        return ()
    from turncheck.validation.regexes import check_regexes  # what reads patterns takes time to load

    return check_regexes(facts)


def _check_keywords(facts: Facts) -> Iterable[Finding]:
    pipeline = facts.project.config.pipeline or ()
    if not any(component.name.endswith("KeywordIntentClassifier") for component in pipeline):
        return ()
    from turncheck.validation.regexes import check_keywords

    return check_keywords(facts)


RASA_STAGES: Final = (
    Stage(_with_data, (check_emptiness,)),
    Stage(
        _with_intents,
        (
            references.check_domain,
            references.check_intents,
            references.check_alternative_intents,
            references.check_responses,
            references.check_repeated_examples,
        ),
    ),
    Stage(
        _always,
        (
            conflicts.check_max_history,
            conflicts.check_checkpoints,
            conflicts.check_story_conflicts,
            config.check_mandatory_keys,
        ),
    ),
)

OWN_STAGES: Final = (
    Stage(
        _always,
        (
            check_generation,
            config.check_names,
            config.check_order,
            config.check_token_patterns,
            conflicts.check_number_of_dialogues,
            conflicts.check_joined_dialogues,
            dialogues.check_repeated_stories,
            dialogues.check_reachability,
            conflicts.check_rules,
        ),
    ),
    Stage(
        _with_data,
        (
            config.check_selectors,
            _check_regexes,
            _check_keywords,
            similarity.check_similar_examples,
            similarity.check_templates,
            examples.check_repeated_in_intent,
            examples.check_alignment,
            check_annotation_slips,
            examples.check_balance,
            examples.check_values,
            examples.check_synonyms,
            examples.check_lookups,
        ),
    ),
    Stage(_with_domain, (check_undefined, check_buttons, check_unused, check_test_names)),
    Stage(
        _with_data,
        (check_definitions, leakage.check_test_stories, leakage.check_test_sentences, leakage.check_test_entities),
    ),
)


def rasa_checks(facts: Facts) -> Iterator[Finding]:
    """Rasa's checks proper, except what might be wrong because a part could not be read."""
    return standing(_run(RASA_STAGES, facts), facts.missing)


def own_checks(facts: Facts) -> Iterator[Finding]:
    """The checks that Rasa does not have, except what might be wrong because a part could not be read."""
    return standing(chain(_run(OWN_STAGES, facts), _by_decorated(facts)), facts.missing)


def _by_decorated(facts: Facts) -> Iterator[Finding]:
    """What the checks with a function beside their row find, built in or added."""
    added = CHECKS.added()
    for name, check in CHECKS.items():
        if check.find is None or not (_with_data(facts) or check.for_stories):
            continue
        if name not in added:
            yield from (found_by(check, fault) for fault in check.find(facts))
            continue
        with blamed_on_plugin(f"check '{name}'"):
            found_there = [found_by(check._replace(code=name), Fault(*fault)) for fault in check.find(facts)]
        yield from found_there


def _run(stages: Iterable[Stage], facts: Facts) -> Iterator[Finding]:
    for stage in stages:
        if stage.applies(facts):
            for find in stage.functions:
                yield from find(facts)
