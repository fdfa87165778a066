"""Reports what ``rasa data validate`` reports, no more and no less, so that it can be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from turncheck.validation import references
from turncheck.validation.facts import gather
from turncheck.validation.load_order import LoadOrder, seen_by_rasa, with_emptied_domain
from turncheck.validation.loaded import loading_findings, read_findings
from turncheck.validation.merging import forgotten_duplicates
from turncheck.validation.registry import CHECKS
from turncheck.validation.stages import rasa_checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project
    from turncheck.validation.facts import Facts


class RasasView(NamedTuple):
    """The faults of a project that Rasa gets to see, and those that it does not.

    ``consequences``: findings that only follow from the empty domain that Rasa goes on with. They say nothing about the
    project and are not shown, but they make the run fail.
    """

    seen: Sequence[Finding]
    hidden: Sequence[Finding] = ()
    consequences: Sequence[Finding] = ()
    is_emptied: bool = False


def rasas_view(facts: Facts) -> RasasView:
    """Load and check a project as Rasa does: stop where Rasa stops, and drop the domain where Rasa drops it."""
    project = facts.project
    unread = {file.path for file in project.files if file.role == "endpoints"}
    read = read_findings(facts)
    never_read = [finding for finding in read if finding.location.path in unread]
    read = [finding for finding in read if finding.location.path not in unread]
    if not any(CHECKS[finding.code].then == "empties the domain" for finding in read) and not _is_domain_skipped(
        project
    ):
        found = [*read, *loading_findings(facts, emptied=False), *rasa_checks(facts)]
        unseen = set(forgotten_duplicates(project))
        seen, hidden = seen_by_rasa(LoadOrder(project), _visible(finding for finding in found if finding not in unseen))
        return RasasView(seen, [*hidden, *never_read, *(finding for finding in found if finding in unseen)])
    emptied = gather(with_emptied_domain(project), max_history=facts.max_history, stories_only=facts.stories_only)
    found = [*read, *loading_findings(emptied, emptied=True), *rasa_checks(emptied)]
    consequences = [finding for finding in found if CHECKS[finding.code].about_domain]
    consequences += references.check_story_intents(emptied)
    found = [finding for finding in found if not CHECKS[finding.code].about_domain]
    seen, hidden = seen_by_rasa(LoadOrder(project), _visible(found))
    # Rasa stops at a slot without a value that the emptied domain lacks; the project has it.
    consequences += [finding for finding in seen if finding.code == "slot-named-undefined"]
    seen = [finding for finding in seen if finding.code != "slot-named-undefined"]
    return RasasView(seen, [*hidden, *never_read], consequences, is_emptied=True)


def _visible(findings: Iterable[Finding]) -> list[Finding]:
    """Rasa checks the assistant's identifier, but its own filter hides the message."""
    return [finding for finding in findings if finding.code != "assistant-id-placeholder"]


def _is_domain_skipped(project: Project) -> bool:
    """Whether the domain is one file whose version is too high, so that Rasa reads nothing of it."""
    path = project.domain.location.path
    return any(f.code == "version-too-high" and f.location.path == path for f in project.findings)
