"""What a message was understood as: read from a turn, and said to the engine again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from small_project import DOMAIN, NLU

from turncheck.comparison.understood_differently import same_understanding
from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.conversation import Turn
from turncheck.engines.embedded.conversation import parse_json
from turncheck.evaluations.core.misunderstood import as_parse, heard_in, missing_labels
from turncheck.project.reader import read_project
from turncheck.report.model import EntitySpan, RankedIntent, StoryParse

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "from Rome"
ROME = EntitySpan(start=5, end=9, entity="city", value="Roma", role="from", extractor="DIETClassifier", confidence=0.8)
GREET, ORDER = RankedIntent(name="greet", confidence=0.7), RankedIntent(name="order", confidence=0.2)
UNDERSTOOD = {
    "an intent": StoryParse(intent="greet", confidence=0.7, ranking=(GREET, ORDER)),
    "an entity with a role": StoryParse(intent="order", confidence=0.9, entities=(ROME,)),
    "a fallback": StoryParse(intent="greet", confidence=0.7, ranking=(GREET, ORDER), fallback=True),
    "a response": StoryParse(intent="faq", confidence=0.9, response="faq/hours", response_confidence=0.6),
    "nothing": StoryParse(intent=None, confidence=0.0),
}


def turn_of(parsed: dict[str, Any]) -> Turn:
    event = {"event": "user", "text": TEXT, "parse_data": parsed}
    return Turn(user=TEXT, responses=(), slots={}, active_loop=None, events=(event,))


@pytest.mark.parametrize("what", UNDERSTOOD)
def test_an_engine_that_is_told_an_understanding_understands_it_so(tmp_path: Path, what: str) -> None:
    (tmp_path / "domain.yml").write_text(DOMAIN, "utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.yml").write_text(NLU, "utf-8")
    domain = DialogueDomain.of(read_project(tmp_path))
    understood = UNDERSTOOD[what]

    heard = heard_in(turn_of(parse_json(as_parse(TEXT, understood), domain)))

    assert heard == understood


def test_only_confidences_make_no_other_understanding() -> None:
    one = UNDERSTOOD["an entity with a role"]
    surer = msgspec.structs.replace(one, confidence=0.99, entities=(msgspec.structs.replace(ROME, confidence=0.1),))
    assert same_understanding(one, surer)
    for change in ({"role": "to"}, {"value": "Rome"}, {"entity": "place"}, {"end": 8}):
        other = msgspec.structs.replace(one, entities=(msgspec.structs.replace(ROME, **change),))
        assert not same_understanding(one, other)
    assert not same_understanding(UNDERSTOOD["an intent"], UNDERSTOOD["a fallback"])


def test_two_fallbacks_are_the_same_whatever_was_not_sure_enough() -> None:
    one = UNDERSTOOD["a fallback"]
    assert same_understanding(one, msgspec.structs.replace(one, intent="order"))


def test_what_was_understood_and_is_no_more_must_still_be_in_the_domain() -> None:
    assert missing_labels(UNDERSTOOD["an entity with a role"], UNDERSTOOD["an intent"]) == (
        frozenset({"order"}),
        frozenset({"city"}),
    )
    assert missing_labels(UNDERSTOOD["a fallback"], UNDERSTOOD["an intent"]) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    "parsed",
    [
        {"intent": {}, "entities": []},
        {"intent": {"name": None, "confidence": None}, "entities": [{}], "intent_ranking": None},
        {"intent": {"name": 3}, "entities": [{"entity": "city"}], "response_selector": {"faq": None, "all": []}},
    ],
)
def test_a_server_may_leave_out_what_is_optional(parsed: dict[str, Any]) -> None:
    heard = heard_in(turn_of(parsed))
    assert heard is not None
    assert heard.intent is None


def test_a_turn_without_a_message_is_understood_as_nothing() -> None:
    assert heard_in(Turn(user=None, responses=(), slots={}, active_loop=None, events=())) is None
