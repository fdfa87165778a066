"""Project → findings: all checks, told top to bottom."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turncheck.errors import EXIT_FAILED, EXIT_OK
from turncheck.finding import SEVERITIES, Finding, Severity
from turncheck.location import Location
from turncheck.project.model import SessionConfig
from turncheck.validation import configuration, dialogues, examples, loading, references, similarity
from turncheck.validation.conflicts import Dialogues, check_checkpoints, check_rules, check_story_conflicts
from turncheck.validation.facts import Facts, gather
from turncheck.validation.findings import found
from turncheck.validation.load_order import (
    ABOUT_EMPTIED_DOMAIN,
    EMPTYING,
    LoadOrder,
    as_hidden,
    seen_by_rasa,
    with_emptied_domain,
)
from turncheck.validation.regexes import check_regexes
from turncheck.validation.registry import CHECKS
from turncheck.validation.undefined import check_buttons, check_undefined
from turncheck.validation.unused import check_definitions, check_unused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.project.model import Example, Project, Story
    from turncheck.validation.checks import Fails


@dataclass(frozen=True, slots=True)
class Validated:
    """What validation found, sorted by path, line, column and code, and what each finding means for the exit code.

    ``fails`` stands beside ``findings``, one for each. It is Rasa's effect for ``data validate``; gates of a run count
    severities instead.
    """

    findings: tuple[Finding, ...]
    fails: tuple[Fails, ...]

    @property
    def counts(self) -> Mapping[Severity, int]:
        """How many findings of each severity."""
        counted = Counter(finding.severity for finding in self.findings)
        return {severity: counted[severity] for severity in SEVERITIES}

    def exit_code(self, *, fail_on_warnings: bool) -> int:
        """0 or 1, as ``rasa data validate`` would end."""
        failing = {"always", "on-warnings"} if fail_on_warnings else {"always"}
        return EXIT_FAILED if failing & set(self.fails) else EXIT_OK

    def without(self, hidden: Iterable[int], added: Iterable[Finding] = ()) -> Validated:
        """Return the same without some findings (by their index) and with others, which never change the exit code."""
        left_out = set(hidden)
        pairs = [
            pair for number, pair in enumerate(zip(self.findings, self.fails, strict=True)) if number not in left_out
        ]
        return _sorted([*pairs, *((finding, "never") for finding in added)])


def validate(
    project: Project,
    *,
    max_history: int | None = None,
    stories_only: bool = False,
    strict: bool = False,
    drop_in: bool = False,
    tests: Sequence[Story] = (),
    test_examples: Sequence[Example] = (),
) -> Validated:
    """Check a project.

    Args:
        project: as read; what the reader found is part of the result.
        max_history: how many states the story structure check looks back at; ``None``: all. Below 1 it is a finding.
        stories_only: load everything, but check story structure and configuration alone (``data validate stories``).
        strict: show all findings of our own at their true severity.
        drop_in: say what ``rasa data validate`` says: findings of our own as ``info`` (unless ``strict``), and what
            Rasa does not get to see, because it stops or empties the domain, under ``hidden-by-load-error``.
        tests: test stories, to be held against the training data.
        test_examples: test sentences of NLU test data, likewise.
    """
    mirror = drop_in and not strict
    facts = gather(project)
    read = _read_findings(project)
    seen_domain = project
    emptied = any(finding.code in EMPTYING for finding in read) or _domain_skipped(project)
    if emptied and mirror:
        seen_domain = with_emptied_domain(project)
    judged = gather(seen_domain) if seen_domain is not project else facts
    found_here = [*read, *_loading(project, judged, emptied=emptied and mirror)]
    told = _tell(facts)
    told_judged = told if judged is facts else _tell(judged)
    found_here += _checks(judged, told_judged, max_history=max_history, stories_only=stories_only)
    consequences: set[Fails] = set()
    if emptied and mirror:
        found_here += references.check_story_intents(judged)
        about_empty = [finding for finding in found_here if finding.code in ABOUT_EMPTIED_DOMAIN]
        consequences = {_fails(f, f, facts.retrieval_intents, stories_only=stories_only) for f in about_empty}
        found_here = [finding for finding in found_here if finding.code not in ABOUT_EMPTIED_DOMAIN]
    found_here += _own_checks(facts, told, tests, test_examples, stories_only=stories_only)
    hidden: list[Finding] = []
    if emptied and mirror and any(finding.code == "slot-named-undefined" for finding in found_here):
        consequences.add("always")
    if mirror:
        # Rasa has this check, and a filter of its own that lets nobody see the message.
        found_here = [finding for finding in found_here if finding.code != "assistant-id-placeholder"]
        found_here, hidden = seen_by_rasa(LoadOrder(project), found_here)
        if emptied:  # the slots are there, it is the domain that is not
            found_here = [finding for finding in found_here if finding.code != "slot-named-undefined"]
    retrieval = facts.retrieval_intents
    pairs: list[tuple[Finding, Fails]] = []
    for finding in dict.fromkeys(found_here):
        shown = _at_severity(finding, strict=strict, drop_in=drop_in)
        fails = _fails(shown, finding, retrieval, stories_only=stories_only)
        if emptied and mirror and (finding.code in EMPTYING or finding.code == "version-too-high"):
            # The fault itself ends no run; what follows from the empty domain does, and is left out above.
            fails = (
                "always" if "always" in consequences else "on-warnings" if "on-warnings" in consequences else "never"
            )
        pairs.append((shown, fails))
    pairs += [(as_hidden(finding), "never") for finding in dict.fromkeys(hidden)]
    return _sorted(pairs)


def _sorted(pairs: Iterable[tuple[Finding, Fails]]) -> Validated:
    ordered = sorted(pairs, key=lambda pair: (pair[0].location.sort_key, pair[0].code, pair[0].message))
    return Validated(tuple(finding for finding, _ in ordered), tuple(fails for _, fails in ordered))


# --- the parts of the work -------------------------------------------------------------------------------------------


def _read_findings(project: Project) -> list[Finding]:
    """What the reader found, with Rasa's own judgement on types in place of the reader's."""
    ours = list(loading.check_files(project))
    judged = {finding.location.path for finding in ours if finding.code == "schema-violation"}
    parsed = {file.path for file in project.files if file.document is not None and file.document.root is not None}
    kept = []
    for finding in project.findings:
        if finding.code != "schema-violation" or finding.location.path not in parsed:
            kept.append(finding)
        elif finding.location.path not in judged:
            kept.append(replace(finding, code="type-unexpected", severity="warning"))
    return [*kept, *ours]


def _domain_skipped(project: Project) -> bool:
    """Whether the domain's version is too high, so that Rasa reads nothing of it."""
    domain_paths = {file.path for file in project.files if file.role == "domain"}
    return any(f.code == "version-too-high" and f.location.path in domain_paths for f in project.findings)


