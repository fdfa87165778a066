"""The badge of a run: how it was judged and its main figures, as a picture and as an endpoint of shields.io.

``badge.json`` has the schema that shields.io reads (https://shields.io/badges/endpoint-badge). ``badge.svg`` loads
nothing, and says its text to whoever cannot see it. Its colours keep a contrast of 4.5 and more to white (WCAG 2.2).
"""

from __future__ import annotations

import json
from functools import partial
from html import escape as quoted
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.comparison.metrics import metrics_of
from turncheck.comparison.tally import tallies
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import one_line
from turncheck.render.rendered import Rendered
from turncheck.render.wording.figures import figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.comparison.tally import Tally
    from turncheck.render.assistants import Assistants, Run
    from turncheck.report.model import Report

LABEL: Final = "turncheck"
PASSED, RESERVED, FAILED, UNKNOWN = "0f6b5c", "8a5a00", "b3261e", "666666"
_LEFT: Final = "444444"
_COLOURS: Final = {"passed": PASSED, "caution": RESERVED, "failed": FAILED}
_TESTS: Final = {"core": ("story", "stories"), "e2e": ("case", "cases"), "batch": ("utterance", "utterances")}
_LONGEST: Final = 100
escape: Final = partial(quoted, quote=False)
_PADDING: Final = 6
_NARROW: Final = frozenset(" ',.:;!|()[]/ijlft1I")
_WIDE: Final = frozenset("mwMW%@")


class Badge(Struct, frozen=True):
    """What a badge says: a label, a message, and the colour of the message as six hexadecimal digits."""

    label: str
    message: str
    colour: str

    def files(self) -> Iterator[Rendered]:
        """Render it as both files."""
        yield Rendered("badge.json", "application/json", self.json())
        yield Rendered("badge.svg", "image/svg+xml", self.svg())

    def json(self) -> str:
        """Return it as an endpoint of shields.io."""
        label, message = self._shown()
        document = {"schemaVersion": 1, "label": label, "message": message, "color": self.colour}
        return json.dumps(document, ensure_ascii=False) + "\n"

    def svg(self) -> str:
        """Return it as a picture."""
        texts = self._shown()
        left, right = (_width(text) + 2 * _PADDING for text in texts)
        name = f'"{quoted(": ".join(texts))}"'
        whole = left + right
        places = zip(texts, (_PADDING, left + _PADDING), strict=True)
        words = "".join(
            f'<text x="{x}" y="14" textLength="{_width(text)}">{escape(text)}</text>' for text, x in places if text
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label={name}>'
            f"<title>{escape(': '.join(texts))}</title>"
            f'<rect width="{whole}" height="20" rx="3" fill="#{_LEFT}"/>'
            f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" fill="#{self.colour}"/>'
            f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{words}</g></svg>\n'
        )

    def _shown(self) -> tuple[str, str]:
        return one_line(self.label, _LONGEST), one_line(self.message, _LONGEST)


def badge_of(run: Run) -> Badge:
    """Return the badge of an assistant: ``passed, 97 % of intents, 12 of 12 stories``."""
    if run.could_not_end:
        return Badge(LABEL, "not measured", UNKNOWN)
    message = ", ".join((run.verdict.outcome, *_figures(run.report)))
    return Badge(LABEL, message, _COLOURS[run.sign])


def badge_of_all(assistants: Assistants) -> Badge:
    """Return the badge of several assistants."""
    return Badge(LABEL, assistants.in_words, _COLOURS[assistants.sign])


def _figures(report: Report) -> Iterator[str]:
    intents = metrics_of(report).get("nlu.intents.accuracy")
    if intents is not None:
        yield f"{figure(intents.value, 'share')} of intents"
    tested = [tally for tally in tallies(report) if tally.ran]
    if tested:
        ran = sum(tally.ran for tally in tested)
        words = _TESTS[tested[0].evaluation] if len(tested) == 1 else ("test", "tests")
        yield f"{sum(map(_passed, tested)):,} of {count(ran, *words)}"


def _passed(tally: Tally) -> int:
    others = (tally.failed, tally.misunderstood, tally.tolerated, tally.quarantined, tally.unclear)
    return tally.ran - sum(map(len, others))


def _width(text: str) -> int:
    """Estimate the width of a label in pixels; the picture is drawn so that it fits."""
    return round(sum(4.2 if one in _NARROW else 10.5 if one in _WIDE or not one.isascii() else 6.9 for one in text))
