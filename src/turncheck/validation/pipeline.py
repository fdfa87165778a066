"""Project → findings: all checks, their severities, and what they mean for the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.errors import EXIT_FAILED, EXIT_OK
from turncheck.messages.finding import LEGACY_PROJECT, SEVERITIES, Finding, Location, Severity
from turncheck.platforms.base import Part
from turncheck.project import model
from turncheck.project.folder import TOO_LARGE
from turncheck.registry import blamed_on_plugin
from turncheck.validation import configuration as config
from turncheck.validation import conflicts, examples, loading, memorised_tests, references, repeated_stories, similarity
from turncheck.validation.annotation_slips import check_annotation_slips
from turncheck.validation.catalogue import CHECKS, reliable_findings
from turncheck.validation.checks import FAILS, Fails, Fault, declared
from turncheck.validation.code import check_code
from turncheck.validation.configuration import check_generation
from turncheck.validation.facts import Facts, ProjectTests, gather
from turncheck.validation.findings import found, found_by
from turncheck.validation.load_order import (
    LoadOrder,
    as_hidden,
    loading_findings,
    read_findings,
    seen_by_rasa,
    with_emptied_domain,
)
from turncheck.validation.loading import forgotten_duplicates
from turncheck.validation.names import check_undefined
from turncheck.validation.payloads import check_buttons
from turncheck.validation.tested_names import check_test_names
from turncheck.validation.unused import check_definitions, check_unused

if TYPE_CHECKING:
    from turncheck.project.rasa_version import RasaVersion


# What platforms check themselves.


class ChecksModule(Protocol):
    """All that is wrong with an assistant, in the module ``checks`` of a platform's package."""

    def findings(self, project: model.Project, *, strict: bool) -> Iterable[Finding]:
        """Return the findings; ``strict``: with what is only advice."""


class MoreChecksModule(Protocol):
    """What else is wrong with a Rasa project, in the module ``more_checks`` of a platform's package."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Return the findings."""


PLATFORM_CHECKS: Final = Part[ChecksModule]("checks")
MORE_CHECKS: Final = Part[MoreChecksModule]("more_checks")


# The stages of checking a project, each a table of check functions, in Rasa's order if Rasa has them.

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
    """A domain with nothing in it; of a folder whose files cannot be read, the first of these is to blame."""
    if not _is_empty(facts):
        return
    written = facts.domain.location
    location = Location(written.path, written.line or 1, written.column or 1)
    empty = found("domain-empty", "There is nothing in the domain.", location)
    unread = next((one for one in facts.project.findings if one.code == "domain-file-unread"), None)
    if unread is not None:
        message = f"There is nothing in the domain: '{unread.location.path}' cannot be read."
        empty = replace(empty, message=message, location=unread.location, hint=unread.hint)
    yield empty