def _loading(project: Project, facts: Facts, *, emptied: bool) -> Iterator[Finding]:
    """What Rasa remarks while loading, beyond single files."""
    yield from loading.check_importers(project)
    yield from loading.check_empty_lists(project)
    yield from loading.check_intent_names(facts)
    if "nlu" not in project.unreadable:
        yield from loading.check_synonym_merging(project)
    if "domain" in project.unreadable or not _has_domain(project):
        return
    if "nlu" not in project.unreadable and not emptied:
        yield from loading.check_merging(project, facts)
        yield from references.check_listed_responses(facts)
    yield from loading.check_story_loading(facts)
    if not emptied:
        yield from references.check_story_intents(facts)


def _has_domain(project: Project) -> bool:
    return any(file.role == "domain" for file in project.files)


def _unreadable(project: Project) -> frozenset[str]:
    return project.unreadable if _has_domain(project) else project.unreadable | {"domain"}


def _tell(facts: Facts) -> Dialogues | None:
    """Tell the stories and rules, if all that they are made of could be read."""
    project = facts.project
    if _unreadable(project) & {"domain", "stories"} or not facts.blocks:
        return None
    return Dialogues.of(project)


def _checks(facts: Facts, told: Dialogues | None, *, max_history: int | None, stories_only: bool) -> Iterator[Finding]:
    """Rasa's checks proper. What needs a part that could not be read is left out: its file's finding says why."""
    project = facts.project
    unreadable = _unreadable(project)
    calm = project.calm is not None
    if not stories_only and not unreadable & {"domain", "nlu"} and _is_empty(facts):
        yield found("domain-empty", "There is nothing in the domain.", project.domain.location)
    if not stories_only and not calm:
        if not unreadable & {"domain", "nlu", "stories"}:
            yield from references.check_domain(facts)
            yield from references.check_intents(facts)
            yield from references.check_alternative_intents(facts)
            yield from references.check_responses(facts)
        if "nlu" not in unreadable:
            yield from references.check_repeated_examples(facts)
    if max_history is not None and max_history < 1:
        yield found("max-history-invalid", f"--max-history is {max_history}, not a positive integer.", Location(""))
    elif told is not None and project.stories:
        yield from check_checkpoints(facts, told.trackers.unused)
        yield from check_story_conflicts(told, max_history)
    if "config" not in unreadable:
        yield from configuration.check_mandatory_keys(project.config)


