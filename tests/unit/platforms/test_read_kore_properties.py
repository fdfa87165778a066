"""Any export: it is read or refused in words, and what is read holds together."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turncheck.messages.errors import UserError
from turncheck.platforms.kore.model import bot_of
from turncheck.platforms.kore.reader import NotAnExportError, read_bot
from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate
from turncheck.yaml_tree.source import Source

KEYS = st.sampled_from(
    (
        *(
            "_id",
            "refId",
            "name",
            "type",
            "language",
            "localeData",
            "en",
            "de",
            "dialogId",
            "nodes",
            "isHidden",
            "lname",
        ),
        *(
            "taskId",
            "sentence",
            "entities",
            "startIndex",
            "endIndex",
            "entityId",
            "intent",
            "entityType",
            "traits",
            "data",
        ),
        *(
            "faqs",
            "question",
            "alternateQuestions",
            "faqStatus",
            "groups",
            "nodeId",
            "parentId",
            "userUtterances",
            "text",
        ),
        *(
            "allowedValues",
            "values",
            "value",
            "title",
            "synonyms",
            "regexPattern",
            "displayName",
            "groupName",
            "patterns",
        ),
    )
)
WORDS = st.sampled_from(("en", "de", "a", "b", "dc-1", "intent", "entity", "/x/g", "~y", "🚢 b", "x\u00a0", "", " "))
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | WORDS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
COMPONENTS = st.fixed_dictionaries(
    {"_id": st.sampled_from(("dc-1", "dc-2", "dc-3")), "type": st.sampled_from(("intent", "entity", "message"))},
    optional={"name": WORDS, "dialogId": WORDS, "localeData": ANY, "entityType": WORDS, "regexPattern": WORDS},
)
SPANS = st.fixed_dictionaries(
    {"startIndex": st.integers(-1, 12), "endIndex": st.integers(-1, 12)},
    optional={"entityId": st.sampled_from(("dc-1", "dc-2", "dc-3", "dc-9"))},
)
SENTENCES = st.fixed_dictionaries(
    {"sentence": st.text("ab 🚢\u00a0é", max_size=10), "taskId": st.sampled_from(("dc-1", "dc-2", "dc-9"))},
    optional={"language": WORDS, "entities": st.lists(SPANS, max_size=3) | ANY},
)
EXPORTS = st.fixed_dictionaries(
    {"dialogs": st.lists(ANY, max_size=3), "dialogComponents": st.lists(COMPONENTS | ANY, max_size=5)},
    optional={
        "sentences": st.lists(SENTENCES | ANY, max_size=5) | ANY,
        **dict.fromkeys(
            (
                *(
                    "localeData",
                    "knowledgeTasks",
                    "smallTalk",
                    "traits",
                    "patterns",
                    "defaultLanguage",
                    "exportOptions",
                ),
                *("supportedLanguages", "linkedBotsDetails", "type"),
            ),
            ANY,
        ),
    },
)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(EXPORTS)
def test_any_export_is_read_and_its_annotations_lie_in_their_sentences(data: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "botDefinition.json").write_text(json.dumps(data), encoding="utf-8")
        project = read_project(Path(folder))
        findings = validate(project, strict=True).findings
    bot = bot_of(project)
    assert bot is not None
    assert all(finding.location.line is not None for finding in findings)
    names = {intent.name for intent in bot.intents}
    for example in project.nlu.examples:
        assert example.text == example.text.strip() != ""
        assert example.intent in names
        ends = 0
        for entity in example.entities:
            assert ends <= entity.start < entity.end <= len(example.text)
            assert entity.value == example.text[entity.start : entity.end] == entity.value.strip()
            ends = entity.end
        place = example.location
        assert place.line == 1
    assert sum(intent.examples for intent in bot.intents if intent.kind == "dialog") <= 2 * len(bot.utterances)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text() | ANY.map(json.dumps), st.none() | WORDS)
def test_any_text_is_refused_in_words(text: str, language: str | None) -> None:
    told = "read"
    try:
        read_bot(Source("botDefinition.json", text), language)
    except (NotAnExportError, UserError) as error:
        told = str(error)
    assert told