def _is_empty(facts: Facts) -> bool:
    """Rasa compares it with an empty domain: any other key with a value, even an unknown one, makes a difference."""
    if facts.retrieval_intents or facts.bot_texts or not facts.domain.is_empty:
        return False
    default = model.SessionConfig()
    nothing = (
        ("version", "3.1"),
        ("session_config", msgspec.structs.asdict(default)),
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


def _check_of_platform(facts: Facts) -> Iterable[Finding]:
    if facts.project.calm is None:
        return ()  # most projects have no flows, and need not load what checks them
    more = facts.project.platform.part(MORE_CHECKS)
    return () if more is None else more.findings(facts)


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
            config.check_parameters,
            config.check_token_patterns,
            conflicts.check_number_of_dialogues,
            conflicts.check_joined_dialogues,
            repeated_stories.check_repeated_stories,
            repeated_stories.check_reachability,
            conflicts.check_rules,
        ),
    ),
    Stage(
        _with_data,
        (
            config.check_selectors,
            config.check_selected,
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
    Stage(_with_data, (_check_of_platform,)),
    Stage(_with_domain, (check_undefined, check_code, check_buttons, check_unused, check_test_names)),
    Stage(
        _with_data,
        (
            check_definitions,
            memorised_tests.check_test_stories,
            memorised_tests.check_test_sentences,
            memorised_tests.check_test_entities,
        ),
    ),
)


def rasa_checks(facts: Facts) -> Iterator[Finding]:
    """Rasa's checks proper, except what might be wrong because a part could not be read."""
    return reliable_findings(_run(RASA_STAGES, facts), facts.missing)


def own_checks(facts: Facts) -> Iterator[Finding]:
    """The checks that Rasa does not have, except what might be wrong because a part could not be read."""
    return reliable_findings(chain(_run(OWN_STAGES, facts), _by_decorated(facts)), facts.missing)


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
            found_there = [found_by(declared(check)._replace(code=name), Fault(*fault)) for fault in check.find(facts)]
        yield from found_there


def _run(stages: Iterable[Stage], facts: Facts) -> Iterator[Finding]:
    for stage in stages:
        if stage.applies(facts):
            for find in stage.functions:
                yield from find(facts)


# Reports what ``rasa data validate`` reports, no more and no less, so that it can be replaced.


class RasaView(NamedTuple):
    """The faults of a project that Rasa gets to see, and those that it does not.

    ``consequences``: findings that only follow from the empty domain that Rasa goes on with. They say nothing about the
    project and are not shown, but they make the run fail.
    """

    seen: Sequence[Finding]
    hidden: Sequence[Finding] = ()
    consequences: Sequence[Finding] = ()
    is_emptied: bool = False


def rasas_view(facts: Facts) -> RasaView:
    """Load and check a project as Rasa does: stop where Rasa stops, and drop the domain where Rasa drops it."""
    project = facts.project
    unread = {file.path for file in project.files if file.role == "endpoints"}
    read = read_findings(facts)
    never_read = [finding for finding in read if finding.location.path in unread]
    read = [finding for finding in read if finding.location.path not in unread]
    if not any(CHECKS[finding.code].then == "empties the domain" for finding in read) and not _is_domain_skipped(
        project
    ):
        findings = [*read, *loading_findings(facts, emptied=False), *rasa_checks(facts)]
        unseen = set(forgotten_duplicates(project))
        seen, hidden = seen_by_rasa(
            LoadOrder(project), _visible(finding for finding in findings if finding not in unseen)
        )
        return RasaView(seen, [*hidden, *never_read, *(finding for finding in findings if finding in unseen)])
    emptied = gather(
        with_emptied_domain(project),
        max_history=facts.max_history,
        stories_only=facts.stories_only,
        as_rasa=facts.as_rasa,
    )
    findings = [*read, *loading_findings(emptied, emptied=True), *rasa_checks(emptied)]
    consequences = [finding for finding in findings if CHECKS[finding.code].about_domain]
    consequences += references.check_story_intents(emptied)
    findings = [finding for finding in findings if not CHECKS[finding.code].about_domain]
    seen, hidden = seen_by_rasa(LoadOrder(project), _visible(findings))
    # Rasa stops at a slot without a value that the emptied domain lacks; the project has it.
    consequences += [finding for finding in seen if finding.code == "slot-named-undefined"]
    seen = [finding for finding in seen if finding.code != "slot-named-undefined"]
    seen = [_as_emptied(finding, seen) if finding.code == "domain-empty" else finding for finding in seen]
    return RasaView(seen, [*hidden, *never_read], consequences, is_emptied=True)


def _as_emptied(empty: Finding, seen: Iterable[Finding]) -> Finding:
    """Say of a domain that Rasa dropped what it was dropped for, if that is known: there is something in it."""
    causes = (one for one in seen if CHECKS[one.code].then == "empties the domain" or one.code == "version-too-high")
    cause = next(causes, None)
    if cause is None:
        return empty
    message = f"Rasa goes on with an empty domain, because of {cause.location}."
    return replace(empty, message=message, hint="There is nothing else to do here: fix what is wrong there.")


def _visible(findings: Iterable[Finding]) -> list[Finding]:
    """Rasa checks the assistant's identifier, but its own filter hides the message."""
    return [finding for finding in findings if finding.code != "assistant-id-placeholder"]


def _is_domain_skipped(project: model.Project) -> bool:
    """Whether the domain is one file whose version is too high, so that Rasa reads nothing of it."""
    path = project.domain.location.path
    return any(f.code == "version-too-high" and f.location.path == path for f in project.findings)


class Validated(Struct, frozen=True):
    """What validation found, sorted by path, line, column and code, and what each finding means for the exit code.

    ``fails`` has one entry for each of ``findings``: Rasa's effect in ``data validate``; gates of a run count
    severities instead. ``suppressed``: what was found and is left out on purpose.
    """

    findings: tuple[Finding, ...]
    fails: tuple[Fails, ...]
    suppressed: tuple[Finding, ...] = ()

    @property
    def counts(self) -> Mapping[Severity, int]:
        """How many findings of each severity."""
        counted = Counter(finding.severity for finding in self.findings)
        return {severity: counted[severity] for severity in SEVERITIES}

    def exit_code(self, *, fail_on_warnings: bool) -> int:
        """0 or 1, as ``rasa data validate`` would end."""
        failing = {"always", "on-warnings"} if fail_on_warnings else {"always"}
        return EXIT_FAILED if failing & set(self.fails) else EXIT_OK

    def with_tests(self, findings: Iterable[Finding], *, eased: bool, fails: bool = False) -> Validated:
        """Return the same with the findings from reading the tests; ``fails``: they change the exit code.

        An awaited response that nothing defines is already reported: its test can never pass. ``eased``: as notes.
        """
        reported = {finding.location for finding in self.findings if finding.code == "test-action-undefined"}
        of_flows = {name for one in self.findings if one.code.startswith("flow-test-") for name in one.names}
        more = [
            replace(finding, severity=CHECKS[finding.code].severity) if finding.code == TOO_LARGE else finding
            for finding in findings
            if finding.code != "e2e-unknown-name"
            or not (finding.location in reported or of_flows.intersection(finding.names))
        ]
        if fails:
            return _sorted([*self._pairs(), *((finding, FAILS[finding.severity]) for finding in more)])
        return self.without((), (replace(finding, severity="info") for finding in more) if eased else more)

    def without(self, hidden: Iterable[int], added: Iterable[Finding] = ()) -> Validated:
        """Return the same without some findings (by their index) and with others, which never change the exit code."""
        return _sorted([*self._pairs(set(hidden)), *((finding, "never") for finding in added)])

    def _pairs(self, left_out: Collection[int] = ()) -> list[tuple[Finding, Fails]]:
        pairs = zip(self.findings, self.fails, strict=True)
        return [pair for number, pair in enumerate(pairs) if number not in left_out]


def validate(
    project: model.Project,
    *,
    max_history: int | None = None,
    stories_only: bool = False,
    strict: bool = False,
    drop_in: bool = False,
    tests: ProjectTests | None = None,
    targets_3: bool = False,
) -> Validated:
    """Check a project. Where the platform has checks of its own, only ``strict`` matters, and none of Rasa's apply.

    Args:
        project: as read; the reader's findings are part of the result.
        max_history: how many states the story structure check looks back at; ``None``: all. Below 1 it is a finding.
        stories_only: load everything, but only check story structure and configuration (``data validate stories``).
        strict: show all of our own findings at their true severity.
        drop_in: report what ``rasa data validate`` reports: our own findings as ``info`` (unless ``strict``), and what
            Rasa does not see because it stops or empties the domain, under ``hidden-by-load-error``.
        tests: the project's tests, to be compared with the training data.
        targets_3: a project of an older Rasa is meant for Rasa 3: what that would refuse is an error.
    """
    if (checks := project.platform.part(PLATFORM_CHECKS)) is not None:
        found_there = dict.fromkeys(checks.findings(project, strict=strict))
        return _sorted((finding, CHECKS[finding.code].fails) for finding in found_there)
    if project.older is not None:
        return _validate_older(project, project.older, max_history, tests, strict=strict, targets_3=targets_3)
    as_rasa = drop_in and not strict
    facts = gather(project, tests=tests, max_history=max_history, stories_only=stories_only, as_rasa=as_rasa)
    if as_rasa:
        view = rasas_view(facts)
    else:
        view = RasaView([*read_findings(facts), *loading_findings(facts, emptied=False), *rasa_checks(facts)])
    own = own_checks(facts)
    judge = _Judge(frozenset(facts.retrieval_intents), stories_only=stories_only, strict=strict, drop_in=drop_in)
    pairs = [judge.judged(finding, view) for finding in dict.fromkeys((*view.seen, *own))]
    pairs += [(as_hidden(finding), "never") for finding in dict.fromkeys(view.hidden)]
    return _sorted(pairs)


def _validate_older(
    project: model.Project,
    version: RasaVersion,
    max_history: int | None,
    tests: ProjectTests | None,
    *,
    strict: bool,
    targets_3: bool,
) -> Validated:
    """Check a project by the rules of its own version; whatever Rasa 3 would refuse is one finding."""
    from turncheck.validation.before_training import (  # most projects are for Rasa 3
        TRAINED_BY_RASA_1,
        refusals_of_rasa_3,
        split_for,
    )

    facts = gather(project, tests=tests, max_history=max_history, stories_only=False)
    found_here = dict.fromkeys(
        [*read_findings(facts), *loading_findings(facts, emptied=False), *rasa_checks(facts), *own_checks(facts)]
    )
    kept, refused = split_for(project, (finding for finding in found_here if finding.code != LEGACY_PROJECT))
    judge = _Judge(frozenset(facts.retrieval_intents), stories_only=False, strict=strict, drop_in=False)
    pairs = [judge.judged(finding, RasaView(kept)) for finding in kept]
    if project.domain.rasa < 2:
        pairs = [_eased(*pair) if pair[0].code in TRAINED_BY_RASA_1 else pair for pair in pairs]
    group = refusals_of_rasa_3(version, refused, targets_3=targets_3)
    return _sorted([*pairs, (group, "always" if targets_3 else "never")])


def _eased(finding: Finding, _: Fails) -> tuple[Finding, Fails]:
    return replace(finding, severity="warning"), "on-warnings"


def _sorted(pairs: Iterable[tuple[Finding, Fails]]) -> Validated:
    ordered = sorted(pairs, key=lambda pair: pair[0].order)
    return Validated(tuple(finding for finding, _ in ordered), tuple(fails for _, fails in ordered))


class _Judge(NamedTuple):
    """Gives findings the severity that they are shown with, and determines their effect on the exit code."""

    retrieval_intents: frozenset[str]
    stories_only: bool
    strict: bool
    drop_in: bool

    def judged(self, finding: Finding, view: RasaView) -> tuple[Finding, Fails]:
        """Return the finding at its severity, and its effect."""
        check = CHECKS[finding.code]
        if check.own:
            is_true = self.strict or (check.matters_always and not self.drop_in)
            severity: Severity = check.severity if is_true else check.eased
            return replace(finding, severity=severity), check.fails if is_true else "never"
        if check.stage == "cases":  # of tests that are held against flows
            return finding, FAILS[finding.severity]
        if finding.code == "config-not-found" and finding.severity == "warning":
            return finding, "on-warnings"  # beside flows, which need none to be checked
        shown = replace(finding, severity=check.severity)
        if view.is_emptied and (check.then == "empties the domain" or check.code == "version-too-high"):
            # The fault itself ends no run; what follows from the empty domain does, and is not shown.
            effects = {self._fails(consequence) for consequence in view.consequences}
            return shown, next((effect for effect in _WORST_FIRST if effect in effects), "never")
        return shown, self._fails(finding)

    def _fails(self, finding: Finding) -> Fails:
        check = CHECKS[finding.code]
        intents = {name.name for name in finding.names if name.kind == "intent"}
        if check.code == "story-intent-undefined" and intents & self.retrieval_intents:
            return "never"  # the NLU data define it before Rasa checks; only loading reports it
        return check.fails_for(stories_only=self.stories_only)


_WORST_FIRST: tuple[Fails, ...] = ("always", "on-warnings", "never")