def _is_empty(facts: Facts) -> bool:
    domain = facts.domain
    return (
        domain.is_empty
        and not domain.end_to_end_actions
        and not facts.retrieval_intents
        and not facts.bot_texts
        and domain.session == SessionConfig()
    )


def _own_checks(
    facts: Facts,
    told: Dialogues | None,
    tests: Sequence[Story],
    test_examples: Sequence[Example],
    *,
    stories_only: bool,
) -> Iterator[Finding]:
    """The checks that Rasa does not have."""
    project = facts.project
    unreadable = _unreadable(project)
    nlu = project.nlu.examples
    calm = project.calm is not None
    if "config" not in unreadable:
        yield from configuration.check_names(project.config, calm=calm)
        yield from configuration.check_order(project.config)
    if told is not None:
        yield from dialogues.check_repeated_stories(facts.blocks)
        yield from dialogues.check_reachability(project.stories)
        if project.rules:
            yield from check_rules(project, told)
    if stories_only:
        return
    if "nlu" not in unreadable:
        yield from check_regexes(project.nlu)
        yield from similarity.check_similar_examples(nlu)
        yield from similarity.check_templates(nlu)
        yield from examples.check_repeated_in_intent(project.nlu)
        yield from examples.check_alignment(project)
        yield from examples.check_balance(nlu)
        yield from examples.check_values(nlu)
        yield from examples.check_synonyms(project)
        yield from examples.check_lookups(project)
    if not unreadable & {"domain", "nlu", "stories"} and not calm and not facts.domain.is_empty:
        yield from check_undefined(facts)
        yield from check_buttons(facts)
        yield from check_unused(facts)
    if "domain" not in unreadable:
        yield from check_definitions(facts)
    yield from dialogues.check_test_stories(project, tests)
    yield from dialogues.check_test_sentences(project, tests, test_examples)
    if not unreadable & {"nlu", "config"}:
        yield from dialogues.check_test_entities(project, tests, test_examples)


# --- severities and exit codes ---------------------------------------------------------------------------------------


def _at_severity(finding: Finding, *, strict: bool, drop_in: bool) -> Finding:
    check = CHECKS[finding.code]
    if not check.own:
        return replace(finding, severity=check.severity)
    shown: Severity = check.severity if strict or (check.matters_always and not drop_in) else "info"
    return replace(finding, severity=shown)


def _fails(shown: Finding, finding: Finding, retrieval: frozenset[str], *, stories_only: bool) -> Fails:
    check = CHECKS[finding.code]
    if check.own:
        return check.fails if shown.severity != "info" else "never"
    if check.code == "story-intent-undefined" and any(f"'{name}'" in finding.message for name in retrieval):
        return "never"  # the NLU data make it known before Rasa checks; only loading remarks on it
    return check.fails_for(stories_only=stories_only)
