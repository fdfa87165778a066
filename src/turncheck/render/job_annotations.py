"""GitLab's annotations report: links on the page of a job.

Source: ``artifacts:reports:annotations`` in GitLab's documentation: an object of lists, each of ``external_link`` with
a label and an address.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from turncheck.comparison.verdict import Verdict
    from turncheck.render.assistants import Assistants
    from turncheck.render.links import Links

FILE_NAME: Final = "gl-annotations.json"
_LONGEST: Final = 200


def render_job_annotations(verdict: Verdict, links: Links) -> Rendered:
    """Render the link to the HTML page, labelled with the verdict in one line."""
    return _rendered(verdict.summary, links)


def render_job_annotations_of_all(assistants: Assistants, links: Links) -> Rendered:
    """Render the link to the page of several assistants."""
    return _rendered(assistants.in_words, links)


def _rendered(text: str, links: Links) -> Rendered:
    url = links.html_url or links.artifact_url or links.run_url
    found = [{"external_link": {"label": f"turncheck: {text}"[:_LONGEST], "url": url}}] if url else []
    return Rendered(
        FILE_NAME, "application/json", json.dumps({"turncheck": found}, ensure_ascii=False, indent=2) + "\n"
    )
