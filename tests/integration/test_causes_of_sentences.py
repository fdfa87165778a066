"""The cause of a sentence that is newly misunderstood, and of an intent that is really worse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from repository_at_work import commit_change

from turncheck import api
from turncheck.comparison.training_changes import noise_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from turncheck.conclude import Outcome
    from turncheck.report.causes import Cause

CONFIG = """version: "3.1"
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
"""
PLACES = ("north", "south", "east", "west", "old town", "harbour", "airport", "station", "museum", "stadium")
SENTENCES = {
    "weather": tuple(f"how is the weather in the {place}" for place in PLACES),
    "bus": tuple(f"when does the bus to the {place} leave" for place in PLACES),
    "room": tuple(f"i need a room near the {place}" for place in PLACES),
}
DOMAIN = 'version: "3.1"\nintents: [weather, bus, room]\nresponses:\n  utter_hello:\n  - text: Hello\n'


def nlu(sentences: Mapping[str, tuple[str, ...]]) -> str:
    intents = "".join(
        f"- intent: {intent}\n  examples: |\n" + "".join(f"    - {text}\n" for text in texts)
        for intent, texts in sentences.items()
    )
    return f'version: "3.1"\nnlu:\n{intents}'


BOT = {"domain.yml": DOMAIN, "config.yml": CONFIG, "data/nlu.yml": nlu(SENTENCES)}
DRAWN = {
    **SENTENCES,
    "bus": (*SENTENCES["bus"], *(f"how is the weather for the bus in the {place}" for place in PLACES[:2])),
    "room": (*SENTENCES["room"], *(f"how is the weather in the {place} today" for place in PLACES)),
}
COPIED = {**DRAWN, "room": (*SENTENCES["room"], *SENTENCES["weather"])}
"""Sentences of rooms draw those about the weather away; those of buses do not."""
HARMLESS = {"domain.yml": DOMAIN.replace("Hello", "Good morning")}


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    def judge(change: Mapping[str, str], base: Mapping[str, str] = BOT, **settings: Any) -> Outcome:
        commit_change(tmp_path, base, change)
        return api.run(".", base="main", workers=1, fail_on=("new-failures",), **settings)

    monkeypatch.chdir(tmp_path)
    return judge


def named(causes: tuple[Cause, ...]) -> list[tuple[str, str, str]]:
    assert all(cause.proved for cause in causes)
    return [(cause.kind, cause.name, cause.change) for cause in causes]


def test_an_intent_that_is_really_worse_has_its_cause(judged: Callable[..., Outcome], golden: Golden) -> None:
    outcome = judged({**HARMLESS, "data/nlu.yml": nlu(COPIED)}, evaluations=("nlu",))

    metric = outcome.comparison.metric("nlu.intents[weather].f1")
    assert metric is not None
    assert metric.judgement == "worse"
    assert named(metric.known_causes) == [("intents", "room", "changed")]
    golden(outcome.verdict.summary)
    files = {rendered.name: rendered.encoded.decode() for rendered in outcome.renderings()}
    assert json.loads(files["report.json"])["causes"]["intents"][0]["intent"] == "weather"
    files |= {text.name: text.encoded.decode() for text in outcome.texts()}
    why = "its sentences are understood as on the base"
    assert {name for name, text in files.items() if why in text} >= {
        "comment.md",
        "summary.md",
        "junit.xml",
        "report.html",
    }


def test_a_component_that_is_gone_makes_all_intents_worse(judged: Callable[..., Outcome]) -> None:
    config = CONFIG.replace("- name: DIETClassifier\n", "- name: KeywordIntentClassifier\n")

    outcome = judged({"config.yml": config, **HARMLESS}, evaluations=("nlu",))

    causes = {metric.name: metric.known_causes for metric in outcome.comparison.metrics if metric.known_causes}
    assert {cause.name for parts in causes.values() for cause in parts} == {"DIETClassifier"}, causes


TESTS = "tests/test_nlu.yml"
ASKED = {
    "weather": ("how is the weather in the north today", "how is the weather in the village"),
    "bus": ("when does the bus to the village leave",),
}


def test_a_test_sentence_that_is_newly_misunderstood_has_its_cause(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    base = {**BOT, TESTS: nlu(ASKED)}

    outcome = judged({**HARMLESS, "data/nlu.yml": nlu(DRAWN)}, base, evaluations=("nlu",))

    worse = {case.name: named(case.causes) for case in outcome.comparison.examples.worse}
    assert worse == {ASKED["weather"][0]: [("intents", "room", "changed")]}
    golden("\n".join(line for line in outcome.texts()[0].encoded.decode().splitlines() if "without" in line))


def test_a_test_sentence_that_is_understood_again_has_its_cause(judged: Callable[..., Outcome]) -> None:
    base = {**BOT, "data/nlu.yml": nlu(DRAWN), TESTS: nlu(ASKED)}

    outcome = judged({**HARMLESS, "data/nlu.yml": nlu(SENTENCES)}, base, evaluations=("nlu",))

    better = {case.name: named(case.causes) for case in outcome.comparison.examples.better}
    assert better == {ASKED["weather"][0]: [("intents", "room", "changed")]}


def test_an_utterance_of_a_suite_has_its_cause(judged: Callable[..., Outcome], golden: Golden) -> None:
    cases = [{"input": text, "intent": intent} for intent, texts in ASKED.items() for text in texts]
    base = {**BOT, "tests/trips.json": json.dumps({"testCases": cases})}

    outcome = judged({**HARMLESS, "data/nlu.yml": nlu(DRAWN)}, base, evaluations=("batch",))

    worse = {case.name: named(case.causes) for case in outcome.comparison.batch.worse}
    assert worse == {ASKED["weather"][0]: [("intents", "room", "changed")]}
    golden(outcome.verdict.summary)


def test_a_sentence_that_fails_by_nothing_of_the_project_has_no_cause(judged: Callable[..., Outcome]) -> None:
    base = {**BOT, TESTS: nlu(ASKED)}
    edited = {"weather": ASKED["weather"], "room": ASKED["bus"]}

    outcome = judged({**HARMLESS, TESTS: nlu(edited)}, base, evaluations=("nlu",))

    assert [case.causes for case in outcome.comparison.examples.became_wrong] == [()]


RETRIEVAL = {
    "faq/hours": tuple(f"when does the shop at the {place} open" for place in PLACES),
    "faq/parking": tuple(f"where can i park at the {place}" for place in PLACES),
    "weather": SENTENCES["weather"],
}
ANSWERS = """version: "3.1"
intents: [faq, weather]
responses:
  utter_faq/hours:
  - text: At nine
  utter_faq/parking:
  - text: Behind it
"""
SELECTING = {
    "domain.yml": ANSWERS,
    "config.yml": CONFIG + "- name: ResponseSelector\n  epochs: 20\n",
    "data/nlu.yml": nlu(RETRIEVAL),
    TESTS: nlu(
        {"faq/hours": ("when does the shop at the village open",), "faq/parking": ("where can i park at night",)}
    ),
}
SWAPPED = {**RETRIEVAL, "faq/parking": (*RETRIEVAL["faq/parking"], *RETRIEVAL["faq/hours"]), "faq/hours": ("opening?",)}
HARMLESS_ANSWERS = ANSWERS.replace("Behind it", "Behind the house")


def test_a_response_that_is_newly_chosen_wrongly_has_its_cause(judged: Callable[..., Outcome]) -> None:
    change = {"domain.yml": HARMLESS_ANSWERS, "data/nlu.yml": nlu(SWAPPED)}

    outcome = judged(change, SELECTING, evaluations=("nlu",))

    (worse,) = outcome.comparison.responses.worse
    assert worse.name == "when does the shop at the village open"
    assert {(kind, name) for kind, name, _ in named(worse.causes)} <= {
        ("intents", "faq/hours"),
        ("intents", "faq/parking"),
    }
    assert worse.causes


def test_a_response_that_is_chosen_rightly_again_has_its_cause(judged: Callable[..., Outcome]) -> None:
    change = {"domain.yml": HARMLESS_ANSWERS, "data/nlu.yml": nlu(RETRIEVAL)}

    outcome = judged(change, {**SELECTING, "data/nlu.yml": nlu(SWAPPED)}, evaluations=("nlu",))

    (better,) = outcome.comparison.responses.better
    assert {name for _, name, _ in named(better.causes)} <= {"faq/hours", "faq/parking"}
    assert better.causes


TRIPS = {
    "bus": tuple(f"when does the bus to [{place}](place) leave" for place in PLACES),
    "room": tuple(f"i need a room in [{place}](place)" for place in PLACES),
}
TAGGING = {
    "domain.yml": 'version: "3.1"\nintents: [bus, room]\nentities: [place]\nresponses:\n  utter_hi:\n  - text: Hi\n',
    "config.yml": CONFIG.replace(
        "- name: CountVectorsFeaturizer\n", "- name: LexicalSyntacticFeaturizer\n- name: CountVectorsFeaturizer\n"
    ),
    "data/nlu.yml": nlu(TRIPS),
    TESTS: nlu({"bus": ("when does the bus to [village](place) leave",)}),
}


@pytest.mark.parametrize("repaired", [False, True])
def test_an_entity_that_changes_sides_has_its_cause(judged: Callable[..., Outcome], *, repaired: bool) -> None:
    """The annotations of one intent are gone, or come back; that of the other and a response change as well."""
    bare = tuple(text.replace("[", "").replace("](place)", "") for text in TRIPS["bus"])
    domain = TAGGING["domain.yml"].replace("text: Hi", "text: Hello")
    lost, kept = {"data/nlu.yml": nlu({**TRIPS, "bus": bare})}, {"data/nlu.yml": TAGGING["data/nlu.yml"]}
    base, change = (lost, kept) if repaired else (kept, lost)

    outcome = judged({**change, "domain.yml": domain}, {**TAGGING, **base}, evaluations=("nlu",))

    entities = outcome.comparison.entities
    (case,) = entities.better if repaired else entities.worse
    assert named(case.causes) == [("intents", "bus", "changed")]
    assert noise_of(outcome.comparison, "entities") == []


def test_what_a_new_name_makes_wrong_is_not_noise(judged: Callable[..., Outcome]) -> None:
    renamed = {name: TAGGING[name].replace("](place)", "](spot)") for name in ("domain.yml", "data/nlu.yml")}
    renamed["domain.yml"] = renamed["domain.yml"].replace("[place]", "[spot]")

    outcome = judged(renamed, TAGGING, evaluations=("nlu",))

    (case,) = outcome.comparison.entities.worse
    assert named(case.causes) == [("entities", "spot", "renamed")]
    assert noise_of(outcome.comparison, "entities") == []
